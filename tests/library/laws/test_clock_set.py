"""A process whose wall clock is set right while it runs is heard in ten seconds, as if it had been.

In the virtual network, with signed processes that have real keys. The wall clocks of all processes
but one are right. The driver's readings of the last one are made here: it learns of a wrong wall
clock, or of a right one, by `Node.compare_clocks`, as it does live.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, cast

import pytest

from camcast.engine.guard.access_control import CARRY_SECONDS
from camcast.engine.node import Node
from camcast.engine.repair.refused import REFUSED_BY
from camcast.engine.security_messages import WhoAre
from camcast.security.records import LIFETIME_SECONDS
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.clock import STEP_SECONDS
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.size_estimate import number_of
from tests.admitted_world import AdmittedWorld
from tests.authority import ADA, CLUB
from tests.signed_world import SOCCER, join, key

START = 10_000.0
LET_IN_SECONDS = 10.0
SETS = [600.0, -600.0, 3600.0, -5000.0]
"""By how many seconds the clock is set when it is set right."""


class Scene:
    """A gateway, Ada and two more members of .soccer, whose clocks are right."""

    def __init__(self, *, signed: bool = True, more: int = 2) -> None:
        self.world = AdmittedWorld(signed=signed)
        self.world.run(START)
        secrets = [ADA, *map(key, range(2, 2 + more))]
        self.members = [self.world.member(secret, SOCCER) for secret in secrets]
        self.world.run(5)

    def wall_says(self, node: Node, ahead: float) -> bool:
        """Let a process compare its clocks when the wall's is so many seconds ahead."""
        now = self.world.now
        return self.world.do(node, lambda node, at: node.compare_clocks(at, now + ahead))

    def start(self, ahead: float) -> Node:
        """Start the club's process with a wall clock that is so many seconds ahead."""
        node = self.world.member(CLUB)
        assert self.wall_says(node, ahead) == (abs(ahead) > STEP_SECONDS)
        return node

    def hear(self, node: Node, payload: bytes) -> list[Node]:
        """Let a process publish, and return who has got it a little later."""
        self.world.publish(node, SOCCER, payload, seconds=1.0)
        return self.world.got(payload)


@pytest.mark.parametrize("wrong_seconds", [3.0, 26.0, 39.0])
@pytest.mark.parametrize("set_by", SETS)
def test_who_joins_at_a_wrong_time_is_in_when_the_time_is_right(
    set_by: float, wrong_seconds: float
) -> None:
    scene = Scene()
    late = scene.start(-set_by)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(wrong_seconds)
    assert scene.wall_says(late, 0.0)
    (part,) = late.local_groups
    scene.world.run(LET_IN_SECONDS - 2.0, until=lambda: part.joined and bool(part.copies_now()[0]))
    assert set(scene.members) <= set(scene.hear(late, b"from the late one"))
    assert late in scene.hear(scene.members[0], b"to the late one")


@pytest.mark.parametrize("set_by", SETS)
def test_a_member_whose_clock_is_wrong_for_a_minute_is_one_again(set_by: float) -> None:
    """An operator's slip: what it forgot or refused meanwhile must not keep it out."""
    scene = Scene()
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    assert set(scene.members) <= set(scene.hear(late, b"before"))
    assert scene.wall_says(late, -set_by)
    scene.world.run(50.0)
    assert late not in scene.hear(scene.members[0], b"meanwhile")
    scene.world.run(9.0)
    assert scene.wall_says(late, 0.0)
    scene.world.run(LET_IN_SECONDS - 2.0)
    assert late in scene.world.got(b"meanwhile")  # what was refused is no event that it knows
    assert set(scene.members) <= set(scene.hear(late, b"from the late one"))
    assert late in scene.hear(scene.members[0], b"to the late one")


class Sleeper:
    """A node whose time of inputs stood still for `slept` seconds, as on a suspended machine."""

    slept = 0.0

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def receive(self, frame: bytes, now: float, link: PeerId | None = None) -> None:
        self._node.receive(frame, now - self.slept, link)

    def wake(self, token: Token, now: float) -> None:
        self._node.wake(token, now - self.slept)

    def flush(self, now: float) -> None:
        self._node.flush(now - self.slept)


def test_a_machine_that_slept_for_an_hour_is_a_member_again() -> None:
    """Its own record and all that it knows have expired, and the others have dropped it."""
    scene = Scene(more=0)
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    process, sleeper = scene.world._processes[late], Sleeper(late)
    process.node = cast(Node, sleeper)
    scene.world.virtual.pause(process)
    scene.world.run(3600.0)
    assert process.held is not None
    process.held.clear()  # no connection lasts for so long
    sleeper.slept = 3600.0
    scene.world.virtual.resume(process)
    scene.world.run(1.0)
    assert late.compare_clocks(scene.world.now - 3600.0, scene.world.now)
    scene.world.run(LET_IN_SECONDS - 2.0)
    scene.world.virtual.do(process, lambda _, now: late.publish(SOCCER, b"woke", now - 3600.0))
    scene.world.run(1.0)
    assert set(scene.members) <= set(scene.world.got(b"woke"))
    scene.hear(scene.members[0], b"to the sleeper")
    assert process.node in scene.world.got(b"to the sleeper")


@pytest.mark.parametrize("set_by", SETS)
def test_a_newcomer_gets_in_through_a_process_whose_clock_was_set(set_by: float) -> None:
    """What it passes on for others, and the mandates that it signs itself, count."""
    scene = Scene()
    late = scene.start(-set_by)
    assert scene.wall_says(late, 0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    for member in scene.members:
        scene.world.leave(member, SOCCER)
    scene.world.run(10.0)
    newcomer = scene.world.member(key(7), SOCCER)
    scene.world.run(LET_IN_SECONDS)
    assert late in scene.hear(newcomer, b"here I am")


@pytest.mark.parametrize("set_by", SETS)
def test_events_say_the_time_of_their_publication_before_and_after(set_by: float) -> None:
    """And they come in their order, though the time of publication went back.

    What is published after the clock was set forward is in another stream.
    """
    scene = Scene(signed=False)
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    got: list[Batch] = []
    deliver = scene.world.virtual.on_delivery
    assert deliver is not None
    for ahead in (0.0, set_by, 0.0):
        scene.wall_says(late, ahead)
        sent = scene.world.now
        scene.world.virtual.on_delivery = lambda process, delivery: (
            got.append(delivery.batch) if process.node is scene.members[0] else None
        )
        scene.world.publish(late, SOCCER, b"%d" % len(got), seconds=2.0)
        assert got[-1].published == round(1000 * (sent + ahead))
    assert [[*one.payloads()] for one in got] == [[b"0"], [b"1"], [b"2"]]
    streams = [one.stream for one in got]
    assert (streams[0] == streams[1], streams[1] == streams[2]) == (set_by < 0, set_by > 0)


@pytest.mark.parametrize("set_by", SETS)
def test_neighbours_agree_again_on_what_they_know(set_by: float) -> None:
    """Tallies go by the second; a process must not send all that it knows for an hour on end."""
    scene = Scene(signed=False)
    late = scene.start(set_by)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    for number in range(5):
        scene.hear(scene.members[0], b"%d" % number)
    scene.hear(late, b"too")
    scene.wall_says(late, 0.0)
    scene.world.run(30.0)
    nodes = [*scene.members, late]
    before = [_haves(node) for node in nodes]
    scene.hear(late, b"again")
    scene.world.run(60.0)
    quiet = Scene(signed=False)
    assert sum(_haves(node) for node in nodes) - sum(before) <= _haves_of_one_event(quiet)


def _haves_of_one_event(scene: Scene) -> int:
    """Return the full Haves, and those of the news, that an event costs where no clock is set."""
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    for number in range(5):
        scene.hear(scene.members[0], b"%d" % number)
    scene.hear(late, b"too")
    scene.world.run(30.0)
    nodes = [*scene.members, late]
    before = sum(_haves(node) for node in nodes)
    scene.hear(late, b"again")
    scene.world.run(60.0)
    return 2 * (sum(_haves(node) for node in nodes) - before)


def _haves(node: Node) -> int:
    (part,) = node.local_groups
    assert part.repair is not None
    return part.repair.haves_sent


def test_what_is_refused_for_its_time_is_logged_once_a_minute_with_the_difference(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    scene = Scene()
    late = scene.start(600.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(50.0)
    lines = [one.message for one in caplog.records if "look at the clock" in one.message]
    assert lines
    assert all(" 60" in line or " 59" in line for line in lines), lines
    kinds = [line.partition(":")[0] + line.partition(":")[2][:24] for line in lines]
    assert len(kinds) <= 2 * (len(scene.members) + 2)  # one of each kind a process and minute


def test_introductions_are_carried_once_a_minute_though_the_clock_was_set_back() -> None:
    scene = Scene()
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    asking, named = scene.members[:2]
    question = WhoAre(".soccer", (number_of(named.me.peer),))

    def answers() -> bool:
        late.outbox.now = scene.world.now
        late.outbox.sends.clear()
        late.guard.on_who_are(asking.me, question, scene.world.now)
        return bool(late.outbox.sends)

    assert scene.world.run(2 * CARRY_SECONDS, until=answers)
    assert not answers()
    scene.wall_says(late, -250.0)
    answers()  # with the new introduction of its own
    assert not answers()
    assert scene.world.run(CARRY_SECONDS + 1.0, until=answers)


def test_an_introduction_is_signed_anew_and_takes_the_place_of_the_one_before() -> None:
    scene = Scene()
    late = scene.start(0.0)
    known = scene.world.known
    for ahead in (LIFETIME_SECONDS / 2, 0.0, -1800.0, 0.0):
        before = known[late].own(scene.world.now).record
        assert scene.wall_says(late, ahead)
        own = known[late].own(scene.world.now + ahead)
        assert own.record != before
        if not ahead:
            assert not known[scene.members[0]].take(own, scene.world.now)
            there = known[scene.members[0]].introduction(late.me.peer, scene.world.now)
            assert there is not None
            assert there.record == own.record


def test_what_is_refused_is_not_fetched_again_and_again() -> None:
    """Its neighbours have taken the events that it refuses, and offer them to it."""
    scene = Scene(more=4)
    late = scene.start(0.0)
    scene.world.do(late, partial(join, SOCCER))
    scene.world.run(5.0)
    assert scene.wall_says(late, 3600.0)
    published = 12
    for number in range(published):
        scene.world.publish(scene.members[0], SOCCER, b"%d" % number, seconds=2.0)
    scene.world.run(30.0)
    assert late.signing is not None
    refused = late.signing.refused.total()
    assert published <= refused <= published * (len(scene.members) + REFUSED_BY)
