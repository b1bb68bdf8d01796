"""The intake against its plain twin: event by event, with sets, and no batches."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.engine.known_streams import RANGES_MAX, KnownRanges
from camcast.engine.link_messages import Ping
from camcast.engine.node import Node
from camcast.engine.security_messages import Certificates
from camcast.observe.counters import NodeCounters
from camcast.observe.trace import ListSink
from camcast.testing.world import World
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import EventId, StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.outbox import Send
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FLAGS, FRAME_HEADER, Kind, control_head, event_head
from tests.admitted_world import AdmittedWorld
from tests.authority import ADA
from tests.event_frames import batch_of, frame_of
from tests.signed_world import (
    SOCCER,
    SignedWorld,
    certificate,
    control,
    frame,
    key,
    signed_event,
    with_own,
)

A, B = Topic.parse(".a"), Topic.parse(".b")
SENDERS = [PeerId(bytes([number]) * 16) for number in (1, 2)]
PUBLISHERS = [PeerId(bytes([number]) * 16) for number in (3, 4)]


@define
class Twin:
    """What a process of the group of `A` does with events, one after the other."""

    me: PeerId
    known: set[EventId] = field(factory=set)
    delivered: list[tuple[EventId, bytes]] = field(factory=list)
    counters: Counter[str] = field(factory=Counter)

    def take(self, batch: Batch, group: Topic) -> None:
        for event in batch.events():
            if group != A:
                self.counters["parasites"] += 1
            elif event.id in self.known:
                self.counters["duplicates"] += 1
            elif event.id.publisher == self.me:
                self.counters["forged"] += 1
            else:
                self.known.add(event.id)
                self.delivered.append((event.id, event.payload))
                self.counters["events"] += 1


def record(batch: Batch, group: Topic, sender: PeerId, address: str) -> bytes:
    head = event_head(len(batch.body), batch.hops, 0.0, group.group, sender, address)
    return head + batch.body


BATCHES = st.builds(
    lambda publisher, number, first, count: make_batch(
        stream_id(publisher, number),
        first,
        [b"%d" % sequence for sequence in range(first, first + count)],
        A,
        hops=1,
    ),
    st.sampled_from([*PUBLISHERS, PeerId(b"me" * 8)]),
    st.integers(1, 2),
    st.integers(1, 30) | st.integers(10**6, 10**6 + 9),
    st.integers(1, 9),
)
RECORDS = st.tuples(
    BATCHES,
    st.sampled_from([A, A, A, B]),
    st.sampled_from(SENDERS),
    st.sampled_from(["", "", "tcp://127.0.0.1:7000"]),
)
FRAMES = st.lists(st.lists(RECORDS, min_size=1, max_size=6), max_size=12)


def member() -> tuple[World, Node]:
    world = World(parameters=Parameters())
    return world, world.join(A, peer=PeerId(b"me" * 8))


@given(FRAMES)
@settings(max_examples=100)
def test_what_is_delivered_and_counted_is_what_the_twin_says(
    frames: list[list[tuple[Batch, Topic, PeerId, str]]],
) -> None:
    """Overlaps, gaps, jumps, own streams forged, groups it is not in, any sender."""
    world, node = member()
    twin = Twin(node.me.peer)
    for records in frames:
        world.inject(node.me.address, FRAME_HEADER + b"".join(record(*one) for one in records))
        for batch, group, *_ in records:
            twin.take(batch, group)
    got = [(delivery.event.id, delivery.event.payload) for _, delivery in world.delivered]
    assert got == twin.delivered
    counted = NodeCounters(**twin.counters)
    counted.upward_sent = counted.event_copies_sent = 0
    assert node.counters == counted


# -- what other releases send ------------------------------------------------------------------


class Later(Message, tag=99, frozen=True):
    """A message of a tag that no release has."""

    field: int


def said(body: bytes, kind: int = Kind.LINKS, flags: int = 0) -> bytes:
    """Return a control record of a stranger, of any kind and flags."""
    head = bytearray(control_head(Kind.LINKS, A.group, SENDERS[1], "tcp://127.0.0.1:7001"))
    head[0], head[1] = kind, flags
    return wire.encode_control(bytes(head), body)


def flagged(number: int, at: int, flags: int) -> bytes:
    """Return an event record with other flags at a place."""
    whole = bytearray(record(batch_of(PUBLISHERS[1], number, A), A, SENDERS[1], ""))
    whole[at] = flags
    return bytes(whole)


PING = encode(Ping(".a"))
BODY_FLAGS = wire.EVENT_HEAD_BYTES + 30
UNKNOWN = st.one_of(
    st.builds(said, st.binary(max_size=40), st.integers(max(Kind) + 1, 255)),
    st.builds(said, st.just(PING), st.just(Kind.LINKS), st.integers(2, 255)),
    st.builds(said, st.just(encode(Later(1)))),
    st.builds(flagged, st.integers(1, 9), st.just(FLAGS), st.integers(4, 255)),
)
"""One record that a later release may know."""
MALFORMED = st.one_of(
    st.builds(said, st.sampled_from([b"", b"\x91\x05", b"\x92\x05\x01", encode(Ping("x"))])),
    st.builds(said, st.just(b""), st.just(int(Kind.EVENT))),
    st.builds(flagged, st.integers(1, 9), st.just(BODY_FLAGS), st.integers(16, 127)),
)
"""One record of a known kind that does not follow the format."""
WITH_LATER_FIELDS = said(bytes([PING[0] + 2]) + PING[1:] + b"\x01\x80")


@given(
    st.lists(
        st.tuples(st.just("unknown"), UNKNOWN)
        | st.tuples(st.just("malformed"), MALFORMED)
        | st.tuples(st.just("later fields"), st.just(WITH_LATER_FIELDS))
        | st.tuples(st.just("event"), st.just(b"")),
        max_size=8,
    ),
    st.sampled_from([b"", b"\0", b"\xff" * 9, bytes(80), said(PING)[:-1]]),
)
@settings(max_examples=100)
def test_what_is_unknown_or_malformed_costs_nothing_else_of_its_frame(
    records: list[tuple[str, bytes]], rest: bytes
) -> None:
    """Until a length is wrong, which ends the frame and counts as one malformed record."""
    world, node = member()
    frame, kinds = FRAME_HEADER, Counter(kind for kind, _ in records)
    for number, (kind, one) in enumerate(records, 1):
        event = batch_of(PUBLISHERS[0], number, A, b"%d" % number)
        frame += record(event, A, SENDERS[0], "") if kind == "event" else one
    world.inject(node.me.address, frame + rest)
    got = [delivery.event.payload for _, delivery in world.delivered]
    assert got == [b"%d" % n for n, (kind, _) in enumerate(records, 1) if kind == "event"]
    assert node.counters.records_unknown == kinds["unknown"]
    assert node.counters.malformed == kinds["malformed"] + bool(rest)


def test_what_follows_a_wrong_length_is_dropped() -> None:
    world, node = member()
    first, second = (record(batch_of(PUBLISHERS[0], n, A), A, SENDERS[0], "") for n in (1, 2))
    short = (wire.CONTROL_HEADER_BYTES - 5).to_bytes(4) + first[4:]
    for wrong in (short, b"\xff" * 4 + first[4:]):
        world.inject(node.me.address, FRAME_HEADER + wrong + second)
    assert (node.counters.malformed, world.delivered) == (2, [])


def pieces(node: Node, group: Topic) -> list[Send]:
    """Return what a node wishes to send of events, and drop it."""
    sends, node.outbox.sends = node.outbox.sends, []
    return [send for send in sends if not send.control and bytes(group.group) in send.record]


def crowd() -> tuple[World, Node]:
    world = World(parameters=Parameters(c=0))
    nodes = [world.join(A) for _ in range(8)]
    world.run(10.0)
    return world, nodes[3]


def test_what_comes_in_one_frame_is_spread_as_one_piece_to_the_same_peers() -> None:
    """Whoever sent it: the processes of an event loop share frames."""
    world, node = crowd()
    new = [batch_of(PeerId(bytes([number]) * 16), 1, A) for number in range(1, 6)]
    senders = [SENDERS[number % len(SENDERS)] for number in range(5)]
    assert len(set(senders)) > 1
    frame = FRAME_HEADER + b"".join(
        record(batch, A, sender, "") for batch, sender in zip(new, senders, strict=True)
    )
    node.receive(frame, world.now)
    (sent,) = pieces(node, A)
    assert sent.records == 5
    again = FRAME_HEADER + sent.record
    other = next(other for other in world.nodes if other is not node)
    other.receive(again, world.now)
    assert other.counters.events == 5
    assert node.counters.event_copies_sent == 5 * len(sent.contacts)


def test_with_batches_of_one_each_event_has_its_own_draw() -> None:
    world = World(parameters=CommunitySettings(c=0, batch_events_max=1))
    nodes = [world.join(A) for _ in range(8)]
    world.run(10.0)
    node = nodes[3]
    for number in range(4):
        node.publish(A, b"%d" % number, world.now)
    node.flush(world.now)
    assert [sent.records for sent in pieces(node, A)] == [1] * 4
    new = [batch_of(PeerId(bytes([number]) * 16), 1, A) for number in range(1, 6)]
    node.receive(
        FRAME_HEADER + b"".join(record(batch, A, SENDERS[0], "") for batch in new), world.now
    )
    assert [sent.records for sent in pieces(node, A)] == [1] * 5


def test_nothing_of_a_wrong_batch_counts_as_known() -> None:
    world, node = member()
    right = batch_of(PUBLISHERS[0], 1, A, b"a", b"b", b"c")
    wrong = bytearray(frame_of(right, A.group, SENDERS[0]))
    wrong[-4] ^= 1  # the length of the last payload
    wrong[-5 - 4] ^= 1
    world.inject(node.me.address, bytes(wrong))
    assert (node.counters.malformed, world.delivered) == (1, [])
    world.inject(node.me.address, frame_of(right, A.group, SENDERS[0]))
    assert [delivery.event.payload for _, delivery in world.delivered] == [b"a", b"b", b"c"]


def test_a_forged_stream_of_its_own_does_not_silence_a_publisher() -> None:
    world, node = member()
    mine = world.publish(node, A, b"1")
    stream = StreamId(mine.stream)
    forged = make_batch(stream, 2, [b"forged"] * 200, A, hops=1)
    world.inject(node.me.address, frame_of(forged, A.group, SENDERS[0]))
    assert node.counters.forged == 200
    world.publish(node, A, b"2")
    assert [delivery.event.payload for _, delivery in world.delivered] == [b"1", b"2"]


def test_an_own_event_that_comes_to_a_community_joined_after_it_is_delivered_there_once() -> None:
    """As it was published: another body in its name is forged."""
    world, node = member()
    below = A.child("below")
    world.do(node, lambda node, now: node.join(below, now))
    world.run(5.0)
    world.do(node, lambda node, now: node.leave(A, now))
    mine = world.publish(node, below, b"1")
    (batch,) = node._intake._own_events._kept.values()
    world.do(node, lambda node, now: node.join(A, now))
    world.run(5.0)
    forged = make_batch(batch.stream, batch.first, [b"2"], below, published=batch.published, hops=1)
    for came in (forged, batch, batch):
        world.inject(node.me.address, frame_of(came, A.group, SENDERS[0]))
    delivered = [d for _, d in world.delivered if d.group == A.group]
    assert [(one.event.id, one.event.payload) for one in delivered] == [(mine, b"1")]
    assert (node.counters.forged, node.counters.duplicates) == (1, 1)


def test_several_events_in_a_group_that_takes_each_by_itself_are_malformed() -> None:
    world = World(protocol="broadcast", topics=[A])
    node = world.join(A)
    (local_group,) = node.local_groups
    several = batch_of(PUBLISHERS[0], 1, A, b"a", b"b")
    frame = frame_of(several, local_group.topic.group, SENDERS[0])
    world.inject(node.me.address, frame)
    assert (node.counters.malformed, world.delivered) == (1, [])


# -- who sent it -------------------------------------------------------------------------------


def test_over_a_link_an_event_in_anothers_name_is_refused_new_or_not() -> None:
    """The first of a frame is refused with all behind it, another by itself, and so is a copy.

    None is a sign of life of whom it names.
    """
    world = AdmittedWorld()
    ada, victim, named = (world.member(one, SOCCER) for one in (ADA, key(1), key(2)))
    world.run(3.0)
    (local_group,) = victim.local_groups
    local_group.reports_duplicates = True
    me, another = ada.me.peer, named.me.peer
    by = with_own(ADA, certificate(ADA))

    def said(number: int, sender: PeerId) -> bytes:
        at = round(1000 * world.now)
        event = by.sign(make_batch(stream_id(me, 7), number, [b"!"], SOCCER, published=at))
        return record(event, SOCCER, sender, "")

    for records, new, refused in (
        ([said(1, another), said(2, me)], [], 1),
        ([said(1, me), said(2, another), said(3, me)], [1, 3], 2),
        ([said(4, me), said(1, another), said(1, me)], [4], 3),
    ):
        victim.outbox.deliveries.clear()
        victim.receive(FRAME_HEADER + b"".join(records), world.now, me)
        assert [one.batch.first for one in victim.outbox.deliveries] == new
        assert victim.guard.refused["in_anothers_name"] == refused
    assert victim.liveness.entries[another].event_heard < 0.0 < victim.liveness.last_heard(me)


def test_without_certificates_a_link_proves_nothing_of_whom_its_records_name() -> None:
    """The virtual network says for every frame where it came from, as pipes of keys do."""
    world, node = member()
    for number, sender in enumerate(SENDERS[:2], 1):
        frame = frame_of(batch_of(PUBLISHERS[0], number, A, b"!"), A.group, sender)
        node.receive(frame, world.now, PUBLISHERS[0])
    assert [one.batch.first for one in node.outbox.deliveries] == [1, 2]
    assert not node.guard.refused


def test_events_are_signs_of_life_of_their_senders() -> None:
    """The processes of an event loop share frames."""
    world, node = crowd()
    (local_group,) = node.local_groups
    peers = [contact.peer for contact in local_group.membership.peers()][:2]
    now = world.now + 0.5
    assert all(node.liveness.last_heard(peer) < now for peer in peers)
    new = [record(batch_of(PUBLISHERS[0], 1 + n, A), A, peer, "") for n, peer in enumerate(peers)]
    node.receive(FRAME_HEADER + b"".join(new), now)
    for peer in peers:
        assert node.liveness.last_heard(peer) == node.liveness.entries[peer].event_heard == now


@pytest.mark.parametrize("count", [1, 3])
def test_who_is_sent_events_needs_no_heartbeat_meanwhile(count: int) -> None:
    world, node = crowd()
    frame = [record(batch_of(PUBLISHERS[0], 1 + n, A), A, SENDERS[0], "") for n in range(count)]
    node.receive(FRAME_HEADER + b"".join(frame), world.now)
    receivers = {contact.peer for send in pieces(node, A) for contact in send.contacts}
    noted = [peer for peer, one in node.liveness.entries.items() if one.event_sent == world.now]
    assert receivers == {*noted}
    assert receivers


def test_copies_and_parasites_are_in_the_trace_with_their_senders() -> None:
    sink = ListSink()
    world = World(sink=sink)
    node = world.join(A, peer=PeerId(b"me" * 8))
    for sender, group in ((SENDERS[0], A), (SENDERS[1], A), (SENDERS[0], B)):
        node.receive(frame_of(batch_of(PUBLISHERS[0], 1, group), group.group, sender), world.now)
    told = [(one.kind, one.peer) for one in sink.records if one.kind in ("duplicate", "parasite")]
    assert told == [("duplicate", SENDERS[1].hex()), ("parasite", SENDERS[0].hex())]


def test_what_is_given_up_for_lack_of_room_is_counted() -> None:
    """Every other event comes, and each hole but the lowest ones has its place."""
    world, node = member()
    more = 5
    for number in range(1, 2 * (RANGES_MAX + more), 2):
        node.receive(frame_of(batch_of(PUBLISHERS[0], number, A), A.group, SENDERS[0]), world.now)
    twin = KnownRanges(0.0, SENDERS[0])
    given_up = [twin.add(number, 1) for number in range(1, 2 * (RANGES_MAX + more), 2)]
    assert node.counters.given_up == sum(one or 0 for one in given_up) == more - 1


def test_batches_that_waited_for_a_certificate_are_taken_once_each() -> None:
    """Some are of a stream of which nothing is known yet, and one came again meanwhile."""
    world = SignedWorld()
    node = world.member(key(1), SOCCER)
    own = certificate(ADA)
    one, two = (
        signed_event(ADA, stream_id(ADA.public.peer_id, 7), number, b"%d" % number, own)
        for number in (1, 2)
    )
    for batch in (one, two, one):
        node.receive(frame(batch), 5.0)
    assert node.outbox.deliveries == []
    node.receive(FRAME_HEADER + control(Certificates((own,))), 5.0)
    assert [delivery.batch.first for delivery in node.outbox.deliveries] == [1, 2]


def test_copies_are_counted_by_the_event() -> None:
    """Two batches of one frame leave together, to the same processes."""
    world = World(parameters=CommunitySettings(c=1, spread="infect"))
    nodes = [world.join(A) for _ in range(6)]
    world.run(5.0)
    batches = [
        make_batch(stream_id(publisher, 1), 1, [b"x"] * count, A, published=1, since=world.now)
        for publisher, count in zip(PUBLISHERS, (3, 2), strict=True)
    ]
    heads = [event_head(len(one.body), 1, 0.0, A.group, nodes[1].me.peer) for one in batches]
    pieces = [head + one.body for head, one in zip(heads, batches, strict=True)]
    nodes[0].receive(FRAME_HEADER + b"".join(pieces), world.now)
    (send,) = [one for one in nodes[0].outbox.sends if not one.control]
    assert len(send.contacts) > 1
    assert nodes[0].counters.event_copies_sent == 5 * len(send.contacts)
