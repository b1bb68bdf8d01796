"""Processes that send forged records: each is cut off after a few, and barred for some time.

To refuse a forged record costs 50 µs of CPU, so a process may send only a few. They count against
the identity whose key the link has, however many connections it opens: a barred identity can end no
handshake, and its owner needs another certified key to come back.
"""

from __future__ import annotations

from typing import Final

from attrs import define

from camcast.vocabulary.identity import PeerId

FORGERIES_MAX: Final = 8  # [docs/security.md] the sender of eight is cut off
FORGERIES_SECONDS: Final = 60.0  # chosen: the time in which these are counted
# chosen: ten times that long; 8 forged records in 11 minutes are 40 µs of CPU a minute
BARRED_SECONDS: Final = 600.0
FORGERS_MAX: Final = 4096  # chosen: as many as processes are known (`camcast.security.known_peers`)


@define
class _Forger:
    since: float
    count: int
    barred_until: float = 0.0


class Forgers:
    """Counts the forged records of each process; all times are of one clock, in seconds."""

    def __init__(self) -> None:
        self._forgers: dict[PeerId, _Forger] = {}
        """By process; the one whose count began last comes last."""

    def has_forged(self, peer: PeerId, count: int, now: float) -> bool:
        """Count so many forged records of a process; say whether it is barred by now."""
        forger = self._forgers.get(peer)
        if forger is None or not forger.since <= now < forger.since + FORGERIES_SECONDS:
            self._forgers.pop(peer, None)
            if len(self._forgers) >= FORGERS_MAX:
                del self._forgers[next(iter(self._forgers))]
            forger = self._forgers[peer] = _Forger(now, 0)
        forger.count += count
        if forger.count >= FORGERIES_MAX:
            forger.barred_until = now + BARRED_SECONDS
        return now < forger.barred_until

    def barred(self, peer: PeerId, now: float) -> bool:
        """Say whether a process is barred now."""
        forger = self._forgers.get(peer)
        return forger is not None and now < forger.barred_until
