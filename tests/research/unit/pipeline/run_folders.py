"""Run folders for the pipeline's tests: simulated ones, live ones, and odd ones by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs
import msgspec

from camcast.observe.trace import SCHEMA_VERSION, JsonLinesSink, TraceRecord
from camcast.research.runs.run_folder import OutputFolder, trace_files
from camcast.research.runs.summary import Summary
from camcast.research.scenarios.base import Processes
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.virtual import Crashes, Links, Partition, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.scenario_run import run_scenario
from camcast.vocabulary.happenings import TraceKind
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

TOPICS = (".", ".a", ".a.b", ".c")
ODD_KINDS: Mapping[TraceKind, int] = {
    "join": 4,
    "learn": 6,
    "deliver": 6,
    "publish": 2,
    "leave": 1,
    "forget": 2,
    "crash": 1,
    "send": 2,
    "receive": 1,
    "duplicate": 1,
    "upward": 1,
    "parasite": 1,
    "control": 1,
    "drop": 1,
    "seek": 1,
    "found": 1,
}
"""How often each kind is drawn."""
STORMY = VirtualScenario(
    name="stormy",
    seed=3,
    communities={Topic.parse("."): 4, Topic.parse(".d"): 8, Topic.parse(".d.e"): 12},
    options={"c": 1},
    parameters=Parameters(c=1, p_sel=0.5),
    settle_seconds=4,
    drain_seconds=4,
    duration_seconds=30,
    links=Links(latency="lognormal", loss=0.05, duplication=0.02),
    workload=Workload(topic=Topic.parse(".d.e"), events=20, rate=1),
    crashes=(
        Crashes(at_seconds=6.5, share=0.2, restart_seconds=7.0, identity="same"),
        Crashes(at_seconds=15.5, share=0.2, restart_seconds=3.0, identity="new"),
        Crashes(at_seconds=25.5, share=0.15),
    ),
    cuts=(Partition(from_seconds=9, until_seconds=12, share=0.3),),
    repair=False,  # for events that are lost
)

CALM = VirtualScenario(
    seed=5,
    communities={Topic.parse("."): 4, Topic.parse(".d"): 8},
    parameters=Parameters(c=1, p_sel=0.5),
    settle_seconds=4,
    drain_seconds=4,
    duration_seconds=10,
    links=Links(loss=0.05),
    workload=Workload(topic=Topic.parse(".d"), events=10, rate=2),
)

SEVERAL = VirtualScenario(
    name="several",
    seed=7,
    communities=dict.fromkeys(map(Topic.parse, (".", ".l", ".r", ".x")), 4),
    processes=(
        Processes(topics=(Topic.parse(".l"), Topic.parse(".x")), count=3),
        Processes(topics=(Topic.parse(".r"), Topic.parse(".")), count=2),
    ),
    topics={
        Topic.parse(".x"): DeclaredTopic(below=(Topic.parse(".l"), Topic.parse(".r"))),
    },
    parameters=Parameters(c=1, p_sel=0.5),
    settle_seconds=4,
    drain_seconds=4,
    duration_seconds=15,
    links=Links(loss=0.1),
    workload=Workload(topic=Topic.parse(".x"), events=10, rate=1),
    crashes=(Crashes(at_seconds=4.5, share=0.3, restart_seconds=4.0),),
    repair=False,  # for events that are lost
)
"""Processes in several communities, and a topic with two super-topics."""


def sink_of(trace: Path, rows_max: int | None = None) -> Any:
    if trace.suffix == ".jsonl":
        return JsonLinesSink(trace)
    from camcast.research.pipeline.ingest.trace_parquet import ParquetSink  # of an extra

    return ParquetSink(trace) if rows_max is None else ParquetSink(trace, rows_max)


def simulate(path: Path, scenario: VirtualScenario = STORMY, form: str = "jsonl") -> Summary:
    folder = OutputFolder(path)
    folder.write_scenario(scenario, "virtual")
    trace = folder.trace(0, form)
    with sink_of(trace) as sink:
        outcome = run_scenario(scenario, sink)
    folder.write_summary(outcome.as_json())
    return outcome.summary


def simulate_two(path: Path) -> tuple[Summary, Summary]:
    return (
        simulate(path / "stormy"),
        simulate(path / "columns", attrs.evolve(STORMY, seed=4, name="columns"), "parquet"),
    )


def write_run(
    path: Path,
    records: Sequence[TraceRecord],
    *,
    communities: Mapping[str, int] | None = None,
    form: str = "jsonl",
    said: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run folder by hand, its records dealt out to two traces."""
    scenario = {
        "name": path.name,
        "communities": dict(communities or dict.fromkeys(TOPICS, 3)),
        "membership": "scamp",
        "parameters": {"c": 5.0, "p_sel": None},
        "seed": 1,
    }
    path.mkdir(parents=True)
    versions = {"camcast": "0.1.0", "trace": SCHEMA_VERSION}
    content = {"scenario": scenario, "versions": versions, **(said or {})}
    (path / "scenario.json").write_text(json.dumps(content))
    for number in range(2):
        trace = path / f"trace-{number}.{form}"
        with sink_of(trace, 50) as sink:
            for record in records:
                if int(record.node, 16) % 2 == number:
                    sink.write(record)
    return path


def finished(folder: Path) -> Path:
    """Write the summary of a run that is over."""
    summary = {"traces": trace_files(folder)}
    (folder / "summary.json").write_bytes(msgspec.json.encode(summary))
    return folder


class Tale:
    """Records by hand; every node numbers its own."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []
        self._numbers: dict[int, int] = {}

    def add(
        self,
        when: float,
        kind: TraceKind,
        node: int,
        community: str = "",
        *,
        peer: int | None = None,
        topic: str = "",
        event: str = "",
        hops: int = 0,
        size: int = 0,
    ) -> None:
        self._numbers[node] = number = self._numbers.get(node, 0) + 1
        known = "" if peer is None else f"{peer:032x}"
        self.records.append(
            TraceRecord(
                *(when, number, kind, f"{node:032x}", community, known, topic, event, hops, size)
            )
        )


def odd_records(seed: int) -> list[TraceRecord]:
    """Anything that fits the schema: no engine would do it, but a definition must cover it.

    Nodes join several communities, again and never, leave and crash and come back; events are
    published twice, delivered several times, by strangers and before they are published; many
    things happen at the same time.
    """
    draw = Random(seed)
    tale = Tale()
    nodes, events = range(1, draw.randint(3, 7)), [f"e-1-{n}" for n in range(draw.randint(1, 3))]
    topics = draw.sample(TOPICS, draw.randint(1, len(TOPICS)))
    topic_of = {event: draw.choice(topics) for event in events}
    grid = draw.choice((1, 4))  # the fewer instants, the more happens at once
    times = sorted(draw.randrange(15 * grid) / grid for _ in range(draw.randint(20, 200)))
    kinds = [kind for kind, times_drawn in ODD_KINDS.items() for _ in range(times_drawn)]
    for node in nodes:
        if draw.random() < 0.8:
            tale.add(0, "join", node, draw.choice(topics))
    for when in times:
        kind, node = draw.choice(kinds), draw.choice(nodes)
        community = draw.choice(topics)
        if kind == "leave" and when < 8:
            continue
        if kind == "crash" and draw.random() < 0.5:
            community = ""
        event = draw.choice(events)
        of_event = kind in ("publish", "deliver", "send", "receive", "duplicate", "upward")
        of_event |= kind == "parasite"
        tale.add(
            *(when, kind, node, community),
            peer=draw.choice(nodes) if kind in ("learn", "forget", "send") else None,
            topic=topic_of[event] if of_event else "",
            event=event if of_event else "",
            hops=draw.randint(0, 3) if of_event else 0,
            size=draw.randint(1, 999),
        )
    return tale.records
