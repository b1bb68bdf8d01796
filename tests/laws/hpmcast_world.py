"""hpmcast's real node in the virtual network, and what its views should be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from random import Random

from camcast.doors.plugs import find_protocol, membership_for
from camcast.engine.node import Node, Settings
from camcast.interests.interest import Interest
from camcast.protocols.hpmcast.address import Address, branch
from camcast.protocols.hpmcast.coverage import accuracy_of, weakened
from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.protocols.hpmcast.view import Line, elect
from camcast.settings.climate import Climate, Constant
from camcast.simulation.census import Census
from camcast.simulation.network import Process, VirtualNetwork
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic
from membership.hpmcast.hpmcast import HpmcastMembership


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
        backend, chosen_options = membership_for(chosen, "hpmcast")
        self.settings = Settings(
            backend=backend,
            discovery=self.census.discovery,
            options=chosen_options,
            protocol=chosen,
        )
        self.topics: dict[PeerId, tuple[Topic, ...]] = {}
        self.wheres: dict[PeerId, str] = {}
        """What those want of attributes who do not want everything."""
        self.delivered: dict[EventId, dict[PeerId, int]] = {}
        """How often, by event and process."""

    def start(
        self, *topics: str, gap: float = 0.02, peer: PeerId | None = None, where: str = ""
    ) -> Process:
        process = self.network.start(self.settings, peer=peer)
        if where:
            self.wheres[process.me.peer] = where
        self.topics[process.me.peer] = tuple(map(Topic.parse, topics))
        for topic in self.topics[process.me.peer]:
            self.network.do(process, partial(_join, topic, where))
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

    def want(self, process: Process, topic: str, where: str) -> None:
        """Let a process want something else of the attributes of a topic; "" is everything."""
        process.node.want(Topic.parse(topic), Interest.parse(where) if where else None)
        self.wheres[process.me.peer] = where

    def publish(self, process: Process, topic: str, payload: bytes = b"!") -> EventId:
        receipt = self.network.do(
            process, lambda node, now: node.publish(Topic.parse(topic), payload, now)
        )
        return receipt.id

    def wrong_tables(self) -> list[str]:
        """Return which tables are not what they should be, by process and level."""
        hierarchy = self.hierarchy
        living = {
            hierarchy.address_of(process.me.peer): self.wanted(process) for process in self.network
        }
        return [
            f"{process.me}, level {level}"
            for process in self.network
            for level in range(1, hierarchy.depth + 1)
            if list(views(process).table(level))
            != true_table(hierarchy, living, hierarchy.address_of(process.me.peer), level)
        ]

    def wanted(self, process: Process) -> Interest:
        """Return what a process wants."""
        where = self.wheres.get(process.me.peer)
        topics = self.topics[process.me.peer]
        terms = [f"{topic} and ({where})" if where else str(topic) for topic in topics]
        return Interest.parse(" or ".join(terms))

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


def true_table(
    hierarchy: Hierarchy, members: Mapping[Address, Interest], owner: Address, level: int
) -> list[Line[Interest]]:
    """Return a table, from all members at once: what its lines want is weakened level by level."""
    found: dict[Address, list[Address]] = {}
    for one in sorted(members):
        if branch(one, level) == branch(owner, level):
            found.setdefault(branch(one, level - 1), []).append(one)
    return [
        Line(
            at, elect(inside, hierarchy.redundancy), len(inside), _together(hierarchy, members, at)
        )
        for at, inside in found.items()
    ]


def _together(hierarchy: Hierarchy, members: Mapping[Address, Interest], at: Address) -> Interest:
    if len(at) == hierarchy.depth:
        return members[at]
    level = hierarchy.depth - len(at)
    below = dict.fromkeys(one[: len(at) + 1] for one in sorted(members) if one[: len(at)] == at)
    first, *others = (_together(hierarchy, members, one) for one in below)
    return weakened(first.union(*others), accuracy_of(level + 1, hierarchy.depth))


def _join(topic: Topic, where: str, node: Node, now: float) -> None:
    node.join(topic, now, where=Interest.parse(where) if where else None)


def _leave(topic: Topic, node: Node, now: float) -> None:
    node.leave(topic, now)
