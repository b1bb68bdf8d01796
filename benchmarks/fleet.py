"""A fleet for live benchmarks: nodes of one system, spread over OS processes.

The nodes are CAMCAST's (`camcast_members`) or those of a peer (`peers`); which, the workers say.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from attrs import frozen
from fleet_worker import FleetError, memory_bytes
from members import Share

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Worker(Protocol):
    """An OS process that runs nodes and obeys orders (`fleet_worker`)."""

    def send(self, command: str, argument: object = None) -> None:
        """Give an order."""

    def recv(self) -> Any:
        """Return the answer; raises `FleetError` if none comes."""

    def close(self) -> None:
        """End the process."""


@frozen
class Server:
    """The server of a system that has one: what it costs counts."""

    address: str
    process: int

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used."""
        with open(f"/proc/{self.process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def memory_bytes(self) -> int:
        """Return its resident memory."""
        return memory_bytes(self.process)


@frozen
class Run:
    """What one publication run cost and brought."""

    published: int
    delivered: int
    """At all nodes, the publisher included."""
    expected: int
    seconds: float
    """From the first publication to the last delivery."""
    latencies: list[float]
    """Seconds from publish to delivery, in ascending order."""
    cpu_seconds: float
    """Of all processes, the server included, until the last delivery."""
    counts: dict[str, int]
    """What was sent (`Members.counts`)."""

    @property
    def deliveries_per_second(self) -> float:
        """How fast the events arrived."""
        return self.delivered / self.seconds

    @property
    def cpu_seconds_per_1000(self) -> float:
        """Processor time for 1,000 deliveries."""
        return self.cpu_seconds / self.delivered * 1000

    def latency_ms(self, quantile: float) -> float:
        """Return a quantile of the latencies, in milliseconds."""
        return self.latencies[int(len(self.latencies) * quantile)] * 1e3


class Fleet:
    """`nodes` nodes in several OS processes; a context manager that starts and stops them.

    `hire` starts one worker. Every order raises `FleetError` if a worker fails.
    """

    def __init__(
        self,
        nodes: int,
        hire: Callable[[], Worker],
        processes: int = 2,
        seed: int = 1,
        server: Server | None = None,
    ) -> None:
        self.nodes = nodes
        self.processes = processes
        self.seed = seed
        self._hire = hire
        self._server = server
        self._workers: list[Worker] = []
        self.memory_mb_per_node = 0.0
        """What the nodes added to their processes, and the server's: settled, and still idle."""

    def __enter__(self) -> Fleet:
        try:
            self._workers += [self._hire() for _ in range(self.processes)]
            known = [self._server.address] if self._server else []
            everybody: list[str] = []
            first = 0
            for number, worker in enumerate(self._workers):
                nodes = self._share(self.nodes, number)
                share = Share(nodes, first, self.nodes, self.seed)
                worker.send("start", (share, known))
                everybody += worker.recv()
                known = known if self._server else everybody
                first += nodes
            self._ask_all("settle", everybody)
            self.memory_mb_per_node = self._memory_bytes() / self.nodes / 1e6
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        for worker in self._workers:
            worker.close()

    def publish(
        self,
        events: int,
        size: int,
        rate: float | None = None,
        *,
        publishers: int = 1,
        by_turn: bool = False,
    ) -> Run:
        """Publish as fast as possible, or at `rate` a second from each publisher.

        The publishers share the events, and are spread over the processes; one is the first node.
        `by_turn`: each publishes one event in a turn of its event loop.
        """
        events_each = events // publishers
        events = events_each * publishers
        self._ask_all("reset", events)
        server_cpu = self._server.cpu_seconds() if self._server else 0.0
        started = time.monotonic()
        for number, worker in enumerate(self._workers):
            here = self._share(publishers, number)
            if here:
                worker.send("publish", (events_each, size, rate, here, by_turn))
            else:
                worker.send("receive")
        answers = [worker.recv() for worker in self._workers]
        latencies = [seconds for answer in answers for seconds in answer["latencies"]]
        if not latencies:
            raise FleetError("nothing was delivered")
        counts: dict[str, int] = {}
        for answer in answers:
            for name, count in answer["counts"].items():
                counts[name] = counts.get(name, 0) + count
        if self._server:
            server_cpu = self._server.cpu_seconds() - server_cpu
        return Run(
            published=events,
            delivered=len(latencies),
            expected=events * self.nodes,
            seconds=max(answer["last"] for answer in answers) - started,
            latencies=sorted(latencies),
            cpu_seconds=sum(answer["cpu"] for answer in answers) + server_cpu,
            counts=counts,
        )

    def sent(self) -> dict[str, int]:
        """Return what all have sent since the last `publish` began (`Members.counts`).

        That of a `Run` ends for each worker with its own last delivery, when it may have others
        still to serve.
        """
        answers = self._ask_all("sent")
        return {name: sum(answer[name] for answer in answers) for name in answers[0]}

    def facts(self) -> dict[str, float]:
        """Return what the workers have to say (`Members.facts`): the mean over the processes."""
        answers = [fact["facts"] for fact in self._ask_all("facts")]
        return {name: sum(a[name] for a in answers) / len(answers) for name in answers[0]}

    def _share(self, nodes: int, number: int) -> int:
        """Return how many of so many nodes are in a process."""
        return nodes // self.processes + (number < nodes % self.processes)

    def _memory_bytes(self) -> int:
        memory: int = sum(fact["memory"] for fact in self._ask_all("facts"))
        return memory + (self._server.memory_bytes() if self._server else 0)

    def _ask_all(self, command: str, argument: object = None) -> list[Any]:
        for worker in self._workers:
            worker.send(command, argument)
        return [worker.recv() for worker in self._workers]
