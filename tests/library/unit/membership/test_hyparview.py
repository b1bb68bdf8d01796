"""What one process of HyParView says to what it is told: neighbours, walks, and what is refused."""

from __future__ import annotations

import pytest

from camcast.doors.options import OptionError
from camcast.doors.table_membership import PROBE_SECONDS
from camcast.engine.liveness import ATTACHED_MAX
from camcast.testing.lone_process import contact, number_of
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId, placeholder
from camcast.vocabulary.messages import Message
from camcast.vocabulary.size_estimate import SizeEstimate
from membership.hyparview import BACKEND, HyParView
from membership.hyparview_messages import (
    Accepted,
    Disconnect,
    ForwardJoin,
    Holding,
    Join,
    Meet,
    Neighbor,
    Refused,
    Shuffle,
    ShuffleReply,
)
from tests.library.unit.membership.asked_process import ME, AskedProcess


class Bench(AskedProcess[HyParView]):
    """One process with at most three neighbours and a passive view of four."""

    def __init__(
        self, active: tuple[int, ...] = (), passive: tuple[int, ...] = (), *, hidden: bool = False
    ) -> None:
        options = BACKEND.parse_options({"active": 3, "passive": 4})
        super().__init__(HyParView, options, hidden=hidden)
        self.found()
        for number in active:
            self.receive(number, Neighbor(True, b""))
        self.receive(2, ShuffleReply(tuple(map(contact, passive))))
        self.said()

    @property
    def passive(self) -> list[int]:
        return sorted(number_of(contact.peer) for contact in self.membership._passive)

    def said(self) -> list[tuple[int, Message]]:
        """Return what was said to whom since the last time, without samples."""
        told = []
        for to, message in super().said():
            if isinstance(message, Neighbor):
                message = Neighbor(message.high, b"")
            elif isinstance(message, Accepted):
                message = Accepted(b"")
            told.append((to, message))
        return told


def sample_of(*numbers: int) -> bytes:
    """Return the sample of a community that this process has never met."""
    estimate = SizeEstimate(contact(numbers[0]).peer, 1.0)
    for number in numbers:
        estimate.note(contact(number).peer, 0.0)
    return estimate.encode(0.0)


def test_a_newcomer_takes_the_place_of_a_neighbour_and_walks_along_the_other_links() -> None:
    bench = Bench(active=(2, 3, 4))
    bench.receive(9, Join())
    said = bench.said()
    ((evicted, _),) = [(to, m) for to, m in said if m == Disconnect(left=False)]
    others = sorted({2, 3, 4} - {evicted})
    assert bench.table == [*others, 9]
    assert bench.watched == [*others, 9]
    assert bench.passive == [evicted]
    assert sorted(to for to, m in said if m == ForwardJoin(6, contact(ME).peer)) == others
    assert (9, Accepted(b"")) in said


def test_a_walk_fills_a_passive_view_on_its_way_and_an_active_one_at_its_end() -> None:
    bench = Bench(active=(2,))
    for steps in (6, 3, 0):
        bench.receive(9, ForwardJoin(steps, contact(3).peer))
    assert bench.said() == [
        (2, ForwardJoin(5, contact(ME).peer)),
        (2, ForwardJoin(2, contact(ME).peer)),
        (9, Neighbor(True, b"")),
    ]
    assert bench.passive == [9]
    bench.receive(9, Accepted(b""))
    assert bench.table == [2, 9]
    assert bench.passive == []


def test_only_high_priority_gets_into_a_full_view() -> None:
    bench = Bench(active=(2, 3, 4))
    bench.receive(9, Neighbor(False, b""))
    assert bench.said() == [(9, Refused())]
    bench.receive(9, Neighbor(True, b""))
    assert 9 in bench.table
    assert len(bench.table) == 3


def test_a_failed_neighbour_is_replaced_from_the_passive_view_until_one_accepts() -> None:
    """4.3: whoever does not answer is forgotten, whoever refuses is kept."""
    bench = Bench(active=(2, 3, 4), passive=(5, 6, 7))
    bench.membership.peer_silent(contact(3), 1.0)
    ((silent, request),) = bench.said()
    assert request == Neighbor(False, b"")
    bench.membership.wake(("answer", 1), 1.4)
    ((refuser, _),) = bench.said()
    bench.receive(refuser, Refused(), 1.5)
    ((last, _),) = bench.said()
    assert {silent, refuser, last} == {5, 6, 7}
    bench.receive(last, Accepted(b""), 1.6)
    assert bench.table == [2, 4, last]
    assert bench.passive == [refuser]
    assert bench.said() == []


def test_without_any_neighbour_the_priority_is_high() -> None:
    bench = Bench(active=(2,), passive=(5,))
    bench.membership.peer_silent(contact(2), 1.0)
    assert bench.said() == [(5, Neighbor(True, b""))]


def test_a_process_whose_neighbours_are_all_silent_asks_others_with_high_priority() -> None:
    bench = Bench(active=(2, 3, 4), passive=(5,))
    bench.membership.all_silent(3.0)
    bench.membership.wake(("tick",), 3.5)
    assert (5, Neighbor(True, b"")) in bench.said()
    bench.receive(5, Accepted(b""), 3.6)
    assert 5 in bench.table
    assert len(bench.table) == 3


def test_who_accepts_unasked_or_believes_to_be_a_neighbour_is_told_that_there_is_no_room() -> None:
    bench = Bench(active=(2, 3, 4))
    for message in (Accepted(b""), Holding(b"")):
        bench.receive(9, message)
        assert bench.said() == [(9, Disconnect(left=False))]
    roomy = Bench(active=(2,))
    roomy.receive(9, Holding(b""))
    assert roomy.table == [2, 9]


def test_who_disconnects_stays_known_and_who_leaves_does_not() -> None:
    bench = Bench(active=(2, 3, 4))
    bench.receive(2, Disconnect(left=False))
    bench.receive(3, Disconnect(left=True))
    assert (bench.table, bench.passive, bench.watched) == ([4], [2], [4])


def test_a_shuffle_ends_where_its_steps_do_and_as_many_come_back() -> None:
    bench = Bench(active=(2,), passive=(5, 6, 7, 8))
    bench.receive(9, Shuffle(6, b"", (contact(10), contact(11))))
    assert bench.said() == [(2, Shuffle(5, contact(ME).peer, (contact(10), contact(11))))]
    bench.receive(9, Shuffle(1, b"", (contact(10), contact(11))))
    ((origin, reply),) = bench.said()
    assert origin == 9
    assert isinstance(reply, ShuffleReply)
    assert len(reply.contacts) == 3
    (kept,) = {5, 6, 7, 8} - {number_of(contact.peer) for contact in reply.contacts}
    assert bench.passive == [kept, 9, 10, 11]  # in place of what was sent


def test_a_forged_shuffle_is_cut_and_says_nothing_of_this_process() -> None:
    bench = Bench(active=(2,))
    nobody = Contact(UNKNOWN_PEER, "tcp://10.0.0.9:7000")
    bench.receive(
        9, Shuffle(-5, b"", (nobody, contact(ME), contact(2), *map(contact, range(20, 60))))
    )
    assert len(bench.passive) <= 4
    assert not {0, ME, 2} & set(bench.passive)


def test_a_full_process_takes_in_one_that_it_has_heard_nothing_of_for_long() -> None:
    """Each of an island has neighbours, and room for those of another, whose views are full."""
    bench = Bench(active=(2, 3, 4))
    bench.receive(9, Neighbor(False, sample_of(9, 2, 3, 4, ME)))
    assert bench.said() == [(9, Refused())]
    bench.receive(9, Neighbor(False, sample_of(9, 10, 11, 12)))
    assert 9 in bench.table


def test_two_communities_that_never_met_become_one() -> None:
    """Whoever is full has no room for a member of its own community, and takes in a stranger."""
    bench = Bench(active=(2, 3, 4))
    bench.receive(8, Meet(sample_of(ME, 2, 3, 4)))
    assert bench.said() == []
    bench.receive(9, Meet(sample_of(9, 10, 11, 12)))
    said = bench.said()
    assert 9 in bench.table
    assert (9, Accepted(b"")) in said
    assert [m for _, m in said].count(ForwardJoin(6, contact(ME).peer)) == 2
    full = Bench(active=(2, 3, 4))
    full.receive(9, Accepted(sample_of(9, 10, 11, 12)))
    assert 9 in full.table


def test_who_has_left_says_so_but_not_to_a_goodbye() -> None:
    bench = Bench(active=(2, 3))
    bench.membership.leave(1.0)
    assert bench.said() == [(2, Disconnect(left=True)), (3, Disconnect(left=True))]
    bench.receive(4, Neighbor(True, b""), 2.0)
    bench.receive(2, Disconnect(left=True), 2.0)
    assert bench.said() == [(4, Disconnect(left=True))]


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match="'active' must be >= 3"):
        BACKEND.parse_options({"active": 2})


def test_who_fell_silent_is_asked_again_after_a_while_which_the_next_one_does_not_put_off() -> None:
    bench = Bench(active=(2, 3, 4))
    asked = []
    for now in range(1, 11):
        if now in (2, 6):
            bench.membership.peer_silent(contact(2 if now == 2 else 3), float(now))
        bench.membership.wake(("tick",), float(now))
        asked += [(now, to.address) for to, one in bench.said_to() if isinstance(one, Neighbor)]
    first = 2 + int(PROBE_SECONDS)
    assert first > 6
    assert asked == [(first, contact(number).address) for number in (2, 3)]


def test_an_answer_by_another_process_at_the_candidates_address_ends_the_question() -> None:
    """As after a restart: whoever was there is not asked once more for each answer."""
    bench = Bench(active=(2, 3, 4), passive=(5,))
    bench.membership.peer_silent(contact(3), 1.0)
    assert bench.said() == [(5, Neighbor(False, b""))]
    bench.membership.receive(Contact(contact(2).peer, contact(5).address), Accepted(b""), 1.1)
    assert bench.said() == []
    assert bench.passive == []


def test_a_process_is_asked_once_between_two_shuffles() -> None:
    bench = Bench(active=(2, 3), passive=(5,))
    asked = []
    for tenth in range(1, 101):
        now = tenth / 10
        if not tenth % 10:
            bench.membership.wake(("tick",), now)
        asked += [to for to, one in bench.said() if isinstance(one, Neighbor)]
        bench.receive(5, Refused(), now)
    assert 1 <= len(asked) <= 1 + 10 / 4.5


HIDDEN = [placeholder(PeerId(number.to_bytes(16))) for number in range(100, 103 + ATTACHED_MAX)]
"""Processes that nobody can dial."""


def test_who_cannot_be_dialled_takes_no_place_of_another_and_leaves_a_third_to_the_others() -> None:
    bench = Bench(active=(2, 3, 4))
    for number, hidden in enumerate(HIDDEN):
        bench.membership.receive(hidden, Neighbor(False, b""), 0.0)
        [(to, answer)] = bench.said_to()
        assert to == hidden
        assert isinstance(answer, Accepted if number < ATTACHED_MAX else Refused)
    bench.membership.receive(HIDDEN[-1], Join(), 0.0)
    assert not any(isinstance(message, Accepted) for _, message in bench.said_to())
    assert [one.peer in bench.membership.peers() for one in HIDDEN].count(True) == ATTACHED_MAX
    assert bench.membership.peers().pinned == ATTACHED_MAX
    assert all(contact(number).peer in bench.membership.peers() for number in (2, 3, 4))
    for number in (2, 3):
        bench.membership.peer_silent(contact(number), 0.0)
    bench.said_to()
    bench.receive(9, Neighbor(False, b""))
    assert bench.said() == [(9, Refused())]
    bench.membership.peer_silent(contact(4), 0.0)
    bench.receive(9, Neighbor(False, b""))
    assert (9, Accepted(b"")) in bench.said()


def test_a_missing_neighbour_is_not_sought_among_those_that_nobody_can_dial() -> None:
    """They ask for themselves; so many would be asked in vain."""
    bench = Bench(active=(2,))
    bench.membership.receive(contact(2), ShuffleReply((*HIDDEN[:3], contact(8))), 0.0)
    bench.membership.wake(("tick",), 1.0)
    bench.receive(8, Refused())
    asked = [to for to, message in bench.said_to() if isinstance(message, Neighbor)]
    assert asked == [contact(8)]


def test_a_walk_does_not_end_where_neither_process_can_be_dialled() -> None:
    bench = Bench(active=(2, 3), hidden=True)
    bench.membership.receive(HIDDEN[0], ForwardJoin(0, contact(3).peer), 0.0)
    assert bench.said() == [(2, ForwardJoin(0, contact(ME).peer))]
    bench.membership.receive(HIDDEN[0], Shuffle(1, contact(3).peer, ()), 0.0)
    assert bench.said() == [(2, Shuffle(0, contact(ME).peer, ()))]


def test_a_newcomer_draws_more_than_half_of_its_neighbours_and_no_request_takes_their_places() -> (
    None
):
    """Walks that end at accomplices of a liar are worth the other places at most."""
    options = BACKEND.parse_options({"active": 5})
    asked = AskedProcess(HyParView, options)
    asked.membership.join([contact(number) for number in (2, 3, 4, 5)], 0.0)
    assert [(to, type(message)) for to, message in asked.said()] == [(2, Join)]
    asked.receive(2, Accepted(b""))
    assert [to for to, message in asked.said() if isinstance(message, Neighbor)] == [3, 4]
    for number in (3, 4):
        asked.receive(number, Accepted(b""))
    for number in range(20, 60):
        asked.receive(number, Neighbor(True, b""))
    assert len(asked.table) == 5
    assert {2, 3, 4} < {*asked.table}
    asked.said()
    asked.membership.contacts_found([contact(number) for number in (6, 7)], 1.0)
    assert not any(isinstance(message, Neighbor) for _, message in asked.said())


def test_a_newcomer_goes_on_to_draw_until_it_has_drawn_enough() -> None:
    asked = AskedProcess(HyParView, BACKEND.parse_options({"active": 5}))
    asked.membership.join([contact(2)], 0.0)
    asked.receive(2, Accepted(b""))
    asked.said()
    asked.membership.contacts_found([contact(number) for number in (2, 6, 7, 8)], 1.0)
    drawn = [to for to, message in asked.said() if isinstance(message, Neighbor) and message.high]
    assert drawn == [6, 7]


def test_an_explicit_peer_is_asked_again_and_gives_no_place_to_others() -> None:
    bench = Bench(active=(2, 3))
    bench.membership.keep(contact(9), 0.0)
    assert bench.said() == [(9, Neighbor(True, b""))]
    bench.receive(9, Accepted(b""))
    bench.said()
    for number in range(20, 40):
        bench.receive(number, Neighbor(True, b""))
    bench.said()
    bench.receive(9, Disconnect(False))
    assert bench.said() == [(9, Neighbor(True, b""))]
    assert 9 in bench.table
