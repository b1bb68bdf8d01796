"""The ring: what a process did last with events, and what happened to it, for `camcast trace`.

One ring has what happened to events; a busy process forgets it after seconds, an idle one after
hours. The other has what happened to the process itself, which is rare, and which events would push
out of the first. Both are kept only with a control socket, at which somebody may ask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from camcast.observe.event_trace import Moment
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.happenings import PROCESS_KINDS, BatchKind, EventKind, Happening

EVENTS_MAX: Final = 2**14  # chosen: 5 MB; a second of 4,000 batches, each published or passed on
LIFE_MAX: Final = 2**10  # chosen: a day of a process that has links lost and found every minute

_Noted = tuple[float, str, str, StreamId, int, int, str, int, tuple[bytes, ...]]
"""Time, kind, community; stream, first, count; topic, hops, peers. It is a tuple, which is quick to
make, since there is one for everything that happens to a batch."""


class Told(msgspec.Struct, frozen=True):
    """A happening in the words of the log."""

    when: float
    """In seconds since 1970."""
    kind: str
    topic: str
    """The community that it is about; empty: the process."""
    says: str


class Recent:
    """The rings of one process; they take `Happening`s, and batches as a `TakeBatch`."""

    def __init__(self) -> None:
        self.told: deque[Told] = deque(maxlen=LIFE_MAX)
        """Happenings as an operator would read them in the log, for `camcast events`."""
        self.told_count = 0
        """How much was told so far, of which the last is in `told`."""
        self.life: deque[Moment] = deque(maxlen=LIFE_MAX)
        self._events: deque[_Noted | Moment] = deque(maxlen=EVENTS_MAX)

    def take(self, happening: Happening, community: str, now: float) -> None:
        """Remember what happened to the process, if that is of a kind that explains something."""
        kind = PROCESS_KINDS[happening.kind]
        if kind.ring:
            event, topic = happening.event, happening.topic
            moment = Moment(
                now,
                kind.trace or happening.kind,
                community,
                event,
                happening.count if event else 0,
                topic="" if topic is None else topic.name,
                seconds=happening.seconds,
            )
            self.life.append(moment)

    def tell(self, told: Told) -> None:
        """Remember a happening in words."""
        self.told.append(told)
        self.told_count += 1

    def answer(self, after: object) -> dict[str, object]:
        """Return how much was told so far, and what of it after the first `after` happenings.

        `ValueError` for what is no number.
        """
        if type(after) is not int:
            raise ValueError(f"after is the number of happenings that are known, not {after!r}")
        new = self.told_count - after
        return {"count": self.told_count, "events": list(self.told)[-new:] if new > 0 else []}

    def note_batch(
        self, when: float, kind: BatchKind, batch: Batch, community: str, peers: tuple[bytes, ...]
    ) -> None:
        """Note what happened to a batch; see `TakeBatch`."""
        of = batch.stream, batch.first, batch.count
        self._events.append((when, kind, community, *of, batch.topic.name, batch.hops, peers))

    def note(
        self,
        when: float,
        kind: EventKind,
        community: str,
        first: EventId,
        count: int = 1,
        address: str = "",
    ) -> None:
        """Note what happened to consecutive events of a stream."""
        moment = Moment(when, kind, community, str(first), count, address=address)
        self._events.append(moment)

    def note_unsent(
        self, when: float, sender: bytes, address: str, pieces: Iterable[bytes]
    ) -> None:
        """Note the events of this process among pieces that were dropped at a pipe."""
        for piece in pieces:
            start = 0
            while start < len(piece):
                length, kind = int.from_bytes(piece[start : start + 4]), piece[start + 4]
                if kind == wire.Kind.EVENT and wire.event_sender(piece, start) == sender:
                    _, own, _, _, stream, first, count = wire.EVENT_START.unpack_from(piece, start)
                    if own:  # the sender's address comes before the stream
                        at = start + wire.EVENT_HEAD_BYTES + own
                        stream, first, count = wire.STREAM_START.unpack_from(piece, at)
                    self.note(when, "unsent", "", EventId(StreamId(stream), first), count, address)
                start += 4 + length

    def of_event(self, event: EventId) -> list[Moment]:
        """Return what happened to an event, in the order of happening."""
        found: list[Moment] = []
        for one in self._events:
            if isinstance(one, Moment):
                if one.covers(str(event)):
                    found.append(one)
                continue
            when, kind, community, stream, first, count, topic, hops, peers = one
            if stream == event.stream and first <= event.sequence < first + count:
                found += [
                    Moment(when, kind, community, str(event), 1, peer.hex(), "", topic, hops)
                    for peer in peers or (b"",)
                ]
        return found
