"""What the conductor and its workers say to each other: JSON objects, one a line.

Orders go to a worker's standard input, reports come from its standard output. Either end
notices at once when the other is gone, because its pipe then ends.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

LINE_BYTES_MAX: Final = 2**28  # chosen: a whole workload travels as one order


class Order(msgspec.Struct, frozen=True, tag_field="order"):
    """Base of what a worker is told."""


class SetUp(Order, frozen=True, tag="set-up"):
    """Start these nodes, by number and topic. Answered with `Ready`."""

    worker: int
    nodes: dict[int, str]
    communities: dict[str, int]
    gateway: str
    trace: str
    protocol: str
    protocol_options: dict[str, Any]
    membership: str
    options: dict[str, Any]
    parameters: dict[str, Any]
    seed: int
    join_seconds: float


class Join(Order, frozen=True, tag="join"):
    """Let these nodes join; a node that is not there yet is started. Answered with `Joined`."""

    nodes: dict[int, str]


class Freeze(Order, frozen=True, tag="freeze"):
    """All is set up: take what lives now out of the sight of the garbage collector."""


class Publication(msgspec.Struct, frozen=True, array_like=True):
    """One event: when by the machine's monotonic clock (seconds), which node, what, which p_sel."""

    at: float
    node: int
    payload: bytes
    upward_probability: float | None = None


class Publish(Order, frozen=True, tag="publish"):
    """Publish these, in this order. Progress is in the `Status`."""

    publications: list[Publication]


class Hush(Order, frozen=True, tag="hush"):
    """Publish no more."""


class Stop(Order, frozen=True, tag="stop"):
    """Leave politely, close the trace, answer with `Bye`, and end."""


class Report(msgspec.Struct, frozen=True, tag_field="report"):
    """Base of what a worker says."""


class Ready(Report, frozen=True, tag="ready"):
    """The nodes listen; `peers` are their identities in hexadecimal, by number."""

    peers: dict[int, str]


class Joined(Report, frozen=True, tag="joined"):
    """These nodes have joined, after so many seconds each."""

    seconds: dict[int, float]


class Status(Report, frozen=True, tag="status"):
    """Where the worker stands; sent several times a second."""

    joined: int
    settled: int
    published: int
    delivered: int
    parasites: int
    last_delivery: float


class Bye(Report, frozen=True, tag="bye"):
    """The last word; `counters` are the sums of all nodes' `NodeCounters`."""

    counters: dict[str, int]


class Failed(Report, frozen=True, tag="failed"):
    """The worker cannot go on; the sentence says why."""

    sentence: str


ORDERS: Final = msgspec.json.Decoder(SetUp | Join | Freeze | Publish | Hush | Stop)
REPORTS: Final = msgspec.json.Decoder(Ready | Joined | Status | Bye | Failed)


def to_line(message: Order | Report) -> bytes:
    """Encode a message as one line."""
    return msgspec.json.encode(message) + b"\n"
