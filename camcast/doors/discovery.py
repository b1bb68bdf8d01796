"""The door of discoveries: how strangers are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

from attrs import frozen

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId, Topic


class KnownMembers(Protocol):
    """What a node can say of a community from its own tables."""

    def __call__(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return up to `wanted` members, itself included if it is one."""


@frozen
class DiscoveryContext:
    """What a discovery is made with."""

    me: Contact
    rng: Random
    outlet: ControlOutlet
    known: KnownMembers
    gateways: Mapping[Topic, tuple[str, ...]]
    """Configured first contacts, by topic; a topic's serve its subtopics too."""
    remember: Path | None = None
    """A file that keeps contacts from one run to the next; None: nothing is kept."""
    port_required: bool = False
    """Whether the port of `me` was chosen explicitly, so that other processes may be configured
    with it: a discovery that uses datagrams must then listen at the port of that number."""


class Discovery(ABC):
    """How strangers are found; one instance a process. Answers go to `outlet.found`.

    A discovery that speaks through the node's own pipes sets `decoder` and overrides `receive`.
    One that speaks UDP overrides `open`, `close` and `receive_datagram`.
    """

    decoder: ClassVar[Decoder[Any] | None] = None

    def open(self, datagrams: DatagramPort, now: float) -> None:  # noqa: B027  # most do nothing
        """Begin to listen; called once, before any other input.

        `datagrams` is the process's UDP. Raises `OSError` if an endpoint that is needed cannot
        be had; the discovery may then be closed, or opened again.
        """

    def close(self, now: float) -> None:  # noqa: B027  # likewise
        """Close every endpoint, and answer nothing any more; closing twice is harmless."""

    @property
    def state(self) -> str:
        """How it is, in a word for people: ``connected``, ``alone`` or ``degraded``."""
        return "connected"

    @abstractmethod
    def announce(self, topic: Topic, now: float) -> None:
        """Make this process findable as a member of a community, until `withdraw`."""

    @abstractmethod
    def withdraw(self, topic: Topic, now: float) -> None:
        """Stop being findable as a member."""

    @abstractmethod
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """Look for members; the answer is a `Finding`, also when there are none."""

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was asked for through the outlet."""

    def receive_datagram(  # noqa: B027  # likewise
        self, port: int, source: Endpoint, data: bytes, now: float
    ) -> None:
        """Take a datagram that has arrived at the endpoint at `port`, of whatever content."""

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """Take a message from another process's discovery."""
        raise AssertionError("a discovery without a decoder receives nothing")


DiscoveryFactory = Callable[[DiscoveryContext], Discovery]
