"""Infect and die within one group: what the baselines have in common (000, 4.2).

A process that publishes an event, or receives it for the first time, sends it once to
ceil(ln N + c) random processes of its table of the group. It is CAMCAST's dissemination without
the upward messages.
"""

from __future__ import annotations

from camcast.doors.dissemination import Dissemination, Neighbourhood
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import PeerId


class Gossip(Dissemination):
    """Spreads events in one group, as widely as its size asks for."""

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._at = neighbourhood

    def disseminate(
        self, event: Event, now: float, source: PeerId | None = None
    ) -> tuple[int, int]:
        """See `Dissemination`."""
        at = self._at
        fan_out = at.parameters.fan_out(at.membership.size())
        peers = at.membership.peers().fan_out(fan_out, at.rng)
        at.courier.send(event, peers)
        return len(peers), 0
