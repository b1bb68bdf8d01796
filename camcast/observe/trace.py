"""Traces: sequences of records of what happened at a node, which tests and reports read.

Live and simulated nodes write one schema; the kinds of its records are in
`camcast.vocabulary.happenings`. A sink that cannot write costs trace records, never events.
"""

from __future__ import annotations

import errno
import hashlib
import os
import weakref
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Annotated, Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from camcast.vocabulary.arguments import check_plain, check_type
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.events import event_name
from camcast.vocabulary.given_file import open_to_write
from camcast.vocabulary.happenings import TraceKind
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

SCHEMA_VERSION = 3
"""Version 2 named an event by publisher, epoch, and a number within the epoch; now it is the
stream's number that stands in the middle. Version 1 had no `control`, and a node that returned as
itself began again at sequence 1."""


NUMBER_MAX: Final = 2**40
"""The largest number in a record. chosen: seconds of 30,000 years, a terabyte, and sums of eight
million of them are numbers of 64 bits."""
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=NUMBER_MAX)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]


class TraceRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that happened at one node.

    `when` is in seconds of the driver's clock (monotonic, shared by the processes of one
    machine), `sequence` orders the records of a node, `node` and `peer` are identities in
    hexadecimal, `community` is the group's topic or identifier, `topic` the event's topic,
    `event` its identifier, `size` the payload in bytes, or the traffic of a `control`, or how many
    are `missed`. Numbers are from 0 to `NUMBER_MAX`: a reader refuses a record with any other.

    Example:
        ::

            delivered = [one for one in sink.records if one.kind == "deliver"]
    """

    when: _Seconds
    sequence: _Count
    kind: TraceKind
    node: str
    community: str = ""
    peer: str = ""
    topic: str = ""
    event: str = ""
    hops: _Count = 0
    size: _Count = 0


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


def check_sink(sink: object) -> None:
    """Raise `TypeError` for what is no sink, or has a `write` that nobody would await."""
    write = getattr(sink, "write", None)
    if not callable(write):
        raise TypeError(f"trace is a sink, such as JsonLinesSink(path), and not {sink!r}")
    check_plain("the write of a trace", write)


def flush_sink(sink: Sink) -> None:
    """Have a sink write what it holds back, if it does; what it raises is logged."""
    if isinstance(sink, HoldingSink):
        try:
            sink.flush()
        except OSError as error:
            _log.warning("the last records of a trace were lost: %s", error)
        except KeyboardInterrupt:
            raise
        except BaseException:
            _log.exception("the last records of a trace were lost: %r raised", sink)


def private(name: str, flags: int) -> int:
    """Open a file, which is made with mode 0600; the ``opener`` of `open`.

    Traces are so, since they say which processes talk.
    """
    return open_to_write(name, flags, 0o600)


class ListSink:
    """Keeps the records in memory, for tests.

    Example:
        ::

            sink = ListSink()
            async with CommunityManager(trace=sink) as manager:
                await manager.join(".soccer")
            assert any(record.kind == "join" for record in sink.records)
    """

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        """Append the record."""
        self.records.append(record)


class DigestSink:
    """Computes the SHA-256 of the records; runs with equal digests are replays of each other.

    Example:
        ::

            first, second = DigestSink(), DigestSink()
            run(seed=1, sink=first)
            run(seed=1, sink=second)
            assert first.hexdigest() == second.hexdigest()
    """

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
    manager that writes to the sink closes, and at the latest when the sink is no longer in use or
    the interpreter ends. When the file cannot be written, the lines held are dropped, and `OSError`
    is raised.

    Args:
        path: The file, which is made anew.

    Example:
        ::

            with JsonLinesSink(Path("trace.jsonl")) as sink:
                async with CommunityManager(trace=sink) as manager:
                    ...
    """

    # chosen: 1,000 records that are encoded and written as one cost half of what they cost one by
    # one, and a killed process loses at most the last part of a second of a busy run
    _HELD = 1000

    def __init__(self, path: Path) -> None:
        # `open` would take a number for a descriptor: of stdout, say, which it then closes.
        check_type("path", path, str | bytes | os.PathLike, "the pathlib.Path of a file")
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


class Trace:
    """The trace of one node: numbers its records and hands them to a sink."""

    __slots__ = ("_node", "_sequence", "_sink", "on_failure")

    def __init__(self, node: bytes, sink: Sink) -> None:
        self._node = node.hex()
        self._sink = sink
        self._sequence = 0
        self.on_failure: Callable[[BaseException], None] | None = None
        """Takes what the sink raises; None: it is raised."""

    def record_batch(
        self, when: float, kind: TraceKind, batch: Batch, community: str, peers: tuple[bytes, ...]
    ) -> None:
        """Write a record for each event of a batch and each peer; without peers, one an event."""
        topic, hops, stream = batch.topic.name, batch.hops, batch.stream
        sizes = (batch.size,) if batch.count == 1 else batch.lengths()
        for sequence, size in enumerate(sizes, batch.first):
            event = event_name(stream, sequence)
            self.record(when, kind, community, peers or (b"",), topic, event, hops, size)

    def record_duplicate(
        self, when: float, body: bytes, hops: int, community: str, peer: bytes
    ) -> None:
        """Write that a copy of each event of a batch came again; it is known by its body.

        Raises `MalformedError`.
        """
        topic, events = _events_of(body)
        for event, size in events:
            self.record(when, "duplicate", community, (peer,), topic, event, hops, size)

    def record(
        self,
        when: float,
        kind: TraceKind,
        community: str = "",
        peers: Iterable[bytes] = (b"",),
        topic: str = "",
        event: str = "",
        hops: int = 0,
        size: int = 0,
    ) -> None:
        """Write a record for each of these peers; the arguments are the fields of `TraceRecord`.

        The hot loop of a traced node: a copy of an event takes a record where it is sent, and one
        where it comes.
        """
        write, node = self._sink.write, self._node
        for peer in peers:
            self._sequence = number = self._sequence + 1
            try:
                write(
                    TraceRecord(
                        when, number, kind, node, community, peer.hex(), topic, event, hops, size
                    )
                )
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if self.on_failure is None:
                    raise
                self.on_failure(error)


# chosen: the copies of an event come soon after each other, to all nodes of a loop; 8 MB where each
# batch has 64 KiB
@lru_cache(maxsize=128)
def _events_of(body: bytes) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the topic of a batch, and the name and the size of each of its events."""
    batch = decode_body(body, 0, len(body))
    names = (event_name(batch.stream, batch.first + n) for n in range(batch.count))
    return batch.topic.name, tuple(zip(names, batch.lengths(), strict=True))
