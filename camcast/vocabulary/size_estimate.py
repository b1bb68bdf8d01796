"""How many processes a community has: a gossiped sample of the smallest hashes.

Theory of operation
-------------------
Every process has a number, the hash of its identity, uniform in [0, 1). A process keeps the
`SAMPLE` smallest numbers it has heard of and gossips them with its heartbeats; minima spread
like a rumour (extrema propagation, Baquero et al. 2009). With fewer than `SAMPLE` numbers it has
heard of everybody, and the count is exact. Else, with x the k-th smallest, (k-1)/x estimates
N without bias, with a relative standard error of 1/sqrt(k-2) = 13 % for k = 64 (Bar-Yossef et
al. 2002, "Counting distinct elements in a data stream"). Since fan-out grows with ln N, that
error moves it by 0.13.

Processes come and go, so each number carries its age since its owner last vouched for it. The
owner's own entry is always of age 0; a number that got too old is dropped, and the next
smallest takes its place. The estimate therefore follows a crash after `AGE_MAX` heartbeats, and a
goodbye at once where it arrives: samples of processes that it did not reach do not bring the number
back.

*Hostile peers, where processes have keys.* A number counts only while the process that it belongs
to is known by a live record, with a certificate for the community (`Certified`). Numbers of unknown
processes wait, and the peer that named them is asked to introduce those processes. An invented
number never counts and is never passed on, and a member adds as many numbers as it has certified
keys. The records of a sample have 25 kB, too many to send along; asked for once, and once more
before one expires, they are 10 bytes a second.

*Hostile peers, where there are no keys.* A liar can send numbers that belong to no process, the
smallest there are. Each process therefore has a *believed* size, which follows a larger count by a
factor of 2 in `DOUBLING` heartbeats, and its estimate is at most `BELIEVED_TIMES` the believed
size. It also withholds numbers that lie closer together than in a community of the largest size
that it takes for possible: it passes on only the plausible numbers, and if these fill a sample, the
estimate goes by them. Forged numbers reach only the processes to which a liar sends them, and
make an estimate at most eight times as large; a liar that forges plausible numbers doubles the
estimate in an hour. Without this, forged numbers made 10^9 of 200 members, in every process, within
a second.

A process that has listened for less than `AGE_MAX` heartbeats has nothing to compare with. It
believes in as many processes as it hears itself, or in the median of the sizes that its *tellers*
name, since each sample alone stands for a size. Lies make its estimate more than eight times as
large only while most of its tellers lie, and of a single teller at most `LONE_MAX` is believed.
(The smallest size named would be safer against large lies. But one teller that names too small a
size would hold a newcomer back for hours, and while hundreds of processes join at once the slowest
would hold all of them back.)

A process also vouches for its peers, with the time at which it last heard of them. The news of a
number's age therefore starts at k processes, some 2 (c+1) ln N, and reaches the others in
log3(N / k) + 3 exchanges, since each exchange informs both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from math import ceil, inf, sqrt
from struct import Struct, pack
from typing import Final, Protocol

from camcast.vocabulary.identity import Contact, PeerId

SAMPLE: Final = 64  # chosen: 13 % error, exact below 64, 640 bytes a message
AGE_MAX: Final = 30.0  # chosen: heartbeats; a rumour needs about log2 N + 5 = 15 at N = 1,000
# chosen: heartbeats between the samples of a process. The ages would allow more, but with fewer
# messages in heartbeats a lost goodbye is noticed late (tests/library/laws/test_scamp_churn.py).
SAMPLE_PACE: Final = 2
# chosen: up to seven newcomers for each member are counted at once. Of a larger crowd the newcomers
# have the whole count; for the members ln N is too small by 1 if the crowd is 20 times as large.
BELIEVED_TIMES: Final = 8.0
DOUBLING: Final = 3600.0  # chosen: heartbeats; an hour, in which communities seldom double again
# chosen: heartbeats for which a teller's size counts: some eight tellers. With 15 heartbeats,
# newcomers among 200 that join at once believed in 60 % of them after ten heartbeats; with 5, and a
# liar among ten that names too small a size, one newcomer in twenty believed it.
TOLD_LASTS: Final = 8.0
# chosen: estimates are up to eight times this. For a newcomer to 10,000 ln N is then too small
# by ln 1.25, for a heartbeat or two, and a lie makes a view want 30 peers and not 60.
LONE_MAX: Final = 1000.0
TELLERS_MAX: Final = 64  # chosen: more than name a size within `TOLD_LASTS` heartbeats
# chosen: in one sample of a thousand, more random numbers lie below a bound than are expected by
# this many standard deviations and this many numbers.
_DEVIATIONS: Final = 3.0
_FEW: Final = 4.0
# chosen: heartbeats. The age of a number grows at each process, but not on the ways between them:
# five ways of a tenth of a second each, and as much again.
GONE_SLACK: Final = 1.0
GONE_MAX: Final = 2 * SAMPLE  # chosen: goodbyes of processes whose numbers can be in a sample
SIZE_MAX: Final = 1e9  # chosen: clamps what forged numbers can make of the estimate

_ENTRY: Final = Struct(">QH")  # a hash, its age in tenths of a heartbeat
_AGE_SCALE: Final = 10.0
_AGE_SENT_MAX: Final = 65535
_HASH_RANGE: Final = 2.0**64
_DOUBLINGS_MAX: Final = 30.0  # 2^30 > SIZE_MAX, whatever the clock says


class Certified(Protocol):
    """Knows which numbers belong to certified members of one community."""

    def counts(self, number: int) -> bool:
        """Say whether the number's owner is known by a live record as a member of the community."""

    def ask(self, teller: Contact, numbers: Iterable[int]) -> None:
        """Ask the process that named these numbers to introduce their owners, where needed."""


@lru_cache(maxsize=4096)  # chosen: the peers of a process with a hundred topics; 1 MB
def number_of(peer: bytes) -> int:
    """Return the number of a process, uniform in [0, 2^64)."""
    return int.from_bytes(hashlib.blake2b(peer, digest_size=8).digest())


def _count(smallest: list[int]) -> float:
    """Estimate how many processes there are from the smallest of their numbers, in order."""
    if len(smallest) < SAMPLE:
        return float(len(smallest))
    return (SAMPLE - 1) * _HASH_RANGE / max(1, smallest[-1])


def _plausible(numbers: list[int], most: float) -> list[int]:
    """Return those of these numbers, in order, that a community of `most` processes may have."""
    kept: list[int] = []
    for number in numbers:
        expected = most * number / _HASH_RANGE
        if len(kept) < expected + _DEVIATIONS * sqrt(expected) + _FEW:
            kept.append(number)
    return kept[:SAMPLE]


def _is_sample(encoded: bytes) -> bool:
    return len(encoded) % _ENTRY.size == 0 and len(encoded) <= SAMPLE * _ENTRY.size


class SizeEstimate:
    """One process's estimate of its community's size; times in seconds.

    With `certified`, only numbers of certified members count; without, any number does.
    """

    def __init__(
        self, peer: bytes, heartbeat_seconds: float, certified: Certified | None = None
    ) -> None:
        self._own = number_of(peer)
        self._heartbeat = heartbeat_seconds
        self._certified = certified
        self._heard: dict[int, float] = {}  # hash -> when its owner vouched for it
        self._waiting: dict[int, float] = {}
        """Likewise, of the last sample that named unknown processes: of these processes."""
        self._gone: dict[int, float] = {}
        """When the owner of each number said goodbye; the one that did so last comes last."""
        self._told: dict[PeerId, tuple[float, float]] = {}
        """By teller, the size that its last sample stands for, and when it came."""
        self._met = 0
        """How many peers this process vouched for last."""
        self._refreshed = -inf
        self._listens_since = inf
        self._believed = 1.0  # `size` is at most BELIEVED_TIMES of it
        self._withheld: dict[int, None] = {}
        """Numbers that are not passed on, since they are implausible."""
        self.size = 1.0
        """The estimate of N as of the last `refresh` or `merge`, this process included."""

    def note(self, peer: bytes, now: float) -> None:
        """Note that a message of `peer` has just arrived."""
        number = number_of(peer)
        self._gone.pop(number, None)
        self._heard[number] = now
        if len(self._heard) > 2 * SAMPLE:  # bounded whatever peers send
            self.refresh(now)

    def forget(self, peer: bytes, now: float) -> None:
        """Take out the number of a peer that has said goodbye."""
        number = number_of(peer)
        self._gone.pop(number, None)
        if len(self._gone) >= GONE_MAX:
            del self._gone[next(iter(self._gone))]
        self._gone[number] = now
        if self._heard.pop(number, None) is not None:
            self.refresh(now)

    def vouch(self, heard: Iterable[tuple[bytes, float]]) -> None:
        """Note when each of these peers was last heard of; call `refresh` afterwards."""
        known = self._heard
        self._met = 0
        for peer, when in heard:
            self._met += 1
            number = number_of(peer)
            if when > known.get(number, -inf):
                known[number] = when

    def encode(self, now: float) -> bytes:
        """Return the sample as bytes, for a heartbeat."""
        if now - self._refreshed >= self._heartbeat or len(self._heard) > SAMPLE:
            self.refresh(now)
        if self._own in self._heard:  # it is one of the smallest
            self._heard[self._own] = now
        told, scale = self._heard, _AGE_SCALE / self._heartbeat
        if self._withheld:
            told = {number: heard for number, heard in told.items() if number not in self._withheld}
        # Rounded up: rounded down, each exchange would make an entry a little younger.
        ages = [ceil((now - heard) * scale) for heard in told.values()]
        if ages and max(ages) > _AGE_SENT_MAX:
            ages = [min(age, _AGE_SENT_MAX) for age in ages]
        entries = [*told, *ages]
        entries[::2], entries[1::2] = told, ages
        return pack(">" + "QH" * len(ages), *entries)

    def merge(self, encoded: bytes, teller: Contact, now: float) -> None:
        """Take another process's sample; what does not parse is ignored."""
        if not encoded or not _is_sample(encoded):
            return
        scale = self._heartbeat / _AGE_SCALE
        named = {number: now - age * scale for number, age in _ENTRY.iter_unpack(encoded)}
        if self._certified is not None:
            self._certified.ask(teller, named)
            unknown = {n: heard for n, heard in named.items() if not self._certified.counts(n)}
            if unknown:
                self._waiting = unknown
                named = {n: heard for n, heard in named.items() if n not in unknown}
        if self._gone:
            named = self._without_gone(named, now)
        known = self._heard
        before = len(known)
        for number, heard in named.items():
            if heard > known.get(number, -inf):
                known[number] = heard
        if self._is_young(now):
            self._note_told(teller.peer, _count(sorted(named)), now)
        if len(known) > before or now - self._refreshed >= self._heartbeat:
            self.refresh(now)  # else the numbers are the same

    def _without_gone(self, named: dict[int, float], now: float) -> dict[int, float]:
        """Leave out numbers whose owners have not been heard of since they said goodbye."""
        patience = AGE_MAX * self._heartbeat  # then the others have dropped them as too old
        self._gone = {n: since for n, since in self._gone.items() if now - since <= patience}
        slack = GONE_SLACK * self._heartbeat
        return {n: heard for n, heard in named.items() if heard > self._gone.get(n, -inf) + slack}

    def _is_young(self, now: float) -> bool:
        """Say whether this process has not listened long enough to have heard of everybody."""
        return now - self._listens_since <= AGE_MAX * self._heartbeat

    def _note_told(self, teller: PeerId, size: float, now: float) -> None:
        self._told[teller] = (size, now)
        if len(self._told) > TELLERS_MAX:
            del self._told[min(self._told, key=lambda each: self._told[each][1])]

    def _told_by_others(self, now: float) -> float:
        """Return the size that a newcomer believes, from its peers and its tellers."""
        oldest = now - TOLD_LASTS * self._heartbeat
        told = sorted(size for size, when in self._told.values() if when >= oldest)
        median = told[(len(told) - 1) // 2] if told else 1.0
        if len(told) == 1:
            median = min(median, LONE_MAX)
        return max(1.0 + self._met, 1.0 + len(told), median)

    def is_stranger(self, encoded: bytes) -> bool:
        """Say whether another process's sample comes from a community that never met this one.

        Members of one community hold nearly the same smallest numbers; two communities of the
        same name, founded apart, have none in common. A process that has not begun to join has not
        met any community.
        """
        if not _is_sample(encoded):
            return False
        theirs = [number for number, _ in _ENTRY.iter_unpack(encoded)]
        common = sum(number in self._heard or number in self._waiting for number in theirs)
        return 2 * common < min(len(theirs), max(1, len(self._heard)))

    def refresh(self, now: float) -> None:
        """Vouch for this process, drop numbers that are too old, and estimate again."""
        since, self._refreshed = now - self._refreshed, now
        self._listens_since = min(self._listens_since, now)
        oldest = now - AGE_MAX * self._heartbeat
        if self._certified is not None:
            self._drop_uncertified(self._certified)
        self._heard[self._own] = now
        # Sorting these few is twice as fast as heapq.nsmallest.
        alive = sorted([n for n, heard in self._heard.items() if heard >= oldest])
        smallest = alive[:SAMPLE]
        self.size = min(_count(smallest), SIZE_MAX)
        self._withheld = {}
        if self._certified is None:
            smallest = self._doubt(alive, since, now)
        self._heard = {number: self._heard[number] for number in smallest}

    def _doubt(self, alive: list[int], since: float, now: float) -> list[int]:
        """Estimate from numbers, in order, that may be forged; return those that are kept."""
        smallest, size = alive[:SAMPLE], self.size
        believed = self._told_by_others(now) if self._is_young(now) else self._believed
        if size > BELIEVED_TIMES * believed:
            plausible = _plausible(alive, BELIEVED_TIMES * believed)
            if len(plausible) == SAMPLE:
                size = _count(plausible)
            told = dict.fromkeys(plausible)
            smallest = list(dict.fromkeys([*smallest, *plausible]))
            self._withheld = {number: None for number in smallest if number not in told}
        self.size = self._believable(size, since, now)
        return smallest

    def _drop_uncertified(self, certified: Certified) -> None:
        """Keep the numbers of certified members, also of those that became known meanwhile."""
        for number, heard in self._waiting.items():
            self._heard[number] = max(heard, self._heard.get(number, -inf))
        counted = {number: certified.counts(number) for number in self._heard}
        self._waiting = {n: heard for n, heard in self._waiting.items() if not counted[n]}
        self._heard = {n: heard for n, heard in self._heard.items() if counted[n]}

    def _believable(self, size: float, since: float, now: float) -> float:
        """Return a size as far as it can be believed, `since` seconds after the last one."""
        believed, heartbeats = self._believed, since / self._heartbeat
        if self._is_young(now):
            believed = min(size, self._told_by_others(now))
        elif size > believed:
            believed = min(size, believed * 2 ** min(_DOUBLINGS_MAX, heartbeats / DOUBLING))
        else:  # slowly: after a crash of most processes, the others are heard of one by one
            believed = max(size, believed / 2 ** min(_DOUBLINGS_MAX, heartbeats / AGE_MAX))
        self._believed = believed
        return min(size, BELIEVED_TIMES * believed, SIZE_MAX)

    def forgive(self, paused_seconds: float, now: float) -> None:
        """Make all numbers younger by a pause of this process, in which it heard none of them."""
        for number, heard in self._heard.items():
            self._heard[number] = min(now, heard + paused_seconds)
