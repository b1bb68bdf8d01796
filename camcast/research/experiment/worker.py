"""A worker: one operating system process that hosts a share of an experiment's nodes.

The run starts it as ``python -m camcast.research.experiment.worker``. Every node is a
`CommunityManager` with an input pipe of its own; the nodes share their output pipes. The nodes
leave politely, and the worker ends, on the command `Stop`, on SIGTERM, and when the run is gone.
Ctrl-C is for the run.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import attrs

from camcast import (
    AddressError,
    BindError,
    Community,
    CommunityError,
    CommunityManager,
    JsonLinesSink,
    Received,
    open_pipes,
)
from camcast.doors.plugs import find_protocol
from camcast.doors.transport import OutputPipes
from camcast.observe.counters import NodeCounters
from camcast.research.experiment import worker_messages as messages
from camcast.research.experiment.node import manager_of
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.schedule import Plan
from camcast.research.scenarios.toml_file import TomlFile
from camcast.research.systems.registry import find_system
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

DESCRIPTORS_MAX: Final = 2**16  # chosen: 20,000 peers; some machines allow a billion
STATUS_SECONDS: Final = 0.1  # chosen: ten reports a second cost nothing and feel immediate
# chosen: a full garbage collection waits for 70 million objects, since with 500 nodes it takes 0.3
# s, in which no event moves, and finds nothing (tests/library/live/test_community_life.py).
COLLECTED: Final = 7_000, 10, 1_000
# chosen: the share of a worker's time that reports may take; with 500 nodes one takes 5 ms
STATUS_SHARE: Final = 0.01
# chosen: the estimate's error is 13 % above 64 processes, so 3 sigma are still "settled"
SIZE_TOLERANCE: Final = 0.4


class Worker:
    """The nodes of this process."""

    def __init__(self, setup: messages.SetUp, report: Callable[[messages.Report], None]) -> None:
        self._setup = setup
        self._report = report
        self._scenario = TomlFile.given(setup.scenario, Path()).read(Scenario)
        self._pipes: OutputPipes | None = None
        """Shared by all nodes; None where each has links of its own, by its own key."""
        if setup.authority is None:
            self._pipes = open_pipes(
                self._scenario.transport, passphrase=setup.passphrase, system=setup.system
            )
        self._sink = JsonLinesSink(Path(setup.trace))
        self._protocol = find_protocol(self._scenario.protocol, self._scenario.protocol_options)
        system = find_system(self._protocol.name)  # once, as it reads the installed plugs
        self._home_size = system.home_size(self._protocol, self._scenario.kinds)
        self._managers: dict[int, CommunityManager] = {}
        self._named: dict[str, CommunityManager] = {}
        self._health = ExitStack()
        self._communities: dict[messages.Place, Community] = {}
        self._plan = Plan.of(self._scenario)
        self._sizes = self._scenario.sizes
        self._parameters = {topic: self._scenario.settings_of(topic) for topic in self._sizes}
        self._tasks: set[asyncio.Task[None]] = set()
        self._publishing: asyncio.Task[None] | None = None
        self._published = 0
        self._delivered = 0
        self._last_delivery = 0.0
        self._sends_later = False
        self._loop = asyncio.get_running_loop()

    async def set_up(self) -> None:
        """Start all nodes, so that every address is known before the first node joins."""
        for number in self._plan.nodes_of(self._setup.worker):
            await self._start(number)
        if self._setup.health is not None:
            from camcast.ops.health import serve

            self._health.enter_context(serve(self._named, *self._setup.health))
        peers = {n: manager.contact.peer.hex() for n, manager in self._managers.items()}
        self._report(messages.Ready(peers))
        self._spawn(self._report_status())

    def carry_out(self, command: messages.Command) -> None:
        """Carry out a command, in the background if it takes time."""
        match command:
            case messages.Join(places=places):
                self._spawn(self._join(places))
            case messages.Freeze():
                gc.collect()
                gc.freeze()
                gc.set_threshold(*COLLECTED)
            case messages.Publish(publications=publications):
                self._publishing = self._spawn(self._publish(publications))
            case messages.StopPublishing() if self._publishing is not None:
                self._publishing.cancel()

    async def leave(self) -> None:
        """Leave politely, and close the trace."""
        for task in list(self._tasks):
            task.cancel()
        self._health.close()
        counters = Counter[str]()
        for manager in self._managers.values():
            counted = manager.counters
            counters.update({n: getattr(counted, n) for n in attrs.fields_dict(NodeCounters)})
        await asyncio.gather(*(manager.close() for manager in self._managers.values()))
        if self._pipes is not None:
            self._pipes.close()
        with self._sink:
            pass
        self._report(messages.Bye(counters, self._delivered))

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(messages.Failed(f"{type(error).__name__}: {error}"))

    async def _start(self, number: int) -> None:
        scenario, folder = self._scenario, self._setup.control
        manager = manager_of(
            scenario.protocol,
            scenario.protocol_options,
            self._sizes,
            membership=scenario.membership,
            gateways=[self._setup.gateway],
            options=scenario.options,
            discovery=None if scenario.discovery == "own" else scenario.discovery,
            discovery_options=scenario.discovery_options,
            parameters=scenario.parameters,
            trace=self._sink,
            **self._links_of(number),
            repair=scenario.repair,
            order="arrival",  # as in the virtual network, and no paper has another
            control=None if folder is None else Path(folder) / f"{number}.sock",
            rng=stream(scenario.seed, "protocol", number),
        )
        await manager.start()
        self._managers[number] = self._named[str(number)] = manager

    def _links_of(self, number: int) -> dict[str, Any]:
        if self._setup.authority is None:
            return {"pipes": self._pipes}
        from camcast.research.experiment.brief_authority import BriefAuthority  # and PyNaCl with it

        identity = BriefAuthority(Path(self._setup.authority)).identity(str(number))
        return {"transport": self._scenario.transport, "system": self._setup.system, **identity}

    async def _join(self, places: list[messages.Place]) -> None:
        async def join(place: messages.Place) -> float:
            start = self._loop.time()
            number, topic = place
            if number not in self._managers:
                await self._start(number)
            community = self._community(number, Topic.parse(topic))
            await community.join(timeout=self._scenario.join_seconds, retry=True)
            seconds = self._loop.time() - start
            self._communities[place] = community
            community.subscribe(self._count)
            return seconds

        seconds = await asyncio.gather(*map(join, places))
        self._report(messages.Joined(list(zip(places, seconds, strict=True))))

    def _community(self, number: int, topic: Topic) -> Community:
        """Return a node's community, with what the scenario says of its topic."""
        return self._managers[number].community(
            topic,
            parameters=self._parameters[topic],
            super_topics=self._scenario.super_topics.declared or None,
        )

    async def _count(self, _received: Received) -> None:
        self._delivered += 1
        self._last_delivery = self._loop.time()

    async def _publish(self, publications: list[messages.Publication]) -> None:
        for publication in publications:
            wait = publication.at - self._loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            receipt = await self._communities[publication.node, publication.topic].publish(
                publication.payload, upward_probability=publication.upward_probability
            )
            self._sends_later |= receipt.later
            self._published += 1

    async def _report_status(self) -> None:
        while True:
            began = self._loop.time()
            self._sink.flush()  # a killed worker loses no more of its trace than one period
            self._report(
                messages.Status(
                    joined=self._count_nodes(lambda _place, c: c.state in ("member", "alone")),
                    # Not computed once publishing has begun, which it would slow down.
                    settled=0 if self._publishing else self._count_nodes(self._settled),
                    published=self._published,
                    delivered=self._delivered,
                    parasites=sum(m.counters.parasites for m in self._managers.values()),
                    last_delivery=self._last_delivery,
                    at=self._loop.time(),
                    sends_later=self._sends_later,
                )
            )
            took = self._loop.time() - began
            await asyncio.sleep(max(STATUS_SECONDS, took / STATUS_SHARE))

    def _count_nodes(self, holds: Callable[[messages.Place, Community], bool]) -> int:
        """Count the nodes of which something holds in every community of theirs."""
        held = Counter(
            place[0] for place, community in self._communities.items() if holds(place, community)
        )
        wanted = self._plan.topics
        return sum(
            count >= (len(wanted[node]) if node < len(wanted) else 1)  # or it is a newcomer
            for node, count in held.items()
        )

    def _settled(self, place: messages.Place, community: Community) -> bool:
        """Whether a node knows peers, the size of its community, and enough super-processes."""
        size = self._home_size(community.topic)
        links = sum(len(contacts) for _, contacts in community.links)
        # A protocol's own membership counts processes, and does not estimate how many there are.
        tolerance = 0.0 if self._protocol.membership else SIZE_TOLERANCE
        return (
            community.state in ("member", "alone")
            and len(community.peers) >= min(1, size - 1)
            and abs(community.size - size) <= tolerance * size
            and links >= self._links_wanted(place[0], community.topic)
        )

    def _links_wanted(self, number: int, topic: Topic) -> int:
        """Return how many other super-processes there are for a node's tables to hold."""
        if not self._protocol.linked:
            return 0
        wanted, above = 0, self._scenario.super_topics
        for way in above.of(topic):
            nearest = above.nearest(way, self._sizes)
            if nearest is not None:
                others = self._sizes[nearest] - ((number, nearest.name) in self._communities)
                wanted += min(self._parameters[topic].z, others)
        return wanted


class _ReportPipe:
    """Writes reports to standard output; whatever else is printed goes to standard error."""

    def __init__(self) -> None:
        self._descriptor = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def __call__(self, report: messages.Report) -> None:
        line = memoryview(messages.to_line(report))
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except BrokenPipeError:
            pass  # the run is gone, which the end of the input says, too


def raise_descriptor_limit() -> None:
    """Allow this process as many descriptors as it may have, within reason."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve() -> None:
    raise_descriptor_limit()
    report = _ReportPipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=messages.LINE_BYTES_MAX)
    commands, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    loop.add_signal_handler(signal.SIGTERM, commands.close)
    worker: Worker | None = None
    try:
        async for line in messages.whole_lines(reader):
            command = messages.COMMANDS.decode(line)
            if isinstance(command, messages.Stop):
                break
            if isinstance(command, messages.SetUp):
                worker = Worker(command, report)
                await worker.set_up()
            else:
                assert worker is not None, "the first command is to set up"
                worker.carry_out(command)
    except (BindError, AddressError, CommunityError, OSError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        report(messages.Failed(text))
    if worker is not None:
        await worker.leave()


if __name__ == "__main__":
    asyncio.run(_serve())
