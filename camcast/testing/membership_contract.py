"""The contract of every membership; a test class inherits `MembershipContract`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from itertools import product
from typing import ClassVar, Final

from attrs import evolve
from typing_extensions import override

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.plugs import find_backend
from camcast.engine.node import Node
from camcast.observe.trace import ListSink
from camcast.testing.garbage import GARBAGE, malformed
from camcast.testing.pressed_membership_contract import (
    STRANGER,
    PressedMembership,
    drawn_by,
    membership_of,
)
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, control_head, encode_control

SIZES: Final = (1, 2, 10, 100, 1000, 10**6)
ANSWER_SECONDS: Final = 0.5  # chosen: five round trips of a virtual network


class _Unanswered(Discovery):
    """The discovery of a process whose gateway does not answer."""

    def __init__(self, context: DiscoveryContext) -> None:
        self._outlet = context.outlet

    @override
    def announce(self, topic: Topic, now: float) -> None: ...

    @override
    def withdraw(self, topic: Topic, now: float) -> None: ...

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        self._outlet.found(topic, (), (STRANGER.address,))

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None: ...


class MembershipContract(PressedMembership):
    """The contract of every membership.

    A test class inherits it and names its plug: ``membership = "full-view"``.
    """

    merge_seconds: ClassVar[float] = 150.0
    """The time within which two communities of the same topic become one."""

    def grown(self, size: int = 10, sink: ListSink | None = None) -> World:
        """Return a world of members that joined one after the other."""
        world = self.world(sink)
        while len(world.nodes) < size:
            world.join(ROOT, gap=0.2)
        world.run(5.0)
        return world

    # -- joining -------------------------------------------------------------------------------

    def test_the_first_one_founds_the_community(self) -> None:
        world = self.world()
        founder = membership_of(world.join(ROOT, gap=1.0))
        assert founder.joined
        assert len(founder.peers()) == 0
        assert founder.size() == 1.0

    def test_through_contacts_one_joins(self) -> None:
        world = self.grown()
        memberships = [membership_of(node) for node in world.nodes]
        assert all(membership.joined for membership in memberships)
        assert all(len(membership.peers()) >= 1 for membership in memberships)
        known = {contact for membership in memberships for contact in membership.peers()}
        assert known == {node.me for node in world.nodes}

    def test_joining_takes_messages_and_not_periods(self) -> None:
        """A member answers who asks it, and does not wait for what it does from time to time."""
        newcomer = membership_of(self.grown().join(ROOT, gap=ANSWER_SECONDS))
        assert newcomer.joined
        assert len(newcomer.peers()) >= 1

    def test_members_learn_of_each_other_by_each_other(self) -> None:
        """All join through the same member: it is the only one that the discovery names."""
        if self.trusts_contacts:
            return
        world = self.world()
        founder = world.join(ROOT)
        while len(world.nodes) < 12:
            newcomer = world.join(ROOT, gap=0.2)
            world.census.strike(ROOT, newcomer.me)
        world.run(self.seconds)
        tables = [len(membership_of(node).peers()) for node in world.nodes if node is not founder]
        assert sum(tables) / len(tables) >= 0.5 * self.view(12), tables

    def test_dead_contacts_do_not_prevent_it(self) -> None:
        """A membership whose contact is dead asks the next one, and then seeks again by itself."""
        world = self.grown(3)
        for number in range(3):
            nobody = Contact(PeerId(bytes([number]) * 16), f"tcp://10.8.0.{number + 1}:1")
            world.census.enter(ROOT, nobody)
        newcomer = membership_of(world.join(ROOT))
        world.run(self.seconds)
        assert newcomer.joined
        assert {node.me for node in world.nodes} & set(newcomer.peers())

    def test_two_foundings_become_one(self) -> None:
        """No founder is told of the other: each membership has to seek again by itself."""
        world = self.world()
        founders = [world.join(ROOT)]
        world.census.strike(ROOT, founders[0].me)
        founders.append(world.join(ROOT, gap=0.0))
        assert [len(membership_of(node).peers()) for node in founders] == [0, 0]
        world.census.enter(ROOT, founders[0].me)
        world.run(self.merge_seconds)
        assert [len(membership_of(node).peers()) for node in founders] == [1, 1]

    def test_whose_search_fails_is_taken_in_by_members_that_find_it(self) -> None:
        """The newcomer has asked no member; it learns of the community by their messages only."""
        self._assert_taken_in(self.grown(3))

    def test_whose_search_fails_is_taken_in_by_a_lone_member_that_finds_it(self) -> None:
        self._assert_taken_in(self.grown(1))

    def _assert_taken_in(self, world: World) -> None:
        newcomer = world.start(evolve(world.settings, discovery=_Unanswered))
        world.do(newcomer, lambda node, now: node.join(ROOT, now))
        world.run(1.0)
        membership = membership_of(newcomer)
        assert not membership.joined
        world.census.enter(ROOT, newcomer.me)
        assert world.run(self.merge_seconds, lambda: membership.joined)
        assert len(membership.peers()), "a member whose first events go to nobody"

    # -- what others read ----------------------------------------------------------------------

    def test_the_table_is_one_object_without_the_process_itself(self) -> None:
        world = self.world()
        founder = membership_of(world.join(ROOT))
        table = founder.peers()
        for _ in range(5):
            world.join(ROOT, gap=1.0)
        assert founder.peers() is table
        assert len(table) >= 1
        for node in world.nodes:
            assert node.me.peer not in membership_of(node).peers()

    def test_the_trace_hears_of_every_peer_learned_and_forgotten(self) -> None:
        """A table made by the context's `watch` traces them; views are measured by the trace."""
        sink = ListSink()
        world = self.grown(6, sink)
        world.kill(world.nodes[2])
        world.run(self.seconds)
        for node in world.alive.values():
            traced: dict[str, None] = {}
            for record in sink.records:
                if record.node == node.me.peer.hex() and record.kind in ("learn", "forget"):
                    traced.pop(record.peer, None)
                    if record.kind == "learn":
                        traced[record.peer] = None
            assert sorted(traced) == sorted(c.peer.hex() for c in membership_of(node).peers())

    def test_neighbours_are_the_table_and_who_holds_this_process(self) -> None:
        """A tree's links have two ends, so each end of a table's entry must know of the other."""
        world = self.grown()
        world.run(self.seconds)
        members = {node.me: membership_of(node) for node in world.nodes}
        for me, membership in members.items():
            neighbours = membership.neighbours()
            assert len(set(neighbours)) == len(neighbours)
            assert me not in neighbours
            assert set(membership.peers()) <= set(neighbours) <= members.keys()
            for holder in neighbours:
                assert me in members[holder].neighbours()

    def test_size_is_at_least_one_and_counts_a_few(self) -> None:
        assert membership_of(self.world().join(ROOT)).size() >= 1.0
        assert all(5 <= membership_of(node).size() <= 15 for node in self.grown(10).nodes)

    def test_the_expected_view_is_sane(self) -> None:
        backend = find_backend(self.membership)
        law = partial(backend.expected_view, backend.parse_options(self.options))
        views = [law(float(size)) for size in SIZES]
        assert views[0] == 0.0
        assert views == sorted(views)
        assert all(view <= size - 1 for view, size in zip(views, SIZES, strict=True))

    # -- members that leave or crash -----------------------------------------------------------

    def test_who_leaves_is_dropped_by_the_others(self) -> None:
        world = self.grown()
        world.leave(world.nodes[4], ROOT)
        self._assert_dropped(world, world.nodes[4])

    def test_who_crashes_is_dropped_by_the_others(self) -> None:
        world = self.grown()
        world.kill(world.nodes[4])
        self._assert_dropped(world, world.nodes[4])

    def _assert_dropped(self, world: World, gone: Node) -> None:
        world.run(self.seconds)
        tables = [membership_of(node).peers() for node in world.nodes if node is not gone]
        assert all(len(table) for table in tables)
        assert not any(gone.me.peer in table for table in tables)

    def test_who_is_silent_leaves_the_table_and_does_not_come_back_by_hearsay(self) -> None:
        """Members that have not noticed yet go on naming it; what they know of it is older."""
        world = self.grown()
        node = world.nodes[0]
        membership = membership_of(node)
        watched = [peer for peer in membership.peers() if peer.peer in node.liveness.entries]
        if not watched:  # it finds out by itself
            return
        dead = watched[0]
        world.kill(next(one for one in world.nodes if one.me == dead))
        world.do(node, lambda _, now: membership.peer_silent(dead, now))
        for _ in range(int(self.seconds)):
            assert dead.peer not in membership.peers()
            world.run(1.0)

    def test_the_last_one_counts_itself_once_its_table_is_empty(self) -> None:
        """An estimate from before they left would keep its events below: p_sel is g over N."""
        world = self.grown()
        last = membership_of(world.nodes[0])
        for node in world.nodes[1:]:
            world.leave(node, ROOT)
        world.run(0.5)
        for node in world.nodes[1:]:
            world.kill(node)
        assert world.run(2 * self.seconds, lambda: not len(last.peers()))
        assert last.size() == 1.0

    def test_a_restart_at_the_same_address_costs_nothing_afterwards(self) -> None:
        """Some know a process by its address and others by its identity; none may ask for ever."""
        world = self.grown(7)
        world.run(60.0)
        before = self._sent_in_a_minute(world)
        world.kill(world.nodes[2])
        world.run(1.0)
        back = world.restart(world.nodes[2])
        world.do(back, lambda node, now: node.join(ROOT, now))
        world.run(300.0)
        after = self._sent_in_a_minute(world)
        assert after <= 1.5 * before, f"{after} messages a minute, {before} before the restart"

    def _sent_in_a_minute(self, world: World) -> int:
        before = world.records
        world.run(60.0)
        return world.records - before

    def test_an_early_or_repeated_leave_is_harmless(self) -> None:
        world = self.grown(3)
        leaver = membership_of(world.join(ROOT, gap=0.0))
        leaver.leave(world.now)
        leaver.leave(world.now)

    def test_what_is_missed_while_cut_off_is_repaired(self) -> None:
        """Repair compares events along with heartbeats, so that it needs peers that are watched."""
        world = World(membership=self.membership, options=self.options, repair=True, topics=(ROOT,))
        for _ in range(6):
            world.join(ROOT, gap=0.2)
        world.run(10.0)
        alone = world.nodes[3]
        world.cut(lambda source, target: alone.me.address not in (source, target))
        for number in range(5):
            world.publish(world.nodes[0], ROOT, b"%d" % number, seconds=2.0)
        assert not world.delivered_to(alone)
        world.heal()
        world.run(2 * self.seconds)
        assert sorted(world.delivered_to(alone)) == [(ROOT, b"%d" % n) for n in range(5)]

    def test_processes_that_nobody_can_dial_hear_each_other_through_one_that_can_be(self) -> None:
        """Two of them can have no connection: `Liveness.can_hold` says whom a table may hold."""
        world = World(membership=self.membership, options=self.options, repair=True, topics=(ROOT,))
        for dialable in (True, False, True, False):
            world.join(ROOT, gap=0.2, dialable=dialable)
        world.run(self.seconds)
        for number, node in enumerate(world.nodes):
            world.publish(node, ROOT, b"%d" % number)
        world.run(self.seconds)
        everything = [(ROOT, b"%d" % number) for number in range(len(world.nodes))]
        for node in world.nodes:
            assert sorted(world.delivered_to(node)) == everything
            table = membership_of(node).peers()
            assert node.me.is_dialable or all(peer.is_dialable for peer in table)

    # -- inputs of any kind --------------------------------------------------------------------

    def test_an_unknown_timer_is_harmless(self) -> None:
        world = self.grown()
        membership = membership_of(world.nodes[0])
        before = list(membership.peers())
        for name in (("nonesuch", 1), ()):
            membership.wake(name, world.now)
        assert list(membership.peers()) == before

    def test_garbage_is_malformed(self) -> None:
        decoder = membership_of(self.world().join(ROOT)).decoder
        assert all(malformed(decoder, garbage) for garbage in GARBAGE)

    def test_truncated_and_flipped_messages_never_raise(self) -> None:
        """The messages are those of a few joins, cut at every place and with every byte flipped."""
        world, bodies = self._recorded()
        target = world.nodes[0]
        for body in bodies:
            for variant in variants(body):
                self._receive(target, variant, world.now)
        assert len(membership_of(target).peers()) <= 100

    def test_what_comes_after_leaving_is_harmless(self) -> None:
        """Members that do not know of a leave still send messages; none raises or is malformed."""
        world, bodies = self._recorded()
        leaver = world.nodes[1]
        world.leave(leaver, ROOT)
        for body in bodies:
            self._receive(leaver, body, world.now)
        assert leaver.counters.malformed == 0

    def test_who_writes_to_a_process_that_has_left_is_told_and_does_not_answer_that(self) -> None:
        """A goodbye may get lost, and who missed it goes on sending."""
        world, bodies = self._recorded()
        leaver = world.nodes[1]
        world.leave(leaver, ROOT)
        others = world.nodes[0].me, world.nodes[2].me
        goodbyes = [
            (other, goodbye)
            for other, body in product(others, bodies)
            for goodbye in drawn_by(body, other, leaver, world.now)
        ]
        assert goodbyes, f"a process that has left answers none of {len(bodies)} messages"
        for other, goodbye in goodbyes:
            answers = drawn_by(goodbye, other, leaver, world.now)
            assert not answers, "two that have left answer each other without end"

    def _receive(self, target: Node, body: bytes, now: float) -> None:
        """Let a stranger's message arrive, and drop what the target then sends and its timers."""
        head = control_head(Kind.MEMBERSHIP, ROOT.group, STRANGER.peer, STRANGER.address)
        target.receive(FRAME_HEADER + encode_control(head, body), now)
        target.outbox.sends.clear()
        target.outbox.wakes.clear()


def variants(body: bytes) -> Iterator[bytes]:
    """Yield variants of a message, cut at every place and with every byte flipped."""
    for at in range(len(body)):
        yield body[:at]
        yield body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]
