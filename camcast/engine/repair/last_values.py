"""Last values: of each key the event that was published last, beyond the retention.

Theory of operation
-------------------
An event may have a key (`camcast.vocabulary.batches.Keyed`), such as the name of a sensor. The map
of one community in one process has, of each topic and key, the event that *wins*: of the later time
of publication, then of the greater stream, then of the greater number. So the map is a last-writer
-wins map, a join semilattice (Shapiro et al., "Conflict-free replicated data types", 2011): all who
know the same events have the same map, in whatever order these came. An event that deletes its key
wins like any other, and is forgotten after `DELETED_SECONDS`.

*Bound.* The events of a map take `BYTES_MAX` at most. Beyond that the oldest go first, and nothing
as old as these comes in again, so that two maps do not hand them to each other for ever. Of
publishers with more than a sixteenth of the bytes, the one with most gives its own: whoever may
publish in one topic below cannot drive out the values of all others.

*Clocks.* Who publishes a key whose present event is from a clock ahead dates its own event just
after that one (Lamport, "Time, clocks, and the ordering of events", 1978): whoever has seen a value
and replaces it wins. An event that seems to be published more than `AHEAD_SECONDS` from now waits
outside of the map, for otherwise a liar could keep a key for ever.

*Digests.* The digest of a map is the XOR of a hash of each event. Something is always on its way;
so members compare the digests of what was published before some second, a few seconds back: the
changes of the last `CHANGES_SECONDS` are kept by the second of their publication. Maps that differ
compare *buckets* of each topic's keys, by the keys' hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import inf
from typing import Final, NamedTuple

from attrs import define

from camcast.engine.repair.told import APART_SECONDS, HASH_BYTES
from camcast.engine.store import BATCH_BYTES
from camcast.vocabulary.batches import NOT_UPWARD, Batch, Rank, rank_of
from camcast.vocabulary.identity import PEER_ID_BYTES
from camcast.vocabulary.share import TELLERS_MIN
from camcast.vocabulary.topics import Topic

BYTES_MAX: Final = 1 << 24  # chosen: 16 MiB a community: 25,000 values of 100 bytes
DELETED_SECONDS: Final = 86_400.0  # chosen: whoever was away for a day may bring a key back
AHEAD_SECONDS: Final = APART_SECONDS  # chosen: clocks that differ by more are wrong
CHANGES_SECONDS: Final = 60  # chosen: digests go a few seconds back, at most some 15
BUCKETS_MAX: Final = 256  # one byte of a key's hash says which
KEYS_A_BUCKET: Final = 8  # chosen: then a bucket's digest costs as much as one of its keys


class LastValue(NamedTuple):
    """The event that is a key's last value."""

    batch: Batch
    rank: tuple[Rank, int]
    """Its rank, and a hash of its body, which decides between forgeries."""

    @property
    def part(self) -> int:
        """The event's part of digests."""
        return self.rank[1]

    @property
    def deleted(self) -> bool:
        """Whether the event deletes the key."""
        keyed = self.batch.keyed
        return keyed is not None and keyed.deleted

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return len(self.batch.body) + BATCH_BYTES


Age = tuple[tuple[Rank, int], Topic, bytes]
"""A value's place in the order of ages, and its key; replaced values stay in a heap for a while."""


@define(eq=False)
class _Publisher:
    """The values of one publisher."""

    bytes: int = 0
    oldest: list[Age] | None = None
    """A heap of them, while they are many."""
    gone: tuple[Rank, int] | None = None
    """The newest that was let go since it had more than its share."""


class LastValues:
    """The last values of one community in one process, in bounded memory."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes = self.keys = 0
        """The bytes in use, and how many keys have a value or are remembered as deleted."""
        self.let_go = 0
        """How many values the bound of bytes has cost so far."""
        self.bytes_max = bytes_max
        self._topics: dict[Topic, dict[bytes, LastValue]] = {}
        self._oldest: list[Age] = []  # a heap
        self._publishers: dict[bytes, _Publisher] = {}
        self._large: dict[bytes, None] = {}  # those with more than their share, sixteen at most
        self._gone: tuple[Rank, int] | None = None  # the newest that was let go
        self._deleted: dict[tuple[Topic, bytes], None] = {}
        self._digest = 0
        self._changes: dict[int, int] = {}  # of the digest, by the second of the publication

    def __bool__(self) -> bool:
        return bool(self._topics)

    @property
    def topics(self) -> Mapping[Topic, Mapping[bytes, LastValue]]:
        """The last values of each topic, by key; those of deleted keys are in it."""
        return self._topics

    def add(self, batch: Batch, wall: float) -> bool:
        """Take an event with a key, at a time of the wall clock; say whether it is the last value.

        An event that is kept already is not taken again.
        """
        keyed = batch.keyed
        assert keyed is not None, "the caller has looked"
        if not self.would_take(batch, wall):
            return False
        value = LastValue(batch, _rank(batch))
        change = value.part
        if self._value(batch.topic, keyed.key) is not None:
            change ^= self._take_out(batch.topic, keyed.key)
        self._topics.setdefault(batch.topic, {})[keyed.key] = value
        self.bytes += value.size
        self.keys += 1
        self._change(change, batch.published, wall)
        age = value.rank, batch.topic, keyed.key
        heappush(self._oldest, age)
        self._count(batch, value.size)
        publisher = self._publishers[batch.stream[:PEER_ID_BYTES]]
        if (own := publisher.oldest) is not None:
            heappush(own, age)
            if len(own) > 2 * self.keys + KEYS_A_BUCKET:
                publisher.oldest = self._ages(batch.stream[:PEER_ID_BYTES])
        if keyed.deleted:
            self._deleted[batch.topic, keyed.key] = None
        while self.bytes > self.bytes_max:
            self._let_oldest_go(wall)
        if len(self._oldest) > 2 * self.keys + KEYS_A_BUCKET:  # most are replaced by now
            self._oldest = self._ages(b"")
        return self._value(batch.topic, keyed.key) is value

    def would_take(self, batch: Batch, wall: float) -> bool:
        """Say whether an event with a key would be its key's last value."""
        keyed = batch.keyed
        assert keyed is not None, "the caller has looked"
        rank, before = _rank(batch), self._value(batch.topic, keyed.key)
        return not (
            (before is not None and rank <= before.rank)
            or (self._gone is not None and rank <= self._gone)
            or self._is_gone(batch, rank)
            or batch.published > 1000 * (wall + AHEAD_SECONDS)
            or (keyed.deleted and batch.published <= 1000 * (wall - DELETED_SECONDS))
        )

    def date(self, topic: Topic, key: bytes, now: int, before: int) -> int:
        """Return when to date an event that is published now, so that it replaces the present one.

        Nor is it dated before the event of its stream that was published before it. Times are in
        milliseconds since 1970.
        """
        value = self._value(topic, key)
        after = before if value is None else max(before, value.batch.published + 1)
        return max(now, after) if after <= now + 1000 * AHEAD_SECONDS else now

    def forget_deleted(self, wall: float) -> None:
        """Forget the keys that were deleted `DELETED_SECONDS` ago."""
        until = 1000 * (wall - DELETED_SECONDS)
        for topic, key in list(self._deleted):
            value = self._topics[topic][key]
            if value.batch.published <= until:
                self._change(self._take_out(topic, key), value.batch.published, wall)

    def digest(self, second: float = inf) -> int:
        """Return the digest of what was published before a second since 1970, or of all."""
        digest = self._digest
        for published, change in self._changes.items():
            if published >= second:
                digest ^= change
        return digest

    def buckets(self, topic: Topic, size: int, *, upward: bool = False) -> list[int]:
        """Return the digest of each of `size` buckets of a topic's keys; `upward` if it climbs."""
        digests = [0] * size
        for key, value in self._topics.get(topic, {}).items():
            if not (upward and value.batch.flags & NOT_UPWARD):
                digests[bucket_of(key, size)] ^= value.part
        return digests

    def within(self, topic: Topic, size: int, numbers: Mapping[int, None]) -> Iterator[LastValue]:
        """Yield the last values of a topic in some of `size` buckets."""
        for key, value in self._topics.get(topic, {}).items():
            if bucket_of(key, size) in numbers:
                yield value

    def _value(self, topic: Topic, key: bytes) -> LastValue | None:
        return self._topics.get(topic, {}).get(key)

    def _take_out(self, topic: Topic, key: bytes) -> int:
        """Keep a key's value no longer; return its part of the digest."""
        values = self._topics[topic]
        value = values.pop(key)
        if not values:
            del self._topics[topic]
        self._deleted.pop((topic, key), None)
        self.bytes -= value.size
        self.keys -= 1
        self._count(value.batch, -value.size)
        return value.part

    def _count(self, batch: Batch, size: int) -> None:
        """Count bytes of a publisher, which may have more or less than its share now."""
        name, share = batch.stream[:PEER_ID_BYTES], self.bytes_max // TELLERS_MIN
        publisher = self._publishers.setdefault(name, _Publisher())
        publisher.bytes += size
        if publisher.bytes > share:
            self._large[name] = None
            if publisher.oldest is None:
                publisher.oldest = self._ages(name)
            return
        self._large.pop(name, None)
        if publisher.bytes <= share // 2:  # not at once, for it takes long to make
            publisher.oldest = None
        if not publisher.bytes:
            del self._publishers[name]

    def _is_gone(self, batch: Batch, rank: tuple[Rank, int]) -> bool:
        """Say whether a publisher's value as late as this one was let go for its share."""
        publisher = self._publishers.get(batch.stream[:PEER_ID_BYTES])
        return publisher is not None and publisher.gone is not None and rank <= publisher.gone

    def _ages(self, publisher: bytes) -> list[Age]:
        """Return the ages of all values, or those of a publisher, the oldest first."""
        return sorted(
            (value.rank, topic, key)
            for topic, values in self._topics.items()
            for key, value in values.items()
            if value.batch.stream.startswith(publisher)
        )

    def _let_oldest_go(self, wall: float) -> None:
        large = max(self._large, key=lambda one: self._publishers[one].bytes, default=None)
        publisher = None if large is None else self._publishers[large]
        own = None if publisher is None else publisher.oldest
        rank, topic, key = heappop(self._oldest if own is None else own)
        value = self._value(topic, key)
        if value is not None and value.rank == rank:
            self._change(self._take_out(topic, key), value.batch.published, wall)
            if publisher is None:
                self._gone = rank
            else:
                publisher.gone = rank
            self.let_go += 1

    def _change(self, change: int, published: int, wall: float) -> None:
        self._digest ^= change
        second = published // 1000
        if second <= wall - CHANGES_SECONDS:
            return
        if second not in self._changes:
            for old in [one for one in self._changes if one <= wall - CHANGES_SECONDS]:
                del self._changes[old]
        self._changes[second] = self._changes.get(second, 0) ^ change


def buckets_for(keys: int) -> int:
    """Return into how many buckets so many keys are divided: a power of two."""
    return min(BUCKETS_MAX, 1 << (max(0, keys - 1) // KEYS_A_BUCKET).bit_length())


def bucket_of(key: bytes, size: int) -> int:
    """Return in which of `size` buckets a key is; `size` divides `BUCKETS_MAX`."""
    return hashlib.blake2b(key, digest_size=1).digest()[0] % size


def _rank(batch: Batch) -> tuple[Rank, int]:
    part = hashlib.blake2b(batch.body, digest_size=HASH_BYTES).digest()
    return rank_of(batch), int.from_bytes(part)
