"""No well-formed lie of an insider costs an event, brings one twice, or keeps a newcomer out.

Every field of every message takes its extremes (`tests.library.hostile.lying_fields`), told over
the liar's own link by a certified member of the victims' topic, by one that is certified for a
topic below alone, and in `open` by anybody. After the lies of each class an event is published
while one member is cut off, where repair has to bring it: its payload names the class.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from random import Random

import pytest

from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import ROOT as TOP
from camcast.vocabulary.wire import Kind
from tests.admitted_world import AdmittedWorld
from tests.library.hostile.liar import BELOW, Liar
from tests.library.hostile.liar_suite import Lie, Setting, bisected, plan, settings
from tests.library.hostile.lying_fields import TIMES, Lies, shipped_classes
from tests.signed_world import SOCCER, certificate, key

LIAR = key(9)
WITHIN_SECONDS = 60.0  # until what was published has come, or was told as missed
JOIN_SECONDS = 10.0  # for an honest newcomer


Classes = dict[type[Message], Kind | None]


def lied_to(profile: str, topic: str, membership: str, classes: Classes) -> None:
    world = AdmittedWorld(signed=profile == "signed", membership=membership)
    above = world.member(key(3), TOP, own=certificate(key(3), "."))
    members = [world.member(key(number), SOCCER) for number in (20, 21, 22)]
    world.run(35.0)  # who has listened for half a minute is no newcomer to sizes
    liar, published, told = Liar(world, LIAR, topic), list[bytes](), Counter[str]()
    for cls, kind in classes.items():
        name = f"{cls.__module__}.{cls.__name__}"
        assert kind is not None, name
        records = liar.records(cls, kind)
        told[name] += len(records)
        liar.tell(records)
        world.run(0.5)
        one, other, away = (members[(len(told) + turn) % 3] for turn in range(3))
        off = away.me.address
        world.cut(lambda *ends, off=off: off not in ends)
        published.append(name.encode())
        world.publish(one, SOCCER, published[-1], seconds=0.5)
        world.heal()
        published.append(b"after " + published[-1])
        world.publish(other, SOCCER, published[-1], seconds=0.5)
    newcomer = world.member(key(30), SOCCER)
    assert world.run(JOIN_SECONDS, lambda: all(one.joined for one in newcomer.local_groups))
    world.publish(members[0], SOCCER, last := b"for the newcomer", seconds=WITHIN_SECONDS)
    for payload in published:
        assert Counter(world.got(payload)) == Counter([*members, above]), payload
    assert Counter(world.got(last)) == Counter([*members, above, newcomer])
    assert {delivery.event.payload for _, delivery in world.delivered} == {*published, last}
    assert min(told.values()) > 0


def every(step: int) -> Classes:
    """Return each `step`-th class."""
    return dict(list(shipped_classes().items())[::step])


def test_lies_in_some_fields_cost_nobody_an_event() -> None:
    lied_to("signed", BELOW, "scamp", every(16))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "topic", "membership", "step"),
    [
        ("signed", SOCCER.name, "scamp", 1),
        ("signed", BELOW, "hyparview", 4),
        ("open", SOCCER.name, "cyclon", 2),
    ],
)
def test_lies_in_all_fields_cost_nobody_an_event(
    profile: str, topic: str, membership: str, step: int
) -> None:
    """Those of `Have` took all places of what is repaired: what a cut kept back never came."""
    lied_to(profile, topic, membership, every(step))


class Toy(Message, tag=1, frozen=True):
    """A message that a later change adds."""

    since: float
    held: tuple[tuple[bytes, int], ...]


def test_a_field_that_a_later_change_adds_is_lied_about_without_being_named() -> None:
    lies = list(Lies((".a",), ()).of(Toy))
    assert {lie.since for lie in lies} > {0.0, 1e9}
    assert {lie.since for lie in lies} - {*TIMES}  # a random one, too
    assert {len(lie.held) for lie in lies} > {0, 1, 600}
    assert {number for lie in lies for _, number in lie.held} > {0, 2**63 - 1}


def test_the_runs_of_the_suite_tell_each_lie_in_each_value_of_a_setting() -> None:
    lies = [Lie(Toy, place) for place in range(200)]
    runs = list(plan(lies, Random(1)))
    values = {value for setting in settings() for value in setting}
    met = {(lie, value) for setting, told in runs for lie in told for value in setting}
    assert met == set(product(lies, values))
    pairs = {pair for setting in settings() for pair in combinations(enumerate(setting), 2)}
    assert len(pairs) == 4 * (2 + 2 + 5) + 2 * 2 + 2 * 5 + 2 * 5
    assert all(isinstance(setting, Setting) for setting, _ in runs)


@pytest.mark.parametrize("guilty", [{5}, {5, 6}, {0, 199}])
def test_a_run_that_fails_is_bisected_for_the_lies_that_do_it(guilty: set[int]) -> None:
    lies = [Lie(Toy, place) for place in range(200)]
    found = bisected(lies, lambda part: guilty <= {lie.place for lie in part})
    assert {lie.place for lie in found} == guilty
