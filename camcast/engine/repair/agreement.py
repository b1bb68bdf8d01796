"""Whether two neighbours know the same events, found out from eight bytes in their heartbeats.

Theory of operation
-------------------
Each process keeps a `Tally` of a community: the hashes of all batches that it knows, combined by
XOR. Two neighbours cannot compare the tallies of all they know at a moment, for something is always
on its way that only one of them has. So a heartbeat carries the tally of what was published before
some second, a few seconds back, and says which; the receiver takes its own tally up to the same
second. A batch has the time of its publication in its body, so both count the batch alike.

The XOR of the two tallies, their *difference*, is that of the batches that only one of them knows.
What both learn later does not change it. So a difference that remains although both have told all
they know, as between a newcomer and those who know more of the past, needs not be told of again:
the neighbours *agree* but for it. And what two neighbours know that have just agreed differs only
by what came to one of them since.

Clocks that differ cost messages and nothing else. Of two neighbours the one whose clock is behind
can always compare, though with something on its way. The hash of a batch is counted up to every
second if its publisher's clock is more than a minute off.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import ceil, inf
from typing import Final

from attrs import define

from camcast.vocabulary.batches import Batch

LAG_SECONDS: Final = 3  # chosen: by then the news have brought what was missed to all but 0.01 %
APART_SECONDS: Final = 60  # chosen: clocks are taken for set if they differ by less
FULL_SECONDS: Final = 2.0  # [PROTOCOLS 8] a hash that differs for two periods, of a second each
FULL_SECONDS_MAX: Final = 16.0  # chosen: where something is late without end, 20 streams a second
TOLD_MAX: Final = 3  # chosen: at 30 % loss one in 250 neighbours does not hear of it, others do
OVERLAP_SECONDS: Final = 10.0  # chosen: what was on its way when two agreed is there by then
HASH_BYTES: Final = 8  # chosen: two states are taken for the same once in 10^19
PART_BYTES: Final = 4  # chosen: two seconds are taken for the same once in 4 * 10^9
_IDENTITY_BYTES: Final = 30  # of a body: stream 24, first 4, count 2


# chosen: the nodes of a loop count the same batches one soon after the other; 200 kB a process.
@lru_cache(maxsize=1024)
def _part(identity: bytes) -> int:
    """Return a batch's part of a tally."""
    return int.from_bytes(hashlib.blake2b(identity, digest_size=HASH_BYTES).digest())


class Tally:
    """The XOR of the hashes of the batches that a process knows of one community."""

    __slots__ = ("_asked", "_before", "_recent", "_seconds", "_until")

    def __init__(self, seconds: float = APART_SECONDS) -> None:
        """`seconds`: so long at least it is remembered what was published in which second."""
        self._seconds = max(APART_SECONDS, ceil(seconds))
        self._before = 0  # of what was published before the second `_until`, or at a wrong time
        self._until = 0
        self._recent: dict[int, int] = {}  # by the second of the publication
        self._asked = -1, 0  # up to which second it was asked for last, and what came out

    def add(self, batch: Batch, second: int) -> None:
        """Count a batch that is new; it is now this second since 1970 by the own clock."""
        part = _part(batch.body[:_IDENTITY_BYTES])
        published = batch.published // 1000
        if self._until <= published <= second + APART_SECONDS:
            self._recent[published] = self._recent.get(published, 0) ^ part
        else:
            self._before ^= part
        if published < self._asked[0] or published not in self._recent:
            self._asked = -1, 0
        if self._until < second - 2 * self._seconds:
            self._until = second - self._seconds
            for old in [one for one in self._recent if one < self._until]:
                self._before ^= self._recent.pop(old)

    def until(self, second: int) -> int | None:
        """Return the tally of what was published before a second; None if it is too long ago."""
        if second < self._until:
            return None
        asked, tally = self._asked
        if asked != second:
            tally = self._before
            for published, part in self._recent.items():
                if published < second:
                    tally ^= part
            self._asked = second, tally
        return tally

    def parts(self, since: int, until: int) -> bytes:
        """Return the tally of each second from one to before another, as `Compare` has them."""
        parts = (self._recent.get(second, 0) for second in range(since, until))
        return b"".join(part.to_bytes(HASH_BYTES)[-PART_BYTES:] for part in parts).rstrip(b"\0")

    def difference(self, parts: bytes, since: int, until: int, member_since: int) -> int:
        """Return how another's `parts` from a second on differ, 0 if nothing is to be told.

        Of seconds before `member_since` they are compared if something of these is known here.
        """
        difference = 0
        for second in range(max(since, self._until, until - 2 * self._seconds), until):
            start = PART_BYTES * (second - since)
            theirs = int.from_bytes(parts[start : start + PART_BYTES].ljust(PART_BYTES, b"\0"))
            own = self._recent.get(second, 0) % (1 << 8 * PART_BYTES)
            if own or second >= member_since:
                difference ^= own ^ theirs
        return difference


@define(eq=False)
class Agreement:
    """What is remembered of one neighbour's tallies, and when it is told all that is known."""

    known: int = 0
    """The difference that remains although both have told all they know."""
    at: float = -inf
    """When the two last agreed, but for `known`."""
    second: int = -1
    """Up to which second the tallies went that differed last; negative if they agreed since."""
    told: int | None = None
    """The difference when all was last told."""
    times: int = 0
    """How often all was told for that difference."""
    told_at: float = -inf
    pause: float = FULL_SECONDS
    """After how many seconds all is told again."""

    def hear(self, difference: int, second: int, now: float) -> bool:
        """Take the difference of the tallies up to a second; say whether all is to be told.

        All is told to a neighbour that is new, and to one whose tally differs twice running.
        """
        is_new = self.at == self.told_at == -inf
        waited = now - self.told_at >= self.pause
        if difference == self.told and self.times == TOLD_MAX and waited:
            self.known = difference
        if difference in (0, self.known):
            self.known, self.at = difference, now
            self.second, self.times, self.pause = -1, 0, FULL_SECONDS
            return False
        again = -1 < self.second < second
        self.second = max(self.second, second)
        return is_new or (again and waited)

    @property
    def differs(self) -> bool:
        """Whether the two are known not to know the same."""
        return self.known != 0 or self.second >= 0

    def tell(self, difference: int) -> None:
        """Note that all was told to the neighbour, which was asked to do the same."""
        self.times = self.times + 1 if difference == self.told else 1
        self.told = difference
        self.pause = min(2 * self.pause, FULL_SECONDS_MAX)

    def news_since(self) -> float:
        """Return since when something must have come to one of the two that the other lacks."""
        return self.at - OVERLAP_SECONDS if self.times <= 1 else -inf
