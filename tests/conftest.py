"""Which processes run the tests; ignored signals and a busy machine change nothing."""

import gc
import os
import signal
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import settings

# A program that is started while a signal is ignored, SIGINT with & in a script, SIGHUP by nohup,
# ignores it too. What has a handler, even one that does nothing, is at the default in a new one.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, lambda _number, _frame: None)

# An example takes longer than usual on a machine that has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

_TOGETHER = tuple(f"tests/research/unit/{room}" for room in ("pipeline", "population", "systems"))
"""Folders whose tests one worker runs: they share a JVM, or functions that numba compiles."""

# measured: with Python's 700 two tests of a hundred virtual processes took 2.6 s, so 2.4 s
_GARBAGE = 20_000


def pytest_collection_finish() -> None:
    """Spare collections of garbage what all tests share: 300,000 objects, 0.17 s each time.

    Every test of live processes collects twice. What a test leaves is looked at as before.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: a third of the time tests wait for live processes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker run the tests of a file, or of a folder that is to stay together."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            file = PurePosixPath(nodeid.partition("::")[0])
            return next((one for one in _TOGETHER if file.is_relative_to(one)), str(file))

    return Together(config, log)
