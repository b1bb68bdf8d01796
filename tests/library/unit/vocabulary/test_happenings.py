"""What happens to a process, as log, application, ring and trace are told: pinned word by word."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

from camcast.engine.node import Node
from camcast.live.reporting import Reporter
from camcast.observe import log
from camcast.observe.log import HappeningLog
from camcast.observe.recent import Recent
from camcast.observe.trace import ListSink
from camcast.testing.world import World
from camcast.vocabulary import happenings as module
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import EventId, Missed
from camcast.vocabulary.happenings import (
    EVENT_KINDS,
    PROCESS_KINDS,
    Change,
    ChangeKind,
    EventKind,
    Happening,
    HappeningKind,
    Line,
    Row,
    Standing,
    TraceKind,
)
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from tests.event_frames import batch_of, frame_of
from tests.library.conversations.golden import assert_says_what_is_written

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
HERE = Path(__file__).parent
GATEWAYS = ("tcp://10.0.0.9:7000", "tcp://10.0.0.8:7000")
PEER = Contact(PeerId(b"p" * 16), "tcp://10.0.0.7:7000")
NOW = 1000.0


class Story:
    """One process in `.a.b`, and what is told of it."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.text: list[str] = []
        self._caplog = caplog
        caplog.set_level(logging.DEBUG, log.__name__)
        self.world = World(sink=(sink := ListSink()))
        self.sink = sink
        self.node = self.world.join(AB)

    def lines(self) -> list[logging.LogRecord]:
        """Return what was logged since the last time."""
        lines = [line for line in self._caplog.records if line.name == log.__name__]
        self._caplog.clear()
        return lines

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
    changes: list[Change] = []
    recent = Recent()
    reporter = Reporter(story.node, lambda _, change: changes.append(change), recent)
    for happening in happenings(AB.group):
        story.text.append(f"{happening.kind}")
        reporter.take(happening, NOW)
        for line in story.lines():
            fields = json.dumps(line.__dict__["camcast"]).replace(PEER.peer.hex(), "PEER")
            said = line.getMessage().replace(str(PEER), "PEER").replace(str(story.node.me), "ME")
            story.text += [f"  {line.levelname} {said}", f"    {fields}"]
        for change in changes:
            peer = "" if change.peer is None else " PEER" + " silent" * change.silent
            story.text.append(f"  change: {change.kind} {change.topic}{peer}")
        for moment in recent.life:
            parts = [moment.kind, moment.community, moment.topic, moment.event]
            parts += [f"{number:g}" for number in (moment.count, moment.seconds) if number]
            story.text.append(" ".join(["  ring:", *filter(None, parts)]))
        changes.clear()
        recent.life.clear()


def happenings(group: GroupId) -> Iterator[Happening]:
    yield Happening("joined", group)
    yield Happening("peer_seen", group, contact=PEER)
    yield Happening("peer_gone", group, contact=PEER)
    yield Happening("peer_gone", group, contact=PEER, silent=True)
    yield Happening("isolated", count=2)
    yield Happening("healed", count=2)
    yield Happening("deafened", count=2)
    yield Happening("hears", count=2)
    yield Happening("paused", seconds=2.5)
    yield Happening("clock_set", seconds=-600.0)
    yield Happening("seek", topic=A)
    yield Happening("found", topic=A, count=0)
    yield Happening("found", topic=A, count=3)
    yield Happening("searching", group, ROOT)
    yield Happening("linked", group, A, count=2)
    yield Happening("linked", group, A, count=3)
    yield Happening("unlinked", group, A)
    yield Happening("linked", group, ROOT, count=1)
    yield Happening("gateway_answers", addresses=GATEWAYS[:1])
    yield Happening("gateway_lost", addresses=GATEWAYS[:1])
    yield Happening("gateway_back", addresses=GATEWAYS[:1])
    yield Happening("gateway_moved", addresses=("tcp://gateway.example:7000", *GATEWAYS))
    yield Happening("unanswered", group, addresses=GATEWAYS)
    yield Happening("unheard", group, count=7)
    yield Happening("missed", group, count=2, event="p-1-3")
    yield Happening("history_short", group, count=120)
    yield Happening("carries", group)
    yield Happening("moved", contact=PEER)
    yield Happening("repair_full", group, count=3)
    yield Happening("promise_broken", group, count=1)
    yield Happening("too_long", group, count=1 << 20)
    yield Happening("refused_as_too_long", group, count=1 << 20)
    yield Happening("left", group)


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
    first, count = EventId(missed.stream, missed.first), missed.last - missed.first + 1
    happening = Happening("missed", AB.group, count=count, event=str(first))
    node.recorder.tell(happening)


def test_the_trace_has_what_is_written(caplog: pytest.LogCaptureFixture) -> None:
    assert_says_what_is_written(HERE, what_the_trace_of_a_process_has, Story(caplog))


def test_log_application_and_ring_are_told_what_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert_says_what_is_written(HERE, what_happens_to_a_process, Story(caplog))


def test_the_table_has_every_kind_and_the_story_tells_all_of_a_living_process() -> None:
    assert set(PROCESS_KINDS) == set(get_args(HappeningKind))
    assert set(EVENT_KINDS) == set(get_args(EventKind))
    kinds = [*PROCESS_KINDS.values(), *EVENT_KINDS.values()]
    traced = [kind.trace for kind in kinds if kind.trace is not None]
    assert sorted([*traced, "control"]) == sorted(get_args(TraceKind))  # each by one kind
    changed = [kind.change for kind in kinds if kind.change is not None]
    assert sorted(changed) == sorted(get_args(ChangeKind))
    told = {one.kind for one in happenings(AB.group)}
    assert {*told, *get_args(Standing), "crashed"} == set(PROCESS_KINDS)


def test_what_is_logged_is_logged_with_values_that_there_are() -> None:
    """A text with a name that no happening has would raise where it is told."""
    values = HappeningLog(lambda: PEER, Clock())._values(Happening("joined"), NOW)
    for kind in PROCESS_KINDS.values():
        if kind.log is not None:
            assert set(kind.log.fields) <= set(values)
            named = {name for _, name, _, _ in Formatter().parse(kind.log.text) if name}
            assert named <= {*values, "topic"}


def test_a_kind_is_a_row_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What each subscriber makes of a kind is in the table alone."""
    line = Line(logging.WARNING, "{topic} is full of {count}", ("count",))
    row = Row(line, trace="missed", change="left", ring=True, counters=("told_missed",))
    kinds: Any = PROCESS_KINDS
    monkeypatch.setitem(kinds, "archive_full", row)
    story = Story(caplog)
    story.lines()
    changes: list[Change] = []
    recent = Recent()
    story.node.outbox.happenings = []
    reporter = Reporter(story.node, lambda _, change: changes.append(change), recent)
    full: Any = "archive_full"
    story.node.recorder.tell(Happening(full, AB.group, count=3))
    [happening] = story.node.outbox.happenings
    reporter.take(happening, NOW)
    [logged] = story.lines()
    assert (logged.levelname, logged.getMessage()) == ("WARNING", ".a.b is full of 3")
    assert logged.__dict__["camcast"] == {"event": full, "topic": ".a.b", "count": 3}
    assert changes == [Change("left", AB)]
    assert [(one.kind, one.community) for one in recent.life] == [("missed", ".a.b")]
    assert (story.sink.records[-1].kind, story.node.counters.told_missed) == ("missed", 3)


def test_counters_count_what_the_trace_has() -> None:
    """In a world that loses a tenth, repairs, and gets copies that are not for it."""
    world = World(seed=3, sink=(sink := ListSink()), loss=0.1, repair=True)
    nodes = [world.join(topic) for topic in (A, AB, AB, A, AB)]
    world.run(10.0)
    for number in range(20):
        world.publish(nodes[number % 5], AB if number % 5 in (1, 2, 4) else A, seconds=0.2)
    batch = batch_of(PEER.peer, 1, AB, b"one", b"two")
    for group in (AB.group, ROOT.group):
        world.inject(nodes[1].me.address, frame_of(batch, group, nodes[2].me.peer))
    world.leave(nodes[4], AB)
    world.inject(nodes[4].me.address, frame_of(batch, AB.group, nodes[2].me.peer))
    world.run(10.0)
    missed = Happening("missed", AB.group, count=4, event=f"{PEER.peer.hex()}-1-3")
    world.do(nodes[1], lambda node, now: node.recorder.tell(missed))
    traced: Counter[str] = Counter()
    for one in sink.records:
        traced[one.kind] += one.size if one.kind == "missed" else 1
    counted = {
        str(kind.trace): sum(getattr(n.counters, name) for n in nodes for name in kind.counters)
        for kind in [*PROCESS_KINDS.values(), *EVENT_KINDS.values()]
        if kind.counters and kind.trace
    }
    assert counted == {kind: traced[kind] for kind in counted}
    assert min(counted.values()) > 0


def test_the_documentation_has_the_table() -> None:
    """Its meanings are the comments of the rows. A row that is missing is the one shown."""
    meanings = re.findall(r"^    # (.*)\.\n    \"(\w+)\": Row", getsource(module), re.M)
    assert [name for _, name in meanings] == [*PROCESS_KINDS, *EVENT_KINDS]
    page = (HERE.parents[3] / "docs/operating.md").read_text("utf-8").splitlines()
    for (meaning, name), kind in zip(
        meanings, [*PROCESS_KINDS.values(), *EVENT_KINDS.values()], strict=True
    ):
        made = (
            "" if kind.log is None else logging.getLevelName(kind.log.level),
            "" if kind.trace is None else f"`{kind.trace}`",
            "" if kind.change is None else f"`{kind.change}`",
            "yes" if kind.ring else "",
            ", ".join(f"`{counter}`" for counter in kind.counters),
        )
        assert " | ".join([f"| `{name}`", meaning, *made]) + " |" in page
