"""A bar on the terminal that shows how far a sweep is."""

from __future__ import annotations

import math
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class ProgressBar:
    """Shows done/total, elapsed and remaining time on standard error, if that is a terminal.

    It is shown while its context lasts, from the first `update` on, and stays afterwards.
    """

    def __init__(self, title: str = "cells") -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            # a cell may take minutes, and rich would forget what it saw 30 s ago
            speed_estimate_period=math.inf,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(title, start=False, visible=False, total=None)
        self._begun = False

    def update(self, done: int, total: int, doing: str | None = None) -> None:
        """Show that `done` of `total` are done, and with `doing` what is done now.

        Give this to a sweep as its `on_progress`.
        """
        if doing is not None:
            self._progress.update(self._task, description=doing)
        if self._begun:
            self._progress.update(self._task, completed=done, total=total)
        else:
            # what was done before, by the sweep that this one continues, says nothing of its speed
            self._begun = True
            self._progress.reset(self._task, completed=done, total=total, visible=True)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
