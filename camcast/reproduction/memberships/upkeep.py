"""What the memberships cost and how soon they notice, which section 6.2 of the paper leaves out.

In the virtual network, with the real discovery of each: gateways for V1, the Kademlia package for
V2 and V3, all through one first contact. Everybody joins at once; then the tables are left alone,
newcomers join, processes crash, and in the end the first contact is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen

from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Settings
from camcast.measures import measure_of
from camcast.population.outcome import Interval, mean_interval
from camcast.protocols.camcast import CamcastProtocol
from camcast.reproduction.memberships.plan import VARIANTS, Plan
from camcast.reproduction.memberships.runs import options_of, parameters_of, seed_of
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
            **plan.variant,
        }
        for backend in VARIANTS
        for run in range(plan.runs)
    ]


def run_upkeep(given: Mapping[str, Any]) -> JSON:
    """Carry out one run."""
    with collector_off():
        return _Run(given).carry_out()


def _counted(seconds: float | None) -> float:
    """Return after how many seconds something came to be; None: it never did."""
    return NOTICE_SECONDS_MAX if seconds is None else seconds


class _Run:
    def __init__(self, given: Mapping[str, Any]) -> None:
        self._communities = chain(given["sizes"], ["d", "g"])
        self._bottom = max(self._communities, key=lambda topic: topic.level)
        self._network = VirtualNetwork(seed_of(given), Climate(latency=LogNormal()))
        backend = find_backend(given["backend"])
        self._settings = Settings(
            backend=backend,
            discovery=find_discovery(backend.discovery),
            options=backend.parse_options(options_of(given)),
            parameters=parameters_of(given),
            protocol=CamcastProtocol(),
        )
        self._first = self._start(())
        self._topics: dict[int, Topic] = {}
        """By number of a process: which topic it joined."""

    def carry_out(self) -> JSON:
        bootstrap = self._all_join()
        self._network.run(REST_SECONDS)
        chi_square = self._chi_square()
        kilobytes = self._control_kilobytes()
        newcomers = [self._newcomer(self._first.me.address) for _ in range(NEWCOMERS)]
        dropped = self._crash_some()
        self._crash(self._first)
        self._network.run(REPAIR_SECONDS)
        reception = self._publish_some()
        member = self._members()[0]
        alone = [self._newcomer(member.me.address)[0] for _ in range(NEWCOMERS)]
        return {
            "bootstrap_seconds": bootstrap,
            "chi_square": chi_square,
            "control_kilobytes": kilobytes,
            "newcomer_seconds": sum(_counted(joined) for joined, _ in newcomers) / NEWCOMERS,
            "listed_seconds": sum(listed for _, listed in newcomers) / NEWCOMERS,
            "dropped_seconds": _counted(dropped),
            "reception_alone": reception,
            "joined_alone": sum(joined is not None for joined in alone) / NEWCOMERS,
        }

    def _start(self, gateways: tuple[str, ...]) -> Process:
        return self._network.start(attrs.evolve(self._settings, gateways={ROOT: gateways}))

    def _join(self, topic: Topic, gateway: str) -> Process:
        process = self._start((gateway,))
        self._topics[process.number] = topic
        self._network.do(process, lambda node, now: node.join(topic, now))
        return process

    def _members(self) -> list[Process]:
        """Return who is in g."""
        return [p for p in self._network if self._topics.get(p.number) == self._bottom]

    def _tables(self) -> dict[Process, list[PeerId]]:
        """Return whom the members of g have in their topic tables."""
        return {
            process: [contact.peer for contact in participation.membership.peers()]
            for process in self._members()
            if (participation := process.node.participation(self._bottom)) is not None
        }

    def _until(self, holds: Callable[[], bool], seconds_max: float) -> float | None:
        """Return the seconds after which something holds; None if it took too long."""
        before = self._network.now
        came = self._network.run_until(holds, seconds_max)
        return self._network.now - before if came else None

    def _all_join(self) -> float | None:
        for topic, size in self._communities.items():
            for _ in range(size):
                self._join(topic, self._first.me.address)

        def joined() -> bool:
            return all(
                (part := process.node.participation(self._topics[process.number])) is not None
                and part.joined
                for process in self._network
                if process.number in self._topics
            )

        return self._until(joined, JOIN_SECONDS_MAX)

    def _chi_square(self) -> float:
        """Compare in-degrees with those of uniform tables of the same mean: about 1 if so."""
        tables = self._tables()
        size = len(tables)
        listed = Counter(peer for table in tables.values() for peer in table)
        degrees = [listed[process.me.peer] for process in tables]
        mean = sum(degrees) / size
        variance = mean * (1 - mean / (size - 1))  # binomial: each table has one with mean/(N-1)
        return sum((degree - mean) ** 2 for degree in degrees) / variance / (size - 1)

    def _sent_bytes(self) -> int:
        network = self._network
        frames = network.bytes + network.messages * len(FRAME_HEADER)
        return frames + network.datagrams.sent_bytes

    def _control_kilobytes(self) -> float:
        before = self._sent_bytes()
        self._network.run(COUNTED_SECONDS)
        sent = self._sent_bytes() - before
        return sent / 1000 / len(self._topics) * 3600 / COUNTED_SECONDS

    def _newcomer(self, gateway: str) -> tuple[float | None, float]:
        """Let one join g; return when it had joined, and when it was in somebody's table."""
        process = self._join(self._bottom, gateway)
        part = process.node.participation(self._bottom)
        assert part is not None
        joined = self._until(lambda: part.joined, NOTICE_SECONDS_MAX)
        listed = self._until(
            lambda: any(process.me.peer in table for table in self._tables().values()),
            NOTICE_SECONDS_MAX,
        )
        return joined, _counted(joined) + _counted(listed)

    def _crash(self, process: Process) -> None:
        self._topics.pop(process.number, None)
        self._network.crash(process)

    def _crash_some(self) -> float | None:
        """Crash some of g; return after which time nobody of g has them in a table."""
        victims = self._network.protocol.sample(self._members(), VICTIMS)
        for victim in victims:
            self._crash(victim)
        dead = [victim.me.peer for victim in victims]
        return self._until(
            lambda: not any(peer in dead for table in self._tables().values() for peer in table),
            NOTICE_SECONDS_MAX,
        )

    def _publish_some(self) -> float:
        """Publish in g; return the share of its members' receptions that came."""
        members = self._members()
        received = 0

        def count(_process: Process, delivery: Deliver) -> None:
            nonlocal received
            received += delivery.group == self._bottom.group

        self._network.on_delivery = count
        for number in range(EVENTS):
            publisher = members[number % len(members)]
            self._network.do(publisher, lambda node, now: node.publish(self._bottom, b"", now))
            self._network.run(EVENT_SECONDS)
        self._network.run(5.0)  # chosen: five times what an event takes
        self._network.on_delivery = None
        return received / (EVENTS * len(members))
