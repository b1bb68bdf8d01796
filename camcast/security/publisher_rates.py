"""Rates of publishers: what a certificate allows its owner to send a second.

Theory of operation
-------------------
Each publisher counts what it publishes, and publishes nothing beyond its rate: within `AT_ONCE`
seconds it may send at once what it may send in so many. Each process that receives or forwards
events counts those of the same certificate again, each event once, when its signature is verified.
What is over the rate there does not count as known: where events are repaired, it is asked for
again, and taken when there is room, if anybody has it then.

A publisher within its rate is refused nothing, whatever happens on the way. An event comes late by
up to the longest retention, `LATE_SECONDS`, as behind a healed partition, and others come at once.
If each event is late by no more, then in any time t come those published in a time of t and
`LATE_SECONDS` at most. This is what may come at once. Clocks run differently, too:
`CLOCKS_DIFFER` more is let through, or a publisher at its limit would be refused after a month.

What is older is history that this process has asked for (`camcast.engine.guard.signing`): nobody
passes it on, and it is not counted.
"""

from __future__ import annotations

from math import inf
from typing import Final

from camcast.security.certificates import SLACK_SECONDS, Rate
from camcast.security.chains import Chain
from camcast.security.refusals import Reason, RefusedError
from camcast.security.sealed import SealHash
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.parameters import RETENTION_SECONDS_MAX
from camcast.vocabulary.token_buckets import Buckets, TokenBucket

AT_ONCE_SECONDS: Final = 10.0  # chosen: a sensor that was off the network sends what it gathered
LATE_SECONDS: Final = RETENTION_SECONDS_MAX
CLOCKS_DIFFER: Final = 1e-3  # chosen: ten times what quartz crystals differ by (100 ppm)
PUBLISHERS_MAX: Final = 4096  # chosen: as many as chains are known; 1 MB

_Key = tuple[SealHash, Rate]
"""The last certificate of a chain, and the lowest rate in the chain."""


class _Meter:
    """The buckets of one certificate, for what its rate bounds."""

    def __init__(self, rate: Rate, at_once_seconds: float, faster: float) -> None:
        self._buckets = [
            TokenBucket(bound * faster, bound * at_once_seconds) if bound else None
            for bound in rate
        ]

    def lacks(self, now: float, events: int, size: int) -> float:
        """Return in how many seconds so much may be sent: 0 for now, inf for never."""
        amounts = zip(self._buckets, (events, size), strict=True)
        return max(bucket.lacks(now, amount) if bucket else 0.0 for bucket, amount in amounts)

    def take(self, now: float, events: int, size: int) -> None:
        for bucket, amount in zip(self._buckets, (events, size), strict=True):
            if bucket is not None:
                bucket.take(now, amount)


class PublisherRates:
    """Counts for one process what it publishes itself, and what others have published.

    All times are in seconds since 1970.
    """

    def __init__(self) -> None:
        self._own = Buckets[_Key, _Meter](
            PUBLISHERS_MAX, lambda key: _Meter(key[1], AT_ONCE_SECONDS, 1.0)
        )
        self._others = Buckets[_Key, _Meter](
            PUBLISHERS_MAX,
            lambda key: _Meter(key[1], AT_ONCE_SECONDS + LATE_SECONDS, 1 + CLOCKS_DIFFER),
        )

    def publish(self, chain: Chain, size: int, now: float) -> None:
        """Count an event of this process, of `size` bytes; raises `RefusedError`, uncounted."""
        if not any(chain.rate):
            return
        meter = self._own[chain.hash, chain.rate]
        seconds = meter.lacks(now, 1, size)
        if seconds:
            wait = f"again in {seconds:.1f} s" if seconds < inf else "a smaller event"
            raise RefusedError(
                Reason.OVER_RATE,
                f"the certificate for {chain.last.prefix} allows {chain.rate}, and those of"
                f" {AT_ONCE_SECONDS:.0f} s at once; publish {wait}",
            )
        meter.take(now, 1, size)

    def check(self, chain: Chain, batch: Batch, now: float) -> None:
        """Raise `RefusedError` if a batch of another process is over its publisher's rate."""
        if _counts(chain, batch, now) and self._others[chain.hash, chain.rate].lacks(
            now, batch.count, len(batch.body)
        ):
            raise RefusedError(
                Reason.OVER_RATE, f"its publisher sends more than the certificate's {chain.rate}"
            )

    def count(self, chain: Chain, batch: Batch, now: float) -> None:
        """Count a batch of another process, which `check` let through and whose signature fits."""
        if _counts(chain, batch, now):
            self._others[chain.hash, chain.rate].take(now, batch.count, len(batch.body))


def _counts(chain: Chain, batch: Batch, now: float) -> bool:
    return any(chain.rate) and batch.published / 1000 >= now - LATE_SECONDS - SLACK_SECONDS
