"""Which processes run the tests; ignored signals and a busy machine change nothing."""

import gc
import signal
from typing import Any

import pytest
from hypothesis import settings

from tests import distribution
from tests.cpu_seconds import CpuSeconds

# A program that is started while a signal is ignored, SIGINT with & in a script, SIGHUP by nohup,
# ignores it too. What has a handler, even one that does nothing, is at the default in a new one.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, lambda _number, _frame: None)

# An example takes longer than usual on a machine that has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

gc.disable()  # until all tests are collected: that takes a fifth less CPU, in each worker

# measured: with Python's 700 two tests of a hundred virtual processes took 2.6 s, so 2.4 s
_GARBAGE = 20_000


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option that lists files by what they cost."""
    parser.addoption(
        "--cpu", type=int, default=0, metavar="N", help="list the N files that cost most CPU"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add up CPU seconds; a worker that computes makes room for those that wait."""
    distribution.begin_worker(config)
    config.pluginmanager.register(CpuSeconds(config))


def pytest_collection_finish() -> None:
    """Spare collections of garbage what all tests share: 300,000 objects, 0.17 s each time.

    Every test of live processes collects twice. What a test leaves is looked at as before.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start as many workers as there are of both kinds."""
    return distribution.workers()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out by file, to workers of two kinds."""
    return distribution.Distribution(config, log) if config.getvalue("dist") == "loadfile" else None
