"""Drawn arcs: a part of each view that a process fills by draws of its own.

SCAMP's view has the processes whose subscriptions have come by, and liars decide what comes by. A
copy of an honest subscription that comes to a liar goes no further, while the subscriptions of
liars spread. With 6 of 42 processes under one attacker, half of the members' views, and most
newcomers', had its processes only (docs/security.md). The remedy is that of gossipsub, whose
`D_out` places in a mesh are for peers that the process has found itself.

A process asks the discovery for members while it is new, and then once a lease. It holds so many of
them that a given share of its view, as the law has it, is *drawn*. With all of these places taken,
each answer brings one drawn arc in exchange for the oldest, which is an arc like any other from
then on; not so where the community is so small that a view has most of it. The process drawn gives
up one of its holders for the new one, so draws add no arcs; and it is held only once it has
answered, since the discovery may name processes that are dead.

A view that has grown beyond the law gives up random arcs: none that is drawn, and none to a process
that this one sponsors. Whoever has subscriptions spread in any number displaces arcs that were
not drawn, its own among them.

A liar that the discovery names keeps its place like everybody else. A discovery that lies decides
the drawn part, and subscriptions the other: to own a view an attacker must have both.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.peers import PeerTable

# chosen: with an answer each lease, a drawn arc is replaced about as often as subscribers renew
# theirs, a tenth a lease
EXCHANGED: Final = 1


class DrawnArcs:
    """Which arcs of a view are drawn, and which give way to others."""

    def __init__(self, share: float, view: PeerTable, rng: Random) -> None:
        """Keep this share of the places of a view for arcs that are drawn; with 0 none."""
        self._share, self._view, self._rng = share, view, rng
        self._drawn: dict[PeerId, None] = {}
        """The processes drawn, the earliest first; some may have left the view."""

    def draw(self, named: Iterable[Contact], law: float, dense: bool = False) -> list[Contact]:
        """Note which processes an answer makes drawn, and return those that the view lacks.

        The discovery has named members drawn uniformly. `law` is the size that views should have.
        In a `dense` community, where it is near that of the community, none takes another's place.
        """
        places = round(self._share * law)
        drawn = [peer for peer in self._drawn if peer in self._view]
        others = [contact for contact in named if contact.peer not in drawn]
        chosen = others[: max(0 if dense else EXCHANGED, places - len(drawn))] if places else []
        drawn += (contact.peer for contact in chosen)
        self._drawn = dict.fromkeys(drawn[-places:] if places else ())
        return [contact for contact in chosen if contact.peer not in self._view]

    def surplus(self, most: int) -> list[Contact]:
        """Choose the arcs that give way, so that the view has `most` arcs to dialable processes."""
        over = len(self._view) - self._view.attached - most
        if over <= 0 or not self._share:
            return []
        lasting, pinned = (*self._drawn, *self._view.kept), self._view.is_pinned
        others = [
            contact
            for contact in self._view
            if contact.is_dialable and contact.peer not in lasting and not pinned(contact.peer)
        ]
        return self._rng.sample(others, min(over, len(others)))
