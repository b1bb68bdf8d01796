"""What the parts of one community's repair in one process share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import DisseminationContext
from camcast.engine.known_streams import KnownStreams
from camcast.engine.repair.agreement import Agreement
from camcast.engine.repair.changes import Changes
from camcast.engine.store import Store
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet

NEIGHBOURS_MAX: Final = 256  # chosen: ten topic tables' worth
# chosen: the age of an event leaves out its ways, of 0.3 s each at most as a rule, of three hops
JOINING_SECONDS: Final = 1.0
# chosen: who asks may have joined between two hops, and is older when its question arrives: by so
# much longer than its membership it is taken for a member
OLDER_SECONDS: Final = 0.5


@define(eq=False)
class Neighbour:
    """What is remembered of another process that repairs with this one."""

    member_since: float = -inf
    """When it became a member, by this process's clock."""
    heard: float = -inf
    """When it last said how long it had been a member."""
    agreement: Agreement = field(factory=Agreement)
    second: float = -inf
    """When the second began in which `answered` bytes went to it."""
    answered: int = 0

    def hear_member(self, seconds: float, now: float) -> None:
        """Take for how long it says to have been a member.

        What was on its way for long makes it seem younger than it is, so that it would not be told
        of what is from its time: the earliest time counts. But who has become a member since it
        was last heard is a member anew.
        """
        # As generously as the neighbour itself counts: it may have joined between two hops.
        since = now - seconds - OLDER_SECONDS
        if since < self.member_since or since > self.heard:
            self.member_since = since
        self.heard = now


@define(eq=False)
class Shared:
    """The surroundings of repair in one community, and what more than one of its parts changes."""

    context: DisseminationContext
    streams: KnownStreams
    store: Store
    outlet: ControlOutlet
    changes: Changes
    member_since: float = inf
    """When this process became a member."""
    _neighbours: dict[PeerId, Neighbour] = field(factory=dict)

    @property
    def retention(self) -> float:
        """For how many seconds after its publication a body is kept."""
        return self.context.parameters.retention_seconds

    def seconds_a_member(self, now: float) -> float:
        """Return for how long this process has been a member; 0 before."""
        return max(0.0, now - self.member_since)

    def sample(self, contacts: Sequence[Contact], wanted: int) -> list[Contact]:
        """Draw so many of the contacts, or all if there are fewer."""
        return self.context.rng.sample(contacts, min(wanted, len(contacts)))

    def neighbour(self, peer: PeerId) -> Neighbour:
        """Return what is remembered of a peer; who was met first is forgotten for a new one."""
        neighbour = self._neighbours.get(peer)
        if neighbour is None:
            if len(self._neighbours) >= NEIGHBOURS_MAX:
                del self._neighbours[next(iter(self._neighbours))]
            neighbour = self._neighbours[peer] = Neighbour()
        return neighbour

    def heard_after(self, when: float) -> Iterator[StreamId]:
        """Yield the streams of which something new came after a time, the newest first."""
        for stream in self.changes.newest_first():
            known = self.streams.known.get(stream)
            if known is not None and known.heard >= when:
                yield stream
