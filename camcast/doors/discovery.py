"""The door of discoveries: how strangers are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

from attrs import field, frozen

from camcast.doors.admission import Admission
from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.addresses import is_numeric
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId, Topic

ResultT = TypeVar("ResultT")
OnOtherChoice = Callable[[Endpoint, str, float], None]
"""Takes the endpoint of a process, the text of its choice, and now."""
OnOtherSystem = Callable[[str, bytes, float], None]
"""Takes the address of a process, the name of its system, and now."""


def _ignore(_where: object, _what: object, _now: float) -> None:
    """Note nothing: nobody asks who does not fit."""


class KnownMembers(Protocol):
    """Members of a community from this node's own tables, for answers to other processes."""

    def __call__(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return up to `wanted` members, itself included if it is one."""


class Waiting(Protocol):
    """Runs the coroutines of the discovery of one process.

    A discovery that asks a file system, a name server or a registry has to wait, and a synchronous
    state machine cannot. It gives the driver a coroutine instead, and gets the outcome as a later
    input (`Discovery.finished`). Live, coroutines are tasks of the event loop; in a virtual network
    they run on virtual time.
    """

    def start(self, coroutine: Coroutine[Any, Any, Any], *name: Hashable) -> None:
        """Run a coroutine; `Discovery.finished` takes its outcome under this name.

        That comes after the input that started it. When the process closes, it is cancelled.
        """

    async def sleep(self, seconds: float) -> None:
        """Wait; live and in virtual networks, which know no other timer."""

    async def call(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Return what a function returns that may block: in a thread of its own, if live.

        A virtual network calls it at once.
        """

    async def look_up(self, named: str) -> tuple[str, ...]:
        """Return all addresses of ``tcp://NAME:PORT``, of IPv4 and IPv6, each ``tcp://IP:PORT``.

        Raises `OSError` for a name that is not known.
        """

    def wall(self) -> float:
        """Return the seconds since 1970; in virtual networks, virtual ones."""


@frozen
class DiscoveryContext:
    """The arguments that a discovery is made with."""

    rng: Random
    """The only source of randomness."""
    outlet: ControlOutlet
    """Takes answers (`found`), timers and messages to the discoveries of other processes."""
    known: KnownMembers
    gateways: Mapping[Topic, tuple[str, ...]]
    """Configured first contacts, by topic. The contacts of a topic serve its subtopics, too. Some
    may be host names, which `camcast.doors.named_contacts` looks up."""
    keys: Mapping[str, str] = field(factory=dict)
    """The public keys of the first contacts that are configured with one, in the profile
    ``signed``."""
    remember: Path | None = None
    """The file in which the discovery may keep contacts from one run to the next, if any."""
    port_required: bool = False
    """Whether the port of `me` was chosen explicitly. Other processes may then be configured with
    it, so a discovery that uses datagrams must listen at the UDP port of that number or fail."""
    every_interface: bool = False
    """Whether the process listens at ``[::]``: at every interface, for IPv4 and IPv6."""
    admission: Admission | None = None
    """The processes by their keys, in the profile ``signed``; None in the other profiles. Its times
    are those of `clock`."""
    clock: Clock = field(factory=Clock)
    """The wall clock, by the time of inputs."""
    options: Any = None
    """An instance of the discovery's `options`; None if it has none."""
    waiting: Waiting | None = None
    """Runs coroutines, for a discovery that has to wait
    (`camcast.doors.waiting_discovery`)."""
    choice: str = ""
    """The membership and protocol of this process (`camcast.vocabulary.choices`), for a discovery
    that says them where it names members: those with another choice are no members to join."""
    other_choice: OnOtherChoice = _ignore
    """Is told of each other process that says another choice."""
    system: str = ""
    """The name of this process's system, for a discovery with sockets of its own
    (`camcast.vocabulary.systems`): the system of datagrams and frames is not its concern."""
    other_system: OnOtherSystem = _ignore
    """Is told of each process of another system that such a discovery leaves out."""

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self.outlet.me


@frozen
class FirstContact:
    """A configured first contact, such as a gateway, and whether it answers."""

    address: str
    answers: bool | None = None
    """Whether it answered the last question; None before the first question has ended."""
    since: float = 0.0
    """The time at which `answers` took its value."""


@frozen
class Announced:
    """A member of a community that has announced itself to this process."""

    topic: Topic
    contact: Contact
    since: float
    """When it did so first."""


class Discovery(ABC):
    """How strangers are found: one instance a process, for all its communities.

    A discovery is a synchronous state machine, as a `Membership` is: every input carries the time
    `now`, and every wish goes to `DiscoveryContext.outlet`, an answer by `outlet.found`. Its
    inputs begin with one `open`. A discovery that speaks through the node's own pipes sets
    `decoder` and overrides `receive`. One that speaks UDP overrides `open`, `close` and
    `receive_datagram`.
    """

    options: ClassVar[type[Any] | None] = None
    """An attrs class; its fields are the options that a user may set (``--discovery-set``)."""

    decoder: ClassVar[Decoder[Any] | None] = None
    """Decodes the messages that `receive` takes. With None, the node counts them as stray."""

    hears_strangers: ClassVar[bool] = False
    """Whether the discovery has sockets of its own, through which anybody on the network can name
    members. A profile closes the pipes and datagrams of a process to strangers, but not these
    sockets. Such a discovery is refused in all profiles but `open`, unless it `asks_by_key`."""

    asks_by_key: ClassVar[bool] = False
    """Whether a discovery that `hears_strangers` finds, where processes have keys
    (`DiscoveryContext.admission`), only members that answers over links have named. The profile
    ``signed`` takes such a discovery."""

    asks_by_udp: ClassVar[bool] = False
    """Whether the discovery asks the configured first contacts over UDP, at the port numbers of
    their addresses. Errors and findings about them then speak of UDP."""

    needs_dialable: ClassVar[bool] = False
    """Whether other processes must be able to send a process with this discovery something that the
    process has not asked for: one that nobody can dial is refused with it."""

    speaks_to_anybody: ClassVar[bool] = False
    """Whether the discovery sends datagrams without the key of their receiver
    (`DatagramPort.send`). Such a discovery is refused in the profile ``signed``."""

    def open(self, datagrams: DatagramPort, now: float) -> None:  # noqa: B027  # most do nothing
        """Begin to listen; called before any other input.

        `datagrams` is the process's UDP. Raises `OSError` if a needed endpoint cannot be had; the
        discovery may then be closed, or opened again.
        """

    def close(self, now: float) -> None:  # noqa: B027  # most do nothing
        """Close every endpoint; closing twice is harmless. No seek is answered afterwards."""

    @property
    def state(self) -> str:
        """The state of the discovery, for people: ``connected``, ``alone`` or ``degraded``.

        ``alone``: no other process has answered yet. ``degraded``: all have stopped answering.
        ``connected``: one answers, or there is none that this process could ask.
        """
        return "connected"

    def first_contacts(self) -> Sequence[FirstContact]:
        """Return the configured first contacts that were asked so far, without this process."""
        return ()

    def contact_addresses(self) -> Sequence[str]:
        """Return the addresses that the configured first contacts have now, asked or not.

        Host names are looked up already, and this process is left out.
        """
        return [one.address for one in self.first_contacts() if is_numeric(one.address)]

    def announced(self, now: float) -> Iterable[Announced]:
        """Return the members that have announced themselves to this process, where it is asked."""
        return ()

    def moved(self, now: float) -> None:  # noqa: B027  # most say their address when asked
        """Learn that this process announces another address from now on (`context.me`).

        A discovery that has told others the address of before tells them the new one; one with an
        endpoint of its own opens it there.
        """

    @abstractmethod
    def announce(self, topic: Topic, now: float) -> None:
        """Make this process findable as a member of a community, until `withdraw`.

        The node announces a community once it asks to join it. The discovery renews the
        announcement while the process lives. A second `announce` changes nothing.
        """

    @abstractmethod
    def withdraw(self, topic: Topic, now: float) -> None:
        """Stop being findable as a member; harmless if the process was not announced.

        The last of `announce` and `withdraw` holds, however soon one follows the other.
        """

    @abstractmethod
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """Look for up to `wanted` members other than this process; answer by `outlet.found`.

        Every seek is answered, at once or in an input within nine seconds. An answer without
        contacts says that the community is empty, and makes the seeking process found it. A
        discovery that could not find out answers with the addresses that did not answer
        (`Finding.unreachable`) or did not know (`Finding.ignorant`): the node then asks again.
        Of two processes that announce and seek at the same time, at least one must find the other.
        Memberships often seek one member (`wanted` = 1) of a community that this process has
        announced. That should cost next to nothing: any member known to be alive will do, and no
        estimate of the size is needed.
        """

    def contacts_silent(self, topic: Topic, contacts: Sequence[Contact], now: float) -> bool:
        """Learn that members that it has named do not answer a process that joins through them.

        The node says so before the membership's next `seek`. A discovery that goes on naming
        processes for a while after they died asks these members and names the dead no longer, so
        that the successor of a killed member joins at once; it returns True. By default (False) the
        node itself leaves out members that were named twice and did not answer.
        """
        return False

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was set by ``outlet.wake(seconds, *name)``.

        Timers cannot be cancelled, and a timer of an unknown name must be harmless.
        """

    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:  # noqa: B027  # most never wait
        """Take what a coroutine has returned, or the exception that it raised.

        It was started by ``context.waiting.start(coroutine, *name)``. It may come after `close`.
        """

    def receive_datagram(  # noqa: B027  # most speak no UDP
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        """Take a datagram that has arrived at the own endpoint at `port`; its content is anything.

        In the profile ``signed``, `sender` is the public key of the process that sent it, which
        has a valid certificate, whatever that allows; in the other profiles it is empty.
        """

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:  # noqa: B027  # not called without a decoder
        """Take a message that another process's discovery sent in a group.

        The decoder has checked its types and nothing else, and anybody may have sent it: clamp
        every number, cut every list, bound every table. Raise `MalformedError` for a message that
        no honest process sends.
        """


DiscoveryFactory = Callable[[DiscoveryContext], Discovery]
