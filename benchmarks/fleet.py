"""A fleet for live benchmarks: nodes of one community, spread over OS processes, untraced."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import resource
import time
from array import array
from collections.abc import Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from attrs import frozen

from camcast import Community, CommunityManager, Parameters, Received, open_pipes

TOPIC = "."  # one community, with no other to link to
_SPAWN = multiprocessing.get_context("spawn")


@frozen
class Run:
    """What one publication run cost and brought."""

    published: int
    delivered: int
    expected: int
    seconds: float
    latencies: list[float]
    """Seconds from publish to delivery, in ascending order."""
    cpu_seconds: float
    copies: int


@frozen
class _Config:
    nodes: int
    membership: str
    parameters: Parameters
    options: Mapping[str, object]


class Fleet:
    """`nodes` nodes in `processes` OS processes; a context manager that starts and stops them."""

    def __init__(
        self,
        nodes: int,
        processes: int = 2,
        membership: str = "scamp",
        parameters: Parameters | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.nodes = nodes
        share = [nodes // processes + (i < nodes % processes) for i in range(processes)]
        self._pipes: list[Connection] = []
        self._workers = []
        for number in share:
            ours, theirs = _SPAWN.Pipe()
            config = _Config(number, membership, parameters or Parameters(), options or {})
            worker = _SPAWN.Process(target=_work, args=(theirs, config), daemon=True)
            worker.start()
            self._pipes.append(ours)
            self._workers.append(worker)

    def __enter__(self) -> Fleet:
        gateway = self._ask(0, "start", None)
        for number in range(1, len(self._pipes)):
            self._ask(number, "start", gateway)
        self._ask_all("settle", self.nodes)
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for pipe in self._pipes:
            pipe.send(("stop", None))
        for worker in self._workers:
            worker.join(10)

    def publish(self, events: int, size: int, rate: float | None = None) -> Run:
        """Publish from the first node, as fast as possible or at `rate` a second."""
        self._ask_all("reset", events)
        started = time.monotonic()
        for pipe in self._pipes[1:]:
            pipe.send(("receive", None))
        self._pipes[0].send(("publish", (events, size, rate)))
        answers = [pipe.recv() for pipe in self._pipes]
        last = max(answer["last"] for answer in answers)
        latencies = [seconds for answer in answers for seconds in answer["latencies"]]
        return Run(
            published=events,
            delivered=sum(answer["delivered"] for answer in answers),
            expected=events * self.nodes,
            seconds=last - min(started, *(a["first"] for a in answers if a["first"])),
            latencies=sorted(latencies),
            cpu_seconds=sum(answer["cpu"] for answer in answers),
            copies=sum(answer["copies"] for answer in answers),
        )

    def facts(self) -> list[dict[str, Any]]:
        """Return each worker's view sizes, memory and nodes."""
        return self._ask_all("facts", None)

    def _ask(self, number: int, command: str, argument: object) -> Any:
        self._pipes[number].send((command, argument))
        return self._pipes[number].recv()

    def _ask_all(self, command: str, argument: object) -> list[Any]:
        for pipe in self._pipes:
            pipe.send((command, argument))
        return [pipe.recv() for pipe in self._pipes]


def _work(pipe: Connection, config: _Config) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_Worker(pipe, config).run())


class _Worker:
    def __init__(self, pipe: Connection, config: _Config) -> None:
        self._pipe = pipe
        self._config = config
        self._managers: list[CommunityManager] = []
        self._communities: list[Community] = []
        self._delivered = 0
        self._first = self._last = 0.0
        self._latencies = array("d")  # 8 bytes each: the nodes are measured, not this list
        self._cpu = 0.0
        self._copies = 0
        self._idle_memory = 0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_memory = _memory_bytes()
        pipes = open_pipes()
        while True:
            command, argument = await loop.run_in_executor(None, self._pipe.recv)
            if command == "stop":
                break
            answer = await getattr(self, f"_{command}")(argument, pipes)
            self._pipe.send(answer)
        await asyncio.gather(*(manager.close() for manager in self._managers))
        pipes.close()

    async def _start(self, gateway: str | None, pipes: Any) -> str:
        for _ in range(self._config.nodes):
            manager = CommunityManager(
                self._config.membership,
                gateways=[] if gateway is None else [gateway],
                parameters=self._config.parameters,
                options=self._config.options,
                pipes=pipes,
            )
            await manager.start()
            gateway = gateway or manager.address
            self._managers.append(manager)
            community = await manager.join(TOPIC)
            community.subscribe(self._on_event)
            self._communities.append(community)
        return gateway or ""

    async def _settle(self, nodes: int, _pipes: Any) -> None:
        """Wait until the size estimates agree, which takes some heartbeats."""
        async with asyncio.timeout(60):
            while not all(abs(c.size - nodes) <= nodes / 4 for c in self._communities):
                await asyncio.sleep(0.2)
        await asyncio.sleep(3)  # three heartbeats: arcs get their weights, processes their sponsors
        gc.collect()
        gc.freeze()

    async def _on_event(self, event: Received) -> None:
        now = time.monotonic()
        self._first = self._first or now
        self._last = now
        self._delivered += 1
        self._latencies.append(now - float(event.payload[:20]))

    async def _reset(self, events: int, _pipes: Any) -> None:
        self._delivered = 0
        self._first = self._last = 0.0
        self._latencies = array("d")
        self._cpu = time.process_time()
        self._copies = sum(m.counters.event_copies_sent for m in self._managers)

    async def _publish(self, argument: tuple[int, int, float | None], pipes: Any) -> Any:
        events, size, rate = argument
        community = self._communities[0]
        started = time.monotonic()
        for number in range(events):
            if rate is not None:
                await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
            payload = f"{time.monotonic():020.9f}".encode().ljust(size, b".")
            await community.publish(payload)
        return await self._receive(None, pipes)

    async def _receive(self, _argument: None, _pipes: Any) -> Any:
        quiet_since = time.monotonic()
        delivered = -1
        while time.monotonic() - quiet_since < 2.0:
            if self._delivered != delivered:
                delivered, quiet_since = self._delivered, time.monotonic()
            await asyncio.sleep(0.1)
        return {
            "delivered": self._delivered,
            "first": self._first,
            "last": self._last,
            "latencies": self._latencies,
            "cpu": time.process_time() - self._cpu,
            "copies": sum(m.counters.event_copies_sent for m in self._managers) - self._copies,
        }

    async def _facts(self, _argument: None, pipes: Any) -> dict[str, Any]:
        return {
            "nodes": len(self._managers),
            "views": [len(community.peers) for community in self._communities],
            "sizes": [community.size for community in self._communities],
            "memory": _memory_bytes() - self._idle_memory,
            "dropped": pipes.counters.records_dropped,
            "pipes": len(pipes),
            "malformed": sum(m.counters.malformed for m in self._managers),
        }


def _memory_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
