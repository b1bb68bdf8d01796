"""Gossip, infect and die: how an event spreads inside one group (000, 3.5; 4.2).

A process that publishes an event, or receives it for the first time, sends it once to
ceil(ln N + c) random processes of its table of the group, and then never again. Events of one batch
go to the same processes. A membership may pin some peers, which are always among the chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import PeerId


class Gossip(Dissemination):
    """Spreads events in one group, as widely as its size asks for."""

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        self._size = 0.0  # the estimate of N that the fan-out was computed for
        self._fan_out = 0

    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """See `Dissemination`."""
        context = self._context
        peers = context.membership.peers().fan_out(self._current_fan_out(), context.rng)
        context.events.send(batch, peers, now)
        return Sent(len(peers))

    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """See `Dissemination`; the peers are drawn once for all batches."""
        context = self._context
        peers = context.membership.peers().fan_out(self._current_fan_out(), context.rng)
        context.events.send_together(batches, peers, now)

    def reach(self, known: int) -> int:
        """See `Dissemination`."""
        return min(known, self._current_fan_out())

    def _current_fan_out(self) -> int:
        size = self._context.membership.size()
        if size != self._size:
            self._size, self._fan_out = size, self._context.parameters.fan_out(size)
        return self._fan_out
