"""Sponsors: one of the holders of each process always sends to it.

Infect and die misses a process when none of its holders happens to choose it, once in e^(fan-out)
times. Each process asks one of its holders to be its *sponsor*, which from then on always
includes the process in its fan-out; the rest of the fan-out stays random, and the number of copies
the same. A process is then missed only if its sponsor is missed, too (after the deterministic links
in S. Voulgaris, M. van Steen, "Hybrid dissemination", Middleware 2007). A process sponsors at most
`SPONSORED_MAX` others. A process that no other holds takes the place of the sponsored one whose arc
has the least weight, which then asks another holder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from attrs import define

from camcast.doors.liveness import Liveness
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.peers import PeerTable
from membership.scamp.messages import Arc

SPONSORED_MAX: Final = 3  # chosen: a process sponsors one other on average


@define
class Holder:
    """A process's knowledge of one that holds an arc to it."""

    contact: Contact
    heard: float
    """When the holder last said that it holds this process."""
    weight: float = 1.0
    told: float = 0.0
    """The share of the weight that the holder was told last."""
    room: bool = True
    """Whether the holder can sponsor one more process."""


class Sponsorship:
    """The processes that one process sponsors, pinned in its view, and its own sponsor.

    It reads the view, the weights of the arcs and the holders, and speaks through `Arc` messages.
    """

    def __init__(
        self,
        view: PeerTable,
        weights: Mapping[PeerId, float],
        holders: dict[PeerId, Holder],
        liveness: Liveness,
        rng: Random,
    ) -> None:
        self._view = view
        self._weights = weights
        self._in_view = holders
        self._liveness = liveness
        self._rng = rng
        self.sponsor: PeerId | None = None
        """The holder that was asked to be the sponsor of this process."""

    def asked(self, peer: PeerId, arc: Arc) -> None:
        """Sponsor a peer if its `Arc` asks for that and there is room, else release it."""
        before = self._view.is_pinned(peer)
        if arc.alone:
            self._make_room(peer)
        room = before or self._view.pinned < SPONSORED_MAX
        self._view.pin(peer, pinned=arc.sponsor and room)
        if not before == arc.sponsor == self._view.is_pinned(peer):
            self._liveness.tell(peer)

    def hear(self, peer: PeerId, arc: Arc) -> None:
        """Note from a holder's `Arc` whether it has room and whether it sponsors this process."""
        self._in_view[peer].room = arc.sponsoring or arc.sponsored < SPONSORED_MAX
        if peer == self.sponsor and not arc.sponsoring:
            self.sponsor = None  # the holder had no room
            self._liveness.tell(peer)
        self.choose([peer])

    def holder_gone(self) -> None:
        """Tell the sponsor if it is the only holder left (`Arc.alone`)."""
        if len(self._in_view) == 1 and self.sponsor in self._in_view:
            self._liveness.tell(self.sponsor)

    def choose(self, peers: Iterable[PeerId]) -> None:
        """If this process has no sponsor, ask one of these holders that has room.

        The request goes along with an answer to the holder's next heartbeat, or to the one that is
        being received: until a holder sponsors this process, events may miss it. The only holder is
        asked even if it has no room. If there are others, a holder that this process sponsors is
        not asked: the two would miss an event together.
        """
        if self.sponsor in self._in_view:
            return
        held = len(self._in_view)
        asked = [
            peer
            for peer in peers
            if (self._in_view[peer].room or held == 1)
            and not (self._view.is_pinned(peer) and held > 2)
        ]
        if asked:
            self.sponsor = asked[0] if len(asked) == 1 else self._rng.choice(asked)
            self._liveness.reply(self.sponsor)

    def _make_room(self, peer: PeerId) -> None:
        """If there is no room for a peer, release the sponsored one with the least weight."""
        view = self._view
        sponsored = [contact.peer for contact in view if view.is_pinned(contact.peer)]
        if peer not in sponsored and len(sponsored) >= SPONSORED_MAX:
            released = min(sponsored, key=self._weights.__getitem__)
            view.pin(released, pinned=False)
            self._liveness.tell(released)
