"""How many processes a community has: a gossiped sample of the smallest hashes.

Theory of operation
-------------------
Every process has a number, the hash of its identity, uniform in [0, 1). A process keeps the
`SAMPLE` smallest numbers it has heard of and gossips them with its heartbeats; minima spread
like a rumour (extrema propagation, PROTOCOLS 2). With fewer than `SAMPLE` numbers it has
heard of everybody, and the count is exact. Else, with x the k-th smallest, (k-1)/x estimates
N without bias, with a relative standard error of 1/sqrt(k-2) = 13 % for k = 64 (Bar-Yossef et
al. 2002, "Counting distinct elements in a data stream"). Since fan-out grows with ln N, that
error moves it by 0.13.

Processes come and go, so each number carries its age since its owner last vouched for it. The
owner's own entry is always of age 0; a number that got too old is dropped, and the next
smallest takes its place. The estimate therefore follows a crash after `AGE_MAX` heartbeats.

*Hostile peers.* Whoever reaches a process can send it numbers that are nobody's, the smallest there
are. So of what is *believed* at most `BELIEVED_TIMES` as much is taken for the size, and what is
believed follows a larger size by a factor of 2 in `DOUBLING` heartbeats; only a process that has
listened for less than `AGE_MAX` heartbeats believes what it is told. And a process keeps numbers
for itself that lie closer together than they would in a community of the largest size that it takes
for possible: it passes on those that are plausible, and where these fill a sample, it goes by them.
So forged numbers get no farther than to whom a liar sends them, and make of an estimate eight times
as much at the most; whoever forges only what is plausible doubles that in an hour. They made a
thousand million of two hundred, everywhere, in a second.

A process vouches for its peers too, with the time at which it last heard them. A rumour of a
number's age therefore starts at k processes, some 2 (c+1) ln N, and reaches the others in
log3(N / k) + 3 exchanges, since each exchange informs both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from math import ceil, inf, sqrt
from struct import Struct, pack
from typing import Final

SAMPLE: Final = 64  # chosen: 13 % error, exact below 64, 640 bytes a message
AGE_MAX: Final = 30.0  # chosen: heartbeats; a rumour needs about log2 N + 5 = 15 at N = 1,000
# chosen: heartbeats between the samples of a process. The ages would allow more, but with fewer
# pieces in heartbeats a lost goodbye is noticed late (tests/laws/test_scamp_churn.py).
SAMPLE_PACE: Final = 2
# chosen: a crowd eight times as large as those that are there is counted at once. The newcomers
# themselves know of more; for those that were there ln N is short by 1 where it is 20 times.
BELIEVED_TIMES: Final = 8.0
DOUBLING: Final = 3600.0  # chosen: heartbeats; an hour, in which communities seldom double again
# chosen: of numbers drawn at random, so many standard deviations, and so many, more than expected
# lie below a bound once in a thousand samples.
_DEVIATIONS: Final = 3.0
_FEW: Final = 4.0
SIZE_MAX: Final = 1e9  # chosen: clamps what forged numbers can make of the estimate [TRUST]

_ENTRY: Final = Struct(">QH")  # a hash, its age in tenths of a heartbeat
_AGE_SCALE: Final = 10.0
_AGE_SENT_MAX: Final = 65535
_HASH_RANGE: Final = 2.0**64
_DOUBLINGS_MAX: Final = 30.0  # 2^30 > SIZE_MAX, whatever the clock says


@lru_cache(maxsize=4096)  # chosen: the peers of a process with a hundred topics; 1 MB
def _number(peer: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(peer, digest_size=8).digest())


def _count(smallest: list[int]) -> float:
    """Estimate how many have numbers of which these are the smallest; all, if they are few."""
    if len(smallest) < SAMPLE:
        return float(len(smallest))
    return (SAMPLE - 1) * _HASH_RANGE / max(1, smallest[-1])


def _plausible(numbers: list[int], most: float) -> list[int]:
    """Return a sample of these, in order, that may be of a community of at most so many."""
    kept: list[int] = []
    for number in numbers:
        expected = most * number / _HASH_RANGE
        if len(kept) < expected + _DEVIATIONS * sqrt(expected) + _FEW:
            kept.append(number)
    return kept[:SAMPLE]


def _is_sample(encoded: bytes) -> bool:
    return len(encoded) % _ENTRY.size == 0 and len(encoded) <= SAMPLE * _ENTRY.size


class SizeEstimate:
    """One process's estimate of its community's size; times in seconds."""

    def __init__(self, peer: bytes, heartbeat_seconds: float) -> None:
        self._own = _number(peer)
        self._heartbeat = heartbeat_seconds
        self._heard: dict[int, float] = {}  # hash -> when its owner vouched for it
        self._refreshed = -inf
        self._listens_since = inf
        self._believed = 1.0  # what `size` may be BELIEVED_TIMES of
        self._withheld: dict[int, None] = {}
        """Numbers that are not passed on, since they cannot well be true."""
        self.size = 1.0
        """The estimate of N as of the last `refresh` or `merge`, this process included."""

    def note(self, peer: bytes, now: float) -> None:
        """Take into account that `peer` itself was heard from just now."""
        self._heard[_number(peer)] = now
        if len(self._heard) > 2 * SAMPLE:  # bounded whatever peers send (G5)
            self.refresh(now)

    def vouch(self, heard: Iterable[tuple[bytes, float]]) -> None:
        """Take into account when each of these peers was last heard; `refresh` is to follow."""
        known = self._heard
        for peer, when in heard:
            number = _number(peer)
            if when > known.get(number, -inf):
                known[number] = when

    def encode(self, now: float) -> bytes:
        """Return the sample as bytes, for a heartbeat."""
        if now - self._refreshed >= self._heartbeat or len(self._heard) > SAMPLE:
            self.refresh(now)
        if self._own in self._heard:  # it is one of the smallest
            self._heard[self._own] = now
        scale = _AGE_SCALE / self._heartbeat
        entries: list[int] = []
        for number, heard in self._heard.items():
            if number in self._withheld:
                continue
            # Rounded up: rounded down, each exchange would make an entry a little younger.
            age = ceil((now - heard) * scale)
            entries += number, age if age < _AGE_SENT_MAX else _AGE_SENT_MAX
        return pack(">" + "QH" * (len(entries) // 2), *entries)

    def merge(self, encoded: bytes, now: float) -> None:
        """Take another process's sample; what does not parse is ignored."""
        if not encoded or not _is_sample(encoded):
            return
        scale = self._heartbeat / _AGE_SCALE
        known = self._heard
        before = len(known)
        for number, age in _ENTRY.iter_unpack(encoded):
            heard = now - age * scale
            if heard > known.get(number, -inf):
                known[number] = heard
        if len(known) > before or now - self._refreshed >= self._heartbeat:
            self.refresh(now)  # else the numbers are the same

    def is_stranger(self, encoded: bytes) -> bool:
        """Say whether another process's sample comes from a community that never met this one.

        Members of one community hold nearly the same smallest numbers; two communities of the
        same name, founded apart, have none in common. Who has not begun to join has met nobody.
        """
        if not _is_sample(encoded):
            return False
        theirs = [number for number, _ in _ENTRY.iter_unpack(encoded)]
        common = sum(number in self._heard for number in theirs)
        return 2 * common < min(len(theirs), max(1, len(self._heard)))

    def refresh(self, now: float) -> None:
        """Vouch for oneself, drop what is too old, and estimate anew."""
        since, self._refreshed = now - self._refreshed, now
        self._listens_since = min(self._listens_since, now)
        oldest = now - AGE_MAX * self._heartbeat
        self._heard[self._own] = now
        # Sorting these few is twice as fast as heapq.nsmallest.
        alive = sorted([n for n, heard in self._heard.items() if heard >= oldest])
        smallest, withheld = alive[:SAMPLE], {}
        size, most = _count(smallest), BELIEVED_TIMES * self._believed
        if size > most and now - self._listens_since > AGE_MAX * self._heartbeat:
            plausible = _plausible(alive, most)
            if len(plausible) == SAMPLE:
                size = _count(plausible)
            kept = dict.fromkeys(plausible)
            withheld = {number: None for number in smallest if number not in kept}
            smallest = [*withheld, *plausible]
        self._heard = {number: self._heard[number] for number in smallest}
        self._withheld = withheld
        self.size = self._believable(size, since, now)

    def _believable(self, size: float, since: float, now: float) -> float:
        """Return a size as far as it can be believed, `since` seconds after the last one."""
        believed, heartbeats = self._believed, since / self._heartbeat
        if now - self._listens_since <= AGE_MAX * self._heartbeat:
            believed = max(believed, size)
        elif size > believed:
            believed = min(size, believed * 2 ** min(_DOUBLINGS_MAX, heartbeats / DOUBLING))
        else:  # slowly: after a crash of most, the living are heard of one by one
            believed = max(size, believed / 2 ** min(_DOUBLINGS_MAX, heartbeats / AGE_MAX))
        self._believed = believed
        return min(size, BELIEVED_TIMES * believed, SIZE_MAX)

    def forgive(self, paused_seconds: float, now: float) -> None:
        """Forgive a pause of this process: nobody aged while it did not listen."""
        for number, heard in self._heard.items():
            self._heard[number] = min(now, heard + paused_seconds)
