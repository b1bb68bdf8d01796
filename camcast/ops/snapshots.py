"""Snapshots of running processes, from any thread and within bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from camcast.app import blocking
from camcast.app.loop_thread import Moment
from camcast.app.manager import CommunityManager
from camcast.inbox.feed import running_loop
from camcast.observe.stats import Stats
from camcast.vocabulary.errors import CamcastError, CommunityError

# chosen: half the time that Prometheus gives a scrape by default; a loop that is busy for longer
# is not alive, and has no metrics.
STATS_SECONDS: Final = 5.0
AnyManager = CommunityManager | blocking.CommunityManager


class BusyError(CamcastError):
    """The event loop of a process does not answer, or has ended."""


class Snapshots:
    """Takes snapshots of one manager, or of several by their names, from any thread.

    Made for a running asyncio manager in its loop.
    """

    def __init__(self, managers: AnyManager | Mapping[str, AnyManager]) -> None:
        self.named = isinstance(managers, Mapping)
        """Whether the managers have names."""
        self._managers = managers if isinstance(managers, Mapping) else {"": managers}
        self._loop = None
        if any(isinstance(one, CommunityManager) for one in self._managers.values()):
            self._loop = asyncio.get_running_loop()

    def take(self) -> dict[str, Stats]:
        """Return the snapshot of each manager that runs, by its name; raises `BusyError`."""
        snapshots: dict[str, Stats] = {}

        def take() -> None:
            for name, manager in list(self._managers.items()):
                with suppress(CommunityError):  # it was closed
                    snapshots[name] = manager.stats()
            taken.happen()

        taken = Moment()
        try:
            if self._loop is None or running_loop() is self._loop:
                with blocking.timeout(STATS_SECONDS):
                    take()
            else:
                self._loop.call_soon_threadsafe(take)
                if not taken.wait(STATS_SECONDS):
                    raise TimeoutError
        except (TimeoutError, RuntimeError) as error:  # the loop is busy, or has ended
            says = f"the event loop does not answer within {STATS_SECONDS:g} s"
            raise BusyError(says) from error
        return snapshots
