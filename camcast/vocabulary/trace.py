"""Traces: sequences of records of what happened at a node, which tests and reports read.

Live and simulated nodes write one schema (DESIGN, traces). A node without a trace compares with
None once an input. A sink that cannot write costs trace records, never events.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import weakref
from collections.abc import Callable, Iterable
from contextlib import closing
from io import FileIO
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.private_file import private

_log = logging.getLogger(__name__)

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

        May raise `OSError` when it cannot write, and must then drop what it holds. Whatever
        `Exception` it raises, the node counts it, logs the first one, goes on, and calls again with
        the next record.
        """


@runtime_checkable
class HoldingSink(Sink, Protocol):
    """A sink that holds records back, and writes them when it is told to."""

    def flush(self) -> None:
        """Write what is held; called when a manager closes. May raise as `write`."""


def flush_sink(sink: Sink) -> None:
    """Have a sink write what it holds back, if it does; what it raises is logged."""
    if isinstance(sink, HoldingSink):
        try:
            sink.flush()
        except OSError as error:
            _log.warning("the last records of a trace were lost: %s", error)
        except Exception:
            _log.exception("the last records of a trace were lost: %r raised", sink)


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

    Lines are held back and written many at a time: when there are enough, at `flush`, when a
    manager that writes to the sink closes, and at the latest when nobody has the sink any more or
    the interpreter ends. When the file cannot be written, the lines held are dropped, and `OSError`
    is raised.
    """

    # chosen: 1,000 records that are encoded and written as one cost half of what they cost one by
    # one, and a killed process loses at most the last part of a second of a busy run
    _HELD = 1000

    def __init__(self, path: Path) -> None:
        # The records held are the only buffer.
        self._file: FileIO = open(path, "wb", buffering=0, opener=private)  # noqa: SIM115  # kept
        self._held: list[TraceRecord] = []
        weakref.finalize(self, _write_last, path, os.getpid(), self._held, self._file)

    def write(self, record: TraceRecord) -> None:
        """Append the record's line."""
        self._held.append(record)
        if len(self._held) >= self._HELD:
            self.flush()

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        _write_lines(self._held, self._file)

    def __enter__(self) -> JsonLinesSink:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self.flush()


_encoder = msgspec.json.Encoder()


def _write_lines(held: list[TraceRecord], file: FileIO) -> None:
    """Move records into a file; those that cannot be written are dropped. Raises `OSError`."""
    records = held[:]
    del held[: len(records)]  # another thread may have added more
    if not records:
        return
    if file.closed:  # whose own error is a ValueError
        raise OSError(errno.EBADF, "the file of the trace has been closed")
    rest = memoryview(_encoder.encode_lines(records))
    while rest:  # a full disk takes a part first
        rest = rest[file.write(rest) :]


def _write_last(path: Path, process: int, held: list[TraceRecord], file: FileIO) -> None:
    """Write what a sink holds that nobody has flushed, and close its file."""
    with closing(file):
        if os.getpid() != process:
            return  # a forked child: these records are the parent's, who writes them
        lost = len(held)
        try:
            _write_lines(held, file)
        except OSError as error:
            reason = error.strerror
            _log.warning("%s: the last %d records of a trace were lost: %s", path, lost, reason)


TakeBatch = Callable[[float, TraceKind, Batch, str, tuple[bytes, ...]], None]
"""Takes what happened to a batch: when, what, in which community, and which peers it went to."""


class Trace:
    """The trace of one node: numbers its records and hands them to a sink."""

    __slots__ = ("_life", "_sequence", "_sink", "each", "node", "whole")

    def __init__(
        self,
        node: bytes,
        sink: Sink | None,
        *,
        life: Sink | None = None,
        whole: TakeBatch | None = None,
    ) -> None:
        """`life`, too, takes the records that are not of copies of events."""
        self.each = sink is not None
        """Whether there is a sink, which takes a record for each copy of an event."""
        self.whole = whole
        """Takes what happens to events by the batch, which is cheaper; duplicates excluded."""
        self.node = node.hex()
        self._sink = sink
        self._life = life
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
        record = TraceRecord(
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
        if self._life is not None:
            self._life.write(record)
        if self._sink is not None:
            self._sink.write(record)

    def record_copies(
        self,
        when: float,
        kind: TraceKind,
        community: str,
        peers: Iterable[bytes],
        topic: str,
        event: str,
        hops: int,
        size: int,
        failed: Callable[[Exception], None],
    ) -> None:
        """Write a record for each of these peers, with what the sink raises going to `failed`.

        The hot loop of a traced node: a copy of an event takes a record where it is sent, and one
        where it comes.
        """
        assert self._sink is not None
        write, node, sequence = self._sink.write, self.node, self._sequence
        for peer in peers:
            sequence += 1
            try:
                write(
                    TraceRecord(
                        when, sequence, kind, node, community, peer.hex(), topic, event, hops, size
                    )
                )
            except Exception as error:
                failed(error)
        self._sequence = sequence
