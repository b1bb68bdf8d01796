"""Gossip, infect and die: how an event spreads inside one group (000, 3.5; 4.2).

A process that publishes an event, or receives it for the first time, sends it once to
ceil(ln N + c) random processes of its table of the group, and then never again. A membership may
pin some peers, which are always among the chosen.
"""

from __future__ import annotations

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import PeerId


class Gossip(Dissemination):
    """Spreads events in one group, as widely as its size asks for."""

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        self._size = 0.0  # the estimate of N that the fan-out was computed for
        self._fan_out = 0

    def disseminate(self, event: Event, now: float, source: PeerId | None = None) -> Sent:
        """See `Dissemination`."""
        context = self._context
        size = context.membership.size()
        if size != self._size:
            self._size, self._fan_out = size, context.parameters.fan_out(size)
        peers = context.membership.peers().fan_out(self._fan_out, context.rng)
        context.events.send(event, peers, now)
        return Sent(len(peers))
