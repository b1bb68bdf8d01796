"""The crew: an experiment's workers as the conductor sees them.

Whatever happens in a worker arrives as a line or as the end of its output, and wakes up who
waits in `Crew.until`. So a worker's death is noticed at once, and nothing waits for the dead.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from attrs import define, field

from camcast.experiment import worker_messages as orders

EXIT_SECONDS: Final = 10.0  # chosen: a polite leave takes 1 s; afterwards a worker is killed


class ExperimentError(RuntimeError):
    """An experiment could not be carried out; the message says what failed."""


class Interrupted(Exception):
    """Somebody wants the experiment to end."""


_NOTHING: Final = orders.Status(0, 0, 0, 0, 0, 0.0)


@define(eq=False)
class Crewman:
    """One worker process and what it last reported."""

    number: int
    process: asyncio.subprocess.Process
    log: Path
    peers: dict[int, str] = field(factory=dict)
    """Identities by node; empty until it is ready."""
    join_seconds: dict[int, float] = field(factory=dict)
    status: orders.Status = _NOTHING
    counters: dict[str, int] | None = None
    """The last word; None while it has not left politely."""
    killed: bool = False
    ended: bool = False
    reader: asyncio.Task[None] | None = None

    def tell(self, order: orders.Order) -> None:
        """Give an order; a dead worker's death is reported elsewhere."""
        assert self.process.stdin is not None
        if not self.ended and not self.killed:
            self.process.stdin.write(orders.to_line(order))


class Crew:
    """Starts workers, hears them, and gets rid of all of them in the end."""

    def __init__(self) -> None:
        self.members: list[Crewman] = []
        self._news = asyncio.Event()
        self._failure: Exception | None = None

    @property
    def alive(self) -> list[Crewman]:
        """The workers that were not killed, in order."""
        return [member for member in self.members if not member.killed]

    async def start(self, number: int, log: Path) -> Crewman:
        """Start worker `number`, whose standard error goes to the file `log`."""
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "camcast.experiment.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=orders.LINE_BYTES_MAX,
                start_new_session=True,  # Ctrl-C goes to the conductor alone
            )
        member = Crewman(number, process, log)
        self.members.append(member)
        member.reader = asyncio.create_task(self._hear(member))
        return member

    def kill(self, member: Crewman) -> None:
        """Kill a worker with SIGKILL: it says no goodbye."""
        member.killed = True
        member.process.send_signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """Let who waits give up with `Interrupted`."""
        self._fail(Interrupted())

    def forgive(self) -> None:
        """Forget an interruption, to end in order."""
        self._failure = None

    async def until(self, holds: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until a condition on the reports holds; False if it took too long.

        Raises `ExperimentError` as soon as a worker has failed, and `Interrupted`.
        """
        try:
            async with asyncio.timeout(timeout):
                while True:
                    if self._failure is not None:
                        raise self._failure
                    if holds():
                        return True
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False

    async def pause(self, seconds: float) -> None:
        """Let time pass, unless a worker fails or somebody interrupts."""
        await self.until(lambda: False, max(0.0, seconds))

    async def dismiss(self) -> None:
        """Make sure that no worker is left: ask, wait a while, kill."""
        for member in self.members:
            member.tell(orders.Stop())
        endings = [member.process.wait() for member in self.members]
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await asyncio.gather(*endings)
        except TimeoutError:
            for member in self.members:
                if member.process.returncode is None:
                    member.process.kill()
        for member in self.members:
            await member.process.wait()
            if member.reader is not None:
                await member.reader
            if member.log.exists() and not member.log.stat().st_size:
                member.log.unlink()

    async def _hear(self, member: Crewman) -> None:
        assert member.process.stdout is not None
        async for line in member.process.stdout:
            match orders.REPORTS.decode(line):
                case orders.Status() as status:
                    member.status = status
                case orders.Ready(peers=peers):
                    member.peers.update(peers)
                case orders.Joined(seconds=seconds):
                    member.join_seconds.update(seconds)
                case orders.Bye(counters=counters):
                    member.counters = counters
                case orders.Failed(sentence=sentence):
                    self._fail(ExperimentError(f"worker {member.number} failed: {sentence}"))
            self._news.set()
        await member.process.wait()
        member.ended = True
        if not member.killed and member.counters is None:
            self._fail(
                ExperimentError(
                    f"worker {member.number} (process {member.process.pid}) ended with code"
                    f" {member.process.returncode}; see {member.log}"
                )
            )
        self._news.set()

    def _fail(self, failure: Exception) -> None:
        self._failure = self._failure or failure
        self._news.set()


def total(members: Iterable[Crewman], value: Callable[[orders.Status], int]) -> int:
    """Sum a value of the workers' last reports."""
    return sum(value(member.status) for member in members)
