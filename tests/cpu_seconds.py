"""The CPU seconds that tests cost: of the processes that run the tests, and of those they start.

A suite that is run before every commit has a budget. Seconds on a clock depend on what else a
machine does; CPU seconds hardly do, so the budget is one of CPU seconds. Every run ends with a line
that gives them; `--cpu=20` lists the twenty files that cost most as well. A process is counted
once its parent has waited for it, with the children that it waited for itself [times(2)].
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterable
from typing import Any

import pytest

Seconds = tuple[float, float]
"""CPU seconds of a process itself, and of its children."""


def cpu_seconds() -> Seconds:
    """Return the CPU seconds of this process and of its children until now."""
    now = os.times()
    return now.user + now.system, now.children_user + now.children_system


class CpuSeconds:
    """A pytest plugin that adds up CPU seconds: in one process, or over xdist's workers.

    A worker hands its sums to the process that started the worker by xdist's `workeroutput`.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._files: defaultdict[str, Seconds] = defaultdict(lambda: (0.0, 0.0))
        self._workers: Seconds = (0.0, 0.0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Add what a test costs, with its fixtures, to its file."""
        own, children = cpu_seconds()
        try:
            return (yield)
        finally:
            own_after, children_after = cpu_seconds()
            file = item.nodeid.partition("::")[0]
            self._add(file, (own_after - own, children_after - children))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Hand the sums over, in a worker."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["cpu_seconds"] = cpu_seconds()
            output["cpu_seconds_of_files"] = dict(self._files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take a worker's sums; a worker that crashed has left none."""
        output = getattr(node, "workeroutput", {})
        self._workers = _plus(self._workers, output.get("cpu_seconds", (0.0, 0.0)))
        for file, seconds in output.get("cpu_seconds_of_files", {}).items():
            self._add(file, seconds)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the sums: of everything, and of the files that cost most if they are asked for."""
        dearest = self._config.getoption("--cpu")
        if dearest:
            terminalreporter.section(f"CPU seconds of the {dearest} dearest files")
            terminalreporter.write_line(f"{'own':>8} {'children':>8}  file")
            for line in _lines(self._files.items(), dearest):
                terminalreporter.write_line(line)
        with_workers = hasattr(self._config, "workerinput") or self._workers != (0.0, 0.0)
        here, started = cpu_seconds()
        # A worker is a child of this process, and may or may not have been waited for.
        own, children = _plus(self._workers, (here, 0.0 if with_workers else started))
        terminalreporter.write_line(
            f"CPU: {own + children:.0f} s = {own:.0f} s in the processes that run the tests"
            f" + {children:.0f} s in those that tests start"
        )

    def _add(self, file: str, seconds: Seconds) -> None:
        self._files[file] = _plus(self._files[file], seconds)


def _plus(one: Seconds, other: Seconds) -> Seconds:
    return one[0] + other[0], one[1] + other[1]


def _lines(files: Iterable[tuple[str, Seconds]], most: int) -> Iterable[str]:
    for file, (own, children) in sorted(files, key=lambda entry: -sum(entry[1]))[:most]:
        yield f"{own:8.2f} {children:8.2f}  {file}"
