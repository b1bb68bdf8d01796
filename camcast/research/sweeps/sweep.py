"""Compute one task for many cells on several cores, and continue where a killed sweep was.

The results file has one JSON object a line, ``{"key": …, "cell": …, "result": …}``, written
when its cell is finished. What a sweep has written, only a crash of the machine can take away.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Final, NamedTuple, TypeAlias, cast

from typing_extensions import override

from camcast import __version__
from camcast.research.sweeps.sigterm import TERMINATING, sigterm_stops
from camcast.vocabulary.errors import CamcastError

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Cell: TypeAlias = Mapping[str, JSON]
"""One cell: plain JSON values, which determine its result completely."""
Task: TypeAlias = Callable[[Cell], JSON]

QUOTE_WIDTH: Final = 200  # chosen: characters quoted of a cell; about two terminal lines
STOP_SIGNALS: Final = (signal.SIGINT, *TERMINATING)
RECORD_FIELDS: Final = ("key", "cell", "result")
RECORD_BEGINS: Final = b'{"key":"'  # as _json writes it; by this a torn line is known as ours


class SweepError(CamcastError, RuntimeError):
    """A sweep cannot begin or go on; says which cell, or which file and line, and what to do."""


def sweep(
    task: Task,
    cells: Sequence[Cell],
    *,
    results: Path | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[JSON]:
    """Compute `task` for every cell, and return the results in the order of `cells`.

    The task is a function at the top of an importable module, and its result depends on
    nothing but the cell. It gets the cell, and the caller the result, as JSON gives them back
    (a tuple is then a list), so that a result does not tell where it was computed or whether
    it was read from a file. Cells that are equal are computed once.

    `workers` processes compute, by default one for each core this process may use; 1 is this
    process itself. A script that sweeps needs the usual ``if __name__ == "__main__":``. An
    `engine` computes in their place (`camcast.research.pipeline.spark.spark_sweep`).

    Every finished cell goes to the file `results` at once, and cells that are there are not
    computed again: a sweep that was stopped or killed continues, and one with more cells
    computes those. The file belongs to one task and one version of camcast. It cannot know
    that the code of the task changed: then give a new file.

    `on_progress` is called with the numbers of done and of all different cells, at the
    beginning and whenever a cell is finished.

    The first cell to fail ends the sweep. So do KeyboardInterrupt, SIGTERM and SIGHUP (in the
    main thread, and unless somebody handles them already, as `SystemExit`). Whatever ends it, the
    finished cells are kept and no worker is left over, not even after a kill -9.

    Raises `SweepError` when the task cannot be imported, a cell is not JSON or fails, a worker
    dies, or the file is not a results file of this task or is in use; `ValueError` when
    `workers` is less than 1.
    """
    if workers is None:
        workers = _cores()
    elif workers < 1:
        raise ValueError(f"workers is {workers}; give 1 or more")
    label = f"{_name(task)}\n{__version__}"
    jobs = [_job(label, index, cell) for index, cell in enumerate(cells)]
    different = {job.key: job for job in reversed(jobs)}  # of equal ones the first, by its number
    with _ResultsFile(results, label) as file, sigterm_stops():
        done = {key: result for key, result in file.known.items() if key in different}
        report = on_progress or (lambda _done, _total: None)
        report(len(done), len(different))
        pending = sorted(job for key, job in different.items() if key not in done)
        if engine is not None and pending:
            outcomes = engine(task, pending)
        elif workers == 1 or not pending:
            outcomes = ((job, compute(task, job.cell)) for job in pending)
        else:  # a single cell, too: what it does to its process is not done to this one
            outcomes = _in_workers(task, pending, workers)
        with closing(outcomes):  # which stops the workers now, not when the garbage is collected
            for job, outcome in outcomes:
                if outcome.result is None:
                    failed = SweepError(f"{job}: {outcome.error}{file.kept}")
                    failed.add_note(outcome.traceback)
                    raise failed
                file.append(job, outcome.result)
                done[job.key] = json.loads(outcome.result)
                report(len(done), len(different))
    return [done[job.key] for job in jobs]


def finished(task: Task, cells: Iterable[Cell], results: Path) -> list[tuple[Cell, JSON]]:
    """Return the cells that a results file has, each with its result; raises as `sweep`."""
    label = f"{_name(task)}\n{__version__}"
    with _ResultsFile(results, label) as file:
        known = file.known
    of = [(cell, known.get(_job(label, index, cell).key)) for index, cell in enumerate(cells)]
    return [(cell, result) for cell, result in of if result is not None]


class Job(NamedTuple):
    """A cell that is to be computed."""

    number: int
    """Its place among the cells."""
    key: str
    cell: str
    """As canonical JSON."""

    @override
    def __str__(self) -> str:
        return f"cell {self.number}, {shorten(self.cell, QUOTE_WIDTH, placeholder=' …')}"


class Outcome(NamedTuple):
    """The outcome of a cell, in text: a foreign exception may not survive pickling."""

    result: str | None
    """As JSON; None when it failed."""
    error: str = ""
    traceback: str = ""


Outcomes: TypeAlias = Generator[tuple[Job, Outcome], None, None]
"""The jobs as they are finished, in any order; closed when no more are wanted."""
Engine: TypeAlias = Callable[[Task, Sequence[Job]], Outcomes]
"""Where the cells are computed, by `compute`, if not in processes of this machine."""


# --- one cell ----------------------------------------------------------------------------


def _name(task: Task) -> str:
    module, name = getattr(task, "__module__", ""), getattr(task, "__qualname__", "")
    home = sys.modules.get(module)
    if home is None or getattr(home, name, None) is not task:
        raise SweepError(
            f"{task!r} cannot be imported by a worker; give a function at the top of a module,"
            " and put what varies into the cells"
        )
    if module == "__main__":  # every script is called so; a results file must tell them apart
        spec, path = getattr(home, "__spec__", None), getattr(home, "__file__", None)
        module = spec.name if spec else Path(path or module).stem
    return f"{module}:{name}"


def _job(label: str, index: int, cell: Cell) -> Job:
    try:
        # written twice, because keys that are numbers are sorted as such only the first time
        canonical = _json(json.loads(_json(dict(cell))))
    except (TypeError, ValueError) as error:
        raise SweepError(
            f"cell {index} is not JSON: {error}; give plain numbers, strings, lists, dicts"
        ) from None
    return Job(index, _key(label, canonical), canonical)


def _key(label: str, cell: str) -> str:
    return hashlib.sha256(f"{label}\n{cell}".encode()).hexdigest()


def _json(value: JSON, *, sort_keys: bool = True) -> str:
    # no nan: it is not JSON, and it is not equal to itself when it comes back
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)


def compute(task: Task, cell: str) -> Outcome:
    """Compute a cell that is given as JSON; whatever it raises is told in the outcome."""
    try:
        result = task(cast(Cell, json.loads(cell)))
    except (Exception, SystemExit) as error:
        return Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc())
    try:
        return Outcome(_json(result, sort_keys=False))
    except (TypeError, ValueError) as error:
        return Outcome(None, f"its result is not JSON: {error}", traceback.format_exc())


# --- the processes -----------------------------------------------------------------------


def _cores() -> int:
    # cpu_count() counts the machine's, of which a container or a batch job gets some
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_workers(task: Task, jobs: Sequence[Job], workers: int) -> Outcomes:
    with _signals_held():  # it starts Python's tracker of resources, which a SIGHUP would end
        executor = ProcessPoolExecutor(
            min(workers, len(jobs)),
            multiprocessing.get_context("spawn"),
            initializer=_prepare_worker,
        )
    waiting, running = iter(jobs), dict[Future[Outcome], Job]()
    died = False
    try:
        while True:
            # no more than there are workers: so the cells of a worker that dies are known
            for job in islice(waiting, workers - len(running)):
                try:
                    with _signals_held():
                        running[executor.submit(compute, task, job.cell)] = job
                except BrokenProcessPool:
                    died = True
                    break
            if not running and not died:
                return
            finished = wait(running, return_when=FIRST_COMPLETED).done
            outcomes = []
            for future in finished:
                if isinstance(future.exception(), BrokenProcessPool):
                    died = True
                else:
                    outcomes.append((running.pop(future), future.result()))
            # a failure ends the sweep, so what was finished beside it goes first
            yield from sorted(outcomes, key=lambda found: (found[1].result is None, found[0]))
            if died:
                suspects = "; ".join(map(str, sorted(running.values()))) or "none"
                raise SweepError(
                    f"a worker process died, killed or out of memory. Cells at work: {suspects}."
                    " The finished cells are kept; sweep again, with fewer workers if memory"
                    " was short"
                )
    finally:
        if running:
            # A cell may take an hour, and shutdown() would wait for it. terminate_workers() of
            # Python 3.14 does just this.
            for process in list((executor._processes or {}).values()):
                process.kill()
        executor.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    # Ctrl-C and a closed terminal reach the workers, too; the sweep decides, and nobody prints a
    # traceback.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    threading.Thread(target=_exit_with_the_sweep, daemon=True).start()


def _exit_with_the_sweep() -> None:
    # A pool's workers hold both ends of their queue: they would wait for a killed sweep forever.
    # (A cell in native code that keeps the GIL gets to its end of that code first.)
    if sweeping := multiprocessing.parent_process():
        sweeping.join()
        os._exit(1)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Start a process: a signal neither breaks in half way, nor meets it before it is prepared."""
    came: list[int] = []
    handlers = {}
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # the new process inherits it
    try:
        # The mask is that of this thread: a signal that comes by another must wait here, too.
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if (handler := signal.getsignal(number)) is not None:  # else C code has it
                    handlers[number] = handler
                    signal.signal(number, lambda arrived, _: came.append(arrived))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        for late in came:
            signal.raise_signal(late)


# --- the results file --------------------------------------------------------------------


class _ResultsFile:
    """The results of one task, locked while the context lasts; without a path nothing is kept."""

    def __init__(self, path: Path | None, label: str) -> None:
        self.known: dict[str, JSON] = {}
        """By key, what was in the file."""
        self.kept = f"; the finished cells are kept in {path}" if path else ""
        self._file = None
        if path is None:
            return
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise SweepError(
                f"{path}: cannot be opened ({error.strerror}); give a file in a folder that exists"
            ) from None
        try:
            # The lock goes with the process, however it ends; the workers do not inherit it.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(path, label)
        except BaseException as error:
            self._file.close()
            if isinstance(error, BlockingIOError):
                raise SweepError(
                    f"{path}: another sweep is using it; wait for its end, or give another file"
                ) from None
            raise

    def append(self, job: Job, result: str) -> None:
        """Add a finished cell; `result` is JSON."""
        if self._file is not None:
            record = f'{{"key":"{job.key}","cell":{job.cell},"result":{result}}}\n'
            line = memoryview(record.encode())
            try:
                while line:  # past Python's buffer, which would fail once more at its end
                    line = line[os.write(self._file.fileno(), line) :]
            except OSError as error:
                raise SweepError(
                    f"{self._file.name}: cannot be written ({error.strerror}); the cells that were"
                    " finished before are kept, and the same command continues from them"
                ) from None

    def __enter__(self) -> _ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _read(self, path: Path, label: str) -> None:
        assert self._file is not None
        self._file.seek(0)
        whole_bytes = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                # Only what can be the beginning of our own line: a foreign file is not cut short.
                # A power cut may leave zeros where the file system had not written yet.
                begins = line.rstrip(b"\0")
                if not (begins.startswith(RECORD_BEGINS) or RECORD_BEGINS.startswith(begins)):
                    raise _not_ours(path, number, "this is not a line of results")
                break
            key, result = _record(path, number, line, label)
            self.known.setdefault(key, result)
            whole_bytes += len(line)
        self._file.truncate(whole_bytes)


def _record(path: Path, number: int, line: bytes, label: str) -> tuple[str, JSON]:
    try:
        record = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, number, f"this is not JSON ({error})") from None
    if not isinstance(record, dict) or tuple(record) != RECORD_FIELDS:
        raise _not_ours(path, number, f"not an object of {', '.join(RECORD_FIELDS)}")
    if record["key"] != _key(label, _json(record["cell"])):
        task, camcast = label.split("\n")
        raise _not_ours(path, number, f"not a result of {task} of camcast {camcast}, or damaged")
    return record["key"], record["result"]


def _no_constant(name: str) -> JSON:
    raise ValueError(f"{name} is no number")


def _not_ours(path: Path, number: int, wrong: str) -> SweepError:
    return SweepError(f"{path}:{number}: {wrong}; give another file, or remove this line")
