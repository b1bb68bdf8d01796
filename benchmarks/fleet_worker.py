"""One worker of a fleet: an OS process that runs nodes, and measures what arrives at them.

The same worker measures every system that Python reaches, so that all are counted alike. Orders
come through a pipe: (command, argument), each answered. `peers/gossipsub/worker.mjs` is its twin.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import resource
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from members import Members, Share
from stack_samples import StackSamples

_SPAWN = multiprocessing.get_context("spawn")

FLAME_FOLDER = "CAMCAST_FLAME_FOLDER"
"""The variable that names a folder for stacks, if any are to be sampled (`flame.py`)."""

STAMP_BYTES = 20
"""A payload begins with the time of its publication, on the clock that all processes share."""
QUIET_SECONDS = 3.0  # chosen: what has not arrived by then is lost; a loop may stall for a second
DUPLICATES_SECONDS = 0.3  # chosen: when all is there, what comes twice is seen at once
ANSWER_SECONDS_MAX = 180.0  # chosen: js-libp2p needs 30 s for 100,000 deliveries
CLOSE_SECONDS_MAX = 10.0  # chosen: goodbyes have a second


class FleetError(Exception):
    """A fleet could not do its work; the message says what happened."""


class PythonWorker:
    """The fleet's end of a worker in a Python process."""

    def __init__(self, members: Callable[[], Members]) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_work, args=(theirs, members), daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the worker is the end of the pipe

    def send(self, command: str, argument: object = None) -> None:
        """Give an order; raises `FleetError` if there is nobody to take it."""
        try:
            self._pipe.send((command, argument))
        except OSError:
            raise FleetError("a worker failed; its traceback is above") from None

    def recv(self) -> Any:
        """Return the answer; raises `FleetError` if none comes."""
        try:
            if self._pipe.poll(ANSWER_SECONDS_MAX):
                return self._pipe.recv()
        except (EOFError, OSError):
            raise FleetError("a worker failed; its traceback is above") from None
        raise FleetError(f"a worker has not answered for {ANSWER_SECONDS_MAX:.0f} s")

    def close(self) -> None:
        """End the process: politely, and if that does not help, by force."""
        with suppress(FleetError):  # It may be dead.
            self.send("stop")
            self._process.join(CLOSE_SECONDS_MAX)
        if self._process.is_alive():
            self._process.kill()
        self._pipe.close()


def _work(pipe: Connection, members: Callable[[], Members]) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_Worker(pipe, members()).run())


class _Worker:
    def __init__(self, pipe: Connection, members: Members) -> None:
        self._pipe = pipe
        self._members = members
        members.on_event = self._on_event
        self._nodes = 0
        self._expected = 0
        self._last = 0.0
        self._latencies = array("d")  # 8 bytes each: the nodes are measured, not this list
        self._cpu = 0.0
        self._counts: dict[str, int] = {}
        self._idle_memory = memory_bytes()
        self._samples = StackSamples() if FLAME_FOLDER in os.environ else None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            command, argument = await loop.run_in_executor(None, self._pipe.recv)
            if command == "stop":
                break
            self._pipe.send(await getattr(self, f"_{command}")(argument))
        await self._members.close()

    async def _start(self, argument: tuple[Share, list[str]]) -> list[str]:
        share, known = argument
        self._nodes = share.nodes
        return await self._members.start(share, known)

    async def _settle(self, everybody: list[str]) -> None:
        await self._members.settle(everybody)
        gc.collect()
        gc.freeze()

    def _on_event(self, payload: bytes) -> None:
        now = time.monotonic()
        self._latencies.append(now - float(payload[:STAMP_BYTES]))  # atomic: threads may call this
        self._last = now

    async def _reset(self, events: int) -> None:
        self._expected = events * self._nodes
        self._last = 0.0
        self._latencies = array("d")
        if self._samples is not None:
            self._samples.begin()
        self._cpu = time.process_time()
        self._counts = self._members.counts()

    async def _publish(self, argument: tuple[int, int, float | None, int, bool]) -> dict[str, Any]:
        events, size, rate, publishers, by_turn = argument
        await asyncio.gather(
            *(self._publish_from(n, events, size, rate, by_turn) for n in range(publishers))
        )
        await self._members.flush()
        return await self._receive(None)

    async def _publish_from(
        self, node: int, events: int, size: int, rate: float | None, by_turn: bool
    ) -> None:
        started = time.monotonic()
        for number in range(events):
            if rate is not None:
                await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
            payload = f"{time.monotonic():0{STAMP_BYTES}.9f}".encode().ljust(size, b".")
            await self._members.publish(payload, node)
            if by_turn:
                await asyncio.sleep(0)

    async def _receive(self, _argument: None) -> dict[str, Any]:
        """Wait until everything is there or nothing more arrives; what follows costs no more."""
        delivered, quiet_since = -1, time.monotonic()
        cpu, counts = 0.0, dict[str, int]()
        while True:
            if len(self._latencies) != delivered:
                delivered, quiet_since = len(self._latencies), time.monotonic()
                cpu, counts = time.process_time(), {}
            elif not counts:  # not at each look, which took a tenth of a paced row's time
                counts = self._members.counts()
            complete = delivered >= self._expected
            patience = DUPLICATES_SECONDS if complete else QUIET_SECONDS
            if time.monotonic() - quiet_since >= patience:
                break
            await asyncio.sleep(0.05)
        if self._samples is not None:
            self._samples.write(Path(os.environ[FLAME_FOLDER]))
        return {
            "latencies": self._latencies,
            "last": self._last,
            "cpu": cpu - self._cpu,
            "counts": {name: count - self._counts[name] for name, count in counts.items()},
        }

    async def _sent(self, _argument: None) -> dict[str, int]:
        counts = self._members.counts()
        return {name: count - self._counts[name] for name, count in counts.items()}

    async def _facts(self, _argument: None) -> dict[str, Any]:
        return {"memory": memory_bytes() - self._idle_memory, "facts": self._members.facts()}


def memory_bytes(process: int | None = None) -> int:
    """Return the resident memory of a process, by default this one."""
    with open(f"/proc/{process or 'self'}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
