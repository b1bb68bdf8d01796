"""CAMCAST: gossip in the community, and a few upward messages (000, 3.5, Figures 7 and 8).

A process that publishes an event, or receives it for the first time, acts once: it sends the event
upward (`camcast.protocols.upward`), and spreads it inside its community, as the parameter `spread`
says (`camcast.protocols.spread`).

Reading: the figures' loop sends one message more than "ln N_t + c_t"; the text is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar

from attrs import frozen

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.protocol import Group, Protocol
from camcast.protocols.spread import make_spread
from camcast.protocols.upward import Upward
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic


class Camcast(Dissemination):
    """An upward part, and one that spreads events inside the community."""

    def __init__(
        self,
        context: DisseminationContext,
        spread: Callable[[DisseminationContext], Dissemination] = make_spread,
    ) -> None:
        self._upward = Upward(context)
        self._spread = spread(context)
        self.decoder = self._spread.decoder
        self.hears_duplicates = self._spread.hears_duplicates
        self.flags_busy = self._spread.flags_busy

    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """Execute DISSEMINATE (Figure 8) for a batch that is new to this process."""
        super_processes = self._upward.climb(batch, now)
        sent = self._spread.disseminate(batch, now, source)
        return Sent(sent.peers, super_processes) if super_processes else sent

    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """See `Dissemination`; each batch climbs by a draw of its own."""
        if self._upward.leads_somewhere:
            for batch in batches:
                self._upward.climb(batch, now)
        self._spread.disseminate_together(batches, now, sources)

    def repaired(self, batch: Batch, now: float, source: PeerId) -> None:
        """See `Dissemination`; this process's own super-communities accept the batch."""
        self._upward.accept_above(batch, now)
        self._spread.repaired(batch, now, source)

    def reach(self, known: int) -> int:
        """See `Dissemination`; this and all that follows is for the spread inside the community."""
        return self._spread.reach(known)

    def first_hop(self, peers: Iterable[Contact]) -> Iterable[Contact]:
        """See `Dissemination`."""
        return self._spread.first_hop(peers)

    def start(self, now: float) -> None:
        """See `Dissemination`."""
        self._spread.start(now)

    def leave(self, now: float) -> None:
        """See `Dissemination`."""
        self._spread.leave(now)

    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:
        """See `Dissemination`."""
        self._spread.duplicate(event_id, source, now)

    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:
        """See `Dissemination`."""
        self._spread.neighbour_changed(contact, there, now)

    def receive(self, source: Contact, message: Any, now: float) -> None:
        """See `Dissemination`."""
        self._spread.receive(source, message, now)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Dissemination`."""
        self._spread.wake(name, now)


@frozen
class CamcastProtocol(Protocol):
    """One community a topic, linked to that of the super-topic."""

    name: ClassVar[str] = "camcast"
    source: ClassVar[str] = "000, sections 2 to 6"
    linked: ClassVar[bool] = True

    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the topic's community."""
        return (Group(interest, Camcast, batched=True),)
