from pathlib import Path

import msgspec
import pytest

from camcast.runs.summary import CommunitySummary, Summary, summarise, views_over_time
from camcast.runs.trace_reading import Reading, read_traces
from camcast.scenarios.live import Scenario
from camcast.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.trace import TraceKind, TraceRecord

LOW = Topic.parse(".low")
SCENARIO = Scenario(
    communities={ROOT: 2, LOW: 3}, workload=Workload(topic=LOW), parameters=Parameters(p_sel=1)
)


class Story:
    """Records by hand: r1 and r2 are in the root, a, b and c in .low."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []
        for node in ("r1", "r2"):
            self.add(0, "join", node, ".")
        for node in ("a", "b", "c"):
            self.add(0, "join", node, ".low")

    def add(
        self,
        when: float,
        kind: TraceKind,
        node: str,
        community: str = ".low",
        event: str = "",
        hops: int = 0,
        peer: str = "",
        topic: str = ".low",
    ) -> None:
        topic = topic if event else ""
        self.records.append(
            TraceRecord(when, len(self.records), kind, node, community, peer, topic, event, hops)
        )

    def publish(self, when: float, event: str, node: str = "a") -> None:
        self.add(when, "publish", node, event=event)
        self.add(when, "deliver", node, event=event)

    def receive(
        self, when: float, event: str, node: str, hops: int = 1, community: str = ".low"
    ) -> None:
        self.add(when, "receive", node, community, event, hops)
        self.add(when, "deliver", node, community, event, hops)

    def end(self) -> None:
        for node in ("r1", "r2"):
            self.add(100, "leave", node, ".")
        for node in ("a", "b", "c"):
            self.add(100, "leave", node)

    def read(self, tmp_path: Path, torn: bytes = b"") -> Reading:
        path = tmp_path / "trace-0.jsonl"
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in self.records)
        path.write_bytes(lines + torn)
        return read_traces([path])

    def summary(self, tmp_path: Path, torn: bytes = b"") -> Summary:
        return summarise(self.read(tmp_path, torn), SCENARIO)


def _of(summary: Summary, topic: str) -> CommunitySummary:
    return next(community for community in summary.communities if community.topic == topic)


def _complete(story: Story, event: str = "e1", when: float = 10.0) -> None:
    story.publish(when, event)
    story.receive(when + 0.001, event, "b")
    story.receive(when + 0.003, event, "c", hops=2)
    story.receive(when + 0.002, event, "r1", hops=2, community=".")
    story.receive(when + 0.004, event, "r2", hops=4, community=".")


def test_a_complete_event(tmp_path: Path) -> None:
    story = Story()
    _complete(story)
    story.add(10.0, "upward", "a", event="e1", peer="r1")
    story.end()
    summary = story.summary(tmp_path)
    low, root = _of(summary, ".low"), _of(summary, ".")
    assert [c.topic for c in summary.communities] == [".", ".low"]
    assert (low.processes, root.processes) == (3, 2)
    assert (low.reception, low.reliability, low.efficiency) == (1, 1, 1)
    assert (root.reception, root.reliability) == (1, 1)
    assert low.hops_mean == 1.5  # 1 and 2; the publisher's own 0 does not count
    assert root.hops_mean == 3
    assert low.latency_ms_p50 == pytest.approx(1)
    assert low.latency_ms_p99 == pytest.approx(3)
    assert (low.upward_messages, root.upward_messages) == (1, 0)
    assert (summary.events, summary.deliveries, summary.lost) == (1, 4, 0)
    assert summary.parasites == 0
    assert low.predicted == 1.0


def test_lost_copies_lower_reception_and_reliability(tmp_path: Path) -> None:
    story = Story()
    _complete(story)
    story.publish(20, "e2")
    story.receive(20.001, "e2", "b")  # c and the root miss it
    story.end()
    summary = story.summary(tmp_path)
    low, root = _of(summary, ".low"), _of(summary, ".")
    assert low.reception == 3 / 4
    assert low.reliability == 1 / 2
    assert root.reception == 1 / 2
    assert (low.lost, root.lost, summary.lost) == (1, 2, 3)
    assert summary.worst_reception == 1 / 2


def test_duplicates_lower_efficiency(tmp_path: Path) -> None:
    story = Story()
    _complete(story)
    for _ in range(6):
        story.add(11, "duplicate", "b", event="e1", hops=3)
    story.end()
    low = _of(story.summary(tmp_path), ".low")
    assert low.duplicates == 6
    assert low.efficiency == 2 / 8


def test_parasites_count_where_they_arrive(tmp_path: Path) -> None:
    story = Story()
    _complete(story)
    story.add(11, "parasite", "b", "0123456789abcdef", "e1", topic=".other")
    story.add(12, "deliver", "c", ".low", "e9", topic=".other")  # a node that does not notice
    story.end()
    summary = story.summary(tmp_path)
    assert _of(summary, ".low").parasites == 2
    assert _of(summary, ".").parasites == 0
    assert summary.parasites == 2


def test_newcomers_are_not_expected_to_have_old_events(tmp_path: Path) -> None:
    story = Story()
    _complete(story)
    story.add(50, "join", "d")
    story.end()
    story.add(100, "leave", "d")
    low = _of(story.summary(tmp_path), ".low")
    assert low.processes == 4
    assert low.reception == 1


def test_the_killed_are_not_expected_and_torn_lines_are_counted(tmp_path: Path) -> None:
    story = Story()
    story.publish(10, "e1")
    story.receive(10.001, "e1", "b")
    story.receive(10.001, "e1", "r1", community=".")
    story.receive(10.001, "e1", "r2", community=".")
    story.add(5, "learn", "a", peer="c")
    story.add(5, "learn", "b", peer="c")
    story.add(30, "forget", "b", peer="c")
    story.add(20, "crash", "c")
    for node in ("r1", "r2"):
        story.add(100, "leave", node, ".")
    for node in ("a", "b"):
        story.add(100, "leave", node)
    summary = story.summary(tmp_path, torn=b'{"when":1,"sequ')
    low = _of(summary, ".low")
    assert low.processes == 2
    assert low.reception == 1
    assert (summary.crashed, summary.dead_entries, summary.lines_torn) == (1, 1, 1)


def test_views_are_those_before_the_first_leave(tmp_path: Path) -> None:
    story = Story()
    story.add(1, "learn", "a", peer="b")
    story.add(1, "learn", "a", peer="c")
    story.add(2, "learn", "b", peer="c")
    story.add(3, "forget", "a", peer="c")
    story.end()
    story.add(100, "forget", "b", peer="c")  # a consequence of leaving
    reading = story.read(tmp_path)
    low = _of(summarise(reading, SCENARIO), ".low")
    assert low.view_mean == pytest.approx(2 / 3)
    assert low.view_law == 2  # 3 ln 3 = 3.3, at most N - 1
    at = views_over_time(reading, SCENARIO, {"early": 2.5})["early"]
    assert next(row for row in at if row["topic"] == ".low")["view_mean"] == 1


def test_nothing_published_measures_nothing(tmp_path: Path) -> None:
    story = Story()
    story.end()
    low = _of(story.summary(tmp_path), ".low")
    assert low.reception is low.reliability is low.efficiency is low.hops_mean is None
    assert low.latency_ms_p50 is low.predicted is None


def test_a_broken_line_within_is_named(tmp_path: Path) -> None:
    story = Story()
    path = tmp_path / "trace-0.jsonl"
    story.read(tmp_path)
    path.write_bytes(path.read_bytes() + b"nonsense\n" + b"{}\n")
    with pytest.raises(ValueError, match=r"trace-0\.jsonl:6"):
        read_traces([path])


def test_since_leaves_earlier_events_out(tmp_path: Path) -> None:
    story = Story()
    story.publish(10, "e1")  # nobody gets it
    _complete(story, "e2", 20)
    story.end()
    reading = story.read(tmp_path)
    assert _of(summarise(reading, SCENARIO), ".low").reception == 1 / 2
    assert _of(summarise(reading, SCENARIO, since=15), ".low").reception == 1
