"""What happens to a process, as log, application, ring and trace are told: pinned word by word."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from camcast.engine.node import Node
from camcast.live.reporting import Reporter
from camcast.observe.recent import Recent
from camcast.testing.world import World
from camcast.vocabulary.events import Missed
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.notices import Notice
from camcast.vocabulary.standing import Change
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from camcast.vocabulary.trace import ListSink
from tests.event_frames import batch_of, frame_of
from tests.library.conversations.golden import assert_says_what_is_written

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
HERE = Path(__file__).parent
GATEWAYS = ("tcp://10.0.0.9:7000", "tcp://10.0.0.8:7000")
PEER = Contact(PeerId(b"p" * 16), "tcp://10.0.0.7:7000")
NOW = 1000.0


class Story:
    """One process in `.a.b`, and what is told of it."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.world = World(sink=(sink := ListSink()))
        self.sink = sink
        self.node = self.world.join(AB)

    def trace(self) -> None:
        """Note the records of the trace, each but once; the sizes of control traffic left out."""
        numbers = {node.me.peer.hex(): f"n{n}" for n, node in enumerate(self.world.nodes, 1)}
        numbers[PEER.peer.hex()] = "p"
        for one in self.sink.records:
            event = one.event
            for peer, name in numbers.items():
                event = event.replace(peer, name)
            fields: dict[str, object] = {
                "community": one.community,
                "peer": numbers.get(one.peer, ""),
                "topic": one.topic,
                "event": event,
                "hops": one.hops,
                "size": one.size,
            }
            if one.kind == "control":
                fields["size"] = "…"
            said = [f"{name}={value}" for name, value in fields.items() if value]
            line = " ".join([numbers[one.node], one.kind, *said])
            if line not in self.text:
                self.text.append(line)


def what_happens_to_a_process(story: Story) -> None:
    """Everything that may happen to a process: what its log, its application and its ring get.

    A line of the log has its level, its text, and the fields that programs read.
    """
    group, taken = AB.group, logging.getLogger("camcast.live.reporting")
    lines: list[logging.LogRecord] = []

    class Taking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record)

    changes: list[Change] = []
    recent = Recent()
    reporter = Reporter(story.node, lambda _, change: changes.append(change), recent)
    reporter._loop = SimpleNamespace(time=lambda: NOW)  # type: ignore[assignment]  # the clock
    handler = Taking()
    taken.addHandler(handler)
    before, taken.level = taken.level, logging.DEBUG
    try:
        for notice in notices(group):
            story.text.append(f"{notice.kind}")
            reporter.take([notice])
            for line in lines:
                fields = json.dumps(line.__dict__["camcast"])
                said = line.getMessage().replace(str(PEER), "PEER")
                said = said.replace(str(story.node.me), "ME")
                fields = fields.replace(PEER.peer.hex(), "PEER")
                story.text.append(f"  {line.levelname} {said}")
                story.text.append(f"    {fields}")
            for change in changes:
                peer = "" if change.peer is None else " PEER" + " silent" * change.silent
                story.text.append(f"  change: {change.kind} {change.topic}{peer}")
            for moment in recent.life:
                of = " ".join(filter(None, (moment.community, moment.topic)))
                story.text.append(f"  ring: {moment.kind} {of} {moment.seconds}")
            for taken_so_far in (lines, changes, recent.life):
                taken_so_far.clear()
    finally:
        taken.removeHandler(handler)
        taken.setLevel(before)


def notices(group: GroupId) -> Iterator[Notice]:
    yield Notice("joined", group)
    yield Notice("peer_seen", group, contact=PEER)
    yield Notice("peer_gone", group, contact=PEER)
    yield Notice("peer_gone", group, contact=PEER, silent=True)
    yield Notice("isolated", count=2)
    yield Notice("healed", count=2)
    yield Notice("paused", seconds=2.5)
    yield Notice("clock_set", seconds=-600.0)
    yield Notice("seek", topic=A, count=5)
    yield Notice("found", topic=A, count=0)
    yield Notice("found", topic=A, count=3)
    yield Notice("searching", group, ROOT)
    yield Notice("linked", group, A, count=2)
    yield Notice("linked", group, A, count=3)
    yield Notice("unlinked", group, A)
    yield Notice("linked", group, ROOT, count=1)
    yield Notice("gateway_answers", addresses=GATEWAYS[:1])
    yield Notice("gateway_lost", addresses=GATEWAYS[:1])
    yield Notice("gateway_back", addresses=GATEWAYS[:1])
    yield Notice("unanswered", group, addresses=GATEWAYS)
    yield Notice("unheard", group, count=7)
    yield Notice("left", group)


def what_the_trace_of_a_process_has(story: Story) -> None:
    """Two processes and one above; one publishes, leaves, and gets what it is not to get; one dies.

    A record that comes several times stands here once.
    """
    world = story.world
    below, above = world.join(AB), world.join(A)
    world.run(10.0)
    world.publish(below, AB, b"ten bytes.")
    batch = batch_of(PEER.peer, 1, AB, b"one", b"two")
    for group in (AB.group, AB.group, ROOT.group):
        world.inject(story.node.me.address, frame_of(batch, group, below.me.peer))
    world.leave(story.node, AB)
    world.inject(story.node.me.address, frame_of(batch, AB.group, above.me.peer))
    world.run(2.0)
    tell_missed(story, below, Missed(batch.stream, AB, 3, 9))
    world.kill(above)
    story.trace()


def tell_missed(story: Story, node: Node, missed: Missed) -> None:
    node.recorder.record_missed(missed, story.world.now)


def test_the_trace_has_what_is_written() -> None:
    assert_says_what_is_written(HERE, what_the_trace_of_a_process_has, Story())


def test_log_application_and_ring_are_told_what_is_written() -> None:
    async def tell() -> None:
        assert_says_what_is_written(HERE, what_happens_to_a_process, Story())

    asyncio.run(tell())
