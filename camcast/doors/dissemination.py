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
from camcast.vocabulary.parameters import CommunitySettings, Tuning
from camcast.vocabulary.topics import Topic


class EventOutlet(Protocol):
    """Sends copies of batches for one group; the node encodes, counts and traces them.

    A copy has one hop more than the batch. Copies are best effort: whether one arrives is not
    reported.
    """

    def send(
        self, batch: Batch, peers: Sequence[Contact], now: float, group: Topic | None = None
    ) -> None:
        """Send a copy to each of `peers`, which are members of this group.

        With `group`, the peers get the copies in that group, one of `OwnGroups`, instead.
        """

    def send_together(self, batches: Sequence[Batch], peers: Sequence[Contact], now: float) -> None:
        """Send a copy of each batch to each of `peers`; cheaper than a `send` for each batch."""

    def send_upward(self, batch: Batch, topic: Topic, peers: Sequence[Contact], now: float) -> None:
        """Send a copy to each of `peers`, which are members of the super-community of `topic`.

        The copies carry this process's address, so that a peer that has left can tell it so.
        """


class OwnGroups(Protocol):
    """The other groups of this process; a batch passes between them without a message."""

    @property
    def alone(self) -> bool:
        """Whether the process is in no other group."""

    def membership(self, group: Topic) -> Membership | None:
        """Return this process's membership of a group; None if it has not joined it."""

    def joined_above(self, group: Topic) -> Sequence[Topic]:
        """Return the nearest communities above a group that the process is in, on every way up."""

    def accept(self, batch: Batch, group: Topic, now: float) -> bool:
        """Spread and deliver a batch in another group of this process.

        A batch that is known in that group changes nothing. Returns False if this process has not
        joined the group.
        """


class SuperTable(Protocol):
    """A super-topic table (000, 3.2.2), as disseminations read it."""

    @property
    def super_topic(self) -> Topic:
        """The super-topic that the table is for."""

    @property
    def topics(self) -> Sequence[Topic]:
        """The super-topic and the ancestors that the table may hold members of, nearest first.

        Each includes the one before by its name.
        """

    @property
    def stands_in(self) -> bool:
        """Whether the table is among `super_tables` only while nobody nearer serves its topics."""

    def nearest(self) -> tuple[Topic, Sequence[Contact]]:
        """Return the nearest ancestor that has live members in the table, and those members.

        An empty table returns the super-topic and no members.
        """

    def unserved_since(self, now: float) -> float:
        """Return since when upward messages may have reached no live super-process.

        Returns `inf` if some live super-process has had the chance to get all of them: it was in
        the table without a gap, or has been there for long enough to be told what it lacks.
        """

    def linked_since(self) -> float:
        """Return when the oldest entry of the nearest ancestor came in; `inf` if there is none."""

    @property
    def failures(self) -> int:
        """How many entries have left the table so far because they failed or left their topic."""


@frozen
class DisseminationContext:
    """The arguments that a dissemination is made with, for one group of one process."""

    group: Topic
    interest: ProcessInterest
    """The interest of this process in the group's events. It changes as the process subscribes."""
    attributes: EventAttributes
    """Reads the attributes of events; each event is read once a process."""
    membership: Membership
    super_tables: Sequence[SuperTable]
    """One table for each super-topic; none in a group that is linked to no other. Tables come and
    go while the process is in the group, as it links the community and unlinks it."""
    tuning: Tuning
    """The settings of the group, which may change while the process is in it."""
    events: EventOutlet
    outlet: ControlOutlet
    """Takes timers, and messages to the same dissemination at other members of the group."""
    groups: OwnGroups
    rng: Random
    liveness: Liveness
    """Watches the peers that the dissemination itself keeps, if it keeps any."""
    repair: Repairs | None = None
    """The repair of this group; None if its events are not repaired."""

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self.outlet.me

    @property
    def parameters(self) -> CommunitySettings:
        """The settings of the group as they are now."""
        return self.tuning.settings


class Sent(msgspec.Struct, frozen=True, gc=False):  # a Struct, for one is made for every event
    """To how many processes `Dissemination.disseminate` has sent an event."""

    peers: int = 0
    """Members of the group, or of other groups of the protocol."""
    super_processes: int = 0
    """Members of super-communities; 0 with protocols that do not link groups."""


class Dissemination(ABC):
    """Spreads the events of one group of one process; the node gives it every event once.

    Events come in batches. In a group that is not batched (`camcast.doors.protocol.Group`) each
    batch has one event.

    A dissemination is made before the process is a member of the group, and any input may come
    from then on, before `start`, too. Inputs carry the time `now`, in seconds of a clock that
    never goes back.
    """

    decoder: Decoder[Any] | None = None
    """Decodes the messages that `receive` takes. With None, the node counts them as stray."""
    hears_duplicates: bool = False
    """Whether the node calls `duplicate`. Most copies that arrive are duplicates, so only a
    dissemination that needs them should set this."""
    sends_later: bool = False
    """Whether copies of a published event leave later than `disseminate`, from timers or by pull.

    The receipt of the event then says so (`Receipt.later`), and counts what has left by then. In
    `leave`, such a dissemination gives what nobody has yet to a member."""
    flags_busy: bool = False
    """Whether the publisher marks the batches of a busy stream with the flag `batches.TREE`.

    Then `duplicate` hears of these alone. With `CommunitySettings.spread` ``"tree"`` every stream
    counts as busy."""

    def start(self, now: float) -> None:  # noqa: B027  # most have nothing to begin with
        """Learn that the process has become a member of the group; called once."""

    def leave(self, now: float) -> None:  # noqa: B027  # most have nothing to hand over
        """Take leave of the other members: this process leaves the group. Nothing follows."""

    @abstractmethod
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """Spread a batch that is new to this group.

        `source` is the process that sent the copy; None if this process publishes the batch or
        accepts it from another of its groups. Copies that the dissemination sends later, from a
        timer, are not counted in the answer.
        """

    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """Spread batches that came one after the other in one frame, each from its source.

        Processes that share an event loop share frames, so the sources may differ. Called only in
        batched groups. By default each batch is given to `disseminate`.
        """
        for batch, source in zip(batches, sources, strict=True):
            self.disseminate(batch, now, source)

    def repaired(self, batch: Batch, now: float, source: PeerId) -> None:  # noqa: B027  # most have nothing above
        """Note a batch that repair asked `source` for, in place of `disseminate`.

        The dissemination does not spread it: repair announces it to the neighbours. Called only in
        batched groups.
        """

    def copies_now(self, known: int) -> int:
        """Return how many of the `known` peers in the topic table get a published event at once.

        Called only in batched groups, for receipts: an event that is published there leaves at the
        end of the instant, after its receipt was returned. By default all.
        """
        return known

    def first_hop(self, peers: Iterable[Contact]) -> Iterable[Contact]:
        """Return the members of the group to which this process may send what it publishes.

        `publish` waits for room in the pipes to these. By default all `peers` of the topic table.
        """
        return peers

    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:  # noqa: B027  # few ask
        """Note that `source` sent another copy of a batch of which every event is known.

        `event_id` is the id of the batch's first event. Called once a copy, only if
        `hears_duplicates`, and not for copies that repair asked for. `source` need not be a
        neighbour, since copies also climb from subtopics. The node has read no more than the
        copy's head, so the copy may be forged, or too old for its events to be remembered.
        """

    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:  # noqa: B027  # most do not mind
        """Note that a peer has entered the topic table (`there`) or left it.

        The node calls this for each change in order, after the membership has taken its input, so
        the table may be ahead of the change. Changes also come while the process leaves. A new
        address of a known peer is no change.
        """

    def receive(self, source: Contact, message: Any, now: float) -> None:  # noqa: B027  # not called without a decoder
        """Take a message from the same dissemination at another process.

        The decoder has checked its types and nothing else: clamp every number, bound every list.
        Raise `MalformedError` for a message that no honest process sends: the node then counts
        and drops the message.
        """

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:  # noqa: B027  # not called without timers
        """Take a timer that was set by ``outlet.wake(seconds, *name)``.

        Timers cannot be cancelled. None comes after the process has left the group.
        """
