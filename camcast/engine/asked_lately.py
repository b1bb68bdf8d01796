"""The questions that a process has put lately: parts that want to know the same thing ask once."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import Final

QUESTIONS_MAX: Final = 4096  # chosen: a process in a hundred communities has some 300 open


class AskedLately:
    """When each question was put last; the oldest of more than `QUESTIONS_MAX` is forgotten."""

    def __init__(self) -> None:
        self._when: dict[Hashable, float] = {}  # the oldest comes first

    def __bool__(self) -> bool:
        """Whether any question is remembered."""
        return bool(self._when)

    def due(self, question: Hashable, seconds: float, now: float) -> bool:
        """Say whether a question was not put for so long; if so, it counts as put now."""
        if now < self.when(question) + seconds:
            return False
        self._when.pop(question, None)
        if len(self._when) >= QUESTIONS_MAX:
            del self._when[next(iter(self._when))]
        self._when[question] = now
        return True

    def when(self, question: Hashable) -> float:
        """Return when a question was put last; minus infinity if it never was."""
        return self._when.get(question, -inf)
