"""The invariants: each is broken on purpose here, and each breach is seen and named."""

from __future__ import annotations

from functools import partial
from math import ceil, log

import msgspec
import pytest

from camcast.engine.liveness import AGAIN
from camcast.engine.node import Node
from camcast.research.simulation.invariants import InvariantError, Invariants
from camcast.testing.world import World
from camcast.virtual.network import Process
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.topics import Topic
from membership.scamp.options import ScampOptions, expected_view
from membership.scamp.scamp import Scamp
from tests.event_frames import batch_of, frame_of

LAW = partial(expected_view, ScampOptions())

TOPIC, OTHER = Topic.parse(".news"), Topic.parse(".other")


class Watched(World):
    """A small community under the eyes of the invariants."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self.network = self.virtual
        self.invariants = Invariants(self.network, LAW)
        self.network.on_step = self.invariants.on_step
        self.came: list[tuple[Process, Deliver]] = []
        for _ in range(size):
            self.join(TOPIC, gap=0.5)
        self.processes = list(self.network)
        self.run(10.0)

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        self.came.append((process, delivery))
        self.invariants.on_delivery(process, delivery)

    def scamp(self, number: int) -> Scamp:
        (local_group,) = self.processes[number].node.local_groups
        assert isinstance(local_group.membership, Scamp)
        return local_group.membership

    def look(self, times: int = 2, every_seconds: float = 0.5) -> None:
        for _ in range(times):
            self.invariants.look_at_arcs()
            self.run(every_seconds)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def stranger(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), f"tcp://10.9.0.1:{number + 1}")


def event_frame(topic: Topic) -> bytes:
    forged = batch_of(stranger(1).peer, 1, topic, b"forged")
    return frame_of(forged, topic.group, stranger(1).peer)


def nothing_yet(watched: Watched) -> None:
    """The guard of every test here: without the breach, nothing is wrong."""
    watched.publish(watched.nodes[0], TOPIC, seconds=1.0)
    looks = Invariants(watched.network, LAW)  # others, for an arc that is whole once is so for good
    looks.look_at_arcs()
    looks.check_symmetry()


# -- parasites ---------------------------------------------------------------------------------


def test_an_event_of_a_community_that_one_never_was_in(watched: Watched) -> None:
    nothing_yet(watched)
    target = watched.processes[2]
    with pytest.raises(InvariantError, match=r"process 2 .*not part of") as caught:
        watched.network.inject(target.me.address, event_frame(OTHER))
    assert f"at {watched.network.now:.3f} s" in str(caught.value)
    assert str(target.me) in str(caught.value)


def test_a_forged_event_of_one_s_own_community_is_no_parasite(watched: Watched) -> None:
    watched.network.inject(watched.processes[2].me.address, event_frame(TOPIC))
    watched.run(1.0)
    assert len(watched.came) == 6


def test_a_late_event_is_no_parasite(watched: Watched) -> None:
    target = watched.processes[2]
    watched.network.do(target, lambda node, now: node.leave(TOPIC, now))
    watched.network.inject(target.me.address, event_frame(TOPIC))
    assert target.node.counters.late == 1


# -- at most once ------------------------------------------------------------------------------


def test_an_event_delivered_twice(watched: Watched) -> None:
    nothing_yet(watched)
    process, delivery = watched.came[-1]
    with pytest.raises(InvariantError, match=rf"delivered {delivery.batch.id} twice"):
        watched.invariants.on_delivery(process, delivery)


def test_an_event_delivered_twice_by_the_node_itself(watched: Watched) -> None:
    """As a node would whose window of events seen has a hole."""
    nothing_yet(watched)
    process, delivery = watched.came[-1]

    def again(node: Node, _now: float) -> None:
        node.outbox.deliveries.append(delivery)

    with pytest.raises(InvariantError, match="twice"):
        watched.network.do(process, again)


def test_in_another_community_or_life_or_at_another_process_it_is_not_the_same(
    watched: Watched,
) -> None:
    nothing_yet(watched)
    process, delivery = watched.came[-1]
    watched.invariants.on_delivery(process, msgspec.structs.replace(delivery, group=OTHER.group))
    watched.network.crash(process)
    again = watched.network.start(watched.settings, number=process.number, peer=process.me.peer)
    watched.invariants.on_delivery(again, delivery)
    with pytest.raises(InvariantError, match="twice"):
        watched.invariants.on_delivery(again, delivery)


# -- bounded tables ----------------------------------------------------------------------------


def test_a_table_that_overflows(watched: Watched) -> None:
    """The bound is 3 (c+1) ln N of twice the size, or twice 64: just below it is right."""
    nothing_yet(watched)
    view, target = watched.scamp(2).peers(), watched.processes[2]
    bound = ceil(3 * 3 * log(2 * 64))
    while len(view) < bound:
        view.add(stranger(len(view)))
    watched.invariants.on_step(target)
    view.add(stranger(bound))
    with pytest.raises(InvariantError, match=rf"process 2 .*a table of {bound + 1} in \.news"):
        watched.network.inject(target.me.address, b"any input")


def test_the_bound_grows_with_the_network(watched: Watched) -> None:
    for _ in range(94):
        watched.network.start(watched.settings)
    view, bound = watched.scamp(2).peers(), ceil(3 * 3 * log(2 * 100))
    while len(view) < bound:
        view.add(stranger(len(view)))
    watched.invariants.on_step(watched.processes[2])
    view.add(stranger(bound))
    with pytest.raises(InvariantError, match=f"a table of {bound + 1}"):
        watched.invariants.on_step(watched.processes[2])


# -- symmetry ----------------------------------------------------------------------------------


def test_an_arc_that_only_its_holder_knows(watched: Watched) -> None:
    nothing_yet(watched)
    holder, target = watched.processes[1], watched.processes[2]
    assert target.me.peer in watched.scamp(1).peers()
    del watched.scamp(2)._in_view[holder.me.peer]
    watched.look(3, every_seconds=0.0)
    with pytest.raises(InvariantError, match=r"holds .* in \.news, which does not know") as caught:
        watched.invariants.check_symmetry()
    assert str(caught.value).startswith(f"at {watched.network.now:.3f} s {holder.me} holds")
    assert str(target.me) in str(caught.value)


def test_an_arc_that_only_its_target_knows(watched: Watched) -> None:
    nothing_yet(watched)
    holder, target = watched.processes[1], watched.processes[2]
    watched.scamp(1).peers().discard(target.me.peer)
    watched.look(3, every_seconds=0.0)
    with pytest.raises(InvariantError) as caught:
        watched.invariants.check_symmetry()
    assert f"{target.me} believes that {holder.me} holds it in .news" in str(caught.value)


@pytest.fixture
def one_sided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SCAMP that forgets that it is held: the bug that the invariant is there for."""
    monkeypatch.setattr(Scamp, "_held_by", lambda *_arguments, **_more: None)


@pytest.mark.usefixtures("one_sided")
def test_a_membership_with_the_bug() -> None:
    watched = Watched(4)
    watched.look(5, every_seconds=2.0)
    with pytest.raises(InvariantError, match="does not know of it"):
        watched.invariants.check_symmetry()


def test_an_arc_that_is_mended_meanwhile_is_right(watched: Watched) -> None:
    holder = watched.processes[1]
    del watched.scamp(2)._in_view[holder.me.peer]
    watched.invariants.look_at_arcs()
    assert len(watched.invariants.one_sided_arcs()) == 1
    watched.look(3, every_seconds=2.0)  # the holder's heartbeat tells of it
    watched.invariants.check_symmetry()


def test_of_an_arc_that_comes_and_goes_every_look_has_to_be_wrong(watched: Watched) -> None:
    holder = watched.processes[1]
    for wrong in (True, False, True):
        if wrong:
            del watched.scamp(2)._in_view[holder.me.peer]
        assert len(watched.invariants.one_sided_arcs()) == wrong
        watched.invariants.look_at_arcs()
        watched.run(AGAIN + 2.0)  # by then the holder's heartbeats tell of it
    watched.invariants.check_symmetry()


def test_arcs_to_the_dead_the_left_and_the_reborn_do_not_count(watched: Watched) -> None:
    dead, left, reborn = watched.processes[3:]
    watched.network.crash(dead)
    watched.network.do(left, lambda node, now: node.leave(TOPIC, now))
    watched.network.crash(reborn)
    again = watched.network.start(watched.settings, number=reborn.number)
    again.node.join(TOPIC, watched.network.now)  # and nobody has heard of it
    assert any(
        dead.me.peer in watched.scamp(n).peers() and left.me.peer in watched.scamp(n).peers()
        for n in range(3)
    )
    assert watched.invariants.one_sided_arcs() == {}


def test_without_a_look_there_is_nothing_to_say(watched: Watched) -> None:
    watched.invariants.check_symmetry()
