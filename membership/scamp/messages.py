"""The messages of SCAMP; `membership.scamp` has the theory of operation."""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message


class Subscribe(Message, tag=1, frozen=True):
    """From the newcomer, passed on for it: make me a member. -1 steps: not yet decided."""

    steps: int
    walk: int
    """The random name of this walk; so for `Copy` and `Renew`, which is a walk of one step."""


class Copy(Message, tag=2, frozen=True):
    """A copy of a subscription on its walk, sent on the subscriber's behalf."""

    ttl: int
    walk: int


class Welcome(Message, tag=3, frozen=True):
    """From the contact: you are a member, and I am your view."""

    sample: bytes


class Kept(Message, tag=4, frozen=True):
    """I hold an arc to you from now on."""


class Renew(Message, tag=5, frozen=True):
    """Send this many copies of my subscription."""

    copies: int
    walk: int


class Replace(Message, tag=6, frozen=True):
    """I leave: hold an arc to this process instead."""

    by: Contact


class Drop(Message, tag=7, frozen=True):
    """Give up your arc to me; with `left`, because I leave the community and hold none myself."""

    left: bool


class Heartbeat(Message, tag=9, frozen=True):
    """Along an arc: I live and hold you with this weight; I sponsor so many, you or not."""

    weight: float
    sponsored: int
    sponsoring: bool
    sample: bytes


class Echo(Message, tag=10, frozen=True):
    """The answer to a heartbeat: I live; the arc's weight among my holders'; be my sponsor."""

    weight: float
    sample: bytes
    sponsor: bool


class Probe(Message, tag=11, frozen=True):
    """To a cold peer: perhaps you are there after all. Or, not cold, to one just found."""

    sample: bytes
    cold: bool


DECODER: Final[Decoder[Message]] = Decoder(
    Subscribe | Copy | Welcome | Kept | Renew | Replace | Drop | Heartbeat | Echo | Probe
)
