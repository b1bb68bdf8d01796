"""The recorder: it counts what happens at a node, and hands it to the trace and to the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from camcast.observe.counters import NodeCounters
from camcast.observe.trace import Trace
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.events import event_name
from camcast.vocabulary.happenings import (
    NO_GROUP,
    PROCESS_KINDS,
    BatchKind,
    Happening,
    TakeBatch,
    TraceKind,
)
from camcast.vocabulary.outbox import Outbox
from camcast.vocabulary.topics import GroupId

_log = logging.getLogger(__name__)

CONTROL_SECONDS: Final = 10.0  # chosen: a killed process loses so much of its `control` records


class Recorder:
    """The counters of one node, and whoever takes what happens there.

    `ring` takes what happens to batches; `community_of` names the community of a group, in which
    records of the trace are.
    """

    def __init__(
        self,
        trace: Trace | None,
        outbox: Outbox,
        community_of: Callable[[GroupId], str],
        ring: TakeBatch | None = None,
    ) -> None:
        self.counters = NodeCounters()
        self.trace = trace
        self.on_batch: TakeBatch | None = ring
        """Takes what happens to events, duplicates excluded; None if nobody wants to know, so that
        an event costs one comparison."""
        self._outbox = outbox
        self._community_of = community_of
        self._ring = ring
        self._control_due = CONTROL_SECONDS
        if trace is not None:
            outbox.control_bytes = {}
            self.on_batch = self._trace_batch

    def tell(self, happening: Happening, now: float) -> None:
        """Count and trace what happened to this process; the driver takes it from the outbox."""
        kind, count = PROCESS_KINDS[happening.kind], happening.count
        for counter in kind.counters:
            setattr(self.counters, counter, getattr(self.counters, counter) + count)
        # The answer of a discovery that names nobody is not traced.
        if self.trace is not None and kind.trace and (count or happening.kind != "found"):
            community, contact = "", happening.contact
            if happening.group != NO_GROUP:
                community = self._community_of(happening.group)
            elif happening.topic is not None:
                community = happening.topic.name
            peer, event = b"" if contact is None else contact.peer, happening.event
            self._write(now, kind.trace, community, peer, event, count if event else 0)
        if self._outbox.happenings is not None:
            self._outbox.happenings.append(happening)

    def _trace_batch(
        self, now: float, kind: BatchKind, batch: Batch, community: str, peers: tuple[bytes, ...]
    ) -> None:
        """Trace what happened to each event of a batch: one record an event and peer."""
        if self._ring is not None:
            self._ring(now, kind, batch, community, peers)
        assert self.trace is not None
        self.trace.record_batch(now, kind, batch, community, peers, self._note_failure)

    def record_duplicate(
        self, body: bytes, hops: int, community: str, now: float, peer: bytes
    ) -> None:
        """Trace that a copy of each event of a batch came again; it is known by its body.

        Raises `MalformedError`.
        """
        assert self.trace is not None
        topic, events = _events_of(body)
        peers = (peer,)
        for event, size in events:
            self.trace.record_copies(
                now, "duplicate", community, peers, topic, event, hops, size, self._note_failure
            )

    def record_control(self, now: float, *, due: bool = False) -> None:
        """Trace the control traffic since the last time; drivers call this at a run's end.

        `due`: only if the last time is `CONTROL_SECONDS` ago.
        """
        sent = self._outbox.control_bytes
        if self.trace is None or sent is None or (due and now < self._control_due):
            return
        self._control_due = now + CONTROL_SECONDS
        for group, size in sent.items():
            self._write(now, "control", self._community_of(group), size=size)
        sent.clear()

    def _write(
        self,
        now: float,
        kind: TraceKind,
        community: str,
        peer: bytes = b"",
        event: str = "",
        size: int = 0,
    ) -> None:
        """Write a record; a sink that fails costs records, never events."""
        assert self.trace is not None
        try:
            self.trace.record(now, kind, community, peer, event=event, size=size)
        except Exception as error:
            self._note_failure(error)

    def _note_failure(self, error: Exception) -> None:
        """Count a failure of the sink, which gets the next record all the same."""
        self.counters.trace_failures += 1
        if self.counters.trace_failures > 1:
            return
        if isinstance(error, OSError):
            _log.warning(
                "the trace cannot be written (%s); records are dropped (further failures are"
                " only counted)",
                error,
            )
        else:
            _log.error(
                "the sink of the trace raised %r: mend its `write`, which may raise OSError only;"
                " records are dropped (further failures are only counted)",
                error,
                exc_info=error,
            )


# chosen: the copies of an event come soon after each other, to all nodes of a loop; 8 MB where each
# batch has 64 KiB
@lru_cache(maxsize=128)
def _events_of(body: bytes) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the topic of a batch, and the name and the size of each of its events."""
    batch = decode_body(body, 0, len(body))
    names = (event_name(batch.stream, batch.first + n) for n in range(batch.count))
    return batch.topic.name, tuple(zip(names, batch.lengths(), strict=True))
