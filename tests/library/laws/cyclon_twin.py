"""A dumb twin of Cyclon: the seven steps of its shuffle, in synchronous cycles.

It shares nothing with the membership: lists of [process, age], no messages, no time, no sizes.
"""

from __future__ import annotations

from random import Random


def shuffled_views(
    rng: Random, size: int, view: int, length: int, cycles: int
) -> list[list[list[int]]]:
    """Return the views, lists of [process, age], after so many cycles from a random graph."""
    views = [
        [[peer, 0] for peer in rng.sample([q for q in range(size) if q != p], view)]
        for p in range(size)
    ]
    for _ in range(cycles):
        for p in rng.sample(range(size), size):
            for entry in views[p]:  # 1. everybody in the view gets older
                entry[1] += 1
            # 2. the oldest, Q, and l - 1 others at random
            oldest = max(views[p], key=lambda entry: entry[1])
            others = [entry for entry in views[p] if entry is not oldest]
            sent = [oldest, *rng.sample(others, min(length - 1, len(others)))]
            q = oldest[0]
            answer = rng.sample(views[q], min(length, len(views[q])))
            # 3. and 4. Q's entry is replaced with a new one of age 0 that points at P, and sent.
            _update(q, views[q], [[p, 0], *sent[1:]], answer, view)
            _update(p, views[p], answer, sent, view)  # 5. to 7.
    return views


def _update(
    me: int, cache: list[list[int]], received: list[list[int]], sent: list[list[int]], view: int
) -> None:
    """Take the 6th and 7th step: into free slots first, then in place of what was sent."""
    known = [me, *(peer for peer, _ in cache)]
    slots = list(sent)
    for peer, age in [list(entry) for entry in received]:
        if peer in known:
            continue
        if len(cache) >= view:
            cache.remove(slots.pop(0))
        cache.append([peer, age])
        known.append(peer)
