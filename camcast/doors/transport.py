"""The door of transports: how frames cross the network (000, 5.3.1.4; docs/transports.md).

A transport is an `OutputPipes`: all the output pipes of one event loop, and the inputs that listen
beside them. `camcast.live.wire.zmtp` and `camcast.live.wire.zmq_pipes` are the two there are. Both
speak ZMTP 3.1, PUSH to PULL, one frame a message, so that processes with either understand each
other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, ClassVar

from attrs import Attribute, field, frozen, validators

from camcast.doors.profile import Profile
from camcast.observe.counters import PipeCounters
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.systems import Misfits
from camcast.vocabulary.wire import FRAME_BYTES_MAX


def _positive(_instance: object, attribute: Attribute[Any], value: float) -> None:
    if not value > 0:  # nor nan
        raise ValueError(f"{attribute.name} must be above 0, not {value}")


def _not_negative(_instance: object, attribute: Attribute[Any], value: float) -> None:
    if not value >= 0:  # nor nan
        raise ValueError(f"{attribute.name} must not be negative, not even {value}")


class BindError(CamcastError, OSError):
    """An input pipe cannot listen at an address; `strerror` says which, why and what to do."""


class AddressInUse(BindError):
    """Another socket listens at that address already."""


class BarredError(CamcastError, PermissionError):
    """The sender of a frame has committed too many faults (`camcast.vocabulary.penalties`)."""

    def __init__(self) -> None:
        super().__init__("what it sends is forged")


@frozen
class PipeLimits:
    """The bounds and times of pipes; sizes in bytes, times in seconds unless named otherwise.

    Raises ValueError for a number that is not positive (a reserve and a linger may be 0).
    All processes of a community should agree on the two sizes, since an input refuses larger
    frames than its own.
    """

    # chosen: an event's payload of 1 MiB, and room for its header, topic and signature.
    record_bytes_max: int = field(default=2**20 + 4096, validator=_positive)
    """The largest record; a larger one is dropped and counted."""

    frame_bytes_max: int = field(default=FRAME_BYTES_MAX, validator=_positive)
    """Records are joined up to this size; a larger record is a frame of its own, and a larger frame
    of several records is refused: no transport makes one, and its records could cause any amount
    of work in one turn."""

    # chosen: a burst of 16,384 events in one turn; 8 bytes each besides the shared record.
    queue_records_max: int = field(default=2**14, validator=_positive)
    """The records that may wait in one output pipe."""

    # chosen: 16,384 events of 256 bytes. Records are shared by the pipes they wait in.
    queue_bytes_max: int = field(default=2**22, validator=_positive)
    """The bytes that may wait in one output pipe."""

    # chosen: 256 MiB, 64 full pipes; all the budgets of pipes together have a bound, too.
    waiting_bytes_max: int = field(default=2**28, validator=_positive)
    """The bytes that may wait in all output pipes of one event loop. A record counts once for each
    pipe that it waits in."""

    # chosen: 16 frames of the largest size at once, or 500 of 32 KiB: a flood of connections must
    # not make the process grow by more than 32 MB.
    held_bytes_max: int = field(default=2**24, validator=_positive)
    """The bytes that all inputs of one event loop may hold of what was read but not handed over,
    such as frames of which the rest has not come. Beyond it connections wait, but for the rest of
    the oldest frame and 4 KiB of each further one. libzmq cannot be told to keep to it."""

    control_reserve: float = field(default=0.25, validator=_not_negative)  # chosen: 4,096 records
    """The share of the queue's bounds and of `waiting_bytes_max` that control records, and only
    they, may use on top."""

    pipes_max: int | None = field(default=None, validator=validators.optional(_positive))
    """The output pipes of one event loop; None for 70 % of what `descriptors_allow`."""

    connections_max: int | None = field(default=None, validator=validators.optional(_positive))
    """The connections that others may have to all inputs of one event loop; None for what
    `pipes_max` leaves of the limit of descriptors, but for an eighth."""

    spare_seconds: float = field(default=1.0, validator=_positive)  # chosen: several gossip rounds
    """At `pipes_max`, a pipe that moved nothing for so long makes room for a new one. One that
    never had an event does so at once, the first opened first."""

    idle_seconds: float = field(default=60.0, validator=_positive)  # chosen: a heartbeat fits often
    """An output pipe that moved nothing for so long is closed, and what waits in it dropped."""

    # chosen: 64 frames or 64 KiB (about 200 events, 1 ms) keep timers and heartbeats alive, also
    # where 50 nodes share a loop; larger turns were no faster, and took more memory.
    turn_frames_max: int = field(default=64, validator=_positive)
    """The frames that an input reads before it lets the rest of the loop run."""
    turn_bytes_max: int = field(default=2**16, validator=_positive)
    """The bytes that an input reads before it lets the rest of the loop run."""

    linger_milliseconds: int = field(default=200, validator=_not_negative)  # chosen: a few RTTs
    """How long ZeroMQ goes on sending the frames that it has, after a pipe was closed."""


class InputPipe(ABC):
    """A bound endpoint whose frames go to one callback; made by `OutputPipes.open_input`.

    `address` is the bound endpoint in canonical form, with the real port. `peer` is the process
    that listens, as far as was said. `counters` has only what was received. After a bind to
    ``0.0.0.0`` or ``[::]`` the address names no host, and the node has to announce another one
    (see `is_wildcard`).
    """

    address: str
    peer: PeerId
    counters: PipeCounters
    strangers_expected: int = 0
    """So many strangers are refused without a word and not counted: the process sends them itself,
    to see whether they get in."""

    judges_first_frame: bool = False
    """Whether a stranger may end the handshake, and is cut off by the first frame that it sends."""

    @abstractmethod
    def close(self) -> None:
        """Stop listening, and drop what was not read; further calls do nothing."""


class OutputPipes(ABC):
    """All the output pipes of one event loop, shared by the nodes that live in it.

    Every method is to be called from the loop's thread.
    """

    strangers_may_abort: ClassVar[bool] = False
    """Whether bytes of anybody who reaches an open input can end the process."""
    limits: PipeLimits
    profile: Profile | None
    """Access and encryption of links; None: everybody may connect, nothing is encrypted."""
    system: str = ""
    """The name of the system whose processes alone are talked to."""
    misfits: Misfits
    """The processes of other systems that were met."""
    counters: PipeCounters
    pipes_max: int
    """How many output pipes there may be."""
    connections_max: int
    """How many connections others may have to the inputs."""
    lost: list[Callable[[str, Sequence[bytes]], None]]
    """Told of the address and the pieces whenever records are dropped, by who wants to know."""
    unattached: list[Callable[[Contact], None]]
    """Told of a process that nobody can dial for which something waits, and which has connected to
    none of the inputs, by who wants to know."""
    refused: list[Callable[[str, str, str], None]]
    """Told of a process that was ``refused`` or ``cut_off`` by the transport, of its address and
    why, by who wants to know."""
    crowded: Mapping[str, object]
    """The pipes that are more than half full, by their addresses."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the output pipes that are open."""

    @property
    @abstractmethod
    def connections(self) -> Sized:
        """The connections that others have to the inputs."""

    @property
    @abstractmethod
    def waiting_bytes(self) -> int:
        """The bytes that wait in all output pipes together."""

    @abstractmethod
    def send(self, contacts: Iterable[Contact], record: bytes, *, control: bool = False) -> None:
        """Send `record` to each of `contacts`, best effort; control records have a reserve.

        Where the transport learns who listens at an address, a record goes to the process that
        was meant or to nobody. A contact of `UNKNOWN_PEER` means whoever listens there. What is for
        a process that nobody can dial goes over a connection that it made, and waits some seconds
        for one.

        Never blocks, and never raises for a peer that is absent, slow or misspelt: what cannot
        be queued is dropped and counted. Sending after `close` drops too.
        """

    def speaks(self, contact: Contact, extension: str) -> bool:
        """Return whether a process has named an extension, on the connection that leads to it now.

        False by default, for a transport whose peers name none.
        """
        return False

    def hear_on_outputs(self, hearer: InputPipe) -> None:
        """Take frames on the connections that this process makes, too, for its only input.

        For a process that nobody can dial: others send to it on these. Raises `ValueError` where
        the transport cannot, or where there are other inputs.
        """
        raise ValueError(
            "this transport takes nothing on the connections that a process makes, so that one that"
            " nobody can dial hears nothing; take the transport zmtp or tcp"
        )

    def introduce_anew(self) -> None:  # noqa: B027 - most transports show nothing for long
        """Show the profile's proof again on all links that go on showing the one of their start."""

    def dial_anew(self) -> None:  # noqa: B027 - libzmq finds out by itself which of its own are dead
        """Make all connections again, since the address of this machine has changed."""

    @abstractmethod
    def has_room(self, contacts: Iterable[Contact], size: int) -> bool:
        """Say whether an event of `size` bytes for some of `contacts` can be accepted.

        It cannot where a pipe to one of them is full and moves, or all their pipes are full: then
        it would be lost on its first hop. A full pipe that stands still is not counted on.
        """

    @abstractmethod
    async def wait_for_room(
        self, contacts: Callable[[], Sequence[Contact]], timeout_seconds: float
    ) -> None:
        """Wait until no pipe to `contacts` is both more than half full and moving.

        Returns after the timeout at the latest, and at once where no such pipe is crowded. A pipe
        moves if something left by it in the last quarter of a second.
        """

    @abstractmethod
    def open_input(
        self, bind: str, on_frame: Callable[..., None], peer: PeerId = UNKNOWN_PEER
    ) -> InputPipe:
        """Listen at `bind` and call `on_frame` with every frame that arrives.

        Where the profile tells processes apart, `on_frame` gets a second argument: the peer id of
        the process at the other end of the link, which has proved its key.

        `peer` is the process that listens. Where the transport can, it says so to whoever
        connects. Where `on_frame` raises `BarredError`, the transport cuts off the connection,
        if it knows which one a frame came by. What else `on_frame` raises is
        logged and counted.

        Raises `AddressError`, `AddressInUse` or another `BindError`.
        """

    @abstractmethod
    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until all that was sent is on the wire, and say whether it got there in time.

        "On the wire" means: given to the kernel, but for a part of one frame a pipe, which
        lingers in `close`. An absent peer costs the whole timeout.
        """

    @abstractmethod
    def close(self, linger_milliseconds: int | None = None) -> None:
        """Close all pipes, inputs included; further calls do nothing.

        Blocks for `linger_milliseconds` at most (None: as in the limits), and only while frames
        are under way. Afterwards all descriptors and ports are free.
        """
