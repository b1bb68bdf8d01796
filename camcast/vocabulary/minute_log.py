"""A limit of one a minute for warnings that strangers can cause as often as they like."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

INTERVAL_SECONDS: Final = 60.0  # chosen: fills no disk, and still says that it goes on
KEYS_MAX: Final = 256  # chosen: strangers can invent any number of peers


class MinuteLog:
    """Says whether a warning is due; `key` tells the warnings of one kind apart, such as a peer."""

    def __init__(self) -> None:
        self._due: dict[Hashable, float] = {}

    def due(self, key: Hashable, now: float) -> bool:
        """Return True at most once a minute for each key, for `KEYS_MAX` keys at most."""
        if now < self._due.get(key, now):
            return False
        self._due.pop(key, None)
        if len(self._due) >= KEYS_MAX:
            oldest = next(iter(self._due))
            if now < self._due[oldest]:
                return False
            del self._due[oldest]
        self._due[key] = now + INTERVAL_SECONDS
        return True
