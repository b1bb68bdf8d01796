"""The paper's static setting on the shipped code: real nodes in the virtual network.

Every process of a `Setting` is a node that encodes, sends, decodes and forwards as it does
live; only its tables are dealt instead of learned, as the paper's simulation has it (000,
6.1.1: "determined statically [...] and do not change"). A copy takes one second, so that a
round of the paper is a second here. It is the reference for the population simulator and the
count chain, at sizes that a machine can hold (about 15 MB and a second a run per 1,000).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Final

import attrs
import numpy as np
from typing_extensions import override

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.membership import Backend
from camcast.engine.settings import Settings
from camcast.protocols.camcast import CamcastProtocol
from camcast.research.population.outcome import Outcome
from camcast.research.simulation.dealt_table import dealt_tables
from camcast.research.simulation.run_context import collector_off
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.setting_base import SettingError
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.network import Process, VirtualNetwork, address_of
from camcast.virtual.weather import Cut, Obstacle
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.outbox import Deliver, Finding
from camcast.vocabulary.parameters import settings_of
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

PROCESSES_MAX: Final = 20_000  # chosen: some 300 MB; the population simulator takes over
_ROUND_SECONDS: Final = 1.0
_NEVER: Final = 1e9  # chosen: seconds; no upkeep of links within a run


class _Silence(Discovery):
    """A discovery that never answers: whoever deals the tables does."""

    def __init__(self, _context: DiscoveryContext) -> None: ...
    @override
    def announce(self, topic: Topic, now: float) -> None: ...
    @override
    def withdraw(self, topic: Topic, now: float) -> None: ...
    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None: ...
    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None: ...


def simulate(setting: Setting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Publish one event in each of `runs` networks, and count.

    Run r depends on the setting, the seed and r alone. Raises `SettingError` for more than
    `PROCESSES_MAX` processes.
    """
    if setting.processes > PROCESSES_MAX:
        raise SettingError(
            f"{setting.processes:,} processes are too many for the virtual network, which takes"
            f" {PROCESSES_MAX:,}; use the population simulator or the count chain"
        )
    with collector_off():
        rows = [_run(setting, seed, run) for run in range(first_run, first_run + runs)]
    counts = np.array(rows, dtype=np.int64).reshape(runs, len(setting.communities), 5)
    sizes = tuple(community.size for community in setting.communities)
    return Outcome(sizes, *counts.transpose(2, 0, 1))


class DealtNetwork:
    """A setting's processes, started, with their tables dealt; nothing is published yet."""

    def __init__(self, setting: Setting, dice: Random) -> None:
        said = [(one.success, one.success_up) for one in setting.communities]
        weak = any(one != (None, None) for one in said)
        self.network = VirtualNetwork(
            dice.getrandbits(63),
            Climate(latency=Constant(_ROUND_SECONDS), loss=0.0 if weak else 1 - setting.arrival),
        )
        self.topics = [Topic((f"c{index}",)) for index in range(len(setting.communities))]
        self._setting, self._dice = setting, dice
        sizes = [community.size for community in setting.communities]
        self._first = [0, *accumulate(sizes)]
        """The number of the first process of each community."""
        everybody = [
            Contact(new_peer_id(dice.randbytes), address_of(n)) for n in range(setting.processes)
        ]
        if weak:
            self.network.weather.cuts += self._weak_links()
        self._members = [everybody[begin:end] for begin, end in pairwise(self._first)]
        """Everybody, dead or alive, by community."""
        backend = dealt_tables(dict(zip(self.topics, sizes, strict=True)))
        self.alive = [self._start(index, backend) for index in range(len(sizes))]
        """By community, the living by their index within it."""
        for index in range(len(sizes)):
            self._deal(index)

    def _weak_links(self) -> list[Obstacle]:
        """Return the losses of each community's copies, within it and upward (000, 4.3.1)."""
        setting, numbers = self._setting, [range(*pair) for pair in pairwise(self._first)]
        found: list[Obstacle] = []
        for at, community in enumerate(setting.communities):
            within, up = setting.arrival_within(at), setting.arrival_up(at)
            found.append(Cut(numbers[at], numbers[at], loss=1 - within))
            found += (
                Cut(numbers[at], numbers[above], one_way=True, loss=1 - up)
                for above in dict.fromkeys(community.supers)
            )
        return found

    def _start(self, index: int, backend: Backend) -> dict[int, Process]:
        """Start who is alive of a community, the publisher among them."""
        community, stillborn = self._setting.communities[index], self._setting.stillborn
        settings = Settings(
            backend=backend,
            discovery=_Silence,
            parameters=attrs.evolve(
                settings_of(community.parameters),
                check_seconds=_NEVER,
                search_seconds=_NEVER,
                search_seconds_max=_NEVER,
            ),
            protocol=CamcastProtocol(),
        )
        topic, supers = self.topics[index], [self.topics[above] for above in community.supers]
        living: dict[int, Process] = {}
        for position, contact in enumerate(self._members[index]):
            # The publisher is the first: tables are uniform, so any will do.
            first = index == 0 and position == 0
            if first or not stillborn or self._dice.random() >= stillborn:
                number = self._first[index] + position
                process = self.network.start(settings, number=number, peer=contact.peer)
                process.node.join(topic, 0.0, super_topics=supers)
                process.node.contacts_found(Finding(topic, ()), 0.0)
                living[position] = process
        return living

    def _deal(self, index: int) -> None:
        """Deal every living process of a community its tables, which name the dead as well."""
        community, everybody = self._setting.communities[index], self._members[index]
        for position, process in self.alive[index].items():
            node = process.node
            for above in community.supers:
                members = self._members[above]
                entries = self._dice.sample(members, community.links(len(members)))
                node.contacts_found(Finding(self.topics[above], tuple(entries)), 0.0)
            local_group = node.local_group(self.topics[index])
            assert local_group is not None
            table = local_group.membership.peers()
            # k distinct others: draw among one fewer, and let the last stand in for oneself.
            for drawn in self._dice.sample(range(community.size - 1), community.fan_out):
                table.add(everybody[-1 if drawn == position else drawn])
            node.outbox.wakes.clear()  # upkeep that a static setting does without

    def publish(self, community: int) -> None:
        """Let the first living process of a community publish; run until nothing is under way."""
        topic = self.topics[community]
        publisher = next(iter(self.alive[community].values()))
        self.network.do(publisher, lambda node, now: node.publish(topic, b"", now))
        while self.network.queue:
            self.network.queue.step()


def _run(setting: Setting, seed: int, run: int) -> Sequence[tuple[int, int, int, int, int]]:
    """Run one network; return (alive, received, rounds, messages, upward) by community."""
    dealt = DealtNetwork(setting, stream(seed, "workload", "static", run))
    received = dict.fromkeys(dealt.topics, 0)
    rounds = dict.fromkeys(dealt.topics, 0)
    topic_of = {topic.group: topic for topic in dealt.topics}

    def count(_process: Process, delivery: Deliver) -> None:
        topic = topic_of[delivery.group]
        received[topic] += delivery.batch.count
        rounds[topic] = max(rounds[topic], delivery.batch.hops + 1)

    dealt.network.on_delivery = count
    dealt.publish(0)
    return [
        (
            len(living),
            received[topic],
            rounds[topic],
            sum(process.node.counters.event_copies_sent for process in living.values()),
            sum(process.node.counters.upward_sent for process in living.values()),
        )
        for topic, living in zip(dealt.topics, dealt.alive, strict=True)
    ]
