"""The recorder: a trace that cannot be written costs records, never events."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from camcast.engine.node import Node
from camcast.observe.trace import JsonLinesSink, ListSink, TraceRecord
from camcast.testing.world import World
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.event_frames import batch_of, frame_of

A, B = Topic.parse(".a"), Topic.parse(".b")
EVENTS = 3_000  # several times as many records as a sink holds lines


def publish(payload: bytes, node: Node, now: float) -> None:
    node.publish(A, payload, now)


def test_a_full_disk_stops_no_event_and_fills_no_memory(caplog: pytest.LogCaptureFixture) -> None:
    """Linux's /dev/full takes nothing, as a full disk (reliability study, D4)."""
    sink = JsonLinesSink(Path("/dev/full"))
    world = World(sink=sink)
    one = world.add()
    other = world.add((one.me.address,))
    for node in (one, other):
        world.do(node, lambda n, now: n.join(A, now))
        world.run(2.0)
    for number in range(EVENTS):
        world.do(one, partial(publish, b"%d" % number))
    world.run(1.0)
    got = [delivery.event.payload for node, delivery in world.delivered if node is other]
    assert got == [b"%d" % number for number in range(EVENTS)]
    assert len(sink._held) < 1_000
    assert one.counters.trace_failures + other.counters.trace_failures >= 4 * EVENTS // 1_000
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2  # each node warns once
    with pytest.raises(OSError, match="No space left"):
        sink.flush()
    with sink:  # closes the file, with nothing left to write
        pass


def test_a_sink_with_a_defect_costs_its_records_and_no_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Defective(ListSink):
        def write(self, record: TraceRecord) -> None:
            if record.kind == "deliver":
                raise KeyError("a defect of the application")
            super().write(record)

    sink = Defective()
    world = World(sink=sink)
    node = world.join(A)
    for number in range(3):
        world.do(node, partial(publish, b"%d" % number))
    assert [got.event.payload for _, got in world.delivered] == [b"0", b"1", b"2"]
    assert node.counters.trace_failures == 3
    assert [one.kind for one in sink.records].count("publish") == 3  # it is still called
    [said] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "KeyError('a defect of the application'): mend its `write`" in said.getMessage()
    assert said.exc_info is not None  # where it was raised


def test_it_says_what_became_of_every_event_that_came() -> None:
    sink = ListSink()
    world = World(sink=sink)
    node = world.join(A)
    publisher, sender = PeerId(b"p" * 16), PeerId(b"s" * 16)

    def come(sequence: int, topic: Topic, hops: int = 1) -> None:
        batch = batch_of(publisher, sequence, topic, b"ten bytes.", hops=hops)
        world.inject(node.me.address, frame_of(batch, topic.group, sender))

    come(1, A)
    come(1, A, hops=4)
    come(1, B)
    world.leave(node, A)
    come(2, A)
    told = [(one.kind, one.community, one.topic) for one in sink.records if one.event]
    (first,) = (one for one in sink.records if one.kind == "receive")
    (again,) = (one for one in sink.records if one.kind == "duplicate")
    assert (first.event, first.peer, first.size) == (again.event, again.peer, again.size)
    assert (again.size, again.hops - first.hops) == (10, 3)
    assert told == [
        ("receive", ".a", ".a"),
        ("deliver", ".a", ".a"),
        ("duplicate", ".a", ".a"),
        ("parasite", B.group.hex(), ".b"),  # of a group whose name is not known
        ("drop", ".a", ".a"),
    ]
