"""What the processes of a chaos run write down, one JSON object a line, for the checker to read.

All times are seconds of the machine's monotonic clock, which all processes and network namespaces
of one machine share.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec


class Record(msgspec.Struct, frozen=True, tag=True):
    """What all records have: `when` it happened."""

    when: float


class Started(Record, frozen=True):
    """A node is started now: it can have missed nothing from before."""

    node: str


class Joined(Record, frozen=True):
    """From now on a node is a member of its community, with a subscription under its own name."""

    node: str
    topic: str


class NotReady(Record, frozen=True):
    """A node did not become a ready member of its community in time."""

    node: str
    why: str


class Ended(Record, frozen=True):
    """A node ended: it left politely, or its process was killed."""

    node: str
    killed: bool


class Published(Record, frozen=True):
    """An event was accepted from a node; stream and sequence are its id."""

    node: str
    topic: str
    stream: str
    sequence: int
    peers: int
    links: int


class Refused(Record, frozen=True):
    """`publish` did not accept an event, and said so."""

    node: str
    why: str


class Delivered(Record, frozen=True):
    """A subscription got `count` events of consecutive numbers, from `first` on."""

    subscriber: str
    topic: str
    stream: str
    first: int
    count: int
    late: bool = False
    """Whether they were flagged so: later ones may have come before."""


class Lagged(Record, frozen=True):
    """A subscription was told that its full queue dropped so many events."""

    subscriber: str
    count: int


class Missed(Record, frozen=True):
    """A subscription was told that it can no longer get the events `first` to `last`."""

    subscriber: str
    stream: str
    first: int
    last: int


class FaultBegan(Record, frozen=True):
    """The lab began to break something."""


class FaultEnded(Record, frozen=True):
    """The lab had undone what it broke."""


class Failed(Record, frozen=True):
    """The event loop of a worker process reported an exception that nobody caught."""

    process: str
    why: str


class Sample(Record, frozen=True):
    """What a worker process uses and has counted; the last one before its end says all."""

    process: str
    resident: int
    """Bytes of memory."""
    descriptors: int
    """Open files and sockets."""
    parasites: int
    """Events of communities that no node of this process is in, counted at the socket."""
    forgotten: int
    """How often a topic table dropped a peer that seemed dead."""
    counters: dict[str, int]


class View(Record, frozen=True):
    """What a node knew of others: addresses of its peers, and of its links by topic."""

    node: str
    address: str
    state: str
    peers: list[str]
    links: dict[str, list[str]]


AnyRecord = (
    Started
    | Joined
    | NotReady
    | Ended
    | Published
    | Refused
    | Delivered
    | Lagged
    | Missed
    | FaultBegan
    | FaultEnded
    | Failed
    | Sample
    | View
)

_DECODER = msgspec.json.Decoder(AnyRecord)


def read(paths: Iterable[Path]) -> list[AnyRecord]:
    """Return the records of some files, in no order.

    A process that was killed may have left half a line, which is passed over.
    """
    records: list[AnyRecord] = []
    for path in paths:
        whole, _, _half = path.read_bytes().rpartition(b"\n")
        records += map(_DECODER.decode, whole.splitlines())
    return records
