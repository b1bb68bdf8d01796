"""The driver's side of a chaos run: worker processes on hosts, and what a fault does to them.

A `Lab` starts processes with nodes in them, tells them to publish, and kills, stops, continues and
restarts them. It notes when the fault began and ended, and what is excused. All that happened is in
the records that the processes wrote, and in those of the lab, which tell who was killed.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Literal

import msgspec
from attrs import define, evolve, field, frozen

from camcast.doors.profile import SIGNED
from camcast.engine.settings import Order
from camcast.live.profiles.key_file import read_secret_key
from camcast.research.experiment.brief_authority import BriefAuthority
from camcast.vocabulary.parameters import SpreadKind
from tests.library.chaos import records
from tests.library.chaos.checker import Fault
from tests.library.chaos.commands import (
    AnyCommand,
    Burst,
    Close,
    NodeSpec,
    Pace,
    Publish,
    Reply,
    Setup,
    Start,
    StopPublishing,
)
from tests.library.chaos.network import ROOT, Network

READY_SECONDS: Final = 30.0
"""How long a node may take to become a ready member. chosen: three times what `join` waits."""
EVENT_BYTES: Final = 64  # chosen: a short message
BUSY_RATE: Final = 20.0
"""Events a second. chosen: twice what makes a stream busy, for a Poisson process has pauses."""
_REPLY_SECONDS: Final = 150.0  # chosen: a burst of 20,000 events on a machine with a load of 20
_FIRST_PORT: Final = 7000


class WorkerError(Exception):
    """A worker process could not do what it was told, or did not answer."""


@frozen(kw_only=True)
class Choice:
    """What a run is about: the system that is tried."""

    membership: str
    transport: str
    seed: int
    spread: SpreadKind = "auto"
    order: Order = "fifo"
    profile: Literal["open", "signed"] = "open"


@define(eq=False)
class Worker:
    """A process with nodes, as the driver sees it."""

    name: str
    host: int
    process: asyncio.subprocess.Process
    nodes: list[NodeSpec] = field(factory=list)
    alive: bool = True
    _answers: dict[int, asyncio.Future[Reply]] = field(factory=dict)
    _numbers: itertools.count[int] = field(factory=lambda: itertools.count(1))

    async def listen(self) -> None:
        """Take the worker's replies until it ends."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            reply = msgspec.json.decode(line, type=Reply)
            answer = self._answer(reply.number)
            if not answer.done():
                answer.set_result(reply)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(WorkerError(f"{self.name} ended"))
                answer.exception()  # nobody may wait for it

    def _answer(self, number: int) -> asyncio.Future[Reply]:
        loop = asyncio.get_running_loop()
        return self._answers.setdefault(number, loop.create_future())

    async def up(self) -> None:
        """Wait until the worker takes commands."""
        await self._reply(0)

    def next_number(self) -> int:
        """Return a number for the next command."""
        return next(self._numbers)

    async def do(self, command: AnyCommand) -> Reply:
        """Give a command, and return the reply; raises `WorkerError`."""
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(command) + b"\n")
        return await self._reply(command.number)

    async def _reply(self, number: int) -> Reply:
        try:
            async with asyncio.timeout(_REPLY_SECONDS):
                reply = await self._answer(number)
        except TimeoutError:
            raise WorkerError(f"{self.name} did not answer") from None
        del self._answers[number]
        if reply.error:
            raise WorkerError(f"{self.name}: {reply.error}")
        return reply


class Lab:
    """Worker processes on the hosts of a network; an async context manager that ends them all."""

    def __init__(
        self,
        choice: Choice,
        network: Network,
        hosts: int,
        folder: Path,
        *,
        share_pipes: bool = True,
    ) -> None:
        self.network = network
        self.hosts = hosts
        self.random = Random(f"{choice.seed} lab")
        """Draws what a scenario leaves to chance, such as who is killed."""
        self.workers: list[Worker] = []
        """Those that run nodes, in the order of their start; gateways are in `gateways`."""
        self.gateways: list[Worker] = []
        self.fault = Fault()
        self._closed: frozenset[int] = frozenset()
        """The hosts behind firewalls; their nodes know it."""
        self._hidden_ports: dict[int, Iterator[int]] = {}
        """The ports that come next at hosts behind NATs; their nodes find out that they are."""
        self._choice = choice
        self._rate = 0.0
        self._folder = folder
        self._share_pipes = share_pipes
        self._ports = itertools.count(_FIRST_PORT)
        self._names = itertools.count()
        self._tasks: list[asyncio.Task[None]] = []
        self._rest = ExitStack()
        self._authority: BriefAuthority | None = None

    async def __aenter__(self) -> Lab:
        if self._choice.profile == SIGNED:
            kept = self._rest.enter_context(tempfile.TemporaryDirectory(prefix="chaos-authority"))
            self._authority = BriefAuthority.found(Path(kept))
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.iterdir():
            old.unlink()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        workers = [*self.workers, *self.gateways]
        for worker in workers:
            _kill(worker)
        await asyncio.gather(*(worker.process.wait() for worker in workers))
        await asyncio.gather(*self._tasks)
        self._rest.close()

    # -- processes and nodes -----------------------------------------------------------------

    async def spawn(
        self, host: int, *, descriptors: int | None = None, gateway: bool = False
    ) -> Worker:
        """Start a worker process on a host, and wait until it takes commands."""
        name = f"{'g' if gateway else 'p'}{next(self._names)}"
        setup = Setup(
            process=name,
            log=str(self._folder / f"{name}.jsonl"),
            membership=self._choice.membership,
            transport=self._choice.transport,
            spread=self._choice.spread,
            order=self._choice.order,
            seed=self._choice.seed,
            share_pipes=self._share_pipes,
            authority=None if self._authority is None else str(self._authority.folder),
            descriptors=descriptors,
        )
        command = [
            sys.executable,
            "-m",
            "tests.library.chaos.worker",
            msgspec.json.encode(setup).decode(),
        ]
        with (self._folder / f"{name}.err").open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *self.network.command(host, command),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C is for the driver, which then ends its workers
            )
        worker = Worker(name, host, process)
        (self.gateways if gateway else self.workers).append(worker)
        self._tasks.append(asyncio.create_task(worker.listen()))
        await worker.up()
        return worker

    async def start_gateway(self, host: int = 0) -> str:
        """Start a gateway, and return how others name it."""
        worker = await self.spawn(host, gateway=True)
        spec = self.specify(worker, None, [])
        await self.start(worker, [spec])
        return spec.as_gateway

    def specify(
        self,
        worker: Worker,
        topic: str | None,
        gateways: Sequence[str],
        *,
        paces: Sequence[Pace] = (),
        trace_bytes: int | None = None,
    ) -> NodeSpec:
        """Return a node to start in a worker, with an address of its own."""
        port = next(self._hidden_ports.get(worker.host, self._ports))
        name = f"{worker.name}n{port}"
        return NodeSpec(
            name=name,
            topic=topic,
            bind=f"tcp://{self.network.address(worker.host)}:{port}",
            gateways=list(gateways),
            reachable=self._reachable(worker.host),
            **self._new_identity(name),
            paces=list(paces),
            trace_bytes=trace_bytes,
        )

    def _new_identity(self, name: str) -> dict[str, str]:
        if self._authority is None:
            return {}
        key = read_secret_key(self._authority.identity(name)["identity"]).public
        return {"identity": name, "key": str(key)}

    def _reachable(self, host: int) -> Literal["no", "auto", "yes"]:
        if host in self._hidden_ports:
            return "auto"  # what it finds at its own address may be another's as well
        return "no" if host in self._closed else "yes"

    def close_in(self, *hosts: int) -> None:
        """Put hosts behind firewalls that let nobody in, before anything runs there."""
        self.network.close_in(hosts)
        self._closed = frozenset(hosts)

    def hide(self, *hosts: int) -> None:
        """Put each of these hosts behind a NAT, all with the same addresses, ports included."""
        self.network.hide(hosts)
        self._hidden_ports = {host: itertools.count(_FIRST_PORT) for host in hosts}

    async def start(self, worker: Worker, nodes: Sequence[NodeSpec]) -> None:
        """Start nodes in a worker, and wait until they are ready members, or have failed."""
        worker.nodes += nodes
        number = worker.next_number()
        await worker.do(Start(number, nodes=list(nodes), seconds=READY_SECONDS))

    async def populate(
        self,
        topics: Sequence[str],
        processes: int,
        gateways: Sequence[str],
        hosts: Sequence[int] = (),
    ) -> None:
        """Start processes on hosts (without any: on all) in turn, and nodes in them in turn."""
        places = hosts or range(self.hosts)
        workers = await asyncio.gather(
            *(self.spawn(places[number % len(places)]) for number in range(processes))
        )
        await asyncio.gather(
            *(
                self.start(
                    worker,
                    [self.specify(worker, topic, gateways) for topic in topics[place::processes]],
                )
                for place, worker in enumerate(workers)
            )
        )

    # -- publishing --------------------------------------------------------------------------

    async def publish(self, rate: float) -> None:
        """Let every living process publish at this rate a second, from its nodes at random.

        Where all events spread along trees, from its first node and `BUSY_RATE` times a second at
        least, as from a busy publisher.
        """
        self._rate = max(rate, BUSY_RATE) if rate and self._choice.spread == "tree" else rate
        await asyncio.gather(*map(self._publish_too, self.living()))

    async def publish_alone(self, rate: float) -> None:
        """Let the first node of the first process publish at this rate a second."""
        first = self.living()[0]
        await first.do(Publish(first.next_number(), rate=rate, size=EVENT_BYTES))

    async def stop_publishing(self) -> None:
        """Let nobody publish any more."""
        self._rate = 0.0
        await asyncio.gather(*(w.do(StopPublishing(w.next_number())) for w in self.living()))

    async def burst(self, worker: Worker, count: int, size: int) -> None:
        """Let the first node of a worker publish as fast as it can."""
        node = worker.nodes[0].name
        await worker.do(Burst(worker.next_number(), node=node, count=count, size=size))

    # -- faults ------------------------------------------------------------------------------

    def fault_begins(self) -> None:
        """Note that the fault begins now."""
        self.fault = evolve(self.fault, began=time.monotonic())
        self._note(records.FaultBegan(self.fault.began))

    def fault_ends(self) -> None:
        """Note that the fault has ended now, so that from here on all has to heal."""
        self.fault = evolve(self.fault, healed=time.monotonic())
        self._note(records.FaultEnded(self.fault.healed))

    def living(self) -> list[Worker]:
        """Return the workers that were not killed or closed."""
        return [worker for worker in self.workers if worker.alive]

    def draw(self, share: float) -> list[Worker]:
        """Return this share of the living workers, drawn at random, at least one."""
        living = self.living()
        return self.random.sample(living, max(1, round(share * len(living))))

    def kill(self, worker: Worker) -> None:
        """End a process with kill -9."""
        now = time.monotonic()
        _kill(worker)
        self._note(*(records.Ended(now, node.name, killed=True) for node in worker.nodes))

    def stop(self, worker: Worker) -> None:
        """Stop a process (SIGSTOP), until `resume`."""
        worker.process.send_signal(signal.SIGSTOP)

    def resume(self, worker: Worker) -> None:
        """Let a stopped process go on."""
        worker.process.send_signal(signal.SIGCONT)

    async def close(self, worker: Worker) -> None:
        """Let all nodes of a process leave politely, then end it."""
        worker.alive = False
        nodes = [node.name for node in worker.nodes]
        await worker.do(Close(worker.next_number(), nodes=nodes))
        _kill(worker)

    async def replace(self, worker: Worker, topics: Mapping[str, str] | None = None) -> Worker:
        """Start a process with nodes like those of an ended one, at the same addresses.

        `topics` says which topics to change, by their old names; a node that has another topic is
        somebody else, with an identity of its own.
        """
        await worker.process.wait()
        heir = await self.spawn(worker.host)
        nodes = []
        for number, node in enumerate(worker.nodes):
            name, topic = f"{heir.name}n{number}", (topics or {}).get(node.topic or "", node.topic)
            other = {} if topic == node.topic else self._new_identity(name)
            nodes.append(msgspec.structs.replace(node, name=name, topic=topic, **other))
        await self.start(heir, nodes)
        await self._publish_too(heir)
        return heir

    async def welcome(self, host: int, topics: Sequence[str], gateways: Sequence[str]) -> Worker:
        """Start one more process with nodes; it publishes if the others do."""
        worker = await self.spawn(host)
        await self.start(worker, [self.specify(worker, topic, gateways) for topic in topics])
        await self._publish_too(worker)
        return worker

    async def _publish_too(self, worker: Worker) -> None:
        if self._rate:
            number = worker.next_number()
            await worker.do(Publish(number, rate=self._rate, size=EVENT_BYTES))

    # -- the record --------------------------------------------------------------------------

    def history(self) -> list[records.AnyRecord]:
        """Return what was written down until now."""
        return records.read(sorted(self._folder.glob("*.jsonl")))

    def _note(self, *new: records.AnyRecord) -> None:
        with (self._folder / "lab.jsonl").open("ab") as file:
            file.writelines(msgspec.json.encode(record) + b"\n" for record in new)


def cut_between(left: Iterable[int], right: Iterable[int]) -> list[tuple[int, int]]:
    """Return all ways between two groups of hosts, in both directions."""
    ways = [(a, b) for a, b in itertools.product(left, right)]
    return ways + [(b, a) for a, b in ways]


def _kill(worker: Worker) -> None:
    worker.alive = False
    if worker.process.returncode is None:
        worker.process.kill()
