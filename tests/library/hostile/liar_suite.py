"""`python -m tests.library.hostile.liar_suite`: all lies, several a run, chosen pairwise.

A *lie* is an extreme value of one field of a message (`tests.library.hostile.lying_fields`). A
*setting* says who tells it, how often, how many of them there are, and to which membership. Every
lie is told by every teller, in every rhythm, by every number of liars and in every membership, and
each two of these values meet in a setting; all lies of a run are told together. A run holds if what
honest members publish meanwhile arrives at all of them once within a minute, or that very event is
told as missed, and a newcomer joins within ten seconds, and gets what is published then. A run that
fails is bisected for the lies that do it. At last, a third of all processes lie in each setting,
which is told and fails nothing.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from random import Random
from typing import Annotated, Final, NamedTuple

import typer

from camcast.engine.node import Node
from camcast.vocabulary.events import EventId, Missed
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import ROOT as TOP
from tests.admitted_world import AdmittedWorld
from tests.library.hostile.liar import BELOW, Liar
from tests.library.hostile.lying_fields import shipped_classes
from tests.signed_world import SOCCER, certificate, key

TELLERS: Final = {"member": SOCCER.name, "below": BELOW, "sibling": ".chess", "anybody": ""}
"""The topic that each teller is certified for; none in `open`."""
RHYTHMS: Final = ("once", "each second")
LIARS: Final = (1, 3)
AIM: Final = 10  # liars of the last runs, which fail nothing: nobody promises to stand so many
MEMBERSHIPS: Final = ("scamp", "hybrid", "dht", "hyparview", "cyclon")
SETTLED_SECONDS: Final = 35.0  # who has listened for half a minute is no newcomer to sizes
LYING_SECONDS: Final = 10
CUT_SECONDS: Final = 0.5
WITHIN_SECONDS: Final = 60.0  # until what was published has come, or was told as missed
JOIN_SECONDS: Final = 10.0  # for an honest newcomer
LIES_A_RUN: Final = 160  # chosen: a failing run is bisected in a dozen more


class Setting(NamedTuple):
    """Who lies, how often, how many of them, and in which membership."""

    teller: str
    rhythm: str
    liars: int
    membership: str


class Lie(NamedTuple):
    """A value of a field: which one of the lies of a class, by its place."""

    cls: type[Message]
    place: int


def settings() -> list[Setting]:
    """Return few settings of which any two values of different parts meet in one."""
    every = [Setting(*values) for values in product(TELLERS, RHYTHMS, LIARS, MEMBERSHIPS)]
    left = dict.fromkeys(pair for one in every for pair in combinations(enumerate(one), 2))
    chosen = list[Setting]()
    while left:
        best = max(every, key=lambda one: sum(p in left for p in combinations(enumerate(one), 2)))
        chosen.append(best)
        for pair in combinations(enumerate(best), 2):
            left.pop(pair, None)
    return chosen


def plan(lies: Sequence[Lie], rng: Random) -> Iterator[tuple[Setting, list[Lie]]]:
    """Yield runs until each lie has met each value of a setting."""
    left = {lie: dict.fromkeys(value for one in settings() for value in one) for lie in lies}
    while left:
        for setting in settings():
            new = [lie for lie, values in left.items() if any(one in values for one in setting)]
            rng.shuffle(new)  # others come together each time
            new.sort(key=lambda lie: -sum(one in left[lie] for one in setting))
            told = new[:LIES_A_RUN]
            for lie in told:
                for value in setting:
                    left[lie].pop(value, None)
                if not left[lie]:
                    del left[lie]
            if told:
                yield setting, told


def failure(setting: Setting, lies: Sequence[Lie], members: int) -> str:
    """Return what is broken by these lies, told together; empty if nothing is."""
    signed = setting.teller != "anybody"
    world = AdmittedWorld(signed=signed, membership=setting.membership)
    above = world.member(key(3), TOP, own=certificate(key(3), "."))
    honest = [world.member(key(100 + number), SOCCER) for number in range(members)]
    world.run(SETTLED_SECONDS)
    tellers = [
        Liar(world, key(900 + number), TELLERS[setting.teller] or SOCCER.name)
        for number in range(setting.liars)
    ]
    published, told_ranges = dict[bytes, EventId](), defaultdict[Node, list[Missed]](list)
    world.virtual.on_missed = lambda process, tell: told_ranges[process.node].append(tell.missed)
    records = [_records(teller, lies) for teller in tellers]
    for second in range(LYING_SECONDS):
        if second == 0 or setting.rhythm != "once":
            for teller, told in zip(tellers, records, strict=True):
                teller.tell(told)
        one, other, away = (honest[(second + turn) % members] for turn in range(3))
        off = away.me.address
        world.cut(lambda *ends, off=off: off not in ends)
        payload = b"while one is cut off %d" % second
        published[payload] = world.publish(one, SOCCER, payload, seconds=CUT_SECONDS)
        world.heal()
        payload = b"for all %d" % second
        published[payload] = world.publish(other, SOCCER, payload, seconds=1.0 - CUT_SECONDS)
    newcomer = world.member(key(99), SOCCER)
    if not world.run(JOIN_SECONDS, lambda: all(one.joined for one in newcomer.local_groups)):
        return "a newcomer does not join"
    last = b"for the newcomer"
    published[last] = world.publish(honest[0], SOCCER, last, seconds=WITHIN_SECONDS)
    if foreign := {d.event.payload for _, d in world.delivered} - {*published}:
        return f"{len(foreign)} events came that nobody published"
    for node in (*honest, above, newcomer):
        got, due = _got(world, node), [last] if node is newcomer else [*published]
        missing = [payload for payload in due if not got[payload]]
        untold = [one for one in missing if not _is_told(published[one], told_ranges[node])]
        if untold:
            return f"{untold[0].decode()!r} and {len(untold) - 1} more did not come"
        if max(got.values()) > 1:
            return "an event came twice"
    return ""


def _is_told(event: EventId, told: Sequence[Missed]) -> bool:
    return any(
        one.stream == event.stream and one.first <= event.sequence <= one.last for one in told
    )


def _records(teller: Liar, lies: Sequence[Lie]) -> list[bytes]:
    """Return the records of lies, in the order of the lies."""
    kinds, by_class = shipped_classes(), dict[type[Message], list[bytes]]()
    for cls in dict.fromkeys(lie.cls for lie in lies):
        kind = kinds[cls]
        assert kind is not None, cls
        by_class[cls] = teller.records(cls, kind)
    return [by_class[lie.cls][lie.place] for lie in lies]


def _got(world: AdmittedWorld, node: Node) -> Counter[bytes]:
    return Counter(one.event.payload for receiver, one in world.delivered if receiver is node)


def bisected(lies: list[Lie], fails: Callable[[Sequence[Lie]], bool]) -> list[Lie]:
    """Return some of the lies that fail, of which each is needed for that.

    [Zeller and Hildebrandt 2002, ddmin] without its look at the parts, which the rests have.
    """
    parts = 2
    while len(lies) > 1:
        size = -(-len(lies) // parts)
        rests = (lies[:start] + lies[start + size :] for start in range(0, len(lies), size))
        less = next((rest for rest in rests if rest and fails(rest)), None)
        if less is not None:
            lies, parts = less, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(lies), 2 * parts)
    return lies


def every_lie() -> list[Lie]:
    """Return all lies of the shipped classes."""
    world = AdmittedWorld()
    world.member(key(100), SOCCER)
    liar = Liar(world, key(900), SOCCER.name)
    return [
        Lie(cls, place) for cls in shipped_classes() for place, _ in enumerate(liar.lies.of(cls))
    ]


def main(
    minutes: Annotated[float, typer.Option(help="Of CPU, after which no run begins.")] = 60.0,
    members: Annotated[int, typer.Option(min=3, help="Honest members of the community.")] = 30,
    seed: Annotated[int, typer.Option(help="Draws which lies come together.")] = 1,
    only: Annotated[str, typer.Option(help="Lies of classes whose names have this alone.")] = "",
) -> None:
    """Tell every lie to honest members; exit code 1 if an event or a newcomer is lost."""
    logging.disable()  # liars make honest processes say much
    lies = [lie for lie in every_lie() if only in _name(lie)]
    runs, failed = list(plan(lies, Random(seed))), 0
    pairs = {(lie, value) for setting, told in runs for lie in told for value in setting}
    met = set[tuple[Lie, object]]()
    done = 0
    for setting, told in runs:
        if time.process_time() > 60 * minutes:
            break
        done += 1
        met |= {(lie, value) for lie in told for value in setting}
        why = failure(setting, told, members)
        print(
            f"{done} of {len(runs)}: {' '.join(map(str, setting))}: {why or 'holds'}"
            f" ({time.process_time():.0f} CPU s)",
            flush=True,
        )
        if why:
            failed += 1
            least = bisected(told, partial(_fails, setting, members))
            print(f"FAILED {setting}: {why}, by {', '.join(map(_name, least))}", flush=True)
    for setting in settings() if time.process_time() <= 60 * minutes else ():
        many = setting._replace(liars=min(AIM, members // 3))
        told = Random(seed).sample(lies, min(LIES_A_RUN, len(lies)))
        print(f"the aim: {' '.join(map(str, many))}: {failure(many, told, members) or 'holds'}")
    classes = {lie.cls for lie, _ in met}
    print(
        f"{len({lie for lie, _ in met})} of {len(lies)} lies in {len(classes)} classes,"
        f" {len(met)} of {len(pairs)} pairs of a lie and a value of a setting, {done} of"
        f" {len(runs)} runs, {members} members, {failed} failed, {time.process_time():.0f} CPU s"
    )
    if failed:
        sys.exit(1)


def _fails(setting: Setting, members: int, lies: Sequence[Lie]) -> bool:
    return bool(failure(setting, lies, members))


def _name(lie: Lie) -> str:
    return f"{lie.cls.__module__}.{lie.cls.__name__}[{lie.place}]"


if __name__ == "__main__":
    typer.run(main)
