"""What a protocol is: which groups a subscriber is in, and how events spread in each.

CAMCAST is one of the systems that this library runs; the others are those that the papers
compare it with. All run on the same node, membership, wire format and drivers, so that a
comparison is fair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    """Its name; CAMCAST's communities are named after the topic that they are interested in."""
    dissemination: Callable[[DisseminationContext], Dissemination]
    batched: bool = False
    """Whether events that leave or arrive together travel as one batch, share the draw of peers,
    and are forwarded together: each event reaches a process with the same probability as by itself,
    but events of a batch reach it all or none. Not for protocols that treat each event by its
    content, which get batches of one."""
    transit: bool = False
    """Whether events only pass through, and are delivered in another group of this process."""


class Protocol(ABC):
    """A system for publish/subscribe: an attrs class, whose fields are the options of it.

    It is made once a process, and has no state: what changes is in its disseminations.
    """

    name: ClassVar[str]
    """The name of its entry point in ``camcast.protocols``."""
    source: ClassVar[str]
    """The paper and section that describe it."""
    membership: ClassVar[str | None] = None
    """The only backend that it works with, because its tables are part of it; None: any."""
    linked: ClassVar[bool] = False
    """Whether its groups are linked to those of super-topics (3.3)."""
    parasitic: ClassVar[bool] = False
    """Whether events reach processes that are not interested: they are counted, and dropped
    instead of delivered."""
    selective: ClassVar[bool] = False
    """Whether processes also tell each other which attributes they want, and send events by that:
    an event whose attributes a process does not want is then a parasite there. With protocols that
    are not selective, the topic alone decides."""

    def membership_options(self) -> Mapping[str, object]:
        """Return the options that this protocol sets for its membership; most set none.

        A user cannot set these through the membership's options as well.
        """
        return {}

    @abstractmethod
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the groups that a process interested in a topic is in, its home first.

        The home is where the process's own events of that topic start; there is at least that.
        `topics` are all that exist, as far as this process has been told (`Settings.topics`). The
        answer depends on the arguments alone: other processes must find the same groups.
        """
