"""What a dissemination protocol is: how the events of one community spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Protocol

from attrs import frozen

from camcast.doors import Membership
from camcast.events import Event
from camcast.identity import Contact
from camcast.links import SuperLinks
from camcast.parameters import Parameters
from camcast.topics import Topic


class Courier(Protocol):
    """Carries copies of events for a protocol; the node traces and encodes them."""

    def send(self, event: Event, peers: Sequence[Contact]) -> None:
        """Send a copy to members of the protocol's own community."""

    def send_upward(self, event: Event, topic: Topic, peers: Sequence[Contact]) -> None:
        """Send a copy to members of the super-community of `topic`."""

    def hand_over(self, event: Event, super_topic: Topic, nearest: Topic) -> bool:
        """Pass the event into this very process's part in a super-community, if it has one.

        That is the first from `super_topic` upward, but none beyond `nearest`, the level at
        which other super-processes are known. False if there is none.
        """


@frozen
class Neighbourhood:
    """What a protocol works with in one community of one process."""

    membership: Membership
    links: Sequence[SuperLinks]
    parameters: Parameters
    courier: Courier
    rng: Random


class Dissemination(ABC):
    """Spreads the events of one community; sees every event of it once."""

    @abstractmethod
    def disseminate(self, event: Event, now: float) -> tuple[int, int]:
        """Spread an event that was just published here or arrived for the first time.

        Returns how many peers of the community and how many super-processes it left for.
        """
