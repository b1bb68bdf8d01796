"""Traces: sequences of records of what happened at a node, which tests and reports read.

Live and simulated nodes write one schema (DESIGN, traces). A node without a trace compares with
None once an input. A sink that cannot write costs trace records, never events.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.private_file import private

TraceKind = Literal[
    "publish",
    "send",
    "receive",
    "duplicate",
    "deliver",
    "drop",
    "parasite",
    "join",
    "leave",
    "learn",
    "forget",
    "crash",
    "seek",
    "found",
    "upward",
    "control",
    "missed",
]
"""`send` and `upward` are one record a copy of an event, `receive` the first copy to arrive
in a community, `duplicate` every later one, `parasite` a copy of a community that the process
is not part of; `learn` and `forget` are changes of the topic table. `control` is the traffic
that is not events: the bytes that the node has sent for a community since its last such record,
each copy counted; without a community, what it sent for no community of its own. `missed` says
which events the subscribers were told they can no longer get: `size` of them, from `event` on."""

SCHEMA_VERSION = 3
"""Version 2 named an event by publisher, epoch, and a number within the epoch; now it is the
stream's number that stands in the middle. Version 1 had no `control`, and a node that returned as
itself began again at sequence 1."""


class TraceRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that happened at one node.

    `when` is in seconds of the driver's clock (monotonic, shared by the processes of one
    machine), `sequence` orders the records of a node, `node` and `peer` are identities in
    hexadecimal, `community` is the group's topic or identifier, `topic` the event's topic,
    `event` its identifier, `size` the payload in bytes, or the traffic of a `control`, or how many
    are `missed`.
    """

    when: float
    sequence: int
    kind: TraceKind
    node: str
    community: str = ""
    peer: str = ""
    topic: str = ""
    event: str = ""
    hops: int = 0
    size: int = 0


class Sink(Protocol):
    """Takes the trace records of a node."""

    def write(self, record: TraceRecord, /) -> None:
        """Take one record; called in the order of happening.

        May raise `OSError` when it cannot write, and must then drop what it holds: the node counts
        the failure, goes on, and calls again with the next record.
        """


class ListSink:
    """Keeps the records in memory, for tests."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        """Append the record."""
        self.records.append(record)


class DigestSink:
    """Computes the SHA-256 of the records; runs with equal digests are replays of each other."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.msgpack.Encoder()

    def write(self, record: TraceRecord) -> None:
        """Add the record to the digest."""
        self._hash.update(self._encoder.encode(record))

    @property
    def hexdigest(self) -> str:
        """The digest of everything written so far."""
        return self._hash.hexdigest()


class JsonLinesSink:
    """Writes one JSON object a line; a context manager that flushes and closes the file.

    When the file cannot be written, the lines held are dropped, and `OSError` is raised.
    """

    # chosen: 1,000 records that are encoded and written as one cost half of what they cost one by
    # one, and a killed process loses at most the last part of a second of a busy run
    _HELD = 1000

    def __init__(self, path: Path) -> None:
        # The records held are the only buffer.
        self._file: FileIO = open(path, "wb", buffering=0, opener=private)  # noqa: SIM115  # kept
        self._encoder = msgspec.json.Encoder()
        self._held: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        """Append the record's line."""
        self._held.append(record)
        if len(self._held) >= self._HELD:
            self.flush()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        held, self._held = self._held, []
        if self._file.closed:  # whose own error is a ValueError
            raise OSError(errno.EBADF, "the file of the trace has been closed")
        rest = memoryview(self._encoder.encode_lines(held))
        while rest:  # a full disk takes a part first
            rest = rest[self._file.write(rest) :]

    def __enter__(self) -> JsonLinesSink:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self.flush()


TakeBatch = Callable[[float, TraceKind, Batch, str, tuple[bytes, ...]], None]
"""Takes what happened to a batch: when, what, in which community, and which peers it went to."""


class Trace:
    """The trace of one node: numbers its records and hands them to a sink."""

    __slots__ = ("_sequence", "_sink", "each", "node", "whole")

    def __init__(
        self, node: bytes, sink: Sink, *, each: bool = True, whole: TakeBatch | None = None
    ) -> None:
        self.each = each
        """Whether the sink takes a record for each event and copy, duplicates included."""
        self.whole = whole
        """Takes what happens to events by the batch, which is cheaper; duplicates excluded."""
        self.node = node.hex()
        self._sink = sink
        self._sequence = 0

    def record(
        self,
        when: float,
        kind: TraceKind,
        community: str = "",
        peer: bytes = b"",
        topic: str = "",
        event: str = "",
        hops: int = 0,
        size: int = 0,
    ) -> None:
        """Write one record; the arguments are the fields of `TraceRecord`."""
        self._sequence += 1
        self._sink.write(
            TraceRecord(
                when,
                self._sequence,
                kind,
                self.node,
                community,
                peer.hex(),
                topic,
                event,
                hops,
                size,
            )
        )
