"""A sweep computes each cell once, whatever happens to it on the way."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from camcast.research.sweeps import JSON, Cell, ProgressBar, SweepError, sweep
from tests.patience import PATIENCE_SECONDS, wait_until

Task = Callable[[Cell], JSON]

# Beside the tests, because a worker imports its task by name. Each task notes in a file who
# computed what; `gated` waits for a file, the gate.
TASKS = """
import os, sys, time

def note(cell):
    with open(cell["trail"], "a") as trail:
        trail.write(f"{cell['x']} {os.getpid()}\\n")

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)

def square(cell):
    note(cell)
    return {"square": cell["x"] ** 2, "pair": (cell["x"], None)}

def gated(cell):
    note(cell)
    if cell["x"] >= cell["free"]:
        wait_for(cell["gate"])
    return cell["x"]

def last_first(cell):
    note(cell)
    if cell["x"] == 0:
        wait_for(cell["gate"])
    return cell["x"]

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__("never unpickles")

def failing(cell):
    note(cell)
    if cell["x"] == 2:
        match cell["how"]:
            case "odd":
                raise Odd(1, 2)
            case "exit":
                sys.exit("left")
            case "nan":
                return float("nan")
            case "object":
                return object()
            case "killed":
                os.kill(os.getpid(), 9)
    return cell["x"]
"""
# A program that sweeps `gated`: results, trail, gate, cells, free cells, workers.
PROGRAM = """
import sys
from pathlib import Path
from camcast.research.sweeps import sweep
from sweep_tasks import gated

if __name__ == "__main__":
    results, trail, gate = sys.argv[1:4]
    cells, free, workers = map(int, sys.argv[4:])
    sweep(
        gated,
        [{"x": x, "free": free, "trail": trail, "gate": gate} for x in range(cells)],
        results=Path(results),
        workers=workers,
    )
"""


class Place:
    """A folder with the tasks, and what they left there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results, self.trail, self.gate = (folder / name for name in ("r", "trail", "gate"))

    def task(self, name: str) -> Task:
        task: Task = getattr(import_module("sweep_tasks"), name)
        return task

    def cells(self, number: int, **more: JSON) -> list[Cell]:
        common = {"trail": str(self.trail), "gate": str(self.gate), **more}
        return [{"x": x, **common} for x in range(number)]

    def computed(self) -> Counter[int]:
        """How often each cell was begun."""
        return Counter(int(line.split()[0]) for line in self._trail())

    def workers(self) -> set[int]:
        return {int(line.split()[1]) for line in self._trail()}

    def program(self, cells: int, free: int, workers: int) -> list[str]:
        script = self.folder / "program.py"
        script.write_text(PROGRAM)
        arguments = (script, self.results, self.trail, self.gate, cells, free, workers)
        return [sys.executable, *map(str, arguments)]

    def finished(self) -> int:
        return self.results.read_bytes().count(b"\n") if self.results.exists() else 0

    def _trail(self) -> list[str]:
        return self.trail.read_text().splitlines() if self.trail.exists() else []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    (tmp_path / "sweep_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    yield Place(tmp_path)
    sys.modules.pop("sweep_tasks", None)
    assert multiprocessing.active_children() == []


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # dead, if nobody reaped it yet


# --- results ---------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_the_order_of_the_cells_and_as_json_gives_them_back(
    place: Place, workers: int
) -> None:
    expected = [{"square": x**2, "pair": [x, None]} for x in range(5)]
    square, cells = place.task("square"), place.cells(5)
    assert sweep(square, cells, workers=workers) == expected
    assert sweep(square, cells, workers=workers, results=place.results) == expected
    assert place.computed() == dict.fromkeys(range(5), 2)
    assert sweep(square, cells, workers=workers, results=place.results) == expected
    assert place.computed() == dict.fromkeys(range(5), 2)
    assert (os.getpid() in place.workers()) == (workers == 1)


def test_the_order_is_that_of_the_cells_whatever_is_finished_first(place: Place) -> None:
    def on_progress(done: int, _total: int) -> None:
        if done == 1:  # the second is in the file
            Path(str(cells[0]["gate"])).touch()

    cells, task = place.cells(2), place.task("last_first")
    swept = sweep(task, cells, results=place.results, workers=2, on_progress=on_progress)
    assert swept == [0, 1]
    written = [json.loads(line)["result"] for line in place.results.read_text().splitlines()]
    assert written == [1, 0]


def test_by_default_there_is_a_worker_for_each_core(place: Place) -> None:
    cores = len(os.sched_getaffinity(0))
    cells = place.cells(2 * cores, free=2 * cores)
    assert sweep(place.task("gated"), cells) == list(range(2 * cores))
    assert 1 <= len(place.workers()) <= cores


def test_no_cells_have_no_results(place: Place) -> None:
    assert sweep(place.task("square"), [], results=place.results) == []


def test_equal_cells_are_computed_once_and_more_cells_continue(place: Place) -> None:
    (first, second, third), square = place.cells(3), place.task("square")
    shuffled = dict(reversed(list(first.items())))
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    few = sweep(square, [first, second, shuffled], results=place.results, on_progress=progress)
    assert few[0] == few[2] != few[1]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    seen.clear()
    more = sweep(square, [third, first], results=place.results, on_progress=progress)
    assert more[1] == few[0]
    assert seen == [(1, 2), (2, 2)]
    assert place.computed() == {0: 1, 1: 1, 2: 1}


def test_a_cell_with_numbers_as_keys_is_found_again(place: Place) -> None:
    table: Any = {10: 1, 9: 2}  # JSON has no such keys: they become text
    cell: Cell = {"x": 3, "trail": str(place.trail), "table": table}
    for _ in range(2):
        sweep(place.task("square"), [cell], results=place.results)
    assert place.computed() == {3: 1}


# --- killed, and continued -------------------------------------------------------------


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_sweep_killed_in_the_middle_continues_where_it_was(place: Place, workers: int) -> None:
    program = place.program(cells=6, free=3, workers=workers)
    with subprocess.Popen(program, cwd=place.folder) as killed:
        wait_until(
            lambda: place.finished() == 3 and sum(place.computed().values()) == 3 + workers, killed
        )
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    wait_until(lambda: not any(map(is_alive, place.workers())))  # no orphans
    assert place.finished() == 3
    place.gate.touch()
    subprocess.run(program, cwd=place.folder, check=True, timeout=PATIENCE_SECONDS)
    begun_twice = dict.fromkeys(range(3, 3 + workers), 2)
    assert place.computed() == {**dict.fromkeys(range(6), 1), **begun_twice}
    assert place.finished() == 6


@pytest.mark.parametrize(
    ("stop", "workers"),
    [
        (signal.SIGINT, 2),
        (signal.SIGTERM, 1),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                (signal.SIGINT, 1),
                (signal.SIGTERM, 2),
                (signal.SIGHUP, 1),
                (signal.SIGHUP, 2),
            )
        ),
    ],
)
def test_a_signal_stops_a_sweep_and_its_workers(
    place: Place, stop: signal.Signals, workers: int
) -> None:
    program = place.program(cells=6, free=3, workers=workers)
    with subprocess.Popen(
        program,
        cwd=place.folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # what a terminal sends reaches the whole group, the workers too
    ) as stopped:
        wait_until(
            lambda: place.finished() == 3 and sum(place.computed().values()) == 3 + workers, stopped
        )
        stopped.send_signal(stop) if stop is signal.SIGTERM else os.killpg(stopped.pid, stop)
        _, said = stopped.communicate(timeout=PATIENCE_SECONDS)
    assert not any(map(is_alive, place.workers()))
    assert place.finished() == 3
    if stop is signal.SIGINT:
        assert stopped.returncode == -signal.SIGINT
        assert said.count("Traceback") == 1  # the program's own, which it did not catch
        assert said.endswith("KeyboardInterrupt\n")
    else:
        assert (stopped.returncode, said) == (128 + stop, "")


def test_a_full_disk_is_said_with_the_name_of_the_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_descriptor: int, _line: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(SweepError, match=r"r: cannot be written \(No space left on device\)"):
        sweep(place.task("square"), place.cells(2), results=place.results, workers=1)


def test_a_torn_last_line_is_discarded(place: Place) -> None:
    square, cells = place.task("square"), place.cells(3)
    expected = sweep(square, cells, results=place.results, workers=1)
    whole = place.results.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for length in (1, 7, 8, len(last) // 2, len(last) - 1):
        place.results.write_bytes(whole[: len(whole) - len(last) + length])
        assert sweep(square, cells, results=place.results, workers=1) == expected
        assert place.results.read_bytes() == whole
    assert place.computed() == {0: 1, 1: 1, 2: 1 + 5}


@pytest.mark.parametrize("lost", [0, 9, None], ids=["none", "a part of it", "all of it"])
def test_zeros_that_a_power_cut_left_in_place_of_the_last_line_are_discarded(
    place: Place, lost: int | None
) -> None:
    square, cells = place.task("square"), place.cells(3)
    expected = sweep(square, cells, results=place.results, workers=1)
    whole = place.results.read_bytes()
    size = len(whole.splitlines(keepends=True)[-1]) if lost is None else lost
    place.results.write_bytes(whole[: len(whole) - size] + bytes(size or 300))
    assert sweep(square, cells, results=place.results, workers=1) == expected
    assert place.results.read_bytes() == whole


# --- refused files ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"x", 1, "not a line of results"),
        (b"{whole}notes, without an end", 3, "not a line of results"),
        (b"id,utc\n1,2\n", 1, "not JSON"),
        (b"{whole}\xff\n", 3, "not JSON"),
        (b"{whole}\n{whole}", 3, "not JSON"),
        (b'{whole}{"key":"torn\n', 3, "not JSON"),
        (b'{whole}{"key":' + b"[" * 10_000 + b"\n", 3, "not JSON"),
        (b"{whole}[]\n", 3, "not an object of key, cell, result"),
        (b'{"key":"1","result":1}\n', 1, "not an object of key, cell, result"),
        (b'{whole}{"key":"1","cell":{},"result":1}\n', 3, "not a result of sweep_tasks:square"),
        (b'{whole}{"key":1,"cell":NaN,"result":1}\n', 3, "not JSON (NaN is no number)"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_and_stays_as_it_is(
    place: Place, content: bytes, line: int, says: str
) -> None:
    square, cells = place.task("square"), place.cells(2)
    sweep(square, cells, results=place.results, workers=1)
    content = content.replace(b"{whole}", place.results.read_bytes())
    place.results.write_bytes(content)
    with pytest.raises(SweepError, match=re.escape(f"{place.results}:{line}: ")) as caught:
        sweep(square, cells, results=place.results, workers=1)
    assert says in str(caught.value)
    assert str(caught.value).endswith("; give another file, or remove this line")
    assert place.results.read_bytes() == content


def test_the_file_of_another_task_is_refused(place: Place) -> None:
    cells = place.cells(1, free=1)
    sweep(place.task("square"), cells, results=place.results)
    with pytest.raises(SweepError, match="r:1: not a result of sweep_tasks:gated of camcast "):
        sweep(place.task("gated"), cells, results=place.results)


def test_a_file_that_cannot_be_opened_is_refused(place: Place) -> None:
    with pytest.raises(SweepError, match=r"absent/r: cannot be opened \(No such file"):
        sweep(place.task("square"), [], results=place.folder / "absent" / "r")


def test_a_second_sweep_on_the_same_file_is_refused(place: Place) -> None:
    cells = place.cells(2)

    def second(done: int, _total: int) -> None:
        with pytest.raises(SweepError, match="r: another sweep is using it"):
            sweep(place.task("square"), cells, results=place.results, workers=1)
        seen.append(done)

    seen: list[int] = []
    sweep(place.task("square"), cells, results=place.results, workers=1, on_progress=second)
    assert seen == [0, 1, 2]
    assert place.computed() == {0: 1, 1: 1}


# --- failures --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("odd", "Odd: never unpickles"),
        ("exit", "SystemExit: left"),
        ("nan", "its result is not JSON: Out of range float"),
        ("object", "its result is not JSON: Object of type object"),
    ],
)
def test_a_cell_that_fails_is_named_and_the_finished_ones_are_kept(
    place: Place, how: str, says: str, workers: int
) -> None:
    failing, fine = place.task("failing"), place.cells(2, how=how)
    sweep(failing, fine, results=place.results, workers=1)
    cells = [*place.cells(3, how=how), {**fine[0], "x": 5}]
    with pytest.raises(SweepError) as caught:
        sweep(failing, cells, results=place.results, workers=workers)
    said = str(caught.value)
    assert said.startswith('cell 2, {"gate":')
    assert f'"how":"{how}"' in said
    assert f": {says}" in said
    assert said.endswith(f"; the finished cells are kept in {place.results}")
    (note,) = caught.value.__notes__
    assert note.startswith("Traceback")
    assert sweep(failing, fine, results=place.results, workers=1) == [0, 1]
    assert place.computed()[0] == place.computed()[1] == 1


def test_a_failure_stops_the_cells_that_are_still_at_work(place: Place) -> None:
    blocked: Cell = {**place.cells(1, free=0)[0], "x": 7}
    wrong: Cell = {"x": "seven", "trail": str(place.trail), "gate": "", "free": 0}
    with pytest.raises(SweepError, match=r"^cell 1, .*TypeError"):
        sweep(place.task("gated"), [blocked, wrong], workers=2)


def test_a_worker_that_dies_is_reported_with_its_cell_and_the_finished_ones_are_kept(
    place: Place,
) -> None:
    failing, cells = place.task("failing"), place.cells(3, how="killed")
    sweep(failing, cells[:2], results=place.results, workers=1)
    more = [*cells, *({**cell, "x": 5} for cell in cells[:1])]
    with pytest.raises(SweepError, match="a worker process died") as caught:
        sweep(failing, more, results=place.results, workers=2)
    assert "cell 2, " in str(caught.value)
    assert "cell 0, " not in str(caught.value)
    assert sweep(failing, cells[:2], results=place.results, workers=1) == [0, 1]
    assert place.computed()[0] == place.computed()[1] == 1


def test_an_error_of_the_progress_stops_the_workers(place: Place) -> None:
    def progress(done: int, _total: int) -> None:
        if done:
            raise RuntimeError("no more")

    cells = place.cells(3, free=1)
    with pytest.raises(RuntimeError, match="no more"):
        sweep(place.task("gated"), cells, workers=2, on_progress=progress)


def test_what_a_worker_cannot_import_is_refused(place: Place) -> None:
    def local(_cell: Cell) -> JSON:
        return None

    for task in (local, lambda cell: cell["x"]):
        with pytest.raises(SweepError, match="cannot be imported by a worker"):
            sweep(task, place.cells(1))


@pytest.mark.parametrize("value", [float("inf"), {1}, b"bytes"])
def test_a_cell_that_is_not_json_is_refused(place: Place, value: JSON) -> None:
    with pytest.raises(SweepError, match="cell 1 is not JSON"):
        sweep(place.task("square"), [*place.cells(1), {"x": value}])


def test_less_than_one_worker_is_refused(place: Place) -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        sweep(place.task("square"), [], workers=0)


def test_a_sweep_leaves_the_signals_as_they_were(place: Place) -> None:
    def signals() -> list[object]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        return [*handlers, signal.pthread_sigmask(signal.SIG_BLOCK, ())]

    before = signals()
    sweep(place.task("square"), place.cells(2), workers=2)
    assert signals() == before


def test_a_sweep_runs_in_another_thread(place: Place) -> None:
    found: list[list[JSON]] = []
    cells = place.cells(2, free=2)
    thread = threading.Thread(
        target=lambda: found.append(sweep(place.task("gated"), cells, workers=2))
    )
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert found == [[0, 1]]


# --- progress --------------------------------------------------------------------------


def test_the_bar_says_nothing_when_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar.update(0, 2)
        bar.update(2, 2)
    assert capsys.readouterr() == ("", "")


def test_the_bar_is_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with ProgressBar("runs") as bar:
            bar.update(3, 7)
            bar.update(5, 7)
        terminal.flush()
        shown = b""
        while b"5/7" not in shown:
            shown += os.read(ours, 4096)
    os.close(ours)
    assert b"runs" in shown
