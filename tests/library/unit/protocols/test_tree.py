"""One process's part in a tree: whom it sends what to, and what it says to whom."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import Any, Literal, cast

import pytest
from msgspec import structs

from camcast.doors.dissemination import DisseminationContext
from camcast.doors.membership import Membership
from camcast.doors.repair import RepairWatcher
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.protocols.camcast import Gossip
from camcast.protocols.tree import (
    BURST_EVENTS,
    CHILDREN_FIRST,
    CHILDREN_MAX,
    GROWING_SECONDS,
    HEIR_SECONDS,
    IDLE_SECONDS,
    PRUNE_SECONDS,
    RIVAL_SECONDS,
    SECONDS_BURST,
    SECONDS_PACED,
    TOLD_AT_ONCE,
    TREES_MAX,
    YOUNG_SECONDS,
    Graft,
    Handover,
    Prune,
    Tree,
)
from camcast.testing.lone_process import LoneProcess, contact
from camcast.testing.world import World
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import EventId, StreamId, stream_id
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.parameters import CommunitySettings, Parameters, Tuning
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import OTHER_LEVEL, REPAIRED, Kind

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
PUBLISHER = PeerId(b"p" * 16)
STREAM = stream_id(PUBLISHER, 1)
NEIGHBOURS = 20
LARGE = 1 << 16


def peer(number: int) -> PeerId:
    return contact(number).peer


def batch(
    first: int = 1,
    count: int = 1,
    *,
    stream: StreamId = STREAM,
    busy: bool = True,
    topic: Topic = A,
    repaired: bool = False,
    large: bool = False,
) -> Batch:
    payload = bytes(LARGE) if large else b"!"
    made = make_batch(stream, first, [payload] * count, topic, busy=busy)
    return structs.replace(made, head_flags=REPAIRED if repaired else 0)


class Neighbours:
    """A membership that has a table, and others who hold this process."""

    def __init__(self, count: int) -> None:
        self.table = PeerTable()
        for number in range(1, count + 1):
            self.table.add(contact(number))
        self.holding: list[Contact] = []

    def peers(self) -> PeerTable:
        return self.table

    def neighbours(self) -> list[Contact]:
        return [*self.table, *self.holding]

    def size(self) -> float:
        return len(self.table) + 1.0


class Stand(LoneProcess):
    """A tree dissemination of process 99, and all that it did."""

    def __init__(self, neighbours: int = NEIGHBOURS) -> None:
        super().__init__(contact(99), Tree.decoder)
        self.membership = Neighbours(neighbours)
        self.pushed: list[tuple[list[int], list[int]]] = []
        """What was sent together, by first numbers, and to whom."""
        self.told: list[tuple[int, tuple[StreamId, ...]]] = []
        self.offered: list[tuple[int, list[int]]] = []
        """What was offered, by first numbers, and to whom."""
        self.upward: list[tuple[int, Topic, list[int]]] = []
        """What was sent upward, by first numbers, where and to whom."""
        self.watched: dict[PeerId, Contact] = {}
        self.watcher: RepairWatcher | None = None
        self.now = 100.0
        context = DisseminationContext(
            group=A,
            interest=ProcessInterest(A),
            attributes=EventAttributes(),
            membership=cast(Membership, self.membership),
            super_tables=[],
            tuning=Tuning(CommunitySettings(c=2, spread="tree")),
            events=cast(Any, self),
            outlet=self.outlet(Kind.PROTOCOL, A.group),
            groups=cast(Any, self),
            rng=Random(1),
            liveness=cast(Any, self),
        )
        self.tree = Tree(context, cast(Any, self), Gossip(context))

    # -- the doors that the tree uses ------------------------------------------------------

    def report_to(self, watcher: Any) -> None:
        self.watcher = watcher

    def watch(self, contact: Contact, now: float) -> None:
        self.watched[contact.peer] = contact

    listen = watch

    def unwatch(self, peer: PeerId) -> None:
        self.watched.pop(peer, None)

    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        self.told += [(int.from_bytes(one.peer), tuple(streams)) for one in contacts]

    def offers(self, batch: Batch) -> bool:
        return len(batch.body) >= LARGE

    def offer(self, batch: Batch, contacts: Sequence[Contact], now: float) -> None:
        self.offered.append((batch.first, [int.from_bytes(one.peer) for one in contacts]))

    def send(self, batch: Batch, peers: Sequence[Contact], now: float) -> None:
        self.send_together([batch], peers, now)

    def send_together(self, batches: Sequence[Batch], peers: Sequence[Contact], now: float) -> None:
        numbers = [int.from_bytes(one.peer) for one in peers]
        self.pushed.append(([one.first for one in batches], numbers))

    def send_upward(self, batch: Batch, topic: Topic, peers: Sequence[Contact], now: float) -> None:
        self.upward.append((batch.first, topic, [int.from_bytes(one.peer) for one in peers]))

    # -- what happens to it ----------------------------------------------------------------

    def push(self, *batches: Batch, source: int) -> None:
        sources = [peer(source)] * len(batches)
        self.tree.disseminate_together(batches, self.now, sources)

    def duplicate(self, first: int, source: int) -> None:
        self.tree.duplicate(EventId(STREAM, first), peer(source), self.now)

    def settle(self, parent: int = 1, *children: int) -> None:
        """Get the first batch from a parent, and let only these remain of the first children."""
        self.push(batch(), source=parent)
        for child in self.children():
            self.tree.receive(contact(child), Prune(STREAM), self.now)
        for child in children:
            self.tree.receive(contact(child), Graft(STREAM), self.now)
        self.pushed.clear()
        self.told.clear()
        self.said()

    def children(self) -> list[int]:
        """Return to whom the next batch would go, by sending one from a process of no place."""
        before = len(self.pushed)
        self.push(batch(10_000, repaired=True), source=98)
        ((_, to),) = self.pushed[before:]
        del self.pushed[before:]
        return to

    def wake(self, kind: str = "") -> None:
        """Let all timers go off, or those of a kind, at the time at which each is due."""
        for delay, name in sorted(self.wakes()):
            if not kind or name[0] == kind:
                self.tree.wake(name, self.now + delay)


@pytest.fixture
def stand() -> Stand:
    return Stand()


# -- which batches go along a tree ---------------------------------------------------------------


def test_what_is_not_busy_infects_and_dies(stand: Stand) -> None:
    stand.push(batch(busy=False), source=1)
    ((_, to),) = stand.pushed
    assert len(to) == Parameters(c=2).fan_out(NEIGHBOURS + 1.0)
    stand.wake()
    assert not stand.told
    assert not stand.watched


def test_a_publisher_pushes_a_large_batch_to_few_and_offers_it_to_the_others(stand: Stand) -> None:
    mine = stream_id(stand.me.peer, 1)
    for first in (1, 2):  # of a burst: nobody has grafted
        stand.tree.disseminate(batch(first, stream=mine, large=True), stand.now)
    assert [len(to) for _, to in stand.pushed] == [CHILDREN_FIRST] * 2
    others = NEIGHBOURS - CHILDREN_FIRST
    assert [(first, len(to)) for first, to in stand.offered] == [(1, others), (2, others)]
    stand.now += YOUNG_SECONDS
    stand.tree.disseminate(batch(3, stream=mine, large=True), stand.now)
    assert [len(to) for _, to in stand.pushed] == [CHILDREN_FIRST] * 3
    assert len(stand.offered) == 2


def test_who_answers_an_offer_becomes_the_parent_and_it_is_offered_on(stand: Stand) -> None:
    stand.tree.disseminate(batch(large=True, repaired=True), stand.now, peer(1))
    assert [(to, said) for to, said in stand.said()] == [(1, Graft(STREAM))]
    assert stand.offered == [(1, list(range(2, NEIGHBOURS + 1)))]
    stand.tree.receive(contact(2), Graft(STREAM), stand.now)
    stand.now += YOUNG_SECONDS
    stand.pushed.clear()
    stand.push(batch(2, large=True), source=1)
    assert stand.pushed == [([2], [2])]
    stand.tree.disseminate(batch(3, large=True, repaired=True), stand.now, peer(1))
    assert stand.offered[1:] == [(3, list(range(2, NEIGHBOURS + 1)))]  # the child may have asked


def test_what_comes_from_a_subtopic_has_a_tree_too(stand: Stand) -> None:
    stand.push(batch(topic=AB), source=1)
    ((_, to),) = stand.pushed
    assert len(to) == CHILDREN_FIRST


def test_a_stranger_cannot_have_a_stream_sent_to_itself(stand: Stand) -> None:
    stand.settle(1)
    stand.tree.receive(contact(97), Graft(STREAM), stand.now)
    stand.tree.hand_up(batch(2), [], None, stand.now)
    assert stand.children() == []
    assert not stand.upward
    stand.tree.answered(STREAM, contact(97), ROOT)  # it proved its address by a nonce
    stand.tree.receive(contact(97), Graft(STREAM), stand.now)
    stand.tree.hand_up(batch(2), [], None, stand.now)
    assert stand.children() == []
    assert stand.upward == [(2, ROOT, [97])]
    stand.tree.receive(contact(97), Prune(STREAM), stand.now)
    stand.tree.hand_up(batch(3), [], None, stand.now)
    assert stand.upward == [(2, ROOT, [97])]


def test_who_asks_below_for_a_silent_parent_grafts_there(stand: Stand) -> None:
    stand.settle(1)
    stand.tree.told(STREAM, 3, contact(50), AB.name, stand.now)
    below = structs.replace(batch(2), head_flags=REPAIRED | OTHER_LEVEL)
    stand.tree.disseminate(below, stand.now, peer(50))
    assert stand.said() == [], "the parent has just been heard"
    stand.now += 10.0
    later = structs.replace(batch(3), head_flags=REPAIRED | OTHER_LEVEL)
    stand.tree.disseminate(later, stand.now, peer(50))
    assert stand.said() == [(50, Graft(STREAM))]
    stand.tree.offered(STREAM, contact(51), AB.name, True, stand.now)
    stand.tree.offered(STREAM, contact(50), AB.name, True, stand.now)
    assert stand.said() == [(51, Prune(STREAM)), (50, Graft(STREAM))]
    stand.tree.leave(stand.now)
    assert (50, Handover(STREAM, None, ())) in stand.said()


def test_there_are_so_many_trees_at_most_and_idle_ones_make_room(stand: Stand) -> None:
    few, many = CHILDREN_FIRST, Parameters(c=2).fan_out(NEIGHBOURS + 1.0)
    streams = [stream_id(PUBLISHER, number) for number in range(TREES_MAX + 1)]
    for stream in streams:
        stand.push(batch(stream=stream), source=1)
    assert [len(to) for _, to in stand.pushed] == [few] * TREES_MAX + [many]
    stand.now += IDLE_SECONDS
    stand.push(batch(2, stream=streams[-1]), source=1)
    assert len(stand.pushed[-1][1]) == few


# -- eager push ----------------------------------------------------------------------------------


def test_the_first_batch_goes_to_few_and_not_back(stand: Stand) -> None:
    """A whole burst may be under way before the first answer."""
    for seed_batch in range(20):
        one = stream_id(PUBLISHER, seed_batch)
        stand.push(batch(stream=one), source=1)
        _, to = stand.pushed[-1]
        assert len(set(to)) == CHILDREN_FIRST
        assert 1 not in to


def test_batches_of_one_tree_leave_together_and_others_apart(stand: Stand) -> None:
    other = stream_id(PUBLISHER, 2)
    stand.push(batch(1), batch(2), batch(1, stream=other), batch(3), source=1)
    assert [firsts for firsts, _ in stand.pushed] == [[1, 2], [1], [3]]


def test_who_prunes_gets_no_more_and_who_grafts_does(stand: Stand) -> None:
    stand.settle(1, 5)
    assert stand.children() == [5]
    stand.tree.receive(contact(7), Graft(STREAM), stand.now)
    assert stand.children() == [5, 7]
    stand.tree.receive(contact(5), Prune(STREAM), stand.now)
    assert stand.children() == [7]


def test_a_publisher_without_children_chooses_others() -> None:
    stand = Stand()
    own = stream_id(contact(99).peer, 1)
    assert stand.tree.disseminate(batch(stream=own), stand.now).peers == CHILDREN_FIRST
    ((_, to),) = stand.pushed
    for child in to:
        stand.tree.receive(contact(child), Prune(own), stand.now)
    assert stand.tree.disseminate(batch(2, stream=own), stand.now).peers == CHILDREN_FIRST
    assert stand.tree.copies_now(NEIGHBOURS) == CHILDREN_FIRST
    first_hop = stand.tree.first_hop(stand.membership.peers())
    assert [int.from_bytes(one.peer) for one in first_hop] == stand.pushed[-1][1]


def test_who_publishes_nothing_along_a_tree_waits_for_its_table(stand: Stand) -> None:
    stand.settle()
    assert list(stand.tree.first_hop(stand.membership.peers())) == list(stand.membership.peers())
    assert stand.tree.copies_now(NEIGHBOURS) == Parameters(c=2).fan_out(NEIGHBOURS + 1.0)


def test_a_graft_is_taken_of_neighbours_only_and_of_so_many() -> None:
    stand = Stand(CHILDREN_MAX + 5)
    stand.settle()
    stand.tree.receive(Contact(PeerId(b"s" * 16), "tcp://10.9.9.9:1"), Graft(STREAM), stand.now)
    assert stand.children() == []
    for number in range(2, CHILDREN_MAX + 6):
        stand.tree.receive(contact(number), Graft(STREAM), stand.now)
    assert len(stand.children()) == CHILDREN_MAX


# -- prune ---------------------------------------------------------------------------------------


def test_who_sends_a_second_copy_is_told_to_stop(stand: Stand) -> None:
    stand.settle(1)
    stand.duplicate(1, source=2)
    stand.duplicate(2, source=2)  # was under way
    assert stand.said() == [(2, Prune(STREAM))]
    stand.now += PRUNE_SECONDS
    stand.duplicate(3, source=2)
    assert stand.said() == [(2, Prune(STREAM))], "the first one was lost"


def test_the_parent_is_not_pruned_for_one_late_copy(stand: Stand) -> None:
    stand.settle(1)
    stand.duplicate(1, source=1)
    assert stand.said() == []


def test_if_another_was_first_the_parent_is_pruned_and_the_other_followed(stand: Stand) -> None:
    stand.settle(1)
    stand.push(batch(2), source=3)
    stand.duplicate(2, source=1)
    assert stand.said() == [(1, Prune(STREAM))]
    stand.duplicate(3, source=3)
    assert stand.said() == [], "it is the parent now"


def test_both_are_never_pruned(stand: Stand) -> None:
    """What the pruned one had under way may still be first for a while."""
    stand.settle(1)
    stand.push(batch(2), source=3)
    stand.duplicate(2, source=1)
    stand.said()
    stand.now += RIVAL_SECONDS - 1.0
    stand.push(batch(3), source=1)
    stand.duplicate(3, source=3)
    assert stand.said() == []


def test_copies_from_before_the_tree_prune_nobody(stand: Stand) -> None:
    stand.push(batch(10), source=1)
    stand.duplicate(9, source=2)
    stand.tree.duplicate(EventId(stream_id(PUBLISHER, 2), 10), peer(2), stand.now)
    assert stand.said() == []


# -- announcements -------------------------------------------------------------------------------


def test_news_go_to_all_who_are_not_sent_the_stream(stand: Stand) -> None:
    stand.membership.holding.append(contact(50))
    stand.settle(1, 5)
    stand.wake()
    assert sorted(stand.told) == [
        (n, (STREAM,)) for n in [*range(1, NEIGHBOURS + 1), 50] if n not in (1, 5)
    ]
    stand.told.clear()
    stand.wake()
    assert not stand.told, "nothing has come since"


def test_once_a_tree_has_grown_news_go_to_few_at_a_time_and_to_all_in_the_end(
    stand: Stand,
) -> None:
    stand.settle(1, 5)
    stand.wake("news")
    stand.told.clear()
    stand.now += GROWING_SECONDS
    told: list[int] = []
    for number in range(2, 52):
        stand.push(batch(number), source=1)
        stand.wake("news")
        assert len(stand.told) <= TOLD_AT_ONCE
        told += [n for n, _ in stand.told]
        stand.told.clear()
    assert sorted(set(told)) == [n for n in range(1, NEIGHBOURS + 1) if n not in (1, 5)]


def test_what_repair_brought_is_told_to_all_also_once_a_tree_has_grown(stand: Stand) -> None:
    stand.settle(1, 5)
    stand.now += GROWING_SECONDS
    stand.push(batch(2), source=1)
    stand.tree.repaired(batch(3, repaired=True), stand.now, peer(2))
    stand.wake("news")
    assert sorted(n for n, _ in stand.told) == list(range(2, NEIGHBOURS + 1))


def test_news_of_several_streams_are_told_at_once(stand: Stand) -> None:
    other = stream_id(PUBLISHER, 2)
    stand.push(batch(), source=1)
    stand.push(batch(stream=other), source=2)
    stand.wake()
    told = dict(stand.told)
    assert len(told) == len(stand.told), "one message a neighbour"
    assert told[1] == (other,)
    assert told[2] == (STREAM,)


def test_news_of_a_burst_are_told_sooner(stand: Stand) -> None:
    def soonest() -> float:
        return min(delay for delay, name in stand.wakes() if name[0] == "news")

    stand.push(batch(), source=1)
    assert 0.5 * SECONDS_PACED <= soonest() <= 1.5 * SECONDS_PACED
    for first in range(2, BURST_EVENTS + 2, 200):
        stand.push(batch(first, 200), source=1)
    assert 0.5 * SECONDS_BURST <= soonest() <= 1.5 * SECONDS_BURST


# -- patience and grafts -------------------------------------------------------------------------


def test_while_the_stream_comes_what_was_told_is_waited_for(stand: Stand) -> None:
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0.0, "no tree, no patience"
    stand.settle(1)
    first = stand.tree.patience(STREAM, stand.now, stand.now)
    assert first > 0
    stand.now += first / 2
    stand.push(batch(2), source=1)
    assert stand.tree.patience(STREAM, stand.now - first / 2, stand.now) == pytest.approx(first)
    assert stand.tree.patience(STREAM, stand.now, stand.now + 2 * first) < 0


def test_patience_follows_how_long_things_take(stand: Stand) -> None:
    stand.settle(1)
    before = stand.tree.patience(STREAM, stand.now, stand.now)
    for number in range(2, 30):
        stand.tree.told(STREAM, number + 1, contact(2), "", stand.now)
        stand.tree.told(
            STREAM, number + 1, contact(3), "", stand.now + 0.4
        )  # the second: no matter
        stand.now += 0.5
        stand.push(batch(number), source=1)
    after = stand.tree.patience(STREAM, stand.now, stand.now)
    assert 0.5 < after < before


def test_a_new_child_is_told_what_it_may_have_missed_on_the_way_to_its_place(stand: Stand) -> None:
    """What was sent between the answer to its question and its graft went to the others alone."""
    stand.settle(1, 3)
    stand.push(batch(2), source=1)
    stand.tree.receive(contact(2), Graft(STREAM), stand.now)
    assert stand.told == [(2, (STREAM,))]


def test_few_that_can_be_dialled_have_all_others_as_first_children(stand: Stand) -> None:
    for number in range(1, NEIGHBOURS + 1):
        stand.membership.table.add(placeholder(peer(number)))
    stand.push(batch(), source=1)
    assert sorted(stand.children()) == [*range(2, NEIGHBOURS + 1)]


def test_what_repair_has_brought_is_told_to_the_children_too(stand: Stand) -> None:
    """After a cut each waited eight seconds for a parent that had it by repair, and told others."""
    stand.settle(1, 2)
    stand.push(batch(2), source=1)
    stand.wake()
    assert 2 not in dict(stand.told)
    stand.tree.repaired(batch(3, repaired=True), stand.now, peer(4))
    stand.wake()
    assert dict(stand.told)[2] == (STREAM,)


def test_what_the_parent_tells_of_is_not_waited_for(stand: Stand) -> None:
    stand.settle(1)
    stand.tree.told(STREAM, 5, contact(2), "", stand.now)
    assert stand.tree.patience(STREAM, stand.now, stand.now) > 0
    stand.tree.told(STREAM, 5, contact(1), "", stand.now)
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0
    stand.push(batch(5), source=1)
    assert stand.tree.patience(STREAM, stand.now, stand.now) > 0


def test_who_repairs_for_a_silent_parent_is_followed(stand: Stand) -> None:
    stand.settle(1)
    stand.now += 0.1
    stand.tree.repaired(batch(2, repaired=True), stand.now, peer(4))
    assert stand.said() == [], "the parent has just been heard: only a hole was mended"
    stand.now += 10.0
    stand.tree.repaired(batch(3, repaired=True), stand.now, peer(4))
    stand.tree.repaired(batch(4, repaired=True), stand.now, peer(6))
    assert stand.said() == [(4, Graft(STREAM))]
    stand.duplicate(4, source=1)
    assert stand.said() == [(1, Prune(STREAM))], "it is not the parent any more"


def test_who_got_a_stream_by_repair_alone_joins_its_tree(stand: Stand) -> None:
    stand.tree.repaired(batch(repaired=True), stand.now, peer(4))
    assert stand.said() == [(4, Graft(STREAM))]
    assert stand.children() == []
    stand.tree.repaired(batch(busy=False, stream=stream_id(PUBLISHER, 2)), stand.now, peer(4))
    assert stand.said() == []


def test_a_repaired_copy_makes_nobody_the_parent(stand: Stand) -> None:
    stand.push(batch(repaired=True), source=1)
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0.0


def test_two_processes_do_not_follow_each_other(stand: Stand) -> None:
    stand.settle(1)
    stand.tree.receive(contact(1), Graft(STREAM), stand.now)
    assert stand.children() == [1]
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0.0, "there is no parent"


# -- links that stay until they fail -------------------------------------------------------------


def test_a_link_outlives_the_arc_and_is_watched(stand: Stand) -> None:
    stand.settle(1, 5, 6)
    assert list(stand.watched) == [peer(1), peer(5), peer(6)]
    for number in (1, 5):
        stand.membership.table.discard(peer(number))
        stand.tree.neighbour_changed(contact(number), False, stand.now)
    assert stand.children() == [5, 6]
    stand.push(batch(2), source=3)
    stand.duplicate(2, source=1)
    assert stand.said() == [(1, Prune(STREAM))]


def test_who_has_failed_is_neither_child_nor_parent(stand: Stand) -> None:
    stand.settle(1, 5, 6)
    stand.tree.peer_silent(contact(5), stand.now)
    assert stand.children() == [6]
    stand.tree.peer_gone(contact(1), stand.now)
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0.0
    assert list(stand.watched) == [peer(6)]


def test_an_idle_tree_is_forgotten(stand: Stand) -> None:
    stand.settle(1, 5)
    stand.wake()  # not yet idle for so long: the timer is set again
    stand.now += 2 * IDLE_SECONDS
    stand.wake()
    assert not stand.watched
    assert stand.tree.patience(STREAM, stand.now, stand.now) == 0.0
    stand.wake()
    assert not stand.wakes(), "nothing is left to do"


# -- leaving -------------------------------------------------------------------------------------


def test_who_leaves_tells_its_parent_and_its_children_of_each_other(stand: Stand) -> None:
    stand.settle(1, 2, 3)
    stand.tree.leave(stand.now)
    handover = Handover(STREAM, contact(1), (peer(2), peer(3)))
    assert sorted(stand.said(), key=lambda one: one[0]) == [(n, handover) for n in (1, 2, 3)]


def test_the_parent_of_a_parent_that_leaves_is_followed_though_it_is_no_neighbour(
    stand: Stand,
) -> None:
    stand.settle(1, 2)
    for liar in (2, 5):  # who is not the parent moves nobody
        stand.tree.receive(contact(liar), Handover(STREAM, contact(60), ()), stand.now)
    assert stand.said() == []
    stand.tree.receive(contact(1), Handover(STREAM, contact(50), (peer(99),)), stand.now)
    assert stand.said() == [(50, Graft(STREAM))]
    assert stand.watched.keys() == {peer(50)}  # and `liar` 2 said that it leaves
    stand.push(batch(2), source=50)
    stand.duplicate(2, source=50)
    assert stand.said() == []  # it is the parent


def test_the_children_of_a_child_that_left_get_the_stream_and_what_it_may_have_kept(
    stand: Stand,
) -> None:
    stand.settle(1, 2)
    stand.tree.receive(contact(50), Graft(STREAM), stand.now)
    stand.tree.receive(contact(5), Handover(STREAM, contact(99), (peer(50),)), stand.now)
    stand.tree.receive(contact(50), Graft(STREAM), stand.now)
    assert stand.children() == [2]  # a stranger, named by no child
    stand.tree.receive(contact(2), Handover(STREAM, contact(99), (peer(50), peer(51))), stand.now)
    stand.told.clear()
    stand.tree.receive(contact(50), Graft(STREAM), stand.now)
    assert stand.children() == [50]
    assert stand.told == [(50, (STREAM,))]
    stand.now += HEIR_SECONDS
    stand.tree.receive(contact(51), Graft(STREAM), stand.now)
    assert stand.children() == [50]


def test_a_parent_that_leaves_and_had_none_is_not_waited_for(stand: Stand) -> None:
    assert stand.watcher is not None
    stand.settle(1, 2)
    stand.tree.receive(contact(1), Handover(STREAM, None, (peer(99),)), stand.now)
    assert stand.watcher.patience(STREAM, stand.now, stand.now) == 0.0
    stand.settle(1, 2)
    stand.tree.receive(contact(1), Handover(STREAM, contact(2), (peer(99),)), stand.now)
    assert stand.said() == []  # nobody follows its own child


@pytest.mark.parametrize("spread", ["auto", "tree"])
def test_of_a_lone_event_a_tree_hears_no_duplicates(
    spread: Literal["auto", "tree"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most copies are such; with `tree` each event is one of a busy stream."""
    heard: list[EventId] = []
    monkeypatch.setattr(Tree, "duplicate", lambda _tree, event_id, *_: heard.append(event_id))
    world = World(parameters=CommunitySettings(spread=spread), repair=True)
    nodes = [world.join(A) for _ in range(6)]
    world.run(10.0)
    world.publish(nodes[0], A, seconds=1.0)
    assert sum(node.counters.duplicates for node in nodes) > 0
    assert bool(heard) is (spread == "tree")


def test_peers_that_nobody_can_dial_do_not_take_a_whole_fan_out() -> None:
    """They choose themselves who sends to them: a fifth of a fan-out, rounded up, is of others."""
    stand = Stand(10)
    table = stand.membership.table
    hidden = [placeholder(contact(number).peer) for number in range(20, 40)]
    for one in hidden:
        table.add(one)
        table.pin(one.peer, pinned=True)
    stand.tree.gossip.disseminate(batch(1), stand.now)
    ((_, to),) = stand.pushed
    fan_out = Parameters(c=2).fan_out(len(table) + 1.0)
    assert len([number for number in to if number <= 10]) == ceil(fan_out / 5)
    assert {*range(20, 40)} < {*to}
