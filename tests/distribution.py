"""Which worker runs which tests: those that compute on one worker a core, those that wait beside.

Two thirds of the time of tests of live processes is waiting: for sockets, heartbeats and processes.
On a worker of their own they cost the tests that compute nearly nothing. So `make test` starts two
kinds of workers. Computing workers, one a core, take the files that compute, and whatever is left
at the end. Waiting workers take files in the folders of `_WAITS` alone and end when there are none
left. A computing worker is nice, so that a live process gets a core when something arrives for it.

With few workers (``-n 2``) all are of one kind, and without xdist there are none.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

# chosen: they end before two cores have computed the rest; each collects all tests
_WAITING_WORKERS: Final = 2
_COMPUTING_WORKERS_MAX: Final = 4  # chosen: each collects all tests, 4 s of CPU
_NICENESS: Final = 5  # chosen: a nice process still gets a quarter of a core that another one fills

_WAITS: Final = frozenset({"live", "hostile", "chaos"})
"""Folders whose tests mostly wait."""

_TOGETHER: Final = ("pipeline", "research")
"""Folders whose tests one worker runs, but for those that wait: they share a JVM, or the functions
that numba compiles, some 20 s of CPU in a fresh checkout."""


def workers() -> int:
    """Return how many workers `-n auto` starts."""
    return min(os.cpu_count() or 1, _COMPUTING_WORKERS_MAX) + _WAITING_WORKERS


def begin_worker(config: pytest.Config) -> None:
    """Make this process nice if it is a computing worker beside waiting ones."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    computing = worker["workercount"] - _WAITING_WORKERS
    if computing > 0 and _number(worker["workerid"]) < computing:
        os.nice(_NICENESS)


class Distribution(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's scheduler by files, for two kinds of workers."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.partition("::")[0])
        together = (folder for folder in file.parents if folder.name in _TOGETHER)
        return str(file if _waits(str(file)) else next(together, file))

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker the next file of its kind.

        The files that compute are left to the computing workers, of which one at least is there
        until nothing is left.
        """
        waiting = self._is_waiting(node)
        of_its_kind = (scope for scope in self.workqueue if _waits(scope) == waiting)
        scope = next(of_its_kind, None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
        elif waiting:
            node.shutdown()
            return
        super()._assign_work_unit(node)

    def _is_waiting(self, node: Any) -> bool:
        """Tell whether a worker is of the waiting kind.

        xdist numbers workers; one in place of a crashed one has a number beyond theirs, and
        computes.
        """
        workers: int = self.numnodes
        computing = workers - _WAITING_WORKERS
        return computing > 0 and computing <= _number(node.gateway.id) < workers


def _waits(scope: str) -> bool:
    return not _WAITS.isdisjoint(PurePosixPath(scope).parts)


def _number(worker: str) -> int:
    return int(worker.removeprefix("gw"))
