"""The paper's static setting on the shipped code: real nodes in the virtual network.

Every process of a `Setting` is a node that encodes, sends, decodes and forwards as it does
live; only its tables are dealt instead of learned, as the paper's simulation has it (000,
6.1.1: "determined statically [...] and do not change"). A copy takes one second, so that a
round of the paper is a second here. It is the reference for the population simulator and the
count chain, at sizes that a machine can hold (about 15 MB and a second a run per 1,000).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import Final, NamedTuple

import attrs
import numpy as np
from typing_extensions import override

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.membership import Backend
from camcast.engine.settings import Settings
from camcast.observe.trace import Sink
from camcast.protocols.camcast import CamcastProtocol
from camcast.research.population.load_counts import LoadColumns, enter_copies
from camcast.research.population.outcome import Outcome
from camcast.research.simulation.dealt_table import dealt_tables
from camcast.research.simulation.run_context import collector_off
from camcast.research.simulation.run_record import CommunityTally
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.setting_base import SettingError
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.network import Process, VirtualNetwork, address_of
from camcast.virtual.weather import Cut, Obstacle
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.outbox import Deliver, Finding
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

PROCESSES_MAX: Final = 20_000  # chosen: some 300 MB; the population simulator takes over
_ROUND_SECONDS: Final = 1.0
_NEVER: Final = 1e9  # chosen: seconds; no upkeep of links within a run


class _Copies(NamedTuple):
    """The copies of a process in a community."""

    sent: int
    """Upward copies, too."""
    upward: int
    """Where processes are in several communities, those of all of them."""
    received: int


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
    `PROCESSES_MAX` processes, and for processes in several communities where some of these have a
    success of their own, which links between hosts have here.
    """
    if setting.overlaps and setting.weakly_linked:
        raise SettingError(
            "the virtual network has a success of its own for links between hosts; give it to no"
            " community where processes are in several"
        )
    if setting.processes > PROCESSES_MAX:
        raise SettingError(
            f"{setting.processes:,} processes are too many for the virtual network, which takes"
            f" {PROCESSES_MAX:,}; use the population simulator or the count chain"
        )
    sizes = tuple(community.size for community in setting.communities)
    loads = LoadColumns(runs, len(sizes), roles=("publishers", "links"))
    with collector_off():
        rows = [_run(setting, seed, first_run + run, loads, run) for run in range(runs)]
    counts = np.array(rows, dtype=np.int64).reshape(runs, len(sizes), 5)
    alive, received, rounds, messages, upward = counts.transpose(2, 0, 1)
    return Outcome(sizes, alive, received, rounds, messages, upward, loads=loads.by_name())


class DealtNetwork:
    """A setting's processes, started, with their tables dealt; nothing is published yet."""

    def __init__(self, setting: Setting, dice: Random, sink: Sink | None = None) -> None:
        weak = setting.weakly_linked
        self.network = VirtualNetwork(
            dice.getrandbits(63),
            Climate(latency=Constant(_ROUND_SECONDS), loss=0.0 if weak else 1 - setting.arrival),
            sink,
        )
        self.topics = [Topic((f"c{index}",)) for index in range(len(setting.communities))]
        self._setting, self._dice = setting, dice
        sizes = [community.size for community in setting.communities]
        self._homes = _homes(setting)
        self._everybody = [
            Contact(new_peer_id(dice.randbytes), address_of(n)) for n in range(setting.processes)
        ]
        self._members = [
            [number for number, home in enumerate(self._homes) if index in home]
            for index in range(len(sizes))
        ]
        """The numbers of everybody, dead or alive, by community."""
        if weak:
            self.network.weather.cuts += self._weak_links()
        backend = dealt_tables(dict(zip(self.topics, sizes, strict=True)))
        living = self._start(backend)
        self.alive = [
            {at: living[number] for at, number in enumerate(members) if number in living}
            for members in self._members
        ]
        """By community, the living by their index within it."""
        for index in range(len(sizes)):
            self._deal(index)

    def _weak_links(self) -> list[Obstacle]:
        """Return the losses of each community's copies, within it and upward (000, 4.3.1)."""
        setting, numbers = self._setting, [dict.fromkeys(one) for one in self._members]
        found: list[Obstacle] = []
        for at, community in enumerate(setting.communities):
            within, up = setting.arrival_within(at), setting.arrival_up(at)
            found.append(Cut(numbers[at], numbers[at], loss=1 - within))
            found += (
                Cut(numbers[at], numbers[above], one_way=True, loss=1 - up)
                for above in dict.fromkeys(community.supers)
            )
        return found

    def _start(self, backend: Backend) -> dict[int, Process]:
        """Start all who are alive, the publisher among them; return them by number."""
        stillborn = self._setting.stillborn
        papers = CommunitySettings(spread="infect")
        every = [papers.with_parameters(one.parameters) for one in self._setting.communities]
        quiet = [
            attrs.evolve(
                one, check_seconds=_NEVER, search_seconds=_NEVER, search_seconds_max=_NEVER
            )
            for one in every
        ]
        living: dict[int, Process] = {}
        for number, homes in enumerate(self._homes):
            # The publisher is the first: tables are uniform, so any will do.
            first = number == self._members[0][0]
            if first or not stillborn or self._dice.random() >= stillborn:
                settings = Settings(
                    backend=backend,
                    discovery=_Silence,
                    parameters=quiet[homes[0]],
                    protocol=CamcastProtocol(),
                )
                peer = self._everybody[number].peer
                process = self.network.start(settings, number=number, peer=peer)
                for home in homes:
                    topic = self.topics[home]
                    above = self._setting.communities[home].supers
                    supers = [self.topics[one] for one in above]
                    process.node.join(topic, 0.0, quiet[home], super_topics=supers)
                    process.node.contacts_found(Finding(topic, ()), 0.0)
                living[number] = process
        return living

    def _deal(self, index: int) -> None:
        """Deal every living process of a community its tables, which name the dead as well."""
        community = self._setting.communities[index]
        everybody = [self._everybody[number] for number in self._members[index]]
        for position, process in self.alive[index].items():
            node = process.node
            for above in community.supers:
                others = [self._everybody[n] for n in self._members[above] if n != process.number]
                entries = self._dice.sample(others, community.links(len(others)))
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


def _run(
    setting: Setting, seed: int, run: int, loads: LoadColumns, row: int
) -> Sequence[tuple[int, int, int, int, int]]:
    """Run one network; return (alive, received, rounds, messages, upward) by community."""
    tally = CommunityTally(None) if setting.overlaps else None
    dealt = DealtNetwork(setting, stream(seed, "workload", "static", run), tally)
    received = dict.fromkeys(dealt.topics, 0)
    rounds = dict.fromkeys(dealt.topics, 0)
    topic_of = {topic.group: topic for topic in dealt.topics}

    def count(_process: Process, delivery: Deliver) -> None:
        topic = topic_of[delivery.group]
        received[topic] += delivery.batch.count
        rounds[topic] = max(rounds[topic], delivery.batch.hops + 1)

    dealt.network.on_delivery = count
    dealt.publish(0)
    found = []
    for at, (topic, living) in enumerate(zip(dealt.topics, dealt.alive, strict=True)):
        copies = [_copies(process, topic, tally) for process in living.values()]
        _enter_loads(loads, (row, at), copies)
        messages = (
            (sum(one.sent - one.upward for one in copies), sum(one.upward for one in copies))
            if tally is None
            else (tally.copies["send"][topic.name], tally.copies["upward"][topic.name])
        )
        found.append((len(living), received[topic], rounds[topic], *messages))
    return found


def _copies(process: Process, topic: Topic, tally: CommunityTally | None) -> _Copies:
    """Return what a process has sent and received in a community."""
    if tally is None:
        of = process.node.counters
        sent = of.event_copies_sent + of.upward_sent
        return _Copies(sent, of.upward_sent, of.events + of.duplicates)
    node = process.me.peer.hex()
    return _Copies(
        tally.sent[node, topic.name], tally.upward[node], tally.received[node, topic.name]
    )


def _enter_loads(loads: LoadColumns, at: tuple[int, int], copies: Sequence[_Copies]) -> None:
    """Enter the loads of a community; the publisher is the first process of the first one."""
    sent = np.array([one.sent for one in copies], np.int64)
    links = sent[[one.upward > 0 for one in copies]]
    mean = enter_copies(loads.sent[at], sent, len(sent))
    if mean > 0 and at[1] == 0:
        loads.sent[at][-2] = sent[0] / mean
    if mean > 0 and len(links):
        loads.sent[at][-1] = links.mean() / mean
    received = np.array([one.received for one in copies], np.int64)
    enter_copies(loads.received[at], received, len(received))


def _homes(setting: Setting) -> list[tuple[int, ...]]:
    """Return the communities of each process, those of one community first."""
    homes: list[tuple[int, ...]] = []
    for index, community in enumerate(setting.communities):
        several = sum(one.count for one in setting.overlaps if index in one.communities)
        homes += [(index,)] * (community.size - several)
    for one in setting.overlaps:
        homes += [one.communities] * one.count
    return homes
