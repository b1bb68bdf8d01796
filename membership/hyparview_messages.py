"""The messages of HyParView; `membership.hyparview` has the theory of operation."""

from __future__ import annotations

from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message

JOIN: Final = "join"
"""What a newcomer wants: neighbours."""


class Join(Message, tag=1, frozen=True):
    """From a newcomer: be my neighbour, and find me others."""

    mandate: ClassVar[str] = JOIN


class ForwardJoin(Message, tag=2, frozen=True):
    """On the newcomer's behalf, so many steps before the end of a walk."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = JOIN
    steps: int
    via: bytes
    """Who passes it on, to whom it does not go back."""


class Neighbor(Message, tag=3, frozen=True):
    """Be my neighbour; with `high` priority in any case, else if you have room."""

    high: bool
    sample: bytes
    """Of the size estimate."""


class Accepted(Message, tag=4, frozen=True):
    """To `Join` or `Neighbor`: you are my neighbour; of another community, find me others."""

    mandate: ClassVar[str] = JOIN
    sample: bytes


class Refused(Message, tag=5, frozen=True):
    """To `Neighbor` of low priority: I have no room."""


class Disconnect(Message, tag=6, frozen=True):
    """You are not my neighbour, or no more; with `left`, because I have left the community."""

    left: bool


class Shuffle(Message, tag=7, frozen=True):
    """On behalf of who began it, so many steps before the end of a walk: some that it knows."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "shuffle"  # not what it knows, of which each passes on what it knows
    steps: int
    via: bytes
    """As in `ForwardJoin`."""
    contacts: tuple[Contact, ...]


class ShuffleReply(Message, tag=8, frozen=True):
    """From where the walk ended: some of my passive view."""

    contacts: tuple[Contact, ...]


class Holding(Message, tag=9, frozen=True):
    """Along with a heartbeat: you are my neighbour."""

    sample: bytes


class Meet(Message, tag=10, frozen=True):
    """Be my neighbour, and find me others, if this sample is of one that you have never met."""

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
