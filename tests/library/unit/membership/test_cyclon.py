"""What one process of Cyclon says to what it is told: shuffles, walks, and what is refused."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest
from attrs import evolve

from camcast.doors.options import OptionError
from camcast.testing.lone_process import contact, number_of
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId, placeholder
from membership.cyclon import (
    BACKEND,
    WALKS_A_PERIOD,
    Answer,
    Bye,
    Cyclon,
    Entry,
    Given,
    Join,
    Shuffle,
    Walk,
)
from tests.library.unit.membership.asked_process import ME, AskedProcess


class Bench(AskedProcess[Cyclon]):
    """One process with a view of four at most."""

    def __init__(self, *view: int, hidden: bool = False) -> None:
        super().__init__(Cyclon, BACKEND.parse_options({"view": 4, "shuffle": 3}), hidden=hidden)
        self.found()
        for number in view:
            self.receive(number, Given(Entry(contact(number), 0)))
        self.said()

    def period(self, now: float) -> Shuffle:
        """Begin a period; return the shuffle that it begins with."""
        self.membership.wake(("tick",), now)
        ((_, shuffle),) = [(to, m) for to, m in self.said() if isinstance(m, Shuffle)]
        return shuffle


def test_an_answer_fills_free_slots_and_then_takes_the_partners_and_those_that_were_sent() -> None:
    bench = Bench(2, 3, 4)
    bench.membership.wake(("tick",), 1.0)
    ((partner, shuffle),) = bench.said()
    assert isinstance(shuffle, Shuffle)
    assert shuffle.entries[0] == Entry(contact(ME), 0)
    assert [entry.age for entry in shuffle.entries] == [0, 1, 1]
    entries = (Entry(contact(5), 3), Entry(contact(ME), 9), Entry(contact(6), 4))
    bench.receive(partner, Answer(shuffle.number, entries, b""), 1.1)
    assert bench.table == sorted({2, 3, 4, 5, 6} - {partner})


def test_an_answer_is_taken_once_and_only_to_a_question() -> None:
    bench = Bench(2, 3, 4)
    shuffle = bench.period(1.0)
    foreign = (Entry(contact(7), 0),)
    bench.receive(9, Answer(shuffle.number ^ 1, foreign, b""), 1.1)
    assert bench.table == [2, 3, 4]
    bench.receive(2, Answer(shuffle.number, (), b""), 1.1)
    bench.receive(2, Answer(shuffle.number, foreign, b""), 1.2)
    assert bench.table == [2, 3, 4]


def test_who_does_not_answer_is_asked_twice_then_dropped_and_not_taken_again_for_old() -> None:
    bench = Bench(2, 3, 4)
    bench.membership.wake(("tick",), 1.0)
    ((partner, shuffle),) = bench.said()
    assert isinstance(shuffle, Shuffle)
    bench.membership.wake(("again", shuffle.number), 1.4)
    assert bench.said() == [(partner, shuffle)]
    bench.period(2.0)
    assert partner not in bench.table
    # Of before the last attempt, and of after it by no more than ages leave out.
    for number, age in enumerate((3, 1)):
        bench.receive(8, Shuffle(number, (Entry(contact(partner), age),), b""), 4.0)
        assert partner not in bench.table
    bench.receive(8, Shuffle(2, (Entry(contact(partner), 0),), b""), 4.0)
    assert partner in bench.table


def test_who_has_left_is_believed_at_once_when_it_speaks_itself() -> None:
    bench = Bench(2, 3, 4)
    bench.receive(2, Bye(), 2.1)
    assert 2 not in bench.table
    bench.receive(2, Shuffle(1, (), b""), 2.2)
    assert 2 in bench.table


def test_a_walk_that_ends_in_a_full_view_costs_an_entry_and_gives_it_away() -> None:
    bench = Bench(2, 3, 4, 5)
    bench.receive(9, Walk(0))
    ((newcomer, given),) = bench.said()
    assert newcomer == 9
    assert isinstance(given, Given)
    evicted = number_of(given.entry.contact.peer)
    assert bench.table == sorted({2, 3, 4, 5, 9} - {evicted})


def test_a_walk_goes_on_but_never_to_the_newcomer() -> None:
    bench = Bench(2, 9)
    for _ in range(20):
        bench.receive(9, Walk(10**9))
        assert [to for to, _ in bench.said()] == [2]


def test_no_more_walks_are_started_in_a_period_than_are_allowed() -> None:
    bench = Bench(2, 3, 4, 5)
    for _ in range(WALKS_A_PERIOD // 4 + 10):
        bench.receive(9, Join())
    assert len(bench.said()) == WALKS_A_PERIOD
    assert bench.membership.refused == 10
    bench.period(1.0)
    bench.receive(9, Join(), 1.0)
    assert len(bench.said()) == 4


def test_what_is_no_process_or_is_too_long_is_not_taken() -> None:
    bench = Bench(2)
    nobody = Contact(UNKNOWN_PEER, "tcp://10.0.0.9:7000")
    many = tuple(Entry(contact(number), -number) for number in range(20, 40))
    bench.receive(2, Shuffle(1, (Entry(nobody, 0), Entry(contact(ME), 0), *many), b""))
    assert bench.table == [2, 20]


def test_who_has_left_says_so_to_its_view_and_to_who_asks_but_not_to_a_goodbye() -> None:
    bench = Bench(2, 3)
    bench.membership.leave(1.0)
    assert bench.said() == [(2, Bye()), (3, Bye())]
    bench.receive(4, Shuffle(1, (), b""), 2.0)
    bench.receive(5, Bye(), 2.0)
    assert bench.said() == [(4, Bye())]


def test_a_goodbye_ends_the_shuffle_with_whom_it_came_from() -> None:
    bench = Bench(2)
    shuffle = bench.period(1.0)
    bench.receive(2, Bye(), 1.1)
    bench.membership.wake(("again", shuffle.number), 1.4)
    assert bench.table == []
    assert bench.said() == []


def test_without_a_view_those_that_did_not_answer_are_asked_to_let_it_in_again() -> None:
    bench = Bench(2)
    bench.period(1.0)
    bench.membership.wake(("tick",), 2.0)
    assert bench.table == []
    bench.said()
    bench.membership.wake(("tick",), 8.0)
    ((_, join),) = bench.said()
    assert join == Join()


def test_a_shuffle_longer_than_the_view_is_refused() -> None:
    with pytest.raises(OptionError, match="shuffle=8 is above view=5"):
        BACKEND.parse_options({"view": 5})


HIDDEN = [placeholder(PeerId(bytes([number]) * 16)) for number in (100, 101)]
"""Processes that nobody can dial."""


def test_a_walk_does_not_end_where_neither_process_can_be_dialled() -> None:
    bench = Bench(2, hidden=True)
    bench.membership.receive(HIDDEN[0], Walk(0), 0.0)
    assert bench.said() == [(2, Walk(0))]


def test_who_cannot_be_dialled_is_held_beside_the_others_and_given_to_nobody() -> None:
    bench = Bench(2, 3, 4, 5)
    for hidden in HIDDEN:
        bench.membership.receive(hidden, Shuffle(1, (), b""), 0.5)
        answer = bench.said_to()[-1][1]
        assert {entry.contact for entry in answer.entries} < set(map(contact, (2, 3, 4, 5)))
    assert set(bench.membership.peers()) == {*HIDDEN, *map(contact, (2, 3, 4, 5))}
    for period in range(1, 4):
        assert HIDDEN[0] not in {entry.contact for entry in bench.period(period).entries}


def test_who_cannot_be_dialled_is_dropped_when_it_has_not_shuffled_for_as_long_as_the_view() -> (
    None
):
    bench = Bench(2)
    held = bench.membership.peers()
    bench.membership.receive(HIDDEN[0], Shuffle(1, (), b""), 0.5)
    for period in range(1, 5):
        bench.membership.wake(("tick",), float(period))
    assert HIDDEN[0].peer in held
    assert all(to != HIDDEN[0] for to, message in bench.said_to() if isinstance(message, Shuffle))
    bench.membership.receive(HIDDEN[0], Shuffle(2, (), b""), 4.5)
    for period in range(5, 9):
        bench.membership.wake(("tick",), float(period))
    assert HIDDEN[0].peer in held
    bench.membership.wake(("tick",), 9.0)
    assert HIDDEN[0].peer not in held


def lasting_bench(seed: int) -> Bench:
    """A process of which three of four entries last, by a key of its own."""
    bench = Bench()
    bench.membership = Cyclon(
        evolve(bench.context, rng=Random(seed)),
        BACKEND.parse_options({"view": 4, "shuffle": 3, "drawn_share": 0.75}),
    )
    bench.found()
    return bench


@pytest.mark.parametrize("often", [1, 30])
def test_how_often_a_process_is_named_does_not_keep_it_in_a_view(often: int) -> None:
    """Of 30 processes 3 are named by every message, and 27 by one in as many; fair are 10 %."""
    liars, honest = (30, 31, 32), range(3, 30)
    held = 0
    for seed in range(100):
        bench = lasting_bench(seed)
        for number in honest:
            entries = tuple(Entry(contact(one), 0) for one in (number, *liars[:2]))
            bench.receive(2, Shuffle(1, entries[:1], b""))
            for _ in range(often):
                entries = tuple(Entry(contact(one), 0) for one in liars)
                bench.receive(2, Shuffle(1, entries, b""))
        lasting = bench.membership._lasting._lasting()
        held += sum(number_of(peer) in liars for peer in lasting)
    assert abs(held / 300 - 3 / 31) < 3.29 * sqrt(0.1 * 0.9 / 300)


def test_a_lasting_entry_is_shuffled_and_checked_like_all_others() -> None:
    bench = lasting_bench(1)
    for number in (2, 3, 4, 5):
        bench.receive(number, Given(Entry(contact(number), 0)))
    lasting = {number_of(peer) for peer in bench.membership._lasting._lasting()}
    assert len(lasting) == 3
    asked = set[int]()
    for now in (1.0, 2.0, 3.0, 4.0):
        bench.said()
        bench.membership.wake(("tick",), now)
        ((partner, shuffle),) = [one for one in bench.said() if isinstance(one[1], Shuffle)]
        bench.receive(partner, Answer(shuffle.number, (Entry(contact(9), 0),), b""), now)
        asked.add(partner)
    assert lasting < asked | {9}
    assert lasting <= set(bench.table) | {9}
    (silent, *_) = lasting & set(bench.table)
    bench.part.watch(contact(silent), 4.0)
    bench.membership.peer_silent(contact(silent), 5.0)
    assert silent not in bench.table


def test_an_explicit_peer_is_held_beside_the_others_and_gives_no_place_to_them() -> None:
    bench = Bench(2, 3, 4, 5)
    bench.membership.keep(contact(9), 0.0)
    assert bench.table == [2, 3, 4, 5, 9]
    for number in range(20, 40):
        bench.receive(number, Shuffle(1, tuple(Entry(contact(number), 0) for _ in "ab"), b""))
        bench.receive(number + 20, Walk(0))
    assert 9 in bench.table
    bench.membership.peer_silent(contact(9), 1.0)
    assert 9 not in bench.table
