"""One process of a membership alone: what it says to whom when it is told something."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Generic, TypeVar

from camcast.doors.membership import Membership, MembershipContext
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind, control_end, decode_control
from tests.answered_liveness import AnsweredLiveness

ME = 1
KeptT = TypeVar("KeptT", bound=Membership)


def process(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), f"tcp://10.0.0.{number}:7000")


def number_of(peer: PeerId) -> int:
    return int.from_bytes(peer)


class AskedProcess(Generic[KeptT]):
    """Process 1, which has founded its community."""

    def __init__(self, keeper: Callable[[MembershipContext, Any], KeptT], options: Any) -> None:
        topic = Topic.parse(".a")
        self._outbox = Outbox()
        outlet = ControlOutlet(self._outbox, process(ME), Kind.MEMBERSHIP, topic.group)
        self.liveness = AnsweredLiveness(outlet, Random(1), lambda *_: True)
        self.part = self.liveness.part(Kind.MEMBERSHIP, topic.group)
        self.context = MembershipContext(process(ME), topic, Random(1), outlet, self.part)
        self.membership = keeper(self.context, options)
        self.membership.join((), 0.0)

    @property
    def table(self) -> list[int]:
        return sorted(number_of(contact.peer) for contact in self.membership.peers())

    @property
    def watched(self) -> list[int]:
        return sorted(map(number_of, self.liveness.entries))

    def receive(self, source: int, message: Message, now: float = 0.0) -> None:
        self.membership.receive(process(source), message, now)

    def said(self) -> list[tuple[int, Message]]:
        """Return what was said to whom since the last time."""
        return [(number_of(contact.peer), message) for contact, message in self.said_to()]

    def said_to(self) -> list[tuple[Contact, Message]]:
        """Return what was said since the last time, and where."""
        told: list[tuple[Contact, Message]] = []
        for contacts, record, _, _ in self._outbox.sends:
            body = decode_control(record, 0, control_end(record, 0)).body
            message = self.membership.decoder.decode(body)
            told += [(contact, message) for contact in contacts]
        self._outbox.sends.clear()
        return told
