"""Events and their identifiers."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic


class EventId(NamedTuple):
    """Names an event by its publisher, the publisher's epoch, and a number within that epoch.

    The epoch is the publisher's start time in milliseconds, so that a process that was
    restarted does not repeat earlier identifiers (TRUST, identity and format).
    """

    publisher: PeerId
    epoch: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.publisher.hex()}-{self.epoch}-{self.sequence}"


class Event(msgspec.Struct, frozen=True):  # a Struct, because one is made for every first copy
    """An event on its way through the engine: the paper's E_j^t (2.1, 5.3.2.1).

    `hops` counts the messages that brought it here (0 at the publisher), the paper's round
    number. `upward_probability` overrides p_sel for this event (setUpwardProb). `typed`
    says that the payload is a typed event (`camcast.typed`).
    """

    id: EventId
    topic: Topic
    payload: bytes
    hops: int = 0
    upward_probability: float | None = None
    typed: bool = False


class Receipt(msgspec.Struct, frozen=True):
    """What is known when publish() returns: the event has left for this many peers.

    `peers` counts the members of the publisher's own community, `links` the upward
    messages to super-communities. Both are copies handed to the transport, which is best
    effort: nobody has confirmed anything. A process alone in its community gets zeros, and
    its event reaches nobody.
    """

    id: EventId
    peers: int
    links: int
