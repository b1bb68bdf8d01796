"""The log of what the code of others raises: plugs, callbacks, sinks.

The process goes on. What fails once may fail with every event, so a log takes a line a second at
most, which says how often it has happened so far.
"""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

INTERVAL_SECONDS: Final = 1.0  # chosen: what always raises fills no disk


class FailureLog:
    """Counts and logs the failures of one piece of others' code, such as a plug or a callback."""

    def __init__(self) -> None:
        self.count = 0
        """How often it has failed."""
        self._due = 0.0

    def take(self, said: str, error: BaseException, now: float) -> None:
        """Count a failure, and log it with its traceback unless one was logged just now.

        `said` names the code.
        """
        self.count += 1
        if now >= self._due:
            self._due = now + INTERVAL_SECONDS
            _log.error("%s (%d times so far)", said, self.count, exc_info=error)
