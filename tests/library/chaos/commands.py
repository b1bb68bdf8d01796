"""What the driver of a chaos run tells its worker processes, one JSON object a line."""

from __future__ import annotations

from typing import Literal

import msgspec

from camcast.engine.settings import Order
from camcast.vocabulary.parameters import SpreadKind

Pace = Literal["slow", "hanging", "raising"]


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A node to start."""

    name: str
    topic: str | None
    """None for a gateway, which is a member of nothing."""
    bind: str
    gateways: list[str]
    identity: str | None = None
    """By which name the authority knows it, in the profile `signed`."""
    key: str = ""
    """The public key of that identity."""
    reachable: Literal["yes", "no", "auto"] = "yes"
    """Whether others can connect to the node; if not, it is told so."""
    paces: list[Pace] = []
    """Further subscriptions, which do not keep up."""
    trace_bytes: int | None = None
    """The size of the disk that the node writes its trace to; None: no trace."""

    @property
    def as_gateway(self) -> str:
        """How others name this node as their gateway."""
        return f"{self.bind}#{self.key}" if self.key else self.bind


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process is started with."""

    process: str
    log: str
    """The file that its records go to."""
    membership: str
    transport: str
    spread: SpreadKind
    order: Order
    seed: int
    share_pipes: bool = True
    """Whether the nodes of the process share their output pipes."""
    authority: str | None = None
    """The folder of the authority that certified all nodes, in the profile `signed`; else None."""
    descriptors: int | None = None
    """The limit of open files and sockets; None: that of the machine."""


class Command(msgspec.Struct, frozen=True, tag=True):
    """What all commands have: the `number` that the reply repeats."""

    number: int


class Start(Command, frozen=True):
    """Start nodes and join. The reply comes when all are ready members, or have failed."""

    nodes: list[NodeSpec]
    seconds: float
    """How long a node may take."""


class Publish(Command, frozen=True):
    """Publish at random nodes of the process, until told to stop; the reply comes at once."""

    rate: float
    """Events a second of the process."""
    size: int


class StopPublishing(Command, frozen=True):
    """Publish no more."""


class Burst(Command, frozen=True):
    """Publish so many events from one node, as fast as it takes them; the reply comes after."""

    node: str
    count: int
    size: int


class Close(Command, frozen=True):
    """Close nodes politely; the reply comes when they have left."""

    nodes: list[str]


AnyCommand = Start | Publish | StopPublishing | Burst | Close


class Reply(msgspec.Struct, frozen=True):
    """What a worker answers; number 0 says that it is up."""

    number: int
    error: str = ""
