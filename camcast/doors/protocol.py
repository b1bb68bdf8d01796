"""The door of protocols: which groups a subscriber is in, and how events spread in each.

CAMCAST is one of the protocols that this library runs; the others are those that the papers compare
with it. All run on the same node, membership, wire format and drivers, so that a comparison is
fair.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from attrs import frozen

from camcast.doors.dissemination import Dissemination, DisseminationContext
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic


@frozen
class Group:
    """A group of processes that a subscriber takes part in, with a membership of its own."""

    topic: Topic
    """The name of the group. CAMCAST's groups are named after the topic of the community."""
    dissemination: Callable[[DisseminationContext], Dissemination]
    """Makes the group's dissemination, once each time the process joins the group."""
    batched: bool = False
    """Whether the events that a process publishes in one instant travel as one batch, with one draw
    of peers. Each event then reaches a process with the same probability as by itself, but the
    events of a batch reach it all or none. False for protocols that treat each event by its
    content: these get batches of one event."""
    transit: bool = False
    """Whether this group only passes events on, and another group of the process delivers them."""


class Protocol(ABC):
    """A system for publish/subscribe: an attrs class, whose fields are its options.

    One instance serves a process. It has no state; the state is in its disseminations.
    """

    name: ClassVar[str]
    """The name of its entry point in ``camcast.protocols``."""
    source: ClassVar[str]
    """The paper and section that describe it."""
    membership: ClassVar[str | None] = None
    """The only membership backend that the protocol works with; None if it works with any."""
    linked: ClassVar[bool] = False
    """Whether groups are linked to those of super-topics (000, 3.3)."""
    parasitic: ClassVar[bool] = False
    """Whether events reach processes that are not interested. Such a process counts the event as a
    parasite and does not deliver it."""
    selective: ClassVar[bool] = False
    """Whether processes tell each other which attributes they want, and send events accordingly: an
    event whose attributes a process does not want is then a parasite there. With a protocol that is
    not selective, the topic alone decides."""

    efforts: ClassVar[Sequence[Mapping[str, float]]] = ({},)
    """Settings that make the protocol more reliable and more costly, the least first.

    A name is that of an option of the protocol, or else of a parameter of communities
    (`camcast.vocabulary.parameters`). ``camcast compare-protocols`` takes the least that reaches a
    target; a protocol with one effort runs as it is."""

    def membership_options(self) -> Mapping[str, object]:
        """Return the options that this protocol sets for its membership; most set none.

        A user cannot set the same options through the membership.
        """
        return {}

    def spread(self, context: DisseminationContext) -> Dissemination:
        """Make the dissemination of one group, for protocols that leave `groups` as it is."""
        raise NotImplementedError(f"{type(self).__name__} overrides neither `spread` nor `groups`")

    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the groups that the process `me` joins for its interest in a topic, home first.

        The home is the group in which the process's own events of that topic start. `topics` are
        all topics that exist, as far as this process was configured with them (`Settings.topics`).
        The answer depends on the arguments alone, so that all processes compute the same groups. By
        default they are a group for the topic itself and one for each subtopic, in each of which
        events spread as `spread` says.
        """
        below = (topic for topic in topics if topic != interest and interest.includes(topic))
        return tuple(Group(topic, self.spread) for topic in (interest, *below))
