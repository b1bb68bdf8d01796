"""The messages of SCAMP; `membership.scamp` has the theory of operation."""

from __future__ import annotations

from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message

ARCS: Final = "arcs"
"""What a subscriber wants: that others hold arcs to it."""


class Subscribe(Message, tag=1, frozen=True):
    """From the newcomer, passed on for it: make me a member. -1 steps: not yet decided."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = ARCS
    steps: int
    walk: int
    """The random name of this walk; so for `Copy` and `Renew`, which is a walk of one step."""


class Copy(Message, tag=2, frozen=True):
    """A copy of a subscription on its walk, sent on the subscriber's behalf."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = ARCS
    ttl: int
    walk: int


class Welcome(Message, tag=3, frozen=True):
    """From the contact: you are a member, and I am your view."""

    sample: bytes


class Kept(Message, tag=4, frozen=True):
    """I hold an arc to you from now on."""


class Renew(Message, tag=5, frozen=True):
    """Send this many copies of my subscription."""

    mandate: ClassVar[str] = ARCS
    copies: int
    walk: int


class Replace(Message, tag=6, frozen=True):
    """I leave: hold an arc to this process instead."""

    by: Contact


class Drop(Message, tag=7, frozen=True):
    """Give up your arc to me; with `left`, because I leave the community and hold none myself."""

    left: bool


class Arc(Message, tag=8, frozen=True):
    """Along with a heartbeat or its answer: what the sender knows of the arcs between the two."""

    weight: float
    """Of the sender's arc to the receiver, among the sender's arcs; 0 if there is none."""
    share: float
    """Of the receiver's arc to the sender, among the sender's holders; 0 if there is none."""
    sponsored: int
    """How many processes the sender sponsors."""
    sponsoring: bool
    """Whether the receiver is one of these."""
    sponsor: bool
    """Whether the receiver is to be the sender's sponsor."""
    alone: bool
    """Whether it is to be that since nobody else holds the sender."""
    sample: bytes
    """Of the size estimate; empty but for one random member of the view a period."""
    answer: bool
    """Whether the receiver's own sample is wanted back."""


class Probe(Message, tag=9, frozen=True):
    """To a cold peer: perhaps you are there after all. Or, not cold, to one just found."""

    sample: bytes
    cold: bool


DECODER: Final[Decoder[Message]] = Decoder(
    Subscribe | Copy | Welcome | Kept | Renew | Replace | Drop | Arc | Probe
)
