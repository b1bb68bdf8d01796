"""The messages between the liveness services of two processes (`camcast.engine.liveness`)."""

from __future__ import annotations

from typing import Final, TypeVar

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message

T = TypeVar("T")

# chosen: half a frame's 32 KiB; the tallies have the other half. Processes that share more topics
# than have room (240 with samples of few members, 24 with full ones) get round to them in turn.
PIGGYBACKED_BYTES_MAX: Final = 1 << 14
PIGGYBACKED_MAX: Final = 512  # chosen: what has room, when each is a group and a word or two

Piggybacked = tuple[int, bytes, bytes]
"""The kind and the group of a part, and a message of it, encoded, or nothing."""

GroupTally = tuple[bytes, bytes]
"""A group and the tally of its events at the sender (`camcast.engine.repair.told`)."""


class Heartbeat(Message, tag=1, frozen=True):
    """Are you alive, and in the groups of these piggybacked messages? I am.

    The `tallies` count what was published before the `second` since 1970.
    """

    piggybacked: tuple[Piggybacked, ...]
    tallies: tuple[GroupTally, ...] = ()
    second: int = 0


class Answer(Message, tag=2, frozen=True):
    """I am alive; and not in the groups of the parts that are `gone`, given by kind and group."""

    piggybacked: tuple[Piggybacked, ...]
    gone: tuple[tuple[int, bytes], ...]
    tallies: tuple[GroupTally, ...] = ()
    second: int = 0


class Probe(Message, tag=3, frozen=True):
    """Find out within so many seconds whether this process is alive, and tell me."""

    contact: Contact
    seconds: float


class Verdict(Message, tag=4, frozen=True):
    """The answer to `Probe`: this process is alive, or I cannot reach it either."""

    peer: PeerId
    alive: bool


class Question(Message, tag=5, frozen=True):
    """Are you at this address, and in this group, if any is named? Then repeat the nonce."""

    group: bytes
    nonce: bytes


class Here(Message, tag=6, frozen=True):
    """The answer to `Question`: I am."""

    nonce: bytes


class Attach(Message, tag=7, frozen=True):
    """To the process `peer`, which nobody can dial: connect to the process `by`."""

    peer: PeerId
    by: Contact


class Attached(Message, tag=8, frozen=True):
    """The process `peer`, which nobody can dial, is connected to the process `by`."""

    peer: PeerId
    by: Contact


DECODER: Final[Decoder[Message]] = Decoder(
    Heartbeat | Answer | Probe | Verdict | Question | Here | Attach | Attached
)


def page_of(items: tuple[T, ...], number: int) -> tuple[T, ...]:
    """Return the at most `PIGGYBACKED_MAX` items that the message of this number carries.

    Of more items, messages whose numbers grow by up to `PIGGYBACKED_MAX` carry all in turn.
    """
    if len(items) <= PIGGYBACKED_MAX:
        return items
    first = number % len(items)
    return (items[first:] + items[:first])[:PIGGYBACKED_MAX]
