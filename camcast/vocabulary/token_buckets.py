"""Token buckets: how often something may happen, in the long run and at once.

A bucket has tokens; what happens takes some, and what finds too few is refused. They come back at a
steady rate, up to as many as may be taken at once. Whoever acts within the rate, and is late by
different times, is refused nothing where the bucket holds what comes in the longest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
BucketT = TypeVar("BucketT")


class TokenBucket:
    """Has `a_second` tokens a second, and `at_once` at most; it is full at first.

    All times are of one clock, in seconds. If that is set back, no token comes back for this.
    """

    __slots__ = ("_a_second", "_at_once", "_counted", "_tokens")

    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = at_once
        self._tokens = at_once
        """As many as there were at the time `_counted`."""
        self._counted = -inf

    def lacks(self, now: float, tokens: float = 1.0) -> float:
        """Return in how many seconds there are so many tokens: 0 for now, inf for never."""
        if self._counted != now:
            back = self._a_second * max(0.0, now - self._counted)
            self._tokens = min(self._at_once, self._tokens + back)
            self._counted = now
        if tokens <= self._tokens:
            return 0.0
        return (tokens - self._tokens) / self._a_second if tokens <= self._at_once else inf

    def take(self, now: float, tokens: float = 1.0) -> bool:
        """Take so many tokens; return whether there were as many, else none is taken."""
        if self.lacks(now, tokens):
            return False
        self._tokens -= tokens
        return True


def each_second(most: int) -> TokenBucket:
    """Return a bucket of so many tokens a second, all of which may be taken at once."""
    return TokenBucket(most, most)


class Buckets(Generic[KeyT, BucketT]):
    """A bucket by key; of more than `most`, the one used longest ago is forgotten, and so full."""

    def __init__(self, most: int, make: Callable[[KeyT], BucketT]) -> None:
        self._most = most
        self._make = make
        self._buckets: dict[KeyT, BucketT] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def __getitem__(self, key: KeyT) -> BucketT:
        bucket = self._buckets.pop(key, None)
        if bucket is None:
            bucket = self._make(key)
        if len(self._buckets) >= self._most:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[key] = bucket
        return bucket
