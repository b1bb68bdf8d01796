"""The recorder: what a node counts, and what it writes to its trace."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Final

from attrs import define, field

from camcast.engine.groups import Groups
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.events import EventId, Missed, event_name
from camcast.vocabulary.outbox import Outbox
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.trace import Trace, TraceKind

_log = logging.getLogger(__name__)

CONTROL_SECONDS: Final = 10.0  # chosen: a killed process loses so much of its `control` records


@define
class NodeCounters:
    """What arrived at a node, what became of it, and what the node sent."""

    events: int = 0
    """First copies of events that interest this process, in each of its groups."""
    duplicates: int = 0
    """Later copies of an event in the same group, of interest or not."""
    parasites: int = 0
    """First copies of events that do not interest this process, in its groups; and every copy in
    a group that it never was in. With CAMCAST this must stay 0 (G2)."""
    late: int = 0
    """Event copies of groups that this process has left."""
    controls: int = 0
    stray_controls: int = 0
    """Control records that no part of this node takes."""
    malformed: int = 0
    """Frames of which a record did not follow the format."""
    other_versions: int = 0
    """Frames of another version of the wire format."""
    forged: int = 0
    """Events that came as this process's own, and are not."""
    unverified: int = 0
    """Events whose signature, or whose publisher's right, did not verify (docs/security.md)."""
    held: int = 0
    """Events that had to wait for the certificate of their publisher; `unverified` has those for
    which it never came."""
    unadmitted: int = 0
    """What others sent without the right to: frames, messages, introductions (docs/security.md)."""
    given_up: int = 0
    """Events not received that count as known from now on: too many gaps came above them."""
    unplaced: int = 0
    """Events that were refused because too many streams, or gaps in theirs, are known already."""
    upward_sent: int = 0
    event_copies_sent: int = 0
    """Copies of events to members of the same group; `upward_sent` is not among them."""
    repairs_sent: int = 0
    """Copies of events that other processes had asked for; they are in the two counts above,
    too."""
    repaired: int = 0
    """First copies of events that this process had asked for in their group."""
    told_missed: int = 0
    """Events of which a subscriber was told that they can no longer be had."""
    trace_failures: int = field(default=0, repr=False)  # a trace changes no digest of a run
    """How often the sink of the trace has failed, and dropped the records that it held."""


class Recorder:
    """The counters and the trace of one node; without a trace, it only counts.

    Who records events looks at `trace` first: without a trace, an event then costs one
    comparison with None.
    """

    def __init__(self, trace: Trace | None, outbox: Outbox, groups: Groups) -> None:
        self.counters = NodeCounters()
        self.trace = trace
        self._outbox = outbox
        self._groups = groups
        self._control_due = CONTROL_SECONDS
        if trace is not None:
            outbox.control_bytes = {}

    def record(self, kind: TraceKind, now: float, topic: Topic | None, peer: bytes = b"") -> None:
        """Trace what happened to this process, in the group of a topic or in none."""
        if self.trace is not None:
            community = "" if topic is None else topic.name
            self._write(now, kind, community, peer)

    def record_batch(
        self, kind: TraceKind, batch: Batch, community: str, now: float, *peers: bytes
    ) -> None:
        """Trace what happened to each event of a batch in one of this process's groups.

        One record an event and peer; one an event without `peers`.
        """
        trace = self.trace
        if trace is None:
            return
        if trace.whole is not None:
            trace.whole(now, kind, batch, community, peers)
        if trace.each:
            topic, hops, stream = batch.topic.name, batch.hops, batch.stream
            sizes = (batch.size,) if batch.count == 1 else batch.lengths()
            failed = self._note_failure
            for sequence, size in enumerate(sizes, batch.first):
                event = event_name(stream, sequence)
                trace.record_copies(
                    now, kind, community, peers or (b"",), topic, event, hops, size, failed
                )

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

    def record_missed(self, missed: Missed, now: float) -> None:
        """Trace that subscribers were told what they can no longer get."""
        if self.trace is not None:
            first = EventId(missed.stream, missed.first)
            size = missed.last - missed.first + 1
            self._write(now, "missed", missed.topic.name, event=str(first), size=size)

    def record_control(self, now: float, *, due: bool = False) -> None:
        """Trace the control traffic since the last time; drivers call this at a run's end.

        `due`: only if the last time is `CONTROL_SECONDS` ago.
        """
        sent = self._outbox.control_bytes
        if self.trace is None or sent is None or (due and now < self._control_due):
            return
        self._control_due = now + CONTROL_SECONDS
        for group, size in sent.items():
            local_group = self._groups.find(group)
            community = "" if local_group is None else local_group.subscribed.name
            self._write(now, "control", community, size=size)
        sent.clear()

    def _write(
        self,
        now: float,
        kind: TraceKind,
        community: str,
        peer: bytes = b"",
        topic: str = "",
        event: str = "",
        hops: int = 0,
        size: int = 0,
    ) -> None:
        """Write a record; a sink that fails costs records, never events (TRUST, F20)."""
        assert self.trace is not None
        try:
            self.trace.record(now, kind, community, peer, topic, event, hops, size)
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
