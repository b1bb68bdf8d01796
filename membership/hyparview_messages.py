"""The messages of HyParView; `membership.hyparview` has the theory of operation."""

from __future__ import annotations

from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message

JOIN: Final = "join"
"""The mandate of a newcomer: other processes may ask for neighbours in its name."""


class Join(Message, tag=1, frozen=True):
    """A newcomer asks its contact to be its neighbour and to find it others."""

    mandate: ClassVar[str] = JOIN


class ForwardJoin(Message, tag=2, frozen=True):
    """A newcomer's walk, which has `steps` more steps to go."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = JOIN
    steps: int
    via: bytes
    """The process that passes the walk on; the walk does not go back there."""


class Neighbor(Message, tag=3, frozen=True):
    """The sender asks the receiver to be its neighbour; with `high` priority even without room."""

    high: bool
    sample: bytes
    """The sample of the size estimate, as in all these messages."""


class Accepted(Message, tag=4, frozen=True):
    """The answer to `Join`, `Neighbor` or `Meet`: the receiver is the sender's neighbour.

    If the two have never met, the receiver also finds the sender other neighbours.
    """

    mandate: ClassVar[str] = JOIN
    sample: bytes


class Refused(Message, tag=5, frozen=True):
    """The answer to `Neighbor` of low priority: the sender has no room."""


class Disconnect(Message, tag=6, frozen=True):
    """The receiver is no neighbour of the sender; with `left`, the sender leaves the community."""

    left: bool


class Shuffle(Message, tag=7, frozen=True):
    """Contacts that its first sender knows, on a walk that has `steps` more steps to go."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "shuffle"  # without `contacts`: each step passes on those it knows
    steps: int
    via: bytes
    """As in `ForwardJoin`."""
    contacts: tuple[Contact, ...]


class ShuffleReply(Message, tag=8, frozen=True):
    """The answer from the end of a shuffle's walk: some of the sender's passive view."""

    contacts: tuple[Contact, ...]


class Holding(Message, tag=9, frozen=True):
    """The receiver is the sender's neighbour; goes along with heartbeats."""

    sample: bytes


class Meet(Message, tag=10, frozen=True):
    """The sender asks to be taken in like a newcomer if the receiver never met its community."""

    mandate: ClassVar[str] = JOIN
    sample: bytes


DECODER: Final[Decoder[Message]] = Decoder(
    Join
    | ForwardJoin
    | Neighbor
    | Accepted
    | Refused
    | Disconnect
    | Shuffle
    | ShuffleReply
    | Holding
    | Meet
)
