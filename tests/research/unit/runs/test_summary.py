import asyncio
from collections.abc import Callable
from pathlib import Path

import attrs
import msgspec
import pytest

from camcast.observe.trace import TraceRecord
from camcast.observe.trace_reading import Member, Published, Reading, read_traces, take
from camcast.research.experiment.run import run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.runs.summary import CommunitySummary, Summary, summarise, views_over_time
from camcast.research.scenarios.live import Scenario, chain
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.happenings import TraceKind
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic
from tests.research.unit.pipeline.run_folders import SEVERAL, simulate
from tests.research.unit.pipeline.twin import Twin
from tests.steps import counted_steps, exponent

LOW = Topic.parse(".low")
LIVE = Scenario(
    communities=chain([6, 4, 3]),
    workload=Workload(topic=Topic.parse(".t1.t2"), events=20, rate=20),
    parameters=Parameters(c=1, p_sel=1.0),
)
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
        size: int = 0,
    ) -> None:
        number, topic = len(self.records), topic if event else ""
        self.records.append(
            TraceRecord(when, number, kind, node, community, peer, topic, event, hops, size)
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


def as_the_twin_has_it(summary: Summary, folder: Path) -> None:
    """Compare all measures that the twin has, of the communities and of the whole run.

    Who never joined it reads in the summary of a run that was carried out; one by hand has none.
    """
    written = (folder / "summary.json").exists()
    unknown = () if written else ("never_joined", "reception_of_all")
    twin = {at: value for at, value in Twin(folder).values.items() if at[1] not in unknown}
    compared = 0
    for community in summary.communities:
        for name, value in attrs.asdict(community).items():
            if (community.topic, name) in twin:
                assert value == twin[community.topic, name], (community.topic, name)
                compared += 1
    for name in ("events", "deliveries", "lost", "parasites"):
        assert getattr(summary, name) == twin["", name], name
    assert compared == (39 if written else 37) * len(summary.communities)


def test_processes_in_several_communities_count_in_each(tmp_path: Path) -> None:
    summary = simulate(tmp_path / "run", SEVERAL)
    assert 0 < summary.lost < summary.deliveries
    as_the_twin_has_it(summary, tmp_path / "run")


def _of(summary: Summary, topic: str) -> CommunitySummary:
    return next(community for community in summary.communities if community.topic == topic)


def _complete(story: Story, event: str = "e1", when: float = 10.0) -> None:
    story.publish(when, event)
    story.receive(when + 0.001, event, "b")
    story.receive(when + 0.003, event, "c", hops=2)
    story.receive(when + 0.002, event, "r1", hops=2, community=".")
    story.receive(when + 0.004, event, "r2", hops=4, community=".")


def lost(story: Story) -> None:
    _complete(story)
    story.publish(20, "e2")
    story.receive(20.001, "e2", "b")  # c and the root miss it
    story.end()


def duplicated(story: Story) -> None:
    _complete(story)
    story.add(10.0, "upward", "a", event="e1", peer="r1")
    for _ in range(6):
        story.add(11, "duplicate", "b", event="e1", hops=3)
    story.end()


def parasites(story: Story) -> None:
    _complete(story)
    story.add(11, "parasite", "b", "0123456789abcdef", "e1", topic=".other")
    story.add(12, "deliver", "c", ".low", "e9", topic=".other")  # a node that does not notice
    story.end()


def newcomer(story: Story) -> None:
    _complete(story)
    story.add(50, "join", "d")  # is not expected to have the old event
    story.end()
    story.add(100, "leave", "d")


def killed(story: Story) -> None:
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


def loaded(story: Story) -> None:
    """Node a publishes, sends within and upward; b leads the tables, of which c's died with it."""
    _complete(story)
    for node, peer in (("a", "b"), ("b", "a"), ("b", "d"), ("c", "a"), ("c", "d")):
        story.add(5, "learn", node, peer=peer)
    for _ in range(3):
        story.add(10, "send", "a", event="e1", peer="b", size=100)
    story.add(10, "upward", "a", event="e1", peer="r1", size=100)
    story.add(10, "send", "b", event="e1", peer="a", size=100)
    story.add(10, "send", "r1", ".", event="e1", peer="r2", size=100)
    story.add(11, "control", "b", size=7)
    story.add(11, "control", "b", "", size=5_000)  # of a discovery, which is no community's
    story.add(20, "crash", "c")
    for node in ("r1", "r2"):
        story.add(100, "leave", node, ".")
    for node in ("a", "b"):
        story.add(100, "leave", node)


def test_the_load_of_a_process_in_bytes_and_by_role(tmp_path: Path) -> None:
    story = Story()
    loaded(story)
    root, low = story.summary(tmp_path).communities
    # 4 copies and 1; 400 bytes and 107
    assert (low.load_bytes_p5, low.load_bytes_p50, low.load_bytes_p99) == (107, 107, 400)
    assert low.load_bytes_peak == 400 * 2 / 507
    assert low.load_sent_publishers == low.load_sent_links == 4 * 2 / 5
    assert low.load_sent_hubs == 1 * 2 / 5
    assert (root.load_bytes_p50, root.load_bytes_p99, root.load_bytes_peak) == (0, 100, 2.0)
    assert root.load_sent_publishers is root.load_sent_links is root.load_sent_hubs is None


@pytest.mark.parametrize("tell", [lost, duplicated, parasites, newcomer, killed, loaded, Story.end])
def test_the_summary_says_what_the_twin_says(tmp_path: Path, tell: Callable[[Story], None]) -> None:
    story = Story()
    tell(story)
    said = {"scenario": {"communities": {".": 2, ".low": 3}}, "versions": {"trace": 2}}
    (tmp_path / "scenario.json").write_bytes(msgspec.json.encode(said))
    as_the_twin_has_it(story.summary(tmp_path), tmp_path)


def test_the_summary_of_a_stormy_run_is_the_twin_s(tmp_path: Path) -> None:
    """It counts inside the nodes, and knows a process that came back from its former life."""
    as_the_twin_has_it(simulate(tmp_path / "stormy"), tmp_path / "stormy")


def test_the_summary_of_a_live_run_is_the_twin_s(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "live")
    outcome = asyncio.run(run_experiment(LIVE, folder, lambda _: None))
    as_the_twin_has_it(outcome.summary, folder.path)


def test_what_the_twin_does_not_have(tmp_path: Path) -> None:
    """The model's reception, the worst of all, the crashed, their entries, and torn lines."""
    story = Story()
    lost(story)
    summary = story.summary(tmp_path)
    assert [c.topic for c in summary.communities] == [".", ".low"]
    assert _of(summary, ".low").predicted == 1.0
    assert summary.worst_reception == 1 / 2
    story = Story()
    killed(story)
    summary = story.summary(tmp_path, torn=b'{"when":1,"sequ')
    assert (summary.crashed, summary.dead_entries, summary.lines_torn) == (1, 1, 1)
    story = Story()
    story.publish(10, "a-1-2")
    story.records.append(TraceRecord(20, 99, "missed", "b", ".low", event="a-1-1", size=3))
    story.records.append(TraceRecord(20, 99, "missed", "c", ".low", event="a-1-3"))
    story.end()
    summary = story.summary(tmp_path)  # of b, c, r1 and r2, it was told to b alone
    assert (summary.lost, summary.lost_told, summary.told_missed) == (4, 1, 3)


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


def test_who_has_left_is_not_expected_to_have_an_event(tmp_path: Path) -> None:
    story = Story()
    story.add(5, "leave", "c")
    story.publish(10, "e1")
    story.receive(10.001, "e1", "b")
    low = _of(story.summary(tmp_path), ".low")
    assert (low.reception, low.reliability, low.lost) == (1.0, 1.0, 0)


def test_an_event_that_nobody_else_was_there_for_is_none_of_its_community_s(tmp_path: Path) -> None:
    story = Story()
    for node in ("b", "c"):
        story.add(5, "leave", node)
    story.publish(10, "e1")
    low, root = (_of(story.summary(tmp_path), topic) for topic in (".low", "."))
    assert (low.reception, low.reliability) == (None, None)
    assert (root.reception, root.reliability) == (0.0, 0.0)


def _steps_of_lost_ranges(count: int) -> float:
    reading = Reading(members={("a", ".low"): Member("a", ".low", 0.0)})
    for number in range(count):
        event = f"s-{2 * number}"
        reading.published[event] = Published("b", 1.0, ".low")
        record = TraceRecord(2.0, number, "missed", "a", ".low", event=event, size=1)
        take(record, reading)
    with counted_steps() as steps:
        summary = summarise(reading, SCENARIO, predicted=False)
    assert summary.lost_told == count
    return steps.count


def _steps_of_communities(count: int) -> float:
    communities = {Topic.parse(f".t{number}"): 2 for number in range(count)}
    scenario = Scenario(communities=communities, workload=Workload(topic=LOW))
    reading = Reading()
    for topic in communities:
        for node in ("a", "b"):
            reading.members[node + topic.name, topic.name] = Member(
                node + topic.name, topic.name, 0.0
            )
        reading.published[f"{topic.name}-1"] = Published("a" + topic.name, 1.0, topic.name)
    with counted_steps() as steps:
        summarise(reading, scenario)
    return steps.count


@pytest.mark.parametrize("work", [_steps_of_lost_ranges, _steps_of_communities])
def test_a_summary_of_n_ranges_or_communities_costs_n(work: Callable[[int], float]) -> None:
    assert exponent(map(work, (80, 320)), 4) <= 1.2
