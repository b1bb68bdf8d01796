"""The recorder: it counts what happens at a node, and hands it to the trace and to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from camcast.observe.counters import NodeCounters
from camcast.observe.trace import Trace
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.happenings import (
    NO_GROUP,
    PROCESS_KINDS,
    BatchKind,
    Happening,
    TakeBatch,
)
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.outbox import Outbox
from camcast.vocabulary.topics import GroupId

_log = Logger(__name__)

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
        self.on_control: Callable[[str, int], None] | None = None
        """Takes the bytes of control messages of a community; None if nobody wants to know."""
        self._outbox = outbox
        self._community_of = community_of
        self._control_due = CONTROL_SECONDS
        outbox.tell = self.tell
        if trace is not None:
            outbox.control_bytes = {}
            trace.on_failure = self._note_failure
            self.on_batch = trace.record_batch if ring is None else _both(ring, trace.record_batch)

    def tell(self, happening: Happening) -> None:
        """Count and trace what happened to this process; the driver takes it from the outbox."""
        kind, count = PROCESS_KINDS[happening.kind], happening.count
        for counter in kind.counters:
            setattr(self.counters, counter, getattr(self.counters, counter) + count)
        # The answer of a discovery that names nobody is not traced.
        if self.trace is not None and kind.trace and (count or happening.kind != "found"):
            community, contact = "", happening.contact
            if happening.topic is not None:
                community = happening.topic.name
            elif happening.group != NO_GROUP:
                community = self._community_of(happening.group)
            peer, event = b"" if contact is None else contact.peer, happening.event
            now, size = self._outbox.now, count if event else 0
            self.trace.record(now, kind.trace, community, (peer,), event=event, size=size)
        if self._outbox.happenings is not None:
            self._outbox.happenings.append(happening)

    def record_control(self, now: float, *, due: bool = False) -> None:
        """Tell of the control traffic since the last time; drivers call this at a run's end.

        `due`: only if the last time is `CONTROL_SECONDS` ago.
        """
        sent = self._outbox.control_bytes
        if sent is None or (due and now < self._control_due):
            return
        self._control_due = now + CONTROL_SECONDS
        for group, size in sent.items():
            community = self._community_of(group)
            if self.on_control is not None:
                self.on_control(community, size)
            if self.trace is not None:
                self.trace.record(now, "control", community, size=size)
        sent.clear()

    def _note_failure(self, error: BaseException) -> None:
        """Count a failure of the sink: it costs records, never events.

        The sink gets the next record all the same.
        """
        self.counters.trace_failures += 1
        if self.counters.trace_failures > 1:
            return
        if isinstance(error, OSError):
            _log.warning(
                "the trace cannot be written (%s); records are dropped (further failures are only"
                " counted)",
                error,
            )
        else:
            _log.error(
                "the sink of the trace raised %r: mend its `write`, which may raise OSError only;"
                " records are dropped (further failures are only counted)",
                error,
                exc_info=error,
            )


def _both(one: TakeBatch, other: TakeBatch) -> TakeBatch:
    def take(
        now: float, kind: BatchKind, batch: Batch, community: str, peers: tuple[bytes, ...]
    ) -> None:
        one(now, kind, batch, community, peers)
        other(now, kind, batch, community, peers)

    return take
