"""What a process lately did with events, for `camcast trace`: two bounded rings.

One ring has what happened to events, so that a busy process forgets it after seconds and an idle
one after hours. The other has what happened to the process itself, which is rare, and would else be
pushed out by events. Kept only where somebody may ask: with a control socket.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from camcast.event_trace import Moment
from camcast.vocabulary import wire
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.trace import Sink, TraceRecord

EVENTS_MAX: Final = 2**14  # chosen: 6 MB; a second of 1,000 events and 14 copies of each
LIFE_MAX: Final = 2**10  # chosen: a day of a process that has links lost and found every minute

_OF_EVENTS: Final = ("publish", "send", "upward", "receive", "deliver", "drop", "parasite")
_OF_LIFE: Final = ("join", "leave")


class Recent:
    """The rings of one process; a `Sink` of its trace."""

    def __init__(self) -> None:
        self.life: deque[Moment] = deque(maxlen=LIFE_MAX)
        self._events: deque[TraceRecord | Moment] = deque(maxlen=EVENTS_MAX)

    def write(self, record: TraceRecord) -> None:
        """Take a record of the trace; see `Sink`."""
        if record.kind in _OF_EVENTS:
            self._events.append(record)
        elif record.kind in _OF_LIFE:
            self.life.append(Moment(record.when, record.kind, record.community))
        elif record.kind == "missed":
            self.life.append(_moment_of(record))

    def note_life(
        self, when: float, kind: str, community: str = "", topic: str = "", seconds: float = 0.0
    ) -> None:
        """Note what happened to the process."""
        self.life.append(Moment(when, kind, community, topic=topic, seconds=seconds))

    def note(
        self,
        when: float,
        kind: str,
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
                    if own:  # its sender's address comes before the stream
                        at = start + wire.EVENT_HEAD_BYTES + own
                        stream, first, count = wire.STREAM_START.unpack_from(piece, at)
                    self.note(when, "unsent", "", EventId(StreamId(stream), first), count, address)
                start += 4 + length

    def of_event(self, event: str) -> list[Moment]:
        """Return what happened to an event, in the order of happening."""
        found: list[Moment] = []
        for one in self._events:
            if isinstance(one, Moment):
                if one.covers(event):
                    found.append(one)
            elif one.event == event:
                found.append(_moment_of(one))
        return found


def _moment_of(record: TraceRecord) -> Moment:
    count = record.size if record.kind == "missed" else 1
    return Moment(
        record.when,
        record.kind,
        record.community,
        record.event,
        count,
        record.peer,
        topic=record.topic,
        hops=record.hops,
    )


class Both:
    """A sink that writes what it gets to the ring and to another sink, which may fail."""

    def __init__(self, recent: Recent, sink: Sink) -> None:
        self._recent, self._sink = recent, sink

    def write(self, record: TraceRecord) -> None:
        """See `Sink`."""
        self._recent.write(record)
        self._sink.write(record)
