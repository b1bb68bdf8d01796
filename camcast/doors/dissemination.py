"""What a dissemination protocol is: how the events of one community spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from random import Random
from typing import Any, ClassVar, Protocol

from attrs import frozen

from camcast.doors.membership import Membership
from camcast.engine.links import SuperLinks
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import Outlet
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic


class Courier(Protocol):
    """Carries copies of events for a protocol; the node traces and encodes them."""

    def send(self, event: Event, peers: Sequence[Contact], group: Topic | None = None) -> None:
        """Send a copy to members of the protocol's own group, or of another that both are in."""

    def send_upward(self, event: Event, topic: Topic, peers: Sequence[Contact]) -> None:
        """Send a copy to members of the super-community of `topic`."""

    def hand_over(self, event: Event, super_topic: Topic, nearest: Topic) -> bool:
        """Pass the event into this very process's part in a super-community, if it has one.

        That is the first from `super_topic` upward, but none beyond `nearest`, the level at
        which other super-processes are known. False if there is none.
        """

    def membership(self, group: Topic) -> Membership | None:
        """Return this process's membership in another of its groups, once it has joined."""

    def pass_into(self, event: Event, group: Topic) -> None:
        """Let the event into another of this process's groups, if it is new there."""


@frozen
class Neighbourhood:
    """What a protocol works with in one group of one process."""

    me: Contact
    group: Topic
    interest: ProcessInterest
    """What this process wants through this group; changes as it subscribes."""
    attributes: EventAttributes
    """Of the events that this process has to do with."""
    membership: Membership
    links: Sequence[SuperLinks]
    parameters: Parameters
    courier: Courier
    outlet: Outlet
    """For timers, and for messages to the same protocol at other members of the group."""
    rng: Random


class Dissemination(ABC):
    """Spreads the events of one group of one process; sees every event of it once.

    A protocol that sends messages of its own sets `decoder` and overrides `receive`; one that
    sets timers overrides `wake`, and one that begins with either `start`.
    """

    decoder: ClassVar[Decoder[Any] | None] = None

    def start(self, now: float) -> None:  # noqa: B027  # most have nothing to begin with
        """Begin: this process has become a member of the group."""

    def receive(self, source: Contact, message: Any, now: float) -> None:
        """Take a message from the same protocol at another process."""
        raise AssertionError("a protocol without a decoder receives nothing")

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was asked for through the outlet."""
        raise AssertionError("a protocol that sets no timers is not woken")

    @abstractmethod
    def disseminate(
        self, event: Event, now: float, source: PeerId | None = None
    ) -> tuple[int, int]:
        """Spread an event that was just published here, or has come from `source` as new.

        Returns how many peers of the group and how many super-processes it left for.
        """
