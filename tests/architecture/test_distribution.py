"""Files that wait go to waiting workers alone, and every test is dealt out once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.distribution import Distribution

FILES = {
    "tests/library/laws/test_a.py": 3,
    "tests/library/live/test_b.py": 7,
    "tests/library/live/test_c.py": 2,
    "tests/library/unit/engine/test_d.py": 9,
    "tests/research/unit/sweeps/test_e.py": 1,
    "tests/research/papers/test_f.py": 4,
    "tests/research/unit/pipeline/spark/test_h.py": 3,
    "tests/research/unit/pipeline/compare/test_i.py": 2,
    "tests/research/live/test_j.py": 2,
    "tests/library/hostile/test_g.py": 5,
}


class Worker:
    """A worker of xdist that runs what it is given, one test a turn."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.given: list[int] = []
        self.ran: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def dealt(workers: int) -> list[list[str]]:
    """Return which tests each of so many workers has run."""
    pool: list[Any] = [Worker(number) for number in range(workers)]
    tests = [f"{file}::test_{number}" for file, count in FILES.items() for number in range(count)]
    options = {"tx": ["popen"] * workers}
    ordered = SimpleNamespace(loadscopereorder=True)
    scheduler = Distribution(SimpleNamespace(getvalue=options.__getitem__, option=ordered), None)
    for worker in pool:
        scheduler.add_node(worker)
    for worker in pool:
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    while not all(worker.shutting_down and not worker.given for worker in pool):
        for worker in pool:
            if len(worker.given) > (0 if worker.shutting_down else 1):
                worker.ran.append(worker.given.pop(0))
                scheduler.mark_test_complete(worker, worker.ran[-1])
    assert sorted(index for worker in pool for index in worker.ran) == list(range(len(tests)))
    return [[tests[index] for index in worker.ran] for worker in pool]


def folders(tests: list[str]) -> set[str]:
    return {test.split("/")[2] for test in tests}


def test_what_waits_is_dealt_to_waiting_workers() -> None:
    computing, *waiting = dealt(3)
    assert folders(computing) >= {"laws", "unit"}
    assert all(folders(tests) <= {"live", "hostile"} for tests in waiting)
    assert folders([test for tests in waiting for test in tests]) == {"live", "hostile"}


def test_few_workers_are_of_one_kind() -> None:
    for workers in (1, 2):
        assert len(dealt(workers)) == workers


def test_a_folder_that_stays_together_is_one_workers() -> None:
    for workers in (2, 3, 5):
        for shared in ({"unit/sweeps", "papers"}, {"unit/pipeline/spark", "unit/pipeline/compare"}):
            paths = {f"tests/research/{folder}" for folder in shared}
            has = [{test.rpartition("/")[0] for test in tests} & paths for tests in dealt(workers)]
            assert [some for some in has if some] == [paths]
