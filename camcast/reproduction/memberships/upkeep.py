"""What the memberships cost and how soon they notice, which section 6.2 of the paper leaves out.

In the virtual network, with the real discovery of each: gateways for V1, the Kademlia package for
V2 and V3, all through one first contact. Everybody joins at once; then the tables are left alone,
newcomers join, processes crash, and in the end the first contact is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen

from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Node, Settings
from camcast.measures import measure_of
from camcast.population.outcome import Interval, mean_interval
from camcast.protocols.camcast import CamcastProtocol
from camcast.reproduction.memberships.plan import PARAMETERS, VARIANTS, Plan
from camcast.scenarios.live import chain
from camcast.settings.climate import Climate, LogNormal
from camcast.simulation.gc_paused import collector_off
from camcast.simulation.network import Process, VirtualNetwork
from camcast.sweeps import JSON, Cell
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER

JOIN_SECONDS_MAX: Final = 120.0  # chosen: as live
REST_SECONDS: Final = 130.0  # chosen: two leases of SCAMP, a refresh of the dht and more
COUNTED_SECONDS: Final = 60.0  # chosen: a lease, and an upkeep of the overlay's
NOTICE_SECONDS_MAX: Final = 60.0  # chosen: ten times what a crash takes to be noticed
NEWCOMERS: Final = 8  # chosen: one in ten of g; a mean over them is known to a third
VICTIMS: Final = 8  # chosen: likewise
REPAIR_SECONDS: Final = 30.0  # chosen: tables that have lost half their entries are full again
EVENTS: Final = 20  # chosen: 1,600 expected receptions in g
EVENT_SECONDS: Final = 0.25  # chosen: between two events, so that they do not queue

UPKEEP: Final = (
    *("bootstrap_seconds", "chi_square", "control_kilobytes", "newcomer_seconds"),
    *("listed_seconds", "dropped_seconds", "reception_alone", "joined_alone"),
)
"""What is measured (`camcast.measures`)."""


@frozen(kw_only=True)
class UpkeepRow:
    """What was measured of one backend, over its runs; the measures of `UPKEEP`."""

    backend: str
    variant: str
    runs: int
    measures: Mapping[str, Interval]


def upkeep_rows(
    runs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> tuple[UpkeepRow, ...]:
    """Put the cells and their results together, one row a backend."""
    rows = []
    for backend, variant in VARIANTS.items():
        results = [result for cell, result in runs if cell["backend"] == backend]
        measures = {
            name: mean_interval(
                np.array([result[name] for result in results if result[name] is not None]),
                0.0,
                measure_of(name).most,
            )
            for name in UPKEEP
        }
        rows.append(
            UpkeepRow(backend=backend, variant=variant, runs=len(results), measures=measures)
        )
    return tuple(rows)


def upkeep_cells(plan: Plan) -> list[Cell]:
    """Return the runs, one for each backend and repetition."""
    return [
        {
            "kind": "upkeep",
            "backend": backend,
            "sizes": list(plan.sizes_of(backend)),
            "seed": plan.seed,
            "run": run,
        }
        for backend in VARIANTS
        for run in range(plan.runs)
    ]


def run_upkeep(given: Mapping[str, Any]) -> JSON:
    """Carry out one run."""
    with collector_off():
        return _Town(given).live()


@frozen(eq=False)
class _Fact:
    """When something came to be, after it was waited for."""

    seconds: float | None

    @property
    def shown(self) -> float:
        return NOTICE_SECONDS_MAX if self.seconds is None else self.seconds


class _Town:
    def __init__(self, given: Mapping[str, Any]) -> None:
        seed = int(given["seed"]) * 10_000 + int(given["run"])
        self._communities = chain(given["sizes"], ["d", "g"])
        self._bottom = max(self._communities, key=lambda topic: topic.level)
        self._network = VirtualNetwork(seed, Climate(latency=LogNormal()))
        self._network.on_send = self._count
        self._bytes = 0
        self._events: dict[object, int] = {}
        backend = find_backend(given["backend"])
        self._settings = Settings(
            backend=backend,
            discovery=find_discovery(backend.discovery),
            options=backend.parse_options({"c": 0}),  # [CAMCAST 6.2.1]
            parameters=PARAMETERS,
            protocol=CamcastProtocol(),
        )
        self._first = self._start(())
        self._people: dict[int, Topic] = {}

    def _count(self, _source: str, _target: str, record: bytes) -> None:
        self._bytes += len(FRAME_HEADER) + len(record)

    def _start(self, gateways: tuple[str, ...]) -> Process:
        return self._network.start(attrs.evolve(self._settings, gateways={ROOT: gateways}))

    def _join(self, topic: Topic, gateway: str) -> Process:
        process = self._start((gateway,))
        self._people[process.number] = topic
        self._network.do(process, partial(_join, topic))
        return process

    def _members(self, topic: Topic) -> list[Process]:
        return [p for p in self._network if self._people.get(p.number) == topic]

    def _tables(self) -> dict[Process, list[PeerId]]:
        """Return whom the members of g have in their topic tables."""
        return {
            process: [contact.peer for contact in participation.membership.peers()]
            for process in self._members(self._bottom)
            if (participation := process.node.participation(self._bottom)) is not None
        }

    def _until(self, holds: Callable[[], bool], seconds_max: float) -> _Fact:
        before = self._network.now
        came = self._network.run_until(holds, seconds_max)
        return _Fact(self._network.now - before if came else None)

    # -- the course of a run -------------------------------------------------------------------

    def live(self) -> JSON:
        bootstrap = self._all_join()
        self._network.run(REST_SECONDS)
        chi_square = self._chi_square()
        kilobytes = self._control_kilobytes()
        joined, listed = self._newcomers(NEWCOMERS)
        dropped = self._crash_some()
        self._crash(self._first)
        self._network.run(REPAIR_SECONDS)
        reception = self._publish_some()
        member = next(iter(self._members(self._bottom)))
        alone = [self._newcomer(member.me.address)[0] for _ in range(NEWCOMERS)]
        return {
            "bootstrap_seconds": bootstrap.seconds,
            "chi_square": chi_square,
            "control_kilobytes": kilobytes,
            "newcomer_seconds": joined,
            "listed_seconds": listed,
            "dropped_seconds": dropped.shown,
            "reception_alone": reception,
            "joined_alone": sum(fact.seconds is not None for fact in alone) / len(alone),
        }

    def _all_join(self) -> _Fact:
        for topic, size in self._communities.items():
            for _ in range(size):
                self._join(topic, self._first.me.address)

        def joined() -> bool:
            return all(
                (part := process.node.participation(self._people[process.number])) is not None
                and part.joined
                for process in self._network
                if process.number in self._people
            )

        return self._until(joined, JOIN_SECONDS_MAX)

    def _chi_square(self) -> float:
        """Compare in-degrees with those of uniform tables of the same mean: about 1 if so."""
        tables = self._tables()
        size = len(tables)
        degree = dict.fromkeys((process.me.peer for process in tables), 0)
        for listed in tables.values():
            for peer in listed:
                if peer in degree:
                    degree[peer] += 1
        mean = sum(degree.values()) / size
        variance = mean * (1 - mean / (size - 1))  # binomial: each table has one with mean/(N-1)
        return sum((d - mean) ** 2 for d in degree.values()) / variance / (size - 1)

    def _control_kilobytes(self) -> float:
        before = self._bytes + self._network.datagrams.sent_bytes
        self._network.run(COUNTED_SECONDS)
        sent = self._bytes + self._network.datagrams.sent_bytes - before
        return sent / 1000 / len(self._people) * 3600 / COUNTED_SECONDS

    def _newcomer(self, gateway: str) -> tuple[_Fact, _Fact]:
        """Let one join g; return when it had joined, and when it was in somebody's table."""
        process = self._join(self._bottom, gateway)
        part = process.node.participation(self._bottom)
        assert part is not None
        joined = self._until(lambda: part.joined, NOTICE_SECONDS_MAX)
        listed = self._until(
            lambda: any(process.me.peer in table for table in self._tables().values()),
            NOTICE_SECONDS_MAX,
        )
        return joined, _Fact(joined.shown + listed.shown)

    def _newcomers(self, number: int) -> tuple[float, float]:
        facts = [self._newcomer(self._first.me.address) for _ in range(number)]
        joined = sum(fact.shown for fact, _ in facts) / number
        return joined, sum(fact.shown for _, fact in facts) / number

    def _crash(self, process: Process) -> None:
        self._people.pop(process.number, None)
        self._network.crash(process)

    def _crash_some(self) -> _Fact:
        victims = self._network.protocol.sample(self._members(self._bottom), VICTIMS)
        for victim in victims:
            self._crash(victim)
        dead = {victim.me.peer: None for victim in victims}
        return self._until(
            lambda: not any(peer in dead for table in self._tables().values() for peer in table),
            NOTICE_SECONDS_MAX,
        )

    def _publish_some(self) -> float:
        """Publish in g; return the share of its members' receptions that came."""
        members = self._members(self._bottom)
        received = 0

        def count(_process: Process, delivery: Deliver) -> None:
            nonlocal received
            received += delivery.group == self._bottom.group

        self._network.on_delivery = count
        for number in range(EVENTS):
            publisher = members[number % len(members)]
            self._network.do(publisher, partial(_publish, self._bottom))
            self._network.run(EVENT_SECONDS)
        self._network.run(5.0)  # chosen: five times what an event takes
        self._network.on_delivery = None
        return received / (EVENTS * len(members))


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def _publish(topic: Topic, node: Node, now: float) -> None:
    node.publish(topic, b"", now)
