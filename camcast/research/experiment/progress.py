"""How far an experiment is, and a line on the terminal that shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import frozen
from rich.console import Console
from rich.text import Text
from typing_extensions import override


@frozen
class Progress:
    """A moment of an experiment: the phase in words, and the counts so far."""

    phase: str
    nodes: int = 0
    joined: int = 0
    events: int = 0
    published: int = 0
    delivered: int = 0
    parasites: int = 0
    processes: int = 0
    """The operating system processes that are alive."""

    @override
    def __str__(self) -> str:
        return (
            f"{self.phase} · {self.joined}/{self.nodes} joined ·"
            f" {self.published}/{self.events} published · {self.delivered} delivered ·"
            f" {self.parasites} parasites · {self.processes} processes"
        )


@contextmanager
def progress_line() -> Iterator[Callable[[Progress], None]]:
    """Yield the function that shows progress on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    with Console(stderr=True).status("") as status:
        yield lambda progress: status.update(Text(str(progress)))
