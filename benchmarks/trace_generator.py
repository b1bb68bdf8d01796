"""Writes run folders with traces of any size, to measure the pipeline with.

The events spread as in the population simulator: infect and die in rounds, over uniform targets,
with loss, and climb a chain of three communities. What is made up is when: a copy is under way
for a lognormal time, and one event is over before the next is published. Everybody joins and fills
a table, some crash half-way and are forgotten, and control traffic is told every ten seconds.

Example: python benchmarks/trace_generator.py traces --records 50000000 --runs 5
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import ceil, log
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from camcast.observe.trace import SCHEMA_VERSION
from camcast.research.pipeline.ingest.trace_parquet import VERSION_KEY
from camcast.research.pipeline.ingest.trace_schema import KINDS, arrow_schema
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

SIZES: Final = {".d.g": 2_000, ".d": 200, ".": 20}  # chosen: some 55,000 records an event
LOSS: Final = 0.02  # chosen: some copies of every event
CRASHED: Final = 0.05  # chosen: some dead in every table
TABLE: Final = 14  # about ln 2,000 + c entries, as the fan-out
PAYLOAD_BYTES: Final = 256  # chosen: the payload of all our measurements
CONTROL_BYTES: Final = 15_000  # about what SCAMP's heartbeats take in 10 s
FORGOTTEN_SECONDS: Final = 6.0  # about SCAMP's, after a crash
CONTROL_SECONDS: Final = 10.0  # as camcast.engine.node

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


Rows = dict[str, NDArray[Any]]
"""Some records as columns; numbers stand for names. -1 is no peer, no event."""


def _rows(kind: str, when: Floats, node: Ints, community: int, **columns: Any) -> Rows:
    size = PAYLOAD_BYTES if "event" in columns else 0
    numbers = {"kind": KINDS.index(kind), "community": community, "peer": -1, "event": -1}
    numbers |= {"hops": 0, "size": size} | columns
    every = {
        name: np.broadcast_to(np.asarray(of, dtype=np.int64), when.shape)
        for name, of in numbers.items()
    }
    return {"when": when, "node": node} | every


class _World:
    """Nodes in a chain of communities, and the trace of what they do."""

    def __init__(self, path: Path, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._topics = list(SIZES)
        self._sizes = list(SIZES.values())
        self._first = np.cumsum([0, *self._sizes])
        nodes = int(self._first[-1])
        self._ids = [self._random.bytes(16).hex() for _ in range(nodes)]
        self._numbers = np.zeros(nodes, dtype=np.int64)
        self._alive = np.ones(nodes, dtype=bool)
        self._publishers: list[str] = []
        self._tables: list[Ints] = []
        self._schema = arrow_schema().with_metadata({VERSION_KEY: str(SCHEMA_VERSION)})
        self._writer = pq.ParquetWriter(path, self._schema, write_page_checksum=True)
        self.records = 0

    def run(self, events: int) -> None:
        """Let everybody join, publish an event a second, and let some crash half-way."""
        self._write(self._joins())
        for number in range(events):
            now = 10.0 + number
            if number == events // 2:
                self._write(self._crashes(now - 0.5))
            if number % CONTROL_SECONDS == 0:
                self._write(self._controls(now - 0.25))
            self._write(self._event(number, now))
        self._writer.close()

    def _members(self, community: int) -> Ints:
        return np.arange(self._first[community], self._first[community + 1])

    def _others(self, nodes: Ints, community: int, k: int) -> Ints:
        """Draw k members for each of some members, none of them itself."""
        start, size = int(self._first[community]), self._sizes[community]
        drawn = self._random.integers(0, size - 1, (len(nodes), k))
        return start + drawn + (drawn >= (nodes - start)[:, None])

    def _joins(self) -> Iterator[Rows]:
        for community in range(len(self._sizes)):
            nodes = self._members(community)
            when = 5 * self._random.random(len(nodes))
            yield _rows("join", when, nodes, community)
            peers = self._others(nodes, community, min(TABLE, len(nodes) - 1))
            self._tables.append(peers)
            told = np.repeat(when, peers.shape[1]) + 2 * self._random.random(peers.size)
            yield _rows(
                "learn", told, np.repeat(nodes, peers.shape[1]), community, peer=peers.ravel()
            )

    def _crashes(self, now: float) -> Iterator[Rows]:
        for community in range(len(self._sizes)):
            nodes = self._members(community)
            dead = nodes[self._random.random(len(nodes)) < CRASHED]
            self._alive[dead] = False
            yield _rows("crash", np.full(len(dead), now), dead, community)
            peers = self._tables[community]
            rows, places = np.nonzero(np.isin(peers, dead) & self._alive[nodes][:, None])
            when = now + FORGOTTEN_SECONDS * self._random.random(len(rows))
            yield _rows("forget", when, nodes[rows], community, peer=peers[rows, places])

    def _controls(self, now: float) -> Iterator[Rows]:
        for community in range(len(self._sizes)):
            nodes = self._members(community)
            nodes = nodes[self._alive[nodes]]
            size = self._random.poisson(CONTROL_BYTES, len(nodes))
            yield _rows("control", np.full(len(nodes), now), nodes, community, size=size)

    def _event(self, number: int, now: float) -> Iterator[Rows]:
        members = self._members(0)
        publisher = self._random.choice(members[self._alive[members]], 1)
        self._publishers.append(self._ids[publisher[0]])
        yield _rows("publish", np.array([now]), publisher, 0, event=number)
        begin = publisher, np.array([now]), np.zeros(1, dtype=np.int64)
        for community in range(len(self._sizes)):
            senders: list[tuple[Ints, Floats, Ints]] = []
            for rows in self._spread(number, community, *begin):
                yield rows
                if rows["kind"][0] == KINDS.index("deliver"):
                    senders.append((rows["node"], rows["when"], rows["hops"]))
            if community + 1 == len(self._sizes) or not senders:
                return
            nodes, when, hops = (np.concatenate(part) for part in zip(*senders, strict=True))
            chosen = self._random.random(len(nodes)) < 5 / len(nodes)  # g = 5, a = 1
            chosen[0] = True
            peers = self._random.choice(self._members(community + 1), int(chosen.sum()))
            when, hops = when[chosen], hops[chosen]
            yield _rows(
                *("upward", when, nodes[chosen], community), peer=peers, event=number, hops=hops
            )
            arrived = self._alive[peers]
            begin = peers[arrived], self._later(when[arrived]), hops[arrived] + 1
            if not arrived.any():
                return

    def _spread(
        self, number: int, community: int, nodes: Ints, when: Floats, hops: Ints
    ) -> Iterator[Rows]:
        """Let an event spread in a community from copies that arrived at some nodes."""
        seen = np.zeros(len(self._alive), dtype=bool)
        fan_out = min(ceil(log(self._sizes[community]) + 5), self._sizes[community] - 1)
        arrived = community > 0  # and published in the first
        while len(nodes):
            order = np.argsort(when, kind="stable")
            nodes, when, hops = nodes[order], when[order], hops[order]
            _, first = np.unique(nodes, return_index=True)
            new = np.zeros(len(nodes), dtype=bool)
            new[first] = True
            new &= ~seen[nodes]
            if not new.all():
                again = ~new
                late = when[again], nodes[again]
                yield _rows("duplicate", *late, community, event=number, hops=hops[again])
            nodes, when, hops = nodes[new], when[new], hops[new]
            if not len(nodes):
                return
            seen[nodes] = True
            if arrived:
                yield _rows("receive", when, nodes, community, event=number, hops=hops)
            arrived = True
            yield _rows("deliver", when, nodes, community, event=number, hops=hops)
            peers = self._others(nodes, community, fan_out).ravel()
            nodes, when = np.repeat(nodes, fan_out), np.repeat(when, fan_out)
            hops = np.repeat(hops, fan_out)
            yield _rows("send", when, nodes, community, peer=peers, event=number, hops=hops)
            there = self._alive[peers] & (self._random.random(len(peers)) >= LOSS)
            nodes, when, hops = peers[there], self._later(when[there]), hops[there] + 1

    def _later(self, when: Floats) -> Floats:
        return when + self._random.lognormal(log(0.02), 0.5, len(when))

    def _write(self, parts: Iterator[Rows]) -> None:
        """Write what happened in order, each node's records numbered."""
        every = list(parts)
        rows = {name: np.concatenate([part[name] for part in every]) for name in every[0]}
        order = np.lexsort((rows["when"], rows["node"]))
        by_node = rows["node"][order]
        starts = np.flatnonzero(np.diff(by_node, prepend=-1))
        lengths = np.diff([*starts, len(by_node)])
        sequence = np.empty(len(by_node), dtype=np.int64)
        first = self._numbers[by_node] - np.repeat(starts, lengths)
        sequence[order] = first + np.arange(len(by_node)) + 1
        self._numbers[by_node[starts]] += lengths
        in_time = np.argsort(rows["when"], kind="stable")
        events = [f"{publisher}-1-{n}" for n, publisher in enumerate(self._publishers)]
        columns = rows | {
            "sequence": sequence,
            "kind": _named(rows["kind"], [*KINDS]),
            "node": _named(rows["node"], self._ids),
            "community": _named(rows["community"], self._topics),
            "peer": _named(rows["peer"], [*self._ids, ""]),
            "topic": _named(np.where(rows["event"] >= 0, 0, 1), [self._topics[0], ""]),
            "event": _named(rows["event"], [*events, ""]),
        }
        arrays = [pa.array(columns[name]) for name in self._schema.names]
        table = pa.table(
            [a.cast(t) for a, t in zip(arrays, self._schema.types, strict=True)], self._schema.names
        )
        self._writer.write_table(table.take(pa.array(in_time)).cast(self._schema))
        self.records += len(in_time)


def _named(numbers: Ints, names: list[str]) -> pa.Array:
    """Put names for numbers; -1 is the last one."""
    indices = pa.array(np.where(numbers < 0, len(names) - 1, numbers).astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(names)).cast(pa.string())


def generate(path: Path, events: int, seed: int) -> int:
    """Write a run folder with so many events; return the number of its records."""
    folder = OutputFolder(path)
    scenario = VirtualScenario(
        name="generated",
        seed=seed,
        communities={Topic.parse(topic): size for topic, size in SIZES.items()},
        workload=Workload(topic=Topic.parse(next(iter(SIZES))), events=events, rate=1.0),
        duration_seconds=events,
        parameters=Parameters(),
        repair=False,  # what is generated are the copies of infect and die alone
    )
    folder.write_scenario(scenario, "virtual")
    world = _World(folder.trace(0, "parquet"), seed)
    world.run(events)
    folder.write_summary({"events": events})
    return world.records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("output", type=Path)
    parser.add_argument("--records", type=int, default=50_000_000, help="at least so many")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    an_event = generate(given.output / "sample", 20, 0) / 20
    events = ceil(
        given.records / given.runs / an_event * 1.04
    )  # events are a little less in a long run, where nobody joins
    total = 0
    for seed in range(1, given.runs + 1):
        total += generate(given.output / f"run{seed}", events, seed)
    print(f"{total:,} records in {given.runs} runs of {events:,} events")


if __name__ == "__main__":
    main()
