"""Steps: what a process does in its event loop that nothing else may come between.

Python may run code of an application between any two instructions of the loop's thread: a
`__del__`, when the garbage collector runs there, and a signal handler, when that is the main
thread. A handler of the log and the sink of a trace are called in the midst of steps, too. Whoever
ends a subscription there would have the process leave its community in the midst of a step, so that
what is being sent or delivered is sent and delivered twice. Such calls wait for the end of the step
(`Reader.close`), and those that cannot wait are refused (`Lifetime.open`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import local
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class StepsOfThread:
    """Whether one thread is in the midst of a step."""

    __slots__ = ("in_step",)

    def __init__(self) -> None:
        self.in_step = False


class _Here(local):
    def __init__(self) -> None:  # called in each thread that looks
        self.steps = StepsOfThread()


here = _Here()
"""`steps`: those of this thread. One look here costs as much as ten at what it returns."""


def step(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function a step, or a part of the step that calls it."""

    @wraps(function)
    def whole(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        steps = here.steps
        outer, steps.in_step = steps.in_step, True
        try:
            return function(*args, **kwargs)
        finally:
            steps.in_step = outer

    return whole
