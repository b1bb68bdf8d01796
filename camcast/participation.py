"""Participation: what a process holds for one group, such as a community, that it is in."""

from __future__ import annotations

from typing import Final

from attrs import define, field

from camcast.doors import Membership
from camcast.links import SuperLinks
from camcast.parameters import Parameters
from camcast.protocols.dissemination import Dissemination
from camcast.seen import Seen
from camcast.topics import Topic

RETRY_SECONDS: Final = 1.0  # chosen: a restarted gateway is found again within seconds


@define(eq=False)
class Participation:
    """One group that this process takes part in (paper 000, 2.1: it is "interested")."""

    topic: Topic
    """The group's; in CAMCAST that of a community."""
    interests: list[Topic]
    """What was subscribed to through it; in CAMCAST its own topic alone."""
    super_topics: tuple[Topic, ...]
    parameters: Parameters
    membership: Membership
    links: list[SuperLinks]
    dissemination: Dissemination
    transit: bool
    """Whether events pass through, and are delivered in another group."""
    parasitic: bool
    """Whether events may come that do not interest this process."""
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
        return self.interests[0]

    def wants(self, topic: Topic) -> bool:
        """Say whether an event of this topic interests the process."""
        return not self.parasitic or any(mine.includes(topic) for mine in self.interests)

    @property
    def joined(self) -> bool:
        """Whether the process is a member by now."""
        return self.membership.joined and not self.leaving

    def live_links(self) -> int:
        """Count the live super-processes in the super-topic tables, the nearest level only."""
        return sum(len(link.nearest()[1]) for link in self.links)
