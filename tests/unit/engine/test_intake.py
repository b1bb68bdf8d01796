"""The intake against its plain twin: event by event, with sets, and no batches."""

from __future__ import annotations

from collections import Counter

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.engine.node import Node
from camcast.engine.recorder import NodeCounters
from camcast.testing.world import World
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import EventId, StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Send
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, event_head
from tests.event_frames import batch_of, frame_of

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
@settings(max_examples=300)
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
    world = World(parameters=Parameters(c=0, batch_events_max=1))
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


def test_several_events_in_a_group_that_takes_each_by_itself_are_malformed() -> None:
    world = World(protocol="broadcast", topics=[A])
    node = world.join(A)
    (participation,) = node.participations
    several = batch_of(PUBLISHERS[0], 1, A, b"a", b"b")
    frame = frame_of(several, participation.topic.group, SENDERS[0])
    world.inject(node.me.address, frame)
    assert (node.counters.malformed, world.delivered) == (1, [])
