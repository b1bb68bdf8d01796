"""hpmcast's engine: addresses of identities, interests of lines, and Figure 6 on a node."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from statistics import mean, stdev
from typing import Any, cast

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.doors.dissemination import DisseminationContext, Sent
from camcast.doors.membership import Membership
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_backend, find_protocol, membership_for
from camcast.doors.selective import SelectiveContext
from camcast.engine.liveness import LivenessService
from camcast.engine.node import Node, Settings
from camcast.interests.attributes import EventAttributes
from camcast.interests.bounded import BYTES_MAX
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.protocols.hpmcast import audience as hpmcast_audience
from camcast.protocols.hpmcast import spread as hpmcast
from camcast.protocols.hpmcast.address import Address
from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.protocols.hpmcast.rounds import audience, rounds
from camcast.protocols.hpmcast.spread import Herald, Hpmcast, LevelWise
from camcast.protocols.hpmcast.view import Line, tables
from camcast.simulation.census import Census
from camcast.vocabulary import messages
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import Kind, decode_control
from membership.hpmcast.failure_detector import Silence
from membership.hpmcast.hpmcast import HpmcastMembership, HpmcastOptions
from membership.hpmcast.law import known_on_average
from membership.hpmcast.messages import DECODER, Gossip, LineNews, Update, View
from membership.hpmcast.tables import STAMP_MAX, LineError, Tables

peers = st.binary(min_size=16, max_size=16).map(PeerId)
hierarchies = st.builds(
    Hierarchy,
    arity=st.integers(2, 12),
    depth=st.integers(1, 8),
    redundancy=st.integers(1, 5),
)
TOPIC = Topic.parse(".a")
A, B = Interest.parse(".a"), Interest.parse(".b")


# -- the hierarchy -------------------------------------------------------------------------------


@given(hierarchy=hierarchies, one=peers, other=peers)
def test_every_identity_has_an_address_of_its_own(
    hierarchy: Hierarchy, one: PeerId, other: PeerId
) -> None:
    address = hierarchy.address_of(one)
    assert hierarchy.space.check(address) == address
    assert (address == hierarchy.address_of(other)) == (one == other)


def test_identities_spread_over_the_groups_alike() -> None:
    """Chi-square with 24 degrees of freedom: below 51.2 with probability 0.999."""
    hierarchy, rng = Hierarchy(arity=5, depth=3), Random(1)
    counts: dict[Address, int] = {}
    for _ in range(5000):
        group = hierarchy.address_of(PeerId(rng.randbytes(16)))[:-1]
        counts[group] = counts.get(group, 0) + 1
    assert len(counts) == 25
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 51.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arity": "1"}, "'arity' must be >= 2"),
        ({"depth": 0}, "'depth' must be >= 1"),
        ({"redundancy": 65}, "'redundancy' must be <= 64"),
        ({"fan_out": 0}, "'fan_out' must be >= 1"),
        ({"arity": 100, "depth": 12}, "more than 2\\^64 groups"),
        ({"levels": 3}, "has no option 'levels'"),
    ],
)
def test_an_option_out_of_range_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        find_protocol("hpmcast", options)


def test_the_law_of_the_view_is_the_mean_over_true_views() -> None:
    """200 processes with random identities, 40 times; within 3.29 standard errors (99.9 %)."""
    rng = Random(2)
    for hierarchy in (Hierarchy(), Hierarchy(arity=4, depth=3, redundancy=2)):
        means = []
        for _ in range(40):
            identities = [PeerId(rng.randbytes(16)) for _ in range(200)]
            members: dict[Address, Interest] = dict.fromkeys(
                map(hierarchy.address_of, identities), A
            )
            owner = next(iter(members))
            known = tables(owner, members, hierarchy.redundancy, hierarchy.regroup(1))
            means.append(
                len({one for table in known.values() for line in table for one in line.delegates})
                - 1
            )
        error = stdev(means) / len(means) ** 0.5
        assert abs(mean(means) - known_on_average(hierarchy, 200.0)) <= 3.29 * error
    assert known_on_average(Hierarchy(depth=1), 50.0) == 49.0


def test_a_membership_without_hierarchical_views_is_refused() -> None:
    settings = Settings(find_backend("scamp"), Census(Random(1)).discovery, protocol=Hpmcast())
    node = Node(contact(1), settings, Random(1), 1)
    with pytest.raises(OptionError, match="'hpmcast'; a Scamp keeps none"):
        node.join(TOPIC, 0.0)


def test_the_protocol_s_hierarchy_is_the_membership_s() -> None:
    for name, chosen, hierarchy in (
        ("hpmcast", {"arity": "7", "depth": "4"}, Hierarchy(arity=7, depth=4)),
        ("pmcast", {}, Hierarchy(depth=1, redundancy=1)),
    ):
        backend, options = membership_for(
            find_protocol(name, chosen), "scamp", {"suspect_after": 7}
        )
        assert options.suspect_after == 7
        membership = backend.keeper(context(1), options)
        assert isinstance(membership, HpmcastMembership)
        assert membership.hierarchy == hierarchy


def test_what_the_protocol_sets_is_no_option_of_the_membership_besides() -> None:
    with pytest.raises(OptionError, match="'depth' of membership 'hpmcast' is set by the protocol"):
        membership_for(find_protocol("pmcast"), "hpmcast", {"depth": 2})


# -- Figure 6 on a node ----------------------------------------------------------------------------


def contact(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), f"tcp://10.0.0.{number}:7000")


def context(number: int, outbox: Outbox | None = None) -> SelectiveContext:
    me = contact(number)
    outlet = ControlOutlet(outbox or Outbox(), me, Kind.MEMBERSHIP, ROOT.group)
    service = LivenessService(outlet, Random(1), lambda *_: True)
    liveness = service.part(Kind.MEMBERSHIP, ROOT.group)
    return SelectiveContext(me, ROOT, Random(1), outlet, liveness, interest=ProcessInterest(ROOT))


@define
class Views:
    """The true views of process 1 of 1 to 12: arity 2, two levels; the odd are its group."""

    wants: dict[int, Interest]
    hierarchy: Hierarchy = field(factory=lambda: Hierarchy(arity=2, depth=2, redundancy=2))
    version: int = 0
    along: list[Contact] = field(factory=list)

    def table(self, level: int) -> Sequence[Line[Interest]]:
        members = {self.hierarchy.address_of(contact(n).peer): t for n, t in self.wants.items()}
        owner = self.hierarchy.address_of(contact(1).peer)
        union = self.hierarchy.regroup(self.hierarchy.depth)
        return tables(owner, members, self.hierarchy.redundancy, union)[level]

    def contact(self, address: Address) -> Contact:
        return next(
            contact(n) for n in self.wants if self.hierarchy.address_of(contact(n).peer) == address
        )

    def gossip_along(self, contacts: Sequence[Contact], now: float) -> None:
        self.along += contacts


class Engine:
    """The dissemination of process 1, and what it sent."""

    def __init__(self, wants: dict[int, Interest] | None = None, **options: Any) -> None:
        self.views = Views(wants or dict.fromkeys(range(1, 13), A))
        self.sent: list[tuple[Herald, int]] = []
        self.copies = 0
        self._outbox = Outbox()
        context = DisseminationContext(
            me=contact(1),
            group=ROOT,
            interest=ProcessInterest(TOPIC),
            attributes=EventAttributes(),
            membership=cast(Membership, self.views),
            super_tables=[],
            parameters=Parameters(),
            events=cast(Any, self),
            groups=cast(Any, self),
            outlet=ControlOutlet(self._outbox, contact(1), Kind.PROTOCOL, ROOT.group),
            rng=Random(1),
        )
        self.level_wise = LevelWise(fan_out=2, period_seconds=0.1, context=context, **options)

    def send(self, event: Event, to: Sequence[Contact], now: float) -> None:
        """Take copies: a herald for each has just been sent to the same processes."""
        addresses, record, control = self._outbox.sends.pop()
        assert control
        assert not self._outbox.sends
        assert addresses == [one.address for one in to]
        assert LevelWise.decoder is not None
        herald = LevelWise.decoder.decode(decode_control(record, 0, len(record)).body)
        assert isinstance(herald, Herald)
        assert (herald.publisher, herald.epoch, herald.sequence) == event.id
        self.copies += len(to)
        self.sent += [(herald, int.from_bytes(one.peer)) for one in to]

    def period(self) -> list[tuple[Herald, int]]:
        """Let the next gossip period come, and return what is sent in it."""
        self.sent.clear()
        (wake,) = self._outbox.wakes
        self._outbox.wakes.clear()
        assert 0 <= wake.delay_seconds <= 0.1
        self.level_wise.wake(wake.token.name, 0.0)
        return self.sent

    @property
    def idle(self) -> bool:
        return not self._outbox.wakes


def event(sequence: int, hops: int = 1, topic: Topic = TOPIC) -> Event:
    return Event(EventId(contact(2).peer, 1, sequence), topic, b"!", hops)


def herald(sequence: int, level: int, share: float = 1.0, rounds: int = 1) -> Herald:
    return Herald(contact(2).peer, 1, sequence, share, rounds, level)


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
    by_level: dict[int, set[int]] = {2: {number for _, number in engine.sent}, 1: set()}
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
        engine.sent.clear()
        engine.level_wise.disseminate(event(sequence + 1, hops=0), 0.0)
        targets |= {number for _, number in engine.sent}
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
    assert {sent.rounds for sent, _ in engine.sent} == {2}


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
        engine.level_wise.disseminate(event(number, topic=topic), 0.0, contact(3).peer)
    assert len(engine.level_wise._heralds) == 5
    assert len(engine.level_wise._events) == 7
    assert {sent.sequence for sent, _ in engine.period()} <= set(range(13, 20))
    assert len(engine.level_wise._audiences._of_topics) <= 4
    assert len(engine.level_wise._audiences._of_events) <= 7


@pytest.mark.parametrize("wanted", [".a", ".a and mag > 5"])
def test_of_events_that_are_gossiped_no_longer_no_audience_is_kept(wanted: str) -> None:
    """One for each event at most, and for each topic and level; each is as large as a table."""
    engine = Engine(dict.fromkeys(range(1, 13), Interest.parse(wanted)) | {1: A, 3: A})
    for number in range(20):
        engine.level_wise.disseminate(event(number, hops=0), 0.0)
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

    monkeypatch.setattr("camcast.protocols.hpmcast.audience.audience", count)
    engine = Engine(dict.fromkeys(range(1, 13), Interest.parse(wanted)) | {1: A, 3: A})
    for number in range(20):
        topic = Topic.parse(f".a.t{number}")
        engine.level_wise.disseminate(event(number, hops=0, topic=topic), 0.0)
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
    for sequence in range(10):
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


# -- tables that strangers write to ----------------------------------------------------------------


def line(number: int, stamp: int = 1, level: int = 1, interest: str = ".a") -> LineNews:
    return LineNews(level, contact(number).peer, stamp, (contact(number),), 1, interest)


def group_tables() -> Tables:
    return Tables(contact(1), Hierarchy(arity=2, depth=2, redundancy=2))


def test_of_two_lines_the_newer_counts() -> None:
    known = group_tables()
    assert known.take(line(3, 5), 1.0)
    assert not known.take(line(3, 5, interest=".b"), 2.0)
    assert not known.take(line(3, 4, interest=".b"), 2.0)
    assert known.table(1)[0].interest == A
    assert known.take(line(3, 6, interest=".b"), 2.0)
    assert known.table(1)[0].interest == B


def test_who_is_gone_comes_back_with_a_newer_stamp_only() -> None:
    known = group_tables()
    known.take(line(3, 5), 1.0)
    known.bury(1, known.hierarchy.address_of(contact(3).peer), 2.0)
    assert not known.table(1)
    assert not known.take(line(3, 6), 3.0)
    assert known.take(line(3, 7), 3.0)
    assert len(known.table(1)) == 1


def test_who_has_been_gone_for_long_is_forgotten() -> None:
    member = Member()
    gone = LineNews(1, contact(9).peer, 50, (), 0, "")
    member.membership.receive(contact(3), Update((gone,)), 0.5)
    known = []
    for now in range(1, 62):
        member.tick(float(now))
        stamps = member.membership._tables.stamps(1)
        known.append(any(key == contact(9).peer for _, key, _ in stamps))
    assert known == [True] * 60 + [False]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (line(2), None),  # not of this group
        (line(3, level=0), None),
        (line(3, level=2), None),
        (LineNews(1, b"short", 1, (contact(3),), 1, "."), None),
        (LineNews(2, 2, 1, (contact(2),), 1, "."), None),  # a digit beyond the arity
        (line(3, stamp=0), "a stamp of 0"),
        (line(3, stamp=STAMP_MAX + 1), "a stamp of"),
        (line(3, interest="a"), "its interest: column 2: expected a comparison after 'a'"),
        (line(3, interest=""), "its interest: column 1: expected a topic"),
        (line(3, interest=".a and mag => 5"), "its interest: column 12: expected a comparison"),
        (line(3, interest=".a and mag > 5 and mag < 5"), "no event can match both"),
        (line(3, interest=".a" + " or .a" * BYTES_MAX), "at most 2,048 bytes"),
        (
            line(3, interest=" or ".join(f"x=={n}" for n in range(65))),
            "at most 64 alternatives, not",
        ),
        (
            line(3, interest="(x > 1 or y > 1) and z > 1"),
            "multiplied out, these are more than 1 alt",
        ),
        (LineNews(1, contact(3).peer, 1, (contact(5),), 1, "."), "no delegate is of the subs"),
        (LineNews(2, 0, 1, (contact(3),), 1, "."), "no delegate"),  # of another subsystem
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_line_that_cannot_be_is_refused_and_counted(wrong: LineNews, reason: str | None) -> None:
    known = group_tables()
    at = known.locate(wrong.level, wrong.key)
    assert (at is None) == (reason is None)
    if at is not None and reason is not None:
        with pytest.raises(LineError, match=reason):
            known.read(wrong, at, 1.0)
    assert not known.take(wrong, 1.0)
    assert (known.version, known.refused) == (0, 1)


def test_a_refused_line_changes_nothing_and_the_next_good_one_counts() -> None:
    member = Member()
    before = member.membership.table(1)
    lines = (line(3, 9, interest=".a and"), line(5, 9, interest=".a and mag > 5"))
    member.membership.receive(contact(3), Update(lines), 1.0)
    assert member.membership.refused == 1
    changed = [
        new.interest
        for old, new in zip(before, member.membership.table(1), strict=True)
        if old != new
    ]
    assert changed == [Interest.parse(".a and mag > 5")]
    member.membership.receive(contact(3), Update((line(3, 9, interest=".b"),)), 1.0)
    assert member.membership.refused == 1


def test_a_line_s_delegates_are_the_smallest_and_in_order() -> None:
    known = group_tables()
    contacts = tuple(contact(number) for number in (8, 4, 3, 2, 4))
    assert known.take(LineNews(2, 0, 1, contacts, -3, ".a"), 1.0)
    (only,) = known.table(2)
    assert [known.contacts()[one] for one in only.delegates] == [contact(2), contact(4)]
    assert only.processes == 2


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_updates_of_anything_leave_tables_that_can_be_read(data: st.DataObject) -> None:
    """Whatever lines come, in whatever order: no error, and sane tables."""
    membership = HpmcastMembership(context(1), HpmcastOptions(arity=2, depth=3, redundancy=2))
    membership.join((), 0.0)
    keys = st.integers(-1, 3) | st.integers(1, 9).map(lambda n: bytes(contact(n).peer))
    lines = st.builds(
        LineNews,
        st.integers(-1, 4),
        keys,
        st.integers(-1, 5) | st.just(STAMP_MAX),
        st.lists(st.integers(1, 9).map(contact), max_size=3).map(tuple),
        st.integers(-5, 2**70),
        st.sampled_from(
            (".a", ".b or .c", "c", ".", "", ".a and mag > 5", "(.a", "mag => 5", "\ud800")
        ),
    )
    stamps = st.tuples(st.integers(-1, 4), keys, st.integers(-1, 5))
    for now in range(data.draw(st.integers(1, 6))):
        message = data.draw(
            st.builds(Update, st.lists(lines, max_size=4).map(tuple))
            | st.builds(View, st.lists(lines, max_size=4).map(tuple))
            | st.builds(Gossip, st.lists(stamps, max_size=4).map(tuple))
        )
        source = contact(data.draw(st.integers(2, 9)))
        membership.receive(source, message, float(now))
        membership.wake(("tick",), float(now))
    for level in (1, 2, 3):
        table = membership.table(level)
        assert [one.branch for one in table] == sorted(one.branch for one in table)
        assert all(1 <= len(one.delegates) <= max(1, 2) for one in table)
    own = membership.hierarchy.address_of(contact(1).peer)
    assert any(one.branch == own for one in membership.table(1))
    assert membership.size() >= 1
    body = messages.encode(View(membership._tables.news(1)))
    assert DECODER.decode(body)


# -- the membership by hand ------------------------------------------------------------------------


class Member:
    """The membership of process 1 in a group of 1, 3, 5, 7 and 9, and what it sends."""

    def __init__(self, depth: int = 2) -> None:
        self._outbox = Outbox()
        options = HpmcastOptions(arity=2, depth=depth, redundancy=2)
        self.membership = HpmcastMembership(context(1, self._outbox), options)
        self.membership.join((), 0.0)
        lines = tuple(line(number) for number in (3, 5, 7, 9))
        self.membership.receive(contact(3), Update(lines), 0.0)
        self.said()

    def said(self) -> list[tuple[int, str]]:
        """Return to whom what kind of message went since the last time."""
        sends = [
            (address, DECODER.decode(decode_control(record, 0, len(record)).body))
            for addresses, record, _ in self._outbox.sends
            for address in addresses
        ]
        self._outbox.sends.clear()
        number = {contact(n).address: n for n in range(1, 13)}
        return [(number[address], type(message).__name__) for address, message in sends]

    def tick(self, now: float) -> list[tuple[int, str]]:
        self.membership.wake(("tick",), now)
        return self.said()


def test_gossip_goes_with_events_once_a_period_and_in_place_of_dedicated_gossip() -> None:
    """4.2.1: "piggybacked by event gossips, except in the absence of events"."""
    member = Member(depth=1)
    assert [kind for _, kind in member.tick(1.0)].count("Gossip") == 3
    member.membership.gossip_along([contact(3), contact(5), contact(7)], 1.1)
    assert member.said() == [(3, "Gossip"), (5, "Gossip")]
    member.membership.gossip_along([contact(7)], 1.2)
    assert member.said() == []
    assert [kind for _, kind in member.tick(2.0)].count("Gossip") == 1
    assert [kind for _, kind in member.tick(3.0)].count("Gossip") == 3


def test_a_silent_neighbour_is_asked_before_it_is_removed() -> None:
    """6.1.3: after five periods asked, after two more removed; whoever speaks is kept."""
    member = Member()
    asked = []
    for now in range(1, 10):  # in the ninth its own subsystem's line says so, too
        asked += [(now, to) for to, kind in member.tick(float(now)) if kind == "Ask"]
        member.membership.receive(contact(9), Update(()), float(now))
    assert sorted(asked) == sorted((now, to) for now in (6, 7) for to in (3, 5, 7))
    assert [one.address for one in member.membership.peers()] == [contact(9).address]


def test_a_subsystem_is_given_up_later_and_the_own_one_never() -> None:
    """5 periods for each level until it is asked about, and two more until it is gone."""
    known, silence = group_tables(), Silence(1.0, 5)
    known.take(line(3), 0.0)
    for key, delegate in ((0, 2), (1, 3)):  # 1 is the subsystem of the process itself
        known.take(LineNews(2, key, 1, (contact(delegate),), 1, ".a"), 0.0)
    own, other = known.locate(2, 1), known.locate(2, 0)
    overdue, there = [], []
    for now in range(1, 15):
        silence.bury(known, float(now))
        overdue.append([level for level, _ in silence.overdue(known, float(now))])
        there.append([one.branch for level in (1, 2) for one in known.table(level)])
    neighbour = known.hierarchy.address_of(contact(3).peer)
    assert overdue == [[]] * 5 + [[1]] * 2 + [[]] * 3 + [[2]] * 2 + [[]] * 2
    assert there == [[neighbour, other, own]] * 7 + [[other, own]] * 5 + [[own]] * 2


def test_its_own_line_is_its_own_to_write() -> None:
    """Whoever says that it is gone is told better."""
    member = Member()
    own = contact(1).peer
    member.membership.receive(contact(3), Update((LineNews(1, own, 77, (), 0, ""),)), 1.0)
    assert member.membership.size() == 5
    assert [stamp for _, key, stamp in member.membership._tables.stamps(1) if key == own] == [78]
    member.membership.receive(contact(3), Update((LineNews(2, 1, 99, (contact(3),), 1, ""),)), 1.0)
    table = member.membership.table(2)
    assert next(member.membership.contact(one) for one in table[0].delegates) == contact(1)
