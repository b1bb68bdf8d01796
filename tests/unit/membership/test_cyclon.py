"""What one process of Cyclon says to what it is told: shuffles, walks, and what is refused."""

from __future__ import annotations

from random import Random

import pytest

from camcast.doors.membership import MembershipContext
from camcast.doors.options import OptionError
from camcast.engine.liveness import LivenessService
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind, control_end, decode_control
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

TOPIC = Topic.parse(".a")
ME = 1


def process(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), f"tcp://10.0.0.{number}:7000")


class Bench:
    """One process with a view of four at most, and what it says to whom."""

    def __init__(self, *view: int) -> None:
        self.outbox = Outbox()
        outlet = ControlOutlet(self.outbox, process(ME), Kind.MEMBERSHIP, TOPIC.group)
        part = LivenessService(outlet, Random(1), lambda *_: True).part(
            Kind.MEMBERSHIP, TOPIC.group
        )
        context = MembershipContext(process(ME), TOPIC, Random(1), outlet, part)
        self.cyclon = Cyclon(context, BACKEND.parse_options({"view": 4, "shuffle": 3}))
        self.cyclon.join((), 0.0)
        for number in view:
            self.receive(number, Given(Entry(process(number), 0)))
        self.said()

    @property
    def view(self) -> list[int]:
        return sorted(int.from_bytes(contact.peer) for contact in self.cyclon.peers())

    def receive(self, source: int, message: Message, now: float = 0.0) -> None:
        self.cyclon.receive(process(source), message, now)

    def said(self) -> list[tuple[int, Message]]:
        """Return what was said to whom since the last time."""
        told = []
        for contacts, record, _, _ in self.outbox.sends:
            message = Cyclon.decoder.decode(decode_control(record, 0, control_end(record, 0)).body)
            told += [(int.from_bytes(contact.peer), message) for contact in contacts]
        self.outbox.sends.clear()
        return told

    def period(self, now: float) -> Shuffle:
        """Begin a period; return the shuffle that it begins with."""
        self.cyclon.wake(("period",), now)
        ((_, shuffle),) = [(to, m) for to, m in self.said() if isinstance(m, Shuffle)]
        return shuffle


def test_an_answer_fills_free_slots_and_then_takes_the_partners_and_those_that_were_sent() -> None:
    bench = Bench(2, 3, 4)
    bench.cyclon.wake(("period",), 1.0)
    ((partner, shuffle),) = bench.said()
    assert isinstance(shuffle, Shuffle)
    assert shuffle.entries[0] == Entry(process(ME), 0)
    assert [entry.age for entry in shuffle.entries] == [0, 1, 1]
    entries = (Entry(process(5), 3), Entry(process(ME), 9), Entry(process(6), 4))
    bench.receive(partner, Answer(shuffle.number, entries, b""), 1.1)
    assert bench.view == sorted({2, 3, 4, 5, 6} - {partner})


def test_an_answer_is_taken_once_and_only_to_a_question() -> None:
    bench = Bench(2, 3, 4)
    shuffle = bench.period(1.0)
    foreign = (Entry(process(7), 0),)
    bench.receive(9, Answer(shuffle.number ^ 1, foreign, b""), 1.1)
    assert bench.view == [2, 3, 4]
    bench.receive(2, Answer(shuffle.number, (), b""), 1.1)
    bench.receive(2, Answer(shuffle.number, foreign, b""), 1.2)
    assert bench.view == [2, 3, 4]


def test_who_does_not_answer_is_asked_twice_then_dropped_and_not_taken_again_for_old() -> None:
    bench = Bench(2, 3, 4)
    bench.cyclon.wake(("period",), 1.0)
    ((partner, shuffle),) = bench.said()
    assert isinstance(shuffle, Shuffle)
    bench.cyclon.wake(("again", shuffle.number), 1.4)
    assert bench.said() == [(partner, shuffle)]
    bench.period(2.0)
    assert partner not in bench.view
    older, younger = (Entry(process(partner), age) for age in (3, 0))
    bench.receive(8, Shuffle(1, (older,), b""), 3.5)
    assert partner not in bench.view
    bench.receive(8, Shuffle(2, (younger,), b""), 3.5)
    assert partner in bench.view


def test_a_walk_that_ends_in_a_full_view_costs_an_entry_and_gives_it_away() -> None:
    bench = Bench(2, 3, 4, 5)
    bench.receive(9, Walk(0))
    ((newcomer, given),) = bench.said()
    assert newcomer == 9
    assert isinstance(given, Given)
    evicted = int.from_bytes(given.entry.contact.peer)
    assert bench.view == sorted({2, 3, 4, 5, 9} - {evicted})


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
    assert bench.cyclon.refused == 10
    bench.period(1.0)
    bench.receive(9, Join(), 1.0)
    assert len(bench.said()) == 4


def test_what_is_no_process_or_is_too_long_is_not_taken() -> None:
    bench = Bench(2)
    nobody = Contact(UNKNOWN_PEER, "tcp://10.0.0.9:7000")
    many = tuple(Entry(process(number), -number) for number in range(20, 40))
    bench.receive(2, Shuffle(1, (Entry(nobody, 0), Entry(process(ME), 0), *many), b""))
    assert bench.view == [2, 20]


def test_who_has_left_says_so_to_its_view_and_to_who_asks_but_not_to_a_goodbye() -> None:
    bench = Bench(2, 3)
    bench.cyclon.leave(1.0)
    assert bench.said() == [(2, Bye()), (3, Bye())]
    bench.receive(4, Shuffle(1, (), b""), 2.0)
    bench.receive(5, Bye(), 2.0)
    assert bench.said() == [(4, Bye())]


def test_a_goodbye_ends_the_shuffle_with_whom_it_came_from() -> None:
    bench = Bench(2)
    shuffle = bench.period(1.0)
    bench.receive(2, Bye(), 1.1)
    bench.cyclon.wake(("again", shuffle.number), 1.4)
    assert bench.view == []
    assert bench.said() == []


def test_without_a_view_those_that_did_not_answer_are_asked_to_let_it_in_again() -> None:
    bench = Bench(2)
    bench.period(1.0)
    bench.cyclon.wake(("period",), 2.0)
    assert bench.view == []
    bench.said()
    bench.cyclon.wake(("period",), 8.0)
    ((_, join),) = bench.said()
    assert join == Join()


def test_a_shuffle_longer_than_the_view_is_refused() -> None:
    with pytest.raises(OptionError, match="shuffle=8 is above view=5"):
        BACKEND.parse_options({"view": 5})
