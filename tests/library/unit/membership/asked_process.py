"""One process of a membership alone: what it says to whom when it is told something."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Generic, TypeVar

from camcast.doors.membership import Membership, MembershipContext
from camcast.testing.lone_process import LoneProcess, contact, number_of
from camcast.vocabulary.identity import placeholder
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind

ME = 1
TOPIC = Topic.parse(".a")
KeptT = TypeVar("KeptT", bound=Membership)


class AskedProcess(LoneProcess, Generic[KeptT]):
    """A process whose membership has joined nobody yet; nobody can dial it if it is `hidden`."""

    def __init__(
        self,
        keeper: Callable[[MembershipContext, Any], KeptT],
        options: Any,
        *,
        topic: Topic = TOPIC,
        number: int = ME,
        hidden: bool = False,
    ) -> None:
        me = contact(number)
        super().__init__(placeholder(me.peer) if hidden else me)
        self.liveness = self.answered_liveness(topic.group)
        self.part = self.liveness.part(Kind.MEMBERSHIP, topic.group)
        outlet = self.outlet(Kind.MEMBERSHIP, topic.group)
        self.context = MembershipContext(topic, Random(1), outlet, self.part)
        self.membership = keeper(self.context, options)
        self.decoder = self.membership.decoder

    def found(self) -> None:
        """Found the community."""
        self.membership.join((), 0.0)

    @property
    def table(self) -> list[int]:
        return sorted(number_of(contact.peer) for contact in self.membership.peers())

    @property
    def watched(self) -> list[int]:
        return sorted(map(number_of, self.liveness.entries))

    def receive(self, source: int, message: Message, now: float = 0.0) -> None:
        self.membership.receive(contact(source), message, now)
