"""Participation: what a process holds for one group, such as a community, that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import Dissemination
from camcast.doors.membership import Membership
from camcast.engine.links import SuperLinks
from camcast.engine.seen import Seen
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.events import Event
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

RETRY_SECONDS: Final = 1.0  # chosen: a restarted gateway is found again within seconds


@define(eq=False)
class Participation:
    """One group that this process takes part in (paper 000, 2.1: it is "interested")."""

    topic: Topic
    """The group's; in CAMCAST that of a community."""
    interest: ProcessInterest
    """What is wanted through it; in CAMCAST something of its own topic alone."""
    attributes: EventAttributes
    """Of the events that this process has to do with."""
    super_topics: tuple[Topic, ...]
    parameters: Parameters
    membership: Membership
    links: list[SuperLinks]
    dissemination: Dissemination
    transit: bool
    """Whether events pass through, and are delivered in another group."""
    parasitic: bool
    """Whether events may come that do not interest this process."""
    selective: bool
    """Whether it also depends on their attributes which do."""
    serial: int
    """Tells its timers from those of an earlier participation in the same community."""
    seen: Seen = field(factory=Seen)
    started: bool = False
    """Whether the discovery has answered, so that the membership has begun to join."""
    leaving: bool = False
    unreachable: tuple[str, ...] = ()
    """The gateways that were asked when not one of them answered; empty once one does."""
    retry_seconds: float = RETRY_SECONDS

    @property
    def subscribed(self) -> Topic:
        """The first topic subscribed to, under which is traced what happens in the group."""
        return self.interest.topics[0]

    def receivers(self, event: Event) -> Sequence[Topic]:
        """Return the topics whose subscribers get the event; none for a parasite.

        They have the last word by their own filters, which see the value that they are given.
        """
        topics = self.interest.topics
        if not self.parasitic:
            return topics
        if self.selective and not self.attributes.match(self.interest.whole, event):
            return ()
        return [topic for topic in topics if topic.includes(event.topic)]

    @property
    def joined(self) -> bool:
        """Whether the process is a member by now."""
        return self.membership.joined and not self.leaving

    def live_links(self) -> int:
        """Count the live super-processes in the super-topic tables, the nearest level only."""
        return sum(len(link.nearest()[1]) for link in self.links)
