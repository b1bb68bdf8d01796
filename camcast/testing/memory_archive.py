"""An archive in memory: the plain twin of the one on disk, for tests and for the virtual network.

It outlives the nodes that it is given to, as a file does, and keeps everything as lists that are
searched from end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import define, field
from typing_extensions import override

from camcast.doors.archive import Archive
from camcast.engine.known_streams import KnownRanges
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic

_DAY_SECONDS = 86_400.0


@define
class _Kept:
    stream: StreamId
    first: int
    count: int
    published: int
    body: bytes


@define
class MemoryArchive(Archive):
    """All batches of all communities, until they are too old; `wall` returns seconds since 1970."""

    wall: Callable[[], float]
    age_seconds_max: float = 7 * _DAY_SECONDS
    _kept: dict[Topic, list[_Kept]] = field(factory=dict)
    """In the order of their publication."""
    _known: dict[tuple[Topic, StreamId], KnownRanges] = field(factory=dict)
    _chains: dict[bytes, tuple[bytes, ...]] = field(factory=dict)

    @override
    def keep(self, community: Topic, batch: Batch, chain: Sequence[bytes]) -> None:
        now = int(1000 * self.wall())
        kept = self._kept.setdefault(community, [])
        if chain:
            self._chains.setdefault(batch.certificate, tuple(chain))
        known = self._known.setdefault((community, batch.stream), KnownRanges(0.0, b""))
        if known.knows(batch.first, batch.count):
            return
        known.add(batch.first, batch.count)
        published = min(batch.published, now)
        kept.append(_Kept(batch.stream, batch.first, batch.count, published, batch.body))
        kept.sort(key=lambda one: one.published)
        oldest = now - int(1000 * self.age_seconds_max)
        self._kept[community] = [one for one in kept if one.published >= oldest]

    @override
    def known(self, community: Topic, stream: StreamId) -> Sequence[int]:
        known = self._known.get((community, stream))
        return () if known is None else known.told()

    @override
    def batches(
        self, community: Topic, stream: StreamId, start: int, stop: int, since: int
    ) -> Iterator[bytes]:
        for one in self._of_stream(community, stream, since):
            if one.first < stop and one.first + one.count > start:
                yield one.body

    @override
    def lowest(self, community: Topic, stream: StreamId, since: int) -> bytes | None:
        return next((one.body for one in self._of_stream(community, stream, since)), None)

    @override
    def streams(self, community: Topic, since: int) -> Sequence[StreamId]:
        late = (one for one in self._kept.get(community, ()) if one.published >= since)
        latest = {one.stream: one.published for one in late}
        return sorted(latest, key=lambda stream: -latest[stream])

    @override
    def history(self, community: Topic, since: int) -> Iterator[bytes]:
        for one in self._kept.get(community, ()):
            if one.published >= since:
                yield one.body

    @override
    def oldest(self, community: Topic) -> int:
        return min((one.published for one in self._kept.get(community, ())), default=0)

    @override
    def latest(self, community: Topic) -> int:
        return max((one.published for one in self._kept.get(community, ())), default=0)

    @override
    def reach(self, community: Topic) -> int:
        return max(0, int(1000 * (self.wall() - self.age_seconds_max)))

    @override
    def chain(self, certificate: bytes) -> Sequence[bytes]:
        return self._chains.get(certificate, ())

    def _of_stream(self, community: Topic, stream: StreamId, since: int) -> list[_Kept]:
        kept = self._kept.get(community, ())
        of_stream = [one for one in kept if one.stream == stream and one.published >= since]
        return sorted(of_stream, key=lambda one: one.first)
