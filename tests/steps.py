"""Counts of the interpreter's steps: exact, where CPU seconds depend on all that a machine does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import log
from types import FrameType
from typing import Any


class Steps:
    """The calls, and the lines of Python that were executed, each time that they were.

    Not the instructions: since Python 3.12 those of a function's first call are not all told of.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> Any:
        """Trace a new frame, as `sys.settrace` calls it."""
        self.count += 1
        return self._step

    def _step(self, _frame: FrameType, event: str, _argument: object) -> Any:
        self.count += event == "line"
        return self._step


@contextmanager
def counted_steps() -> Iterator[Steps]:
    """Count the steps of what is called in the block; of a coroutine, of what awaits in it."""
    before, steps = sys.gettrace(), Steps()
    sys.settrace(steps)
    try:
        yield steps
    finally:
        sys.settrace(before)


def exponent(costs: Iterable[float], times: float) -> float:
    """Return the power with which the cost has grown, of two, as the work grew `times`."""
    few, many = costs
    return log(many / few) / log(times)
