"""The messages of SCAMP; `membership.scamp.scamp` has the theory of operation."""

from __future__ import annotations

from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message

ARCS: Final = "arcs"
"""The mandate of a subscriber: other processes may ask for arcs in its name."""


class Subscribe(Message, tag=1, frozen=True):
    """A newcomer's subscription on its first walk, which has `steps` more steps to go.

    The newcomer sends -1 steps, and its contact decides how many there are.
    """

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = ARCS
    steps: int
    walk: int
    """A random name, by which a duplicate is recognised; as in `Copy` and `Renew`."""


class Copy(Message, tag=2, frozen=True):
    """A copy of a subscription on its walk, which ends after `ttl` more steps at the latest."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = ARCS
    ttl: int
    walk: int


class Welcome(Message, tag=3, frozen=True):
    """The contact has taken a newcomer in; the newcomer's view begins with the contact."""

    sample: bytes


class Kept(Message, tag=4, frozen=True):
    """The sender holds an arc to the receiver from now on."""


class Renew(Message, tag=5, frozen=True):
    """The sender asks the receiver to send this many copies of its subscription."""

    mandate: ClassVar[str] = ARCS
    copies: int
    walk: int


class Replace(Message, tag=6, frozen=True):
    """The sender leaves, and asks the receiver to hold an arc to another process instead."""

    by: Contact


class Drop(Message, tag=7, frozen=True):
    """The sender asks the receiver to drop its arc to it; with `left`, because it has left."""

    left: bool


class Arc(Message, tag=8, frozen=True):
    """The sender's knowledge of the arcs between the two, beside heartbeats and answers."""

    weight: float
    """The weight of the sender's arc to the receiver among the sender's arcs; 0 without one."""
    share: float
    """The weight of the receiver's arc to the sender among the sender's in-view; 0 without one."""
    sponsored: int
    """How many processes the sender sponsors."""
    sponsoring: bool
    """Whether the sender sponsors the receiver."""
    sponsor: bool
    """Whether the sender wants the receiver as its sponsor."""
    alone: bool
    """Whether the receiver is the only holder of the sender, and must therefore sponsor it."""
    sample: bytes
    """The sample of the size estimate; empty except to one random member every few periods."""
    answer: bool
    """Whether the sender wants the receiver's sample in return."""


class Probe(Message, tag=9, frozen=True):
    """Asks a process whether it is there: a `cold` one that fell silent, or one just discovered."""

    sample: bytes
    cold: bool


class Drawn(Message, tag=10, frozen=True):
    """The sender has drawn the receiver, and asks for an `Arc` by which it knows that it holds it.

    The receiver counts the sender as a holder, in place of another one if it has enough.
    """


DECODER: Final[Decoder[Message]] = Decoder(
    Subscribe | Copy | Welcome | Kept | Renew | Replace | Drop | Arc | Probe | Drawn
)
