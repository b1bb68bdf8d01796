"""The door of disseminations: how the events of one group spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from random import Random
from typing import Any, Protocol

import msgspec
from attrs import frozen

from camcast.doors.liveness import Liveness
from camcast.doors.membership import Membership
from camcast.doors.repair import Repairs
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic


class EventOutlet(Protocol):
    """Sends copies of batches for one group; the node encodes, counts and traces them.

    A copy carries the batch's hops and one more. Delivery is best effort, and nothing is
    reported back.
    """

    def send(
        self, batch: Batch, peers: Sequence[Contact], now: float, group: Topic | None = None
    ) -> None:
        """Send a copy to each of `peers`, who are members of this group.

        With `group` the copies arrive in that group of theirs instead: one of `OwnGroups`.
        """

    def send_together(self, batches: Sequence[Batch], peers: Sequence[Contact], now: float) -> None:
        """Send a copy of each batch to each of `peers`, who are members of this group.

        The same as a `send` for each, but cheaper.
        """

    def send_upward(self, batch: Batch, topic: Topic, peers: Sequence[Contact], now: float) -> None:
        """Send a copy to each of `peers`, who are members of the super-community of `topic`.

        The copies carry this process's address: a member that has left can then say so.
        """


class OwnGroups(Protocol):
    """The groups that this very process is in; events pass between them without a message."""

    @property
    def alone(self) -> bool:
        """Whether the process is in no other group, so that the other verbs find nothing."""

    def membership(self, group: Topic) -> Membership | None:
        """Return this process's membership of a group; None if it has not joined it."""

    def accept(self, batch: Batch, group: Topic, now: float) -> bool:
        """Accept a batch in another group of this process: it is spread and delivered there.

        Nothing happens if it is known in that group. Returns False if this process has not joined
        the group.
        """


class SuperTable(Protocol):
    """A super-topic table (000, 3.2.2), as disseminations read it."""

    @property
    def super_topic(self) -> Topic:
        """The super-topic that the table is for."""

    def nearest(self) -> tuple[Topic, Sequence[Contact]]:
        """Return the nearest ancestor with live members in the table, and those members.

        Without any, the super-topic and nobody.
        """

    def unserved_since(self, now: float) -> float:
        """Return since when what climbed may have come to nobody that lives; `inf` if it has not.

        All whom `nearest` returns may be newcomers, which those before did not live to see.
        """

    @property
    def failures(self) -> int:
        """How many members have left the table so far because they failed or left their topic."""


@frozen
class DisseminationContext:
    """What a dissemination works with in one group of one process."""

    me: Contact
    group: Topic
    interest: ProcessInterest
    """What this process wants through this group; changes as it subscribes."""
    attributes: EventAttributes
    """Reads the attributes of events, each event once a process."""
    membership: Membership
    super_tables: Sequence[SuperTable]
    """One for each super-topic; none in a group that is linked to no other."""
    parameters: Parameters
    events: EventOutlet
    outlet: ControlOutlet
    """For timers, and for messages to the same dissemination at other members of the group."""
    groups: OwnGroups
    rng: Random
    liveness: Liveness
    """Watches the peers that the dissemination itself keeps, if it keeps any."""
    repair: Repairs | None = None
    """Tells members what is known here; None where nothing is repaired."""


class Sent(msgspec.Struct, frozen=True, gc=False):  # a Struct, for one is made for every event
    """To how many processes an event goes at once."""

    peers: int = 0
    """Members of the group, or of others of its protocol."""
    super_processes: int = 0
    """Members of super-communities; CAMCAST alone has them."""


class Dissemination(ABC):
    """Spreads the events of one group of one process; every event comes once.

    Events come in batches. A group that is not batched (`camcast.doors.protocol.Group`) has
    batches of one event.

    A dissemination is made before this process is a member of the group, and its inputs may
    come from then on. They carry the time `now`, in seconds of a clock that never goes back.
    """

    decoder: Decoder[Any] | None = None
    """Decodes the messages that `receive` takes; None: the dissemination sends none, and the
    node counts what comes for it as stray."""
    hears_duplicates: bool = False
    """Whether `duplicate` is called. Most copies that arrive are duplicates, so that only who
    needs them should ask."""
    flags_busy: bool = False
    """Whether this process says in its batches (`batches.TREE`) that their stream is busy."""

    def start(self, now: float) -> None:  # noqa: B027  # most have nothing to begin with
        """Begin: this process has become a member of the group. Called once."""

    @abstractmethod
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """Spread a batch that is new to this group.

        `source` sent the copy that arrived; None: this process publishes it, or accepts it from
        another of its groups. The batch may come before `start`. What is sent later, from a timer,
        is not in the answer.
        """

    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """Spread batches that came one after the other in one frame, each from its source.

        The processes of an event loop share frames, so the sources may differ. Called in batched
        groups only. By default each batch is spread by itself.
        """
        for batch, source in zip(batches, sources, strict=True):
            self.disseminate(batch, now, source)

    def repaired(self, batch: Batch, now: float, source: PeerId) -> None:  # noqa: B027  # most have nothing above
        """Take note of a batch that `source` was asked for; it is not to be spread in this group.

        Who asked announces it in other ways. Called in batched groups only.
        """

    def reach(self, known: int) -> int:
        """Say to how many of the `known` peers in the topic table an event goes at once.

        Asked in batched groups for receipts, since what is published there leaves only at the end
        of the instant. By default to all.
        """
        return known

    def first_hop(self, peers: Iterable[Contact]) -> Iterable[Contact]:
        """Return all members of the group to whom this process may itself send what it publishes.

        Who publishes waits for room in the pipes to these. By default all `peers` of the table.
        """
        return peers

    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:  # noqa: B027  # few ask
        """Note that `source` sent a further copy of a batch, all of which is known here.

        `event_id` is that of its first event. Called only if `hears_duplicates`, once a copy.
        `source` need not be a neighbour: copies come up from subtopics, too. Nothing but the copy's
        head was read: a forged one counts as well, and so does one too old to be remembered. A copy
        that was asked for is not reported.
        """

    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:  # noqa: B027  # most do not mind
        """Note that a peer has come into the topic table (`there`) or gone from it.

        Called for each change in the order of happening, when the membership has finished its
        step: the table may be ahead of the change that is told. Changes come also before
        `start`, and while the process leaves. A new address of a known peer is no change.
        """

    def receive(self, source: Contact, message: Any, now: float) -> None:  # noqa: B027  # not called without a decoder
        """Take a message from the same dissemination at another process.

        The decoder has checked its types and nothing else: clamp every number, bound every list.
        `MalformedError` makes the node count it and drop the rest of its frame.
        """

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:  # noqa: B027  # not called without timers
        """Take a timer that was set through the outlet; there is no way to cancel one.

        Timers of a group that was left do not come back.
        """
