"""The batches that one community of this process keeps: recent ones in memory, older on disk.

Without an archive (`camcast.doors.archive`) this is the store, and nothing is asked twice. With
one, everything that is delivered goes to the archive as well. The archive is looked at for what the
store does not have, and for streams that memory has forgotten, or that an earlier run of this
process has known: a restart takes nothing again that it had.

A body of the archive has no age, and its publisher's clock stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Final

from attrs import define

from camcast.doors.archive import Archive
from camcast.engine.known_streams import KnownRanges
from camcast.engine.store import Store, published_at
from camcast.vocabulary.batches import SIGNED, Batch, decode_body
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic

_MILLISECONDS: Final = 1000


def no_chain(_certificate: bytes) -> Sequence[bytes]:
    """Return the certificates of a batch where none is signed."""
    return ()


@define(eq=False)
class Retained:
    """The batches of one community that this process can send again."""

    store: Store
    archive: Archive | None
    _community: Topic
    _clock: Clock
    _chain: Callable[[bytes], Sequence[bytes]] = no_chain
    on_kept: Callable[[Batch], None] = lambda _: None
    """Called with each batch that the archive was given."""

    @property
    def archived_seconds(self) -> float:
        """How far back this process wants and keeps events that are older than itself."""
        return 0.0 if self.archive is None else self.archive.age_seconds_max

    def keep(self, batch: Batch) -> None:
        """Give the archive a batch when it is delivered, or would be if anybody had asked for it.

        The archive has the events of a publisher in the order in which subscribers get them.
        """
        assert self.archive is not None, "whoever calls has looked"
        chain = self._chain(batch.certificate) if batch.flags & SIGNED else ()
        self.archive.keep(self._community, batch, chain)
        self.on_kept(batch)

    def known(self, stream: StreamId) -> KnownRanges | None:
        """Return what the archive knows of a stream; None if that is nothing."""
        told = () if self.archive is None else self.archive.known(self._community, stream)
        if not told:
            return None
        known = KnownRanges(-inf, b"", repaired=True)
        known.restore(told)
        return known

    def recall(self, stream: bytes) -> Sequence[int]:
        """Return what the archive knows of a stream, as `KnownRanges.told`; empty if nothing."""
        return () if self.archive is None else self.archive.known(self._community, StreamId(stream))

    def streams(self, after: float) -> Sequence[StreamId]:
        """Return the streams of the archive with something published after a time."""
        return (
            () if self.archive is None else self.archive.streams(self._community, self._time(after))
        )

    def batches(
        self, stream: StreamId, start: int, stop: int, after: float, now: float
    ) -> Iterator[Batch]:
        """Yield the batches with events from `start` to before `stop`, published after a time."""
        if self.archive is None:
            yield from self.store.batches(stream, start, stop, after)
            return
        for batch in self.store.batches(stream, start, stop, after):
            yield from self._archived(stream, start, batch.first, after, now)
            yield batch
            start = batch.first + batch.count
        yield from self._archived(stream, start, stop, after, now)

    def lowest(self, stream: StreamId, after: float, now: float) -> Batch | None:
        """Return the first batch of a stream published after a time; None without one."""
        if self.archive is None:
            return self.store.lowest(stream, after)
        body = self.archive.lowest(self._community, stream, self._time(after))
        if body is None:  # an archive that cannot write lacks what the store has
            return self.store.lowest(stream, after)
        return self._batch(body, now)

    def history(self, after: float, now: float) -> Iterator[Batch]:
        """Yield the batches of the archive published after a time, by their publication."""
        if self.archive is not None:
            for body in self.archive.history(self._community, self._time(after)):
                yield self._batch(body, now)

    def seconds_kept(self, retention: float, now: float) -> float:
        """Return for how many seconds back all that came is kept."""
        seconds = min(retention, self.store.retention_reached(now))
        if self.archive is not None:
            reach = self._clock.now(self.archive.reach(self._community) / _MILLISECONDS)
            seconds = max(seconds, now - reach)
        return seconds

    def quiet_seconds(self, now: float) -> float:
        """Return how long ago the latest event of the archive was published; infinity without."""
        latest = 0 if self.archive is None else self.archive.latest(self._community)
        return max(0.0, now - self._clock.now(latest / _MILLISECONDS)) if latest else inf

    def archive_goes_back(self, now: float) -> float:
        """Return how long ago the oldest event of the archive was published; 0 without one."""
        oldest = 0 if self.archive is None else self.archive.oldest(self._community)
        return max(0.0, now - self._clock.now(oldest / _MILLISECONDS)) if oldest else 0.0

    def _archived(
        self, stream: StreamId, start: int, stop: int, after: float, now: float
    ) -> Iterator[Batch]:
        if start < stop and self.archive is not None:
            since = self._time(after)
            for body in self.archive.batches(self._community, stream, start, stop, since):
                yield self._batch(body, now)

    def _batch(self, body: bytes, now: float) -> Batch:
        return aged(decode_body(body, 0, len(body), now=now), self._clock, now)

    def _time(self, when: float) -> int:
        """Return the milliseconds since 1970 at a time of inputs; 0 for what is long before."""
        return max(0, int(_MILLISECONDS * self._clock.wall(when))) if when > -inf else 0


# chosen: clocks that follow a time server differ by less; a lie of so much leaves others three
# quarters of the retention to ask for the event
AGE_ABOVE_SIGNED_SECONDS: Final = 30.0


def not_older_than_signed(batch: Batch, clock: Clock, now: float) -> Batch:
    """Return a signed batch with no greater age than the time under its signature allows.

    Nobody signs the age: by a great one a forwarder would have others keep the event for nobody.
    An age that is greater by less than `AGE_ABOVE_SIGNED_SECONDS` stands: the publisher's clock may
    be ahead.
    """
    age = max(0.0, clock.wall(now) - batch.published / _MILLISECONDS)
    return batch.older(age, now) if batch.age > age + AGE_ABOVE_SIGNED_SECONDS else batch


def aged(batch: Batch, clock: Clock, now: float) -> Batch:
    """Return a batch with an age that its publisher's clock says, if that is more than its own.

    For a batch that is older than a head can say (`camcast.vocabulary.wire.AGE_SECONDS_MAX`).
    """
    age = clock.wall(now) - batch.published / _MILLISECONDS
    if now - published_at(batch) >= age:
        return batch
    return batch.older(age, now)
