"""Threads that the operating system refuses, as at its limit of processes (``ulimit -u``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def refused_threads_as(error: Callable[[str], Exception]) -> Iterator[None]:
    """Raise an error of ours where the system has no thread left; `error` takes Python's words."""
    try:
        yield
    except RuntimeError as raised:
        if "new thread" not in str(raised):
            raise  # a signal handler's, or a callback's
        raise error(str(raised)) from None
