"""How far an experiment is, and a line on the terminal that shows it."""

from __future__ import annotations

import sys

from attrs import frozen
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text


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

    def __str__(self) -> str:
        return (
            f"{self.phase} · {self.joined}/{self.nodes} joined ·"
            f" {self.published}/{self.events} published · {self.delivered} delivered ·"
            f" {self.parasites} parasites · {self.processes} processes"
        )


class ProgressLine:
    """Shows progress on standard error while its context lasts, if that is a terminal."""

    def __init__(self) -> None:
        self._spinner = Spinner("dots")
        self._live = (
            Live(self._spinner, console=Console(stderr=True), transient=True)
            if sys.stderr.isatty()
            else None
        )

    def __call__(self, progress: Progress) -> None:
        """Show this."""
        self._spinner.update(text=Text(str(progress)))

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
