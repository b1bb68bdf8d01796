"""A dumb twin of SCAMP's join process on a plain graph, written from the published description.

Ganesh, Kermarrec, Massoulié 2003, and docs/protocols.md: the newcomer's view is {contact}; the
contact forwards the subscription to its whole view and c more copies to random members of it;
a process keeps a copy with probability 1/(1 + |view|) unless it is the newcomer or knows it,
else it forwards it to a random member, but not to the newcomer. A walk ends after min(64, 4 times
the contact's view and 1) steps: the last process keeps the copy if it can, else the copy is lost.
No time, no messages, no loss on the way, no repair: views as sets of numbers.
"""

from __future__ import annotations

from random import Random
from statistics import mean

Views = dict[int, set[int]]

STEPS_MAX = 64


def join(views: Views, contact: int, c: int, rng: Random) -> None:
    """Let the next number join through `contact`."""
    newcomer = len(views)
    known = sorted(views[contact])
    views[newcomer] = {contact}
    if not known:
        views[contact].add(newcomer)
        return
    for receiver in known + [rng.choice(known) for _ in range(c)]:
        _walk(views, newcomer, receiver, min(STEPS_MAX, 4 * (1 + len(known))), rng)


def _walk(views: Views, newcomer: int, at: int, steps: int, rng: Random) -> None:
    for left in range(steps, -1, -1):
        view = views[at]
        if newcomer not in view and (not left or rng.random() < 1 / (1 + len(view))):
            view.add(newcomer)
            return
        onward = sorted(view - {newcomer})
        if not onward:
            return
        at = rng.choice(onward)


def grow(size: int, c: int, rng: Random) -> Views:
    """Let `size` processes join one after the other, each through a random member."""
    views: Views = {0: set()}
    while len(views) < size:
        join(views, rng.randrange(len(views)), c, rng)
    return views


def in_degrees(views: Views) -> list[int]:
    """Return how many views each process is in."""
    degrees = dict.fromkeys(views, 0)
    for view in views.values():
        for member in view:
            degrees[member] += 1
    return list(degrees.values())


def recursion(start_size: int, start_mean: float, size: int, c: int) -> float:
    """E[mean view] of the join process, exactly, from a group that has `start_mean` already.

    A newcomer adds |view of a uniform contact| + c + 1 arcs to n processes, hence
    mean_{n+1} = mean_n + (c+1)/(n+1).
    """
    return start_mean + sum((c + 1) / n for n in range(start_size + 1, size + 1))


def mean_view(views: Views) -> float:
    """Return the mean size of the views."""
    return mean(len(view) for view in views.values())
