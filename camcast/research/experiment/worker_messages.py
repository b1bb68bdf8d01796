"""The messages between a run and its workers: JSON objects, one a line.

Commands go to a worker's standard input, reports come from its standard output. Each end notices at
once when the other is gone, because its pipe then ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

LINE_BYTES_MAX: Final = 2**28  # chosen: a whole workload travels as one command


class Command(msgspec.Struct, frozen=True, tag_field="command"):
    """Base of the messages to a worker."""


class SetUp(Command, frozen=True, tag="set-up"):
    """Start this worker's nodes of a scenario. Answered with `Ready`."""

    worker: int
    scenario: dict[str, Any]
    """The scenario, as `Scenario.as_json` returns it."""
    gateway: str
    trace: str
    system: str = ""
    """The name of the run: processes of another run, at addresses that this one uses again, are
    refused."""
    passphrase: str | None = None
    """The passphrase of the profile `shared-key`; a command line could be read by other users."""
    authority: str | None = None
    """The folder of the authority that certifies the nodes in the profile `signed`."""
    health: tuple[str, int] | None = None
    """The host and the port to serve health and metrics at."""
    control: str | None = None
    """The folder that gets a control socket for each node."""


Place = tuple[int, str]
"""A node, and a topic that it subscribes to."""


class Join(Command, frozen=True, tag="join"):
    """Let nodes join communities; a node that is not there yet is started.

    Answered with `Joined`.
    """

    places: list[Place]


class Freeze(Command, frozen=True, tag="freeze"):
    """All nodes are set up: the garbage collector no longer looks at what lives now."""


class Publication(msgspec.Struct, frozen=True, array_like=True):
    """One event: when (seconds of the monotonic clock), by which node where, payload and p_sel."""

    at: float
    node: int
    topic: str
    payload: bytes
    upward_probability: float | None = None


class Publish(Command, frozen=True, tag="publish"):
    """Publish these events, in this order. `Status` says how many are published."""

    publications: list[Publication]


class StopPublishing(Command, frozen=True, tag="stop-publishing"):
    """Publish no further events."""


class Stop(Command, frozen=True, tag="stop"):
    """Leave politely, close the trace, answer with `Bye`, and end."""


class Report(msgspec.Struct, frozen=True, tag_field="report"):
    """Base of the messages from a worker."""


class Ready(Report, frozen=True, tag="ready"):
    """The nodes listen; `peers` are their identities in hexadecimal, by number."""

    peers: dict[int, str]


class Joined(Report, frozen=True, tag="joined"):
    """These nodes have joined these communities, after so many seconds each."""

    seconds: list[tuple[Place, float]]


class Status(Report, frozen=True, tag="status"):
    """The progress of the worker's nodes; sent several times a second.

    A node has `joined`, and is `settled`, when it is so in all its communities.
    """

    joined: int
    settled: int
    published: int
    delivered: int
    parasites: int
    last_delivery: float
    at: float
    """When this was so, as `last_delivery` in seconds of the machine's monotonic clock."""
    sends_later: bool = False
    """Whether copies of what was published leave later (`Receipt.later`)."""


class Bye(Report, frozen=True, tag="bye"):
    """The worker ends; `counters` are the sums over its nodes' `NodeCounters`."""

    counters: dict[str, int]
    delivered: int
    """As in `Status`, to the end."""


class Failed(Report, frozen=True, tag="failed"):
    """The worker cannot go on; the sentence says why."""

    sentence: str


COMMANDS: Final = msgspec.json.Decoder(SetUp | Join | Freeze | Publish | StopPublishing | Stop)
REPORTS: Final = msgspec.json.Decoder(Ready | Joined | Status | Bye | Failed)


def to_line(message: Command | Report) -> bytes:
    """Encode a message as one line."""
    return msgspec.json.encode(message) + b"\n"


async def whole_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines that the other end of a pipe has sent whole; it may have died within one."""
    async for line in reader:
        if line.endswith(b"\n"):
            yield line
