"""The memberships in the virtual network, each with its real discovery, beyond the paper's 6.2.

Gateways for V1, Kademlia for V2 and V3, all through one first contact, on latencies between hosts
of the Internet. Everybody joins at once, and tables settle; events are published; newcomers join;
processes crash, then the first contact; in the end more crash while copies are lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.protocols.camcast import CamcastProtocol
from camcast.research.papers.memberships import plan
from camcast.research.scenarios.live import chain
from camcast.research.simulation.gc_paused import collector_off
from camcast.research.simulation.unheard_warnings import warnings_unheard
from camcast.research.sweeps import JSON
from camcast.virtual.climate import Climate, LogNormal
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER

JOIN_SECONDS_MAX: Final = 120.0  # chosen: as live
REST_SECONDS: Final = 70.0  # chosen: a lease of SCAMP and more
COUNTED_SECONDS: Final = 60.0  # chosen: a lease, and an upkeep of the overlay's
NOTICE_SECONDS_MAX: Final = 60.0  # chosen: ten times what a crash takes to be noticed
NEWCOMERS: Final = 8  # chosen: one in ten of g; a mean over them is known to a third
VICTIMS: Final = 8  # chosen: likewise
REPAIR_SECONDS: Final = 30.0  # chosen: tables that have lost half their entries are full again
EVENTS: Final = 20  # chosen: 1,600 expected receptions in g
EVENT_SECONDS: Final = 0.1  # chosen: between two events; nothing queues here
SPREAD_SECONDS: Final = 5.0  # chosen: five times what an event takes
LOSS: Final = 0.15  # [CAMCAST 6.1.1: a copy arrives with probability 0.85]


def run_virtual(given: Mapping[str, Any]) -> JSON:
    """Carry out one run."""
    with collector_off(), warnings_unheard():
        return _Run(given).carry_out()


def _counted(seconds: float | None) -> float:
    """Return after how many seconds something came to be; None: it never did."""
    return NOTICE_SECONDS_MAX if seconds is None else seconds


class _Run:
    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._communities = chain(given["sizes"], ["d", "g"])
        self._bottom = max(self._communities, key=lambda topic: topic.level)
        self._network = VirtualNetwork(plan.seed_of(given), Climate(latency=LogNormal()))
        backend = find_backend(given["backend"])
        self._settings = Settings(
            backend=backend,
            discovery=find_discovery(backend.discovery),
            options=backend.parse_options(plan.options_of(given)),
            parameters=plan.parameters_of(given),
            protocol=CamcastProtocol(),
        )
        self._first = self._start(())
        self._topics: dict[int, Topic] = {}
        """By number of a process: which topic it joined."""
        self._dead: dict[PeerId, None] = {}
        self._hops: dict[tuple[EventId, Topic], list[int]] = {}
        """The hops of each delivery, by event and community."""
        self._delivered = 0
        self._network.on_delivery = self._on_delivery

    def carry_out(self) -> JSON:
        bootstrap = self._all_join()
        self._network.run(REST_SECONDS)
        tables = self._of_tables()
        kilobytes = self._control_kilobytes()
        sent, delivered = self._copies_sent(), self._delivered
        rows = [row for p_sel in self._given["p_sel"] for row in self._spread(p_sel)]
        copies = (self._copies_sent() - sent) / max(1, self._delivered - delivered)
        newcomers = [self._newcomer(self._first.me.address) for _ in range(NEWCOMERS)]
        self._crash_some()
        dropped = self._until(self._dead_are_forgotten, NOTICE_SECONDS_MAX)
        self._crash(self._first)
        self._network.run(REPAIR_SECONDS)
        reception = self._reception()
        member = self._members()[0]
        alone = [self._newcomer(member.me.address)[0] for _ in range(NEWCOMERS)]
        self._crash_some()
        weather = self._network.weather
        weather.climate = attrs.evolve(weather.climate, loss=LOSS)
        return {
            "rows": rows,
            **tables,
            "copies_each": copies,
            "bootstrap_seconds": bootstrap,
            "control_kilobytes": kilobytes,
            "newcomer_seconds": sum(_counted(joined) for joined, _ in newcomers) / NEWCOMERS,
            "listed_seconds": sum(listed for _, listed in newcomers) / NEWCOMERS,
            "dropped_seconds": _counted(dropped),
            "reception_alone": reception,
            "joined_alone": sum(joined is not None for joined in alone) / NEWCOMERS,
            "reception_storm": self._reception(),
            "parasites": sum(p.node.counters.parasites for p in self._network),
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
            process: [contact.peer for contact in local_group.membership.peers()]
            for process in self._members()
            if (local_group := process.node.local_group(self._bottom)) is not None
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
                (part := process.node.local_group(self._topics[process.number])) is not None
                and part.joined
                for process in self._network
                if process.number in self._topics
            )

        return self._until(joined, JOIN_SECONDS_MAX)

    def _of_tables(self) -> dict[str, float]:
        """Return what is to be seen of the topic tables, before anything happens to them.

        In-degrees of g are compared with those of uniform tables of the same mean by their
        chi-square over its degrees of freedom: about 1 if they are alike.
        """
        tables = self._tables()
        size = len(tables)
        listed = Counter(peer for table in tables.values() for peer in table)
        degrees = [listed[process.me.peer] for process in tables]
        mean = sum(degrees) / size
        variance = mean * (1 - mean / (size - 1))  # binomial: each table has one with mean/(N-1)
        backend, options = self._settings.backend, self._settings.options
        return {
            # where everybody holds everybody there is nothing that could vary
            "chi_square": sum((degree - mean) ** 2 for degree in degrees)
            / (variance or 1.0)
            / (size - 1),
            "table_to_law": mean / backend.expected_view(options, size),
            "unlisted": sum(degree == 0 for degree in degrees) / size,
        }

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
        part = process.node.local_group(self._bottom)
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

    def _crash_some(self) -> None:
        """Crash some of g."""
        for victim in self._network.protocol.sample(self._members(), VICTIMS):
            self._dead[victim.me.peer] = None
            self._crash(victim)

    def _dead_are_forgotten(self) -> bool:
        """Say whether nobody of g has one of the crashed in the table."""
        return not any(peer in self._dead for table in self._tables().values() for peer in table)

    # -- events --------------------------------------------------------------------------------

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        topic = self._topics[process.number]
        for event in delivery.batch.events():
            self._delivered += 1
            self._hops.setdefault((event.id, topic), []).append(event.hops)

    def _copies_sent(self) -> int:
        """Return how many copies the living have sent within their communities."""
        return sum(process.node.counters.event_copies_sent for process in self._network)

    def _publish(self, events: int, p_sel: float | None) -> list[EventId]:
        """Let members of g publish in turn, and wait until everything has spread."""
        members, published = self._members(), []

        def publish(node: Node, now: float) -> EventId:
            return node.publish(self._bottom, b"", now, upward_probability=p_sel).id

        for number in range(events):
            published.append(self._network.do(members[number % len(members)], publish))
            self._network.run(EVENT_SECONDS)
        self._network.run(SPREAD_SECONDS)
        return published

    def _reception(self) -> float:
        """Publish in g; return the share of its members' receptions that came."""
        published = self._publish(EVENTS, None)
        received = sum(len(self._hops.get((event, self._bottom), ())) for event in published)
        return received / (EVENTS * len(self._members()))

    def _counts(self, topic: Topic) -> Counter[str]:
        """Return what the members of a community have counted of events."""
        counted: Counter[str] = Counter()
        for process in self._network:
            if self._topics.get(process.number) == topic:
                counters = process.node.counters
                counted["useful"] += counters.events
                counted["arrived"] += counters.events + counters.duplicates
                counted["upward"] += counters.upward_sent
        return counted

    def _spread(self, p_sel: float) -> Iterator[JSON]:
        """Publish events of one p_sel; yield the measures of each community, for the figures."""
        topics = sorted(self._communities, key=lambda topic: -topic.level)
        before = {topic: self._counts(topic) for topic in topics}
        published = self._publish(self._given["events"], p_sel)
        for name, topic in zip(plan.COMMUNITIES, topics, strict=True):
            # a publisher has its own event, with 0 hops, which is no reception
            expected = self._communities[topic] - (topic == self._bottom)
            hops = [
                [hop for hop in self._hops.get((event, topic), ()) if hop] for event in published
            ]
            received = [len(of_event) / max(1, expected) for of_event in hops]
            flat = [hop for of_event in hops for hop in of_event]
            counted = self._counts(topic)
            counted.subtract(before[topic])
            arrived = counted["arrived"]
            yield {
                "p_sel": p_sel,
                "community": name,
                "reception": sum(received) / len(received),
                "reliability": sum(share == 1 for share in received) / len(received),
                "efficiency": counted["useful"] / arrived if arrived else None,
                "hops_mean": sum(flat) / len(flat) if flat else None,
                "upward": counted["upward"] / len(published),
                "predicted": None,
                "by_event": received,
            }
