"""The worker processes of an experiment, as the run sees them.

All that happens in a worker arrives as a line of its output, or as the end of its output, and
wakes up `Workers.until`. The run notices at once that a worker died, and never waits for it: the
run ends if the worker was ready; else it goes on without the worker and its nodes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import shorten
from typing import Final

import msgspec
from attrs import define, field

import camcast
from camcast.research.experiment import worker_messages as messages
from camcast.vocabulary.errors import CamcastError

LAST_WORDS_MAX: Final = 300  # chosen: letters of a worker's last line, in an error message
EXIT_SECONDS: Final = 10.0  # chosen: a polite leave takes 1 s; afterwards a worker is killed


class ExperimentError(CamcastError, RuntimeError):
    """An experiment could not be carried out; the message says what failed."""


class Interrupted(Exception):
    """Somebody wants the experiment to end."""


QUIET_SECONDS: Final = 0.5  # chosen: hundred times the latency on one machine
LATER_QUIET_SECONDS: Final = 5.0  # chosen: ten periods of half a second, as pulls have
_NOTHING: Final = messages.Status(0, 0, 0, 0, 0, 0.0, 0.0)


@define(eq=False)
class WorkerHandle:
    """One worker process, and what it reported last."""

    number: int
    process: asyncio.subprocess.Process
    log: Path
    peers: dict[int, str] = field(factory=dict)
    """Identities by node; empty until it is ready."""
    ready: bool = False
    lost: str = ""
    """How it ended before it was ready, so that none of its nodes ever joins; else empty."""
    join_seconds: dict[messages.Place, float] = field(factory=dict)
    status: messages.Status = _NOTHING
    counters: dict[str, int] | None = None
    """The counts of its nodes; None until it has left politely."""
    killed: bool = False
    ended: bool = False
    reader: asyncio.Task[None] | None = None

    def send(self, command: messages.Command) -> None:
        """Send a command, unless the worker is dead, which `Workers.until` raises."""
        assert self.process.stdin is not None
        if not self.ended and not self.killed:
            self.process.stdin.write(messages.to_line(command))


class Workers:
    """Starts the workers, reads their reports, and ends all of them."""

    def __init__(self) -> None:
        self.handles: list[WorkerHandle] = []
        self._news = asyncio.Event()
        self._failure: Exception | None = None
        self._stopping = False

    @property
    def alive(self) -> list[WorkerHandle]:
        """The workers that were neither killed nor lost at start, in order."""
        return [worker for worker in self.handles if not (worker.killed or worker.lost)]

    @property
    def lost(self) -> list[WorkerHandle]:
        """The workers that were lost at start, in order."""
        return [worker for worker in self.handles if worker.lost]

    async def start(self, number: int, log: Path) -> WorkerHandle:
        """Start worker `number`, whose standard error goes to the file `log`."""
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a folder named camcast in the current one is not the package
                "-m",
                "camcast.research.experiment.worker",
                env={**os.environ, "PYTHONPATH": _search_path()},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=messages.LINE_BYTES_MAX,
                start_new_session=True,  # Ctrl-C goes to the run alone
            )
        worker = WorkerHandle(number, process, log)
        self.handles.append(worker)
        worker.reader = asyncio.create_task(self._read_reports(worker))
        return worker

    def kill(self, worker: WorkerHandle) -> None:
        """Kill a worker with SIGKILL, so that its nodes crash."""
        worker.killed = True
        worker.process.send_signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """Make `until` and `pause` raise `Interrupted`."""
        self._fail(Interrupted())

    def clear_interrupt(self) -> None:
        """Forget an interruption, so that the nodes can leave politely."""
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
        """Wait so many seconds; raises as `until` does."""
        await self.until(lambda: False, max(0.0, seconds))

    async def stop_all(self) -> None:
        """End all workers: ask them to stop, wait `EXIT_SECONDS`, kill the others."""
        self._stopping = True
        for worker in self.handles:
            worker.send(messages.Stop())
        endings = [worker.process.wait() for worker in self.handles]
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await asyncio.gather(*endings)
        except TimeoutError:
            for worker in self.handles:
                if worker.process.returncode is None:
                    worker.process.kill()
        for worker in self.handles:
            await worker.process.wait()
            if worker.reader is not None:
                await worker.reader
            if worker.log.exists() and not worker.log.stat().st_size:
                worker.log.unlink()

    async def _read_reports(self, worker: WorkerHandle) -> None:
        assert worker.process.stdout is not None
        async for line in messages.whole_lines(worker.process.stdout):
            match messages.REPORTS.decode(line):
                case messages.Status() as status:
                    worker.status = status
                case messages.Ready(peers=peers):
                    worker.peers.update(peers)
                    worker.ready = True
                case messages.Joined(seconds=seconds):
                    worker.join_seconds.update(seconds)
                case messages.Bye(counters=counters, delivered=delivered):
                    worker.counters = counters
                    worker.status = msgspec.structs.replace(worker.status, delivered=delivered)
                case messages.Failed(sentence=sentence):
                    self._fail(ExperimentError(f"worker {worker.number} failed: {sentence}"))
            self._news.set()
        await worker.process.wait()
        worker.ended = True
        # SIGTERM lets a worker leave politely, and the run would wait for its events for ever.
        if not worker.killed and (worker.counters is None or not self._stopping):
            ended = (
                f"worker {worker.number} (process {worker.process.pid}) ended with code"
                f" {worker.process.returncode}{_last_words(worker.log)}"
            )
            if worker.ready or self._stopping:
                self._fail(ExperimentError(ended))
            else:
                worker.lost = ended
        self._news.set()

    def _fail(self, failure: Exception) -> None:
        self._failure = self._failure or failure
        self._news.set()


def _search_path() -> str:
    """Return a PYTHONPATH with which a worker imports the package that runs here."""
    home = str(Path(camcast.__file__).parents[1])
    return os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), home)))


def _last_words(log: Path) -> str:
    """Return the last line of a log for a message, since its folder may be a temporary one."""
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {shorten(last, LAST_WORDS_MAX, placeholder=' …')}" if last else ""


def are_quiet(workers: Iterable[WorkerHandle], since: float, *, killed: bool = False) -> bool:
    """Return whether nothing came for a while since this time, or since the last delivery.

    That is `QUIET_SECONDS`, or `LATER_QUIET_SECONDS` where copies leave later than they are
    published, or where processes were `killed`, whose copies are pulled by repair. A worker that
    has not reported since may have got something: a busy machine let it wait.
    """
    reports = [worker.status for worker in workers]
    later = killed or any(report.sends_later for report in reports)
    seconds = LATER_QUIET_SECONDS if later else QUIET_SECONDS
    last = max([since, *(report.last_delivery for report in reports)])
    return all(report.at >= last + seconds for report in reports)


def total(workers: Iterable[WorkerHandle], value: Callable[[messages.Status], int]) -> int:
    """Return the sum of a value over the last reports of some workers."""
    return sum(value(worker.status) for worker in workers)
