"""hpmcast's real node in the virtual network, and what its views should be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from random import Random

from camcast.events import EventId
from camcast.identity import PeerId
from camcast.node import Node, Settings
from camcast.outbox import Deliver
from camcast.protocols.catalogue import backend_for, find_protocol
from camcast.protocols.hpmcast_hierarchy import Hierarchy, regroup
from camcast.protocols.hpmcast_view import tables
from camcast.simulation.census import Census
from camcast.simulation.network import Process, VirtualNetwork
from camcast.simulation.weather import Climate, Constant
from camcast.streams import stream
from camcast.topics import ROOT, Topic
from membership.hpmcast import HpmcastMembership


class World:
    """A network of one protocol; strangers are found through the census."""

    def __init__(
        self,
        seed: int,
        loss: float = 0.0,
        latency: float = 0.05,
        protocol: str = "hpmcast",
        **options: object,
    ) -> None:
        self.network = VirtualNetwork(seed, Climate(latency=Constant(latency), loss=loss))
        self.network.on_delivery = self._on_delivery
        self.census = Census(stream(seed, "churn"))
        chosen = find_protocol(protocol, options)
        backend = backend_for(chosen, "hpmcast")
        self.settings = Settings(backend=backend, discovery=self.census.discovery, protocol=chosen)
        self.topics: dict[PeerId, tuple[Topic, ...]] = {}
        self.delivered: dict[EventId, dict[PeerId, int]] = {}
        """How often, by event and process."""

    def start(self, *topics: str, gap: float = 0.02, peer: PeerId | None = None) -> Process:
        process = self.network.start(self.settings, peer=peer)
        self.topics[process.me.peer] = tuple(map(Topic.parse, topics))
        for topic in self.topics[process.me.peer]:
            self.network.do(process, partial(_join, topic))
        self.network.run(gap)
        return process

    def grow(self, sizes: Mapping[str, int], gap: float = 0.02) -> list[Process]:
        return [self.start(topic, gap=gap) for topic, size in sizes.items() for _ in range(size)]

    def regular(self, arity: int, depth: int, topic: str, rng: Random) -> list[Process]:
        """Let `arity` processes join each group of level 1 (Equation 15)."""
        processes = []
        for digits in product(range(arity), repeat=depth - 1):
            for _ in range(arity):
                number = rng.getrandbits(100)
                for digit in reversed(digits):
                    number = number * arity + digit
                processes.append(self.start(topic, peer=PeerId(number.to_bytes(16))))
        return processes

    def crash(self, process: Process) -> None:
        self.census.strike(ROOT, process.me)
        self.network.crash(process)

    def leave(self, process: Process) -> None:
        for topic in self.topics[process.me.peer]:
            self.network.do(process, partial(_leave, topic))
        self.network.run(1.0)
        self.network.crash(process)

    def publish(self, process: Process, topic: str) -> EventId:
        receipt = self.network.do(
            process, lambda node, now: node.publish(Topic.parse(topic), b"!", now)
        )
        return receipt.id

    def wrong_tables(self) -> list[str]:
        """Return which tables are not what they should be, by process and level."""
        hierarchy = self.hierarchy
        living = {
            hierarchy.address_of(process.me.peer): regroup([self.topics[process.me.peer]])
            for process in self.network
        }
        return [
            f"{process.me}, level {level}"
            for process in self.network
            for level, table in tables(
                hierarchy.address_of(process.me.peer), living, hierarchy.redundancy, regroup
            ).items()
            if tuple(views(process).table(level)) != table
        ]

    def until_right(self, seconds_max: float) -> float:
        """Let time pass until all tables of all processes are right; return how much."""
        start = self.network.now
        right = self.network.run_until(lambda: not self.wrong_tables(), seconds_max, 1.0)
        assert right, self.wrong_tables()
        return self.network.now - start

    @property
    def hierarchy(self) -> Hierarchy:
        process = next(iter(self.network))
        return views(process).hierarchy

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        times = self.delivered.setdefault(delivery.event.id, {})
        times[process.me.peer] = times.get(process.me.peer, 0) + 1


def views(process: Process) -> HpmcastMembership:
    (participation,) = process.node.participations
    assert isinstance(participation.membership, HpmcastMembership)
    return participation.membership


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def _leave(topic: Topic, node: Node, now: float) -> None:
    node.leave(topic, now)
