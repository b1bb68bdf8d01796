"""Figure 6 on a node: events, heralds, periods and levels (002, 5.1 and 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import Any, cast

import pytest
from attrs import define, field

from camcast.doors.dissemination import DisseminationContext, Sent
from camcast.doors.membership import Membership
from camcast.interests.attributes import EventAttributes
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.research.systems.hpmcast import audience as hpmcast_audience
from camcast.research.systems.hpmcast import protocol as hpmcast
from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.protocol import Herald, LevelWise
from camcast.research.systems.hpmcast.rounds import audience, rounds
from camcast.research.systems.hpmcast.view import Line, tables
from camcast.testing.lone_process import LoneProcess, contact
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import CommunitySettings, Tuning
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import Kind
from tests.event_frames import batch_of

TOPIC = Topic.parse(".a")
A, B = Interest.parse(".a"), Interest.parse(".b")


@define
class Views:
    """The true views of process 1 of 1 to 12: arity 2, two levels; the odd are its group."""

    wants: dict[int, Interest]
    hierarchy: Hierarchy = field(factory=lambda: Hierarchy(arity=2, depth=2, redundancy=2))
    version: int = 0
    along: list[Contact] = field(factory=list)
    announced: ProcessInterest | None = None

    def table(self, level: int) -> Sequence[Line[Interest]]:
        members = {self.hierarchy.address_of(contact(n).peer): t for n, t in self.wants.items()}
        owner = self.hierarchy.address_of(contact(1).peer)
        union = self.hierarchy.regroup(self.hierarchy.depth)
        return tables(owner, members, self.hierarchy.redundancy, union)[level]

    def contact(self, address: Address) -> Contact:
        return next(
            contact(n) for n in self.wants if self.hierarchy.address_of(contact(n).peer) == address
        )

    def announce(self, interest: ProcessInterest) -> None:
        self.announced = interest

    def gossip_along(self, contacts: Sequence[Contact], now: float) -> None:
        self.along += contacts


class Engine(LoneProcess):
    """The dissemination of process 1, and what it sent."""

    def __init__(self, wants: dict[int, Interest] | None = None, **options: Any) -> None:
        super().__init__(contact(1), LevelWise.decoder)
        self.views = Views(wants or dict.fromkeys(range(1, 13), A))
        self.heralds: list[tuple[Herald, int]] = []
        self.copies = 0
        context = DisseminationContext(
            group=ROOT,
            interest=ProcessInterest(TOPIC),
            attributes=EventAttributes(),
            membership=cast(Membership, self.views),
            super_tables=[],
            tuning=Tuning(CommunitySettings()),
            events=cast(Any, self),
            groups=cast(Any, self),
            outlet=self.outlet(Kind.PROTOCOL, ROOT.group),
            rng=Random(1),
            liveness=cast(Any, None),
        )
        self.level_wise = LevelWise(fan_out=2, period_seconds=0.1, context=context, **options)

    def send(self, batch: Batch, to: Sequence[Contact], now: float) -> None:
        """Take copies: a herald for each has just been sent to the same processes."""
        ((contacts, herald),) = self.sent()
        assert contacts == list(to)
        assert isinstance(herald, Herald)
        assert (herald.stream, herald.sequence) == batch.id
        self.copies += len(to)
        self.heralds += [(herald, int.from_bytes(one.peer)) for one in to]

    def period(self) -> list[tuple[Herald, int]]:
        """Let the next gossip period come, and return what is sent in it."""
        self.heralds.clear()
        ((delay_seconds, name),) = self.wakes()
        assert 0 <= delay_seconds <= 0.1
        self.level_wise.wake(name, 0.0)
        return self.heralds

    @property
    def idle(self) -> bool:
        return not self.outbox.wakes


def event(sequence: int, hops: int = 1, topic: Topic = TOPIC) -> Batch:
    return batch_of(contact(2).peer, sequence, topic, hops=hops)


def herald(sequence: int, level: int, share: float = 1.0, rounds: int = 1) -> Herald:
    return Herald(stream_id(contact(2).peer, 1), sequence, share, rounds, level)


def test_a_publication_leaves_at_once_and_goes_down_level_by_level() -> None:
    """Two lines of R = 2 above, six processes below: rounds(2, 1) = 2.0 and rounds(1, 1) = 3.5."""
    engine = Engine()
    assert engine.level_wise.disseminate(event(1, hops=0), 0.0) == Sent(2)
    levels = [2]
    while not engine.idle:
        sent = engine.period()
        levels += dict.fromkeys(herald.level for herald, _ in sent)
    above, below = ceil(rounds(2 * 2, 1.0, 2)), ceil(rounds(6 * 2, 1.0, 2))
    assert levels == [2] * above + [1] * below


def test_copies_go_to_delegates_above_and_to_neighbours_below() -> None:
    engine = Engine()
    engine.level_wise.disseminate(event(1, hops=0), 0.0)
    by_level: dict[int, set[int]] = {2: {number for _, number in engine.heralds}, 1: set()}
    while not engine.idle:
        for sent, number in engine.period():
            by_level[sent.level].add(number)
    assert by_level[2] <= {2, 4, 3}  # the two smallest of the even, and of the odd, but itself
    assert by_level[1] <= {3, 5, 7, 9, 11}


def test_it_is_sent_to_whom_it_interests_or_who_stands_for_such() -> None:
    """2 and 4 stand for 12, who wants it; of the odd, 11 and the publisher do."""
    wants: dict[int, Interest] = dict.fromkeys(range(1, 13), B)
    engine = Engine(wants | {1: A, 11: A, 12: A})
    targets: set[int] = set()
    for sequence in range(20):
        engine.heralds.clear()
        engine.level_wise.disseminate(event(sequence + 1, hops=0), 0.0)
        targets |= {number for _, number in engine.heralds}
        while not engine.idle:
            targets |= {number for _, number in engine.period()}
    assert targets == {2, 3, 4, 11}


@pytest.mark.parametrize("first", ["event", "herald"])
def test_event_and_herald_may_come_in_any_order(first: str) -> None:
    engine = Engine()
    if first == "herald":
        engine.level_wise.receive(contact(3), herald(1, level=1), 0.0)
        engine.level_wise.disseminate(event(1), 0.0, contact(3).peer)
    else:
        engine.level_wise.disseminate(event(1), 0.0, contact(3).peer)
        engine.level_wise.receive(contact(3), herald(1, level=1), 0.0)
    assert engine.copies == 0  # until its period
    assert {sent.level for sent, _ in engine.period()} == {1}
    assert {sent.rounds for sent, _ in engine.heralds} == {2}


def test_without_its_herald_an_event_starts_where_this_process_is_a_delegate() -> None:
    engine = Engine()
    engine.level_wise.disseminate(event(1), 0.0, contact(3).peer)
    assert {(sent.level, sent.rounds) for sent, _ in engine.period()} == {(2, 1)}
    lowly = Engine()
    lowly.level_wise._address = lowly.views.hierarchy.address_of(contact(11).peer)
    lowly.level_wise.disseminate(event(1), 0.0, contact(3).peer)
    assert {sent.level for sent, _ in lowly.period()} == {1}


@pytest.mark.parametrize(
    "forged",
    [
        herald(1, level=3),
        herald(1, level=0),
        herald(1, level=1, share=float("nan")),
        herald(1, level=1, share=2.0),
        herald(1, level=1, rounds=-1),
    ],
    ids=str,
)
def test_a_forged_herald_counts_as_none(forged: Herald) -> None:
    engine = Engine()
    engine.level_wise.receive(contact(3), forged, 0.0)
    engine.level_wise.disseminate(event(1), 0.0, contact(3).peer)
    assert {(sent.level, sent.rounds) for sent, _ in engine.period()} == {(2, 1)}


def test_a_late_herald_changes_nothing_and_is_not_kept() -> None:
    engine = Engine()
    engine.level_wise.disseminate(event(1), 0.0, contact(3).peer)
    engine.period()
    engine.level_wise.receive(contact(5), herald(1, level=1), 0.0)
    assert {sent.level for sent, _ in engine.period()} == {2}
    while not engine.idle:
        engine.period()
    engine.level_wise.receive(contact(5), herald(1, level=1), 0.0)
    assert not engine.level_wise._heralds
    assert not engine.level_wise._events


def test_what_peers_send_fills_bounded_buffers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hpmcast, "HERALDS_MAX", 5)
    monkeypatch.setattr(hpmcast, "BUFFERED_MAX", 7)
    monkeypatch.setattr(hpmcast_audience, "TOPICS_MAX", 4)
    engine = Engine()
    for number in range(20):
        engine.level_wise.receive(contact(3), herald(100 + number, level=1), 0.0)
        topic = Topic.parse(f".a.t{number}")
        engine.level_wise.disseminate(event(number + 1, topic=topic), 0.0, contact(3).peer)
    assert len(engine.level_wise._heralds) == 5
    assert len(engine.level_wise._events) == 7
    assert {sent.sequence for sent, _ in engine.period()} <= set(range(14, 21))
    assert len(engine.level_wise._audiences._of_topics) <= 4
    assert len(engine.level_wise._audiences._of_events) <= 7


@pytest.mark.parametrize("wanted", [".a", ".a and mag > 5"])
def test_of_events_that_are_gossiped_no_longer_no_audience_is_kept(wanted: str) -> None:
    """One for each event at most, and for each topic and level; each is as large as a table."""
    engine = Engine(dict.fromkeys(range(1, 13), Interest.parse(wanted)) | {1: A, 3: A})
    for number in range(20):
        engine.level_wise.disseminate(event(number + 1, hops=0), 0.0)
    audiences = engine.level_wise._audiences
    assert len(audiences._of_events) == 20
    while not engine.idle:
        engine.period()
    assert not audiences._of_events
    assert len(audiences._of_topics) <= 2


@pytest.mark.parametrize("wanted", [".a", ".a and mag > 5"])
def test_as_many_audiences_are_kept_as_events_are_gossiped(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all would be worked out anew in every period, and payloads decoded."""
    monkeypatch.setattr(hpmcast_audience, "TOPICS_MAX", 2)
    worked_out: list[float] = []

    def count(*given: Any) -> Any:
        found = audience(*given)
        worked_out.append(found.share)
        return found

    monkeypatch.setattr("camcast.research.systems.hpmcast.audience.audience", count)
    engine = Engine(dict.fromkeys(range(1, 13), Interest.parse(wanted)) | {1: A, 3: A})
    for number in range(20):
        topic = Topic.parse(f".a.t{number}")
        engine.level_wise.disseminate(event(number + 1, hops=0, topic=topic), 0.0)
    assert len(worked_out) == 20
    while not engine.idle:
        engine.period()
    assert len(worked_out) == 2 * 20  # in each of two levels once


def test_the_audience_follows_the_views() -> None:
    """Of an event on its way, and of those that come after it."""
    engine = Engine()
    engine.level_wise.disseminate(event(1, hops=0), 0.0)
    while {sent.level for sent, _ in engine.period()} != {1}:
        pass
    engine.views.wants = dict.fromkeys((1, 7, 9), A)
    engine.views.version += 1
    targets: set[int] = set()
    engine.level_wise.disseminate(event(2, hops=0), 0.0)
    while not engine.idle:
        targets |= {number for _, number in engine.period()}
    assert targets == {7, 9}


def test_the_threshold_adds_the_first_of_the_view() -> None:
    """D = 4 of 5.4.2 in a view of six with two interested."""
    wants: dict[int, Interest] = dict.fromkeys(range(1, 13), B)
    engine = Engine(wants | {1: A, 11: A}, threshold=4)
    targets: set[int] = set()
    for sequence in range(1, 11):
        engine.level_wise.receive(contact(3), herald(sequence, level=1), 0.0)
        engine.level_wise.disseminate(event(sequence), 0.0, contact(3).peer)
        while not engine.idle:
            targets |= {number for _, number in engine.period()}
    assert targets == {3, 5, 7, 11}


def test_a_constant_lengthens_what_equation_9_says() -> None:
    wants: dict[int, Interest] = dict.fromkeys(range(1, 13), A)
    lengths = []
    for constant in (0.0, 2.0):
        engine = flat(wants, constant)
        engine.level_wise.disseminate(event(1, hops=0), 0.0)
        periods = 1
        while not engine.idle:
            periods += bool(engine.period())
        lengths.append(periods)
    assert lengths[0] == ceil(rounds(12, 1.0, 2))
    assert lengths[1] == lengths[0] + 2


def flat(wants: dict[int, Interest], constant: float) -> Engine:
    """Return process 1 in a hierarchy of one level."""
    engine = Engine(wants)
    engine.views.hierarchy = Hierarchy(depth=1, redundancy=1)
    context = engine.level_wise._context
    engine.level_wise = LevelWise(fan_out=2, period_seconds=0.1, context=context, constant=constant)
    return engine
