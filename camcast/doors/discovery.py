"""The door of discoveries: how strangers are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

from attrs import frozen

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId, Topic


class Identities(Protocol):
    """The processes that are known by their keys, at present, and what each may do."""

    @property
    def key(self) -> bytes:
        """The public key of this process."""

    def key_of(self, contact: Contact, /) -> str:
        """Return the public key, as text, of a process that `knows` says True of; else nothing."""

    def pin(self, address: str, key: str, /) -> None:
        """Expect this public key of whoever is at an address, where only the address is named.

        A text that is no key is ignored. Several hundred are remembered.
        """

    def admits(self, link: PeerId | None, /) -> bool:
        """See `camcast.doors.admission.Admission.admits`."""

    def knows(self, source: Contact, /) -> bool:
        """See `Admission.knows`."""

    def may_join(self, peer: PeerId, topic: Topic, /) -> bool:
        """See `Admission.may_join`."""

    def may_link(self, peer: PeerId, topic: Topic, /) -> bool:
        """See `Admission.may_link`."""


class KnownMembers(Protocol):
    """What this node knows of a community from its own tables, for answers to other processes."""

    def __call__(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return up to `wanted` members, itself included if it is one."""


@frozen
class DiscoveryContext:
    """What a discovery is made with."""

    me: Contact
    """This process, under the address that it announces."""
    rng: Random
    """The only source of randomness."""
    outlet: ControlOutlet
    """Takes answers (`found`), timers and messages to the discoveries of other processes."""
    known: KnownMembers
    gateways: Mapping[Topic, tuple[str, ...]]
    """Configured first contacts, by topic; a topic's serve its subtopics too."""
    remember: Path | None = None
    """A file that keeps contacts from one run to the next; None: nothing is kept."""
    port_required: bool = False
    """Whether the port of `me` was chosen explicitly, so that other processes may be configured
    with it: a discovery that uses datagrams must then listen at the port of that number."""
    identities: Identities | None = None
    """What tells processes apart, in the profile ``signed``; None in the others."""


@frozen
class FirstContact:
    """A configured first contact, such as a gateway, and whether it answers."""

    address: str
    answers: bool | None = None
    """Whether it answered when it was asked last; None: nothing was asked yet."""
    since: float = 0.0
    """When that became so."""


class Discovery(ABC):
    """How strangers are found: one instance a process, for all its communities.

    A synchronous state machine like a `Membership`: every input carries the time `now`, and what
    it wants to happen it leaves in `DiscoveryContext.outlet`, answers with `outlet.found`. A
    discovery that speaks through the node's own pipes sets `decoder` and overrides `receive`.
    One that speaks UDP overrides `open`, `close` and `receive_datagram`.
    """

    decoder: ClassVar[Decoder[Any] | None] = None
    """Decodes the messages that `receive` takes; None: what comes for it is counted as stray."""

    hears_strangers: ClassVar[bool] = False
    """Whether it has sockets of its own, by which anybody on the network can name members. Pipes
    and datagrams of the process are closed to strangers by its profile; such a discovery is not,
    and is refused in all profiles but `open`."""

    speaks_to_anybody: ClassVar[bool] = False
    """Whether it sends datagrams without naming the key of whom they are for
    (`DatagramPort.send`). Such a discovery is refused in the profile ``signed``."""

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

    def first_contacts(self) -> Sequence[FirstContact]:
        """Return the configured first contacts but for this process, as far as they are asked."""
        return ()

    @abstractmethod
    def announce(self, topic: Topic, now: float) -> None:
        """Make this process findable as a member of a community, until `withdraw`.

        An announcement lasts while the process lives: the discovery renews it. Announcing twice
        does no more than once.
        """

    @abstractmethod
    def withdraw(self, topic: Topic, now: float) -> None:
        """Stop being findable as a member; harmless if the process never was.

        The last of `announce` and `withdraw` holds, however close they follow each other.
        """

    @abstractmethod
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """Look for up to `wanted` members, never this process; the answer is a `Finding`.

        Every seek is answered, within two seconds, at once or later. An answer without contacts
        says that nobody is there, and makes who asked found the community; if that is not known,
        it lists the addresses that did not answer (`Finding.unreachable`) or did not know
        (`Finding.ignorant`). Who announces and seeks at once must find others who do the same.
        One member of a community that this process has announced is sought often, and should cost
        next to nothing: any that is known to be alive will do, without an estimate of the size.
        """

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was set through the outlet, under the name it was given.

        Timers cannot be cancelled, and one of an unknown name must be harmless.
        """

    def receive_datagram(  # noqa: B027  # likewise
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        """Take a datagram that has arrived at the endpoint at `port`, of whatever content.

        `sender` is the public key of who has sent it, where processes have keys. Its certificate
        is valid, whatever it allows.
        """

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:  # noqa: B027  # not called without a decoder
        """Take a message that another process's discovery sent in a group.

        The decoder has checked its types and nothing else, and anybody may have sent it: clamp
        every number, cut every list, bound every table. Raise `MalformedError` for what cannot be.
        """


DiscoveryFactory = Callable[[DiscoveryContext], Discovery]
