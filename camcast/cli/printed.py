"""What commands print with ``--json`` that no class elsewhere describes, as types.

`docs/json_schemas.py` makes the JSON Schemas of the documentation from these and from the classes
that are printed as they are. A key may be added within a version of a schema; whoever removes one,
or gives it another meaning, counts the version up where it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

Interval = dict[str, float | None]
"""The mean of a measure, and the ``low`` and ``high`` end of its 95 % interval."""


class Joined(TypedDict):
    """The first line of ``subscribe``."""

    joined: str
    """The topic."""
    address: str


class EventLine(TypedDict):
    """What every event of ``subscribe`` has."""

    topic: str
    id: str
    hops: int


class TextEvent(EventLine):
    """An event whose payload is UTF-8."""

    payload: str


class BytesEvent(EventLine):
    """Any other event of bytes."""

    payload_base64: str


# "class" is a name that only this form takes
TypedEvent = TypedDict(
    "TypedEvent", {"topic": str, "id": str, "hops": int, "class": str, "value": Mapping[str, Any]}
)
"""A typed event: the topic of its class, and its fields."""


class MissedEvents(TypedDict):
    """So many events were dropped here, since stdout was read too slowly."""

    missed: int


class Range(TypedDict):
    """Events of one publisher in one topic, from the first id to the last."""

    topic: str
    first: str
    last: str


class GoneEvents(TypedDict):
    """These events can no longer be had."""

    gone: Range


class PublishReceipt(TypedDict):
    """What became of an event of ``publish``; without an id it was dropped."""

    topic: str
    id: str | None
    peers: int
    links: int
    accepted: bool


class GatewayAddress(TypedDict):
    """Where a gateway listens, and what others name it by: with its key if it has one."""

    address: str
    gateway: str


class TopicRow(TypedDict):
    """A community of a process, or a topic below which it has a gateway."""

    topic: str
    state: str
    size: float | None
    known: int
    subscriptions: int
    queued_events: int


class RunOutcome(TypedDict):
    """What a live run has beside the summary."""

    parasites: int
    interrupted: bool
    seconds: dict[str, float]
    subscribers_got: int
    counters: dict[str, int]
    kill: dict[str, Any] | None
    scenario: str
    output: str | None


class VirtualScenarioGiven(TypedDict):
    """What determined a run in the virtual network."""

    scenario: dict[str, Any]


class Simulated(TypedDict):
    """What was simulated, and how often."""

    simulator: str
    setting: dict[str, Any]
    runs: int


class SimulatedCommunities(Simulated):
    """CAMCAST: its communities, and the rounds until all that ever get the event have it."""

    communities: list[dict[str, Interval | int]]
    rounds: Interval


class SimulatedProtocol(Simulated):
    """Another protocol, with its measures beside these keys."""

    protocol: str
    model: dict[str, Any] | None


class SimulatedHpmcast(TypedDict):
    """hpmcast, with its measures beside these keys."""

    setting: dict[str, Any]
    processes: int
    view: int
    model: dict[str, Any] | None


class SimulatedPercolation(TypedDict):
    """Percolation gossip, with its measures beside these keys."""

    setting: dict[str, Any]
    nodes: int
    model: dict[str, Any]


class Alternative(TypedDict):
    """CAMCAST or an alternative of the paper's section 4, by the paper's formulas."""

    protocol: str
    messages: float
    memory: float
    reliability: float
    latency: float


class PredictedCommunities(TypedDict):
    """What models say of CAMCAST: each community, and the alternatives of section 4."""

    setting: dict[str, Any]
    communities: list[dict[str, float | None]]
    alternatives: list[Alternative]


class PredictedProtocol(TypedDict):
    """What a model says of a protocol other than CAMCAST."""

    protocol: str
    setting: dict[str, Any]
    model: dict[str, Any]


class PlannedCommunity(TypedDict):
    """A community, and the parameters that reach its target; `measured` with ``--check``."""

    size: int
    target: float
    parameters: dict[str, float]
    predicted: dict[str, float | None]
    measured: NotRequired[dict[str, Interval | int]]


class Planned(TypedDict):
    """Parameters that reach the targets; `holds` is there with ``--check``."""

    communities: list[PlannedCommunity]
    messages: float
    holds: NotRequired[bool]


class SweepPoint(TypedDict):
    """One point of a sweep."""

    grid: dict[str, Any]
    simulator: str
    protocol: str
    membership: str
    cells: int


class Swept(TypedDict):
    """Where a sweep's rows are, and of what."""

    output: str
    rows: int
    points: list[SweepPoint]


class Watched(TypedDict):
    """What is known of a run by now, by community."""

    run: str
    records: int
    quarantined: int
    finished: bool
    communities: list[dict[str, str | float | None]]


class CompareRow(TypedDict):
    """The mean of a measure over the runs of a group."""

    backend: str
    protocol: str
    community: str
    p_sel: float | None
    runs: int
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    setting: NotRequired[str]


class Reproduced(TypedDict):
    """What was computed of a paper, or of all; of one with its tables and figures beside this."""

    command: NotRequired[str]
    evidence: list[dict[str, Any]]
    output: str


class NewKey(TypedDict):
    """A key that was made, and its files."""

    key: str
    peer: str
    secret_file: str
    public_file: str


class ShownKey(TypedDict):
    """The public half of a key, and the id that peers know its process by."""

    key: str
    peer: str


class Certified(TypedDict):
    """A certificate, and the chain that it stands in, as text."""

    serial: str
    issuer: str
    subject: str
    topic: str
    may: list[str]
    not_before: int
    not_after: int
    depth: int
    certificates: list[bytes]


class Revoked(TypedDict):
    """A list of revocations."""

    issuer: str
    number: int
    issued: int
    next_update: int
    revoked: list[str]
    list: bytes
