"""Types of the ``--json`` output of the library's commands that no class elsewhere describes.

`docs/json_schemas.py` makes the JSON Schemas of the documentation from these and from the classes
that are printed as they are. A key may be added within a version of a schema; whoever removes one,
or gives it another meaning, counts the version up where it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from camcast.observe.stats import AnnouncedStats


class Joined(TypedDict):
    """The first line of ``subscribe``."""

    joined: str
    """The topic."""
    address: str


class EventLine(TypedDict):
    """The keys of every event of ``subscribe``."""

    topic: str
    id: str
    hops: int
    late: NotRequired[bool]
    """There, and true, for an event that comes after later ones of its publisher."""
    key: NotRequired[str]
    """There for an event with a key that is UTF-8."""
    key_base64: NotRequired[str]
    """There for an event with another key."""
    deleted: NotRequired[bool]
    """There, and true, for an event that deletes its key."""


class TextEvent(EventLine):
    """An event whose payload is UTF-8."""

    payload: str


class BytesEvent(EventLine):
    """Any other event of bytes."""

    payload_base64: str


# "class" is a name that only this form takes
TypedEvent = TypedDict(
    "TypedEvent",
    {
        "topic": str,
        "id": str,
        "hops": int,
        "late": NotRequired[bool],
        "key": NotRequired[str],
        "key_base64": NotRequired[str],
        "deleted": NotRequired[bool],
        "class": str,
        "value": Mapping[str, Any],
    },
)
"""A typed event: the topic of its class, and its fields."""


class VerifiedHistory(TypedDict):
    """The outcome of ``history --trust``."""

    verified: int
    """Events whose signatures verify."""
    refused: Mapping[str, int]
    """Others, by why they prove nothing."""


class RepairedArchive(TypedDict):
    """The outcome of ``history --repair``."""

    damaged: bool
    batches: NotRequired[int]
    """Batches of events that were saved."""
    kept_as: NotRequired[str]
    """The damaged file."""


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


class PastReach(TypedDict):
    """Since when members keep events, before those of the past that --since asks for."""

    reach: str


class PublishReceipt(TypedDict):
    """The receipt for an event of ``publish``; without an id the event was dropped."""

    topic: str
    id: str | None
    peers: int
    links: int
    accepted: bool
    later: bool
    confirmed: int
    """How many other members said that they hold it, up to the number of --confirmed-by."""


class PlugRow(TypedDict):
    """A plug that is installed."""

    kind: str
    name: str
    module: str
    """The module that it comes from; empty if it cannot be loaded."""
    wrong: str | None
    """The reason why it cannot be used; null if it can."""


class GatewayAddress(TypedDict):
    """Where a gateway listens, and what others name it by: with its key if it has one."""

    address: str
    gateway: str


class WithAnnounced(TypedDict):
    """The addition to a snapshot in the output of ``status`` of one process."""

    announced: NotRequired[list[AnnouncedStats]]
    """The members that have announced themselves to this process, if it is a gateway."""


class PingRow(TypedDict):
    """Whether a probe came to a process in one of its communities."""

    process: str
    """Its control socket."""
    peer: str
    community: str
    has: bool | None
    """None: it could not be asked."""
    seconds: float | None
    """After the publication."""
    hops: int | None
    says: str


class HappeningRow(TypedDict):
    """Something that happened to a process."""

    at: float
    """In seconds since 1970."""
    process: str
    """Its control socket."""
    kind: str
    """A happening, or a condition."""
    topic: str
    says: str


class TopRow(TypedDict):
    """A process at one moment."""

    process: str
    """Its control socket."""
    communities: str
    wrong: str
    """The conditions that last, and that nothing explains."""
    up_seconds: float
    peers: int
    received_a_second: float
    sent_bytes_a_second: float
    waiting: int
    """Events that wait for its subscribers."""
    lost: int


class TopicRow(TypedDict):
    """A community of a process, or a topic below which it has a gateway."""

    topic: str
    state: str
    size: float | None
    known: int
    subscriptions: int
    queued_events: int


class TunedCommunity(TypedDict):
    """The parameters of a community in a process after ``tune`` (`camcast.Parameters`)."""

    topic: str
    c: float
    g: float
    a: float
    z: int
    tau: int
    p_sel: float | None
    as_printed: bool


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


class PublicFile(ShownKey):
    """The public half of a key, and the file that has it."""

    public_file: str


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
    events_a_second: int
    bytes_a_second: int
    certificates: list[bytes]


class Revoked(TypedDict):
    """A list of revocations."""

    issuer: str
    number: int
    issued: int
    next_update: int
    revoked: list[str]
    issued_before: dict[str, int]
    list: bytes


class SystemFolder(TypedDict):
    """The folder of a new system, and the public key of its root."""

    folder: str
    root: str


class MemberRow(TypedDict):
    """A member of a system, and its latest certificate."""

    name: str
    """Empty: the key has a certificate of the root, and no folder of a member."""
    state: str
    """``valid``, ``ends`` (a fifth of the time is left), ``expired`` or ``revoked``."""
    may: list[str]
    topic: str
    address: str
    """Where its processes listen."""
    key: str
    serial: str
    not_before: int
    not_after: int
    folder: str
    """The folder that is to be copied to the member's machine; empty for who has none."""
