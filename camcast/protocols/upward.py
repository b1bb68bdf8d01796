"""Upward messages: how an event climbs into the communities of super-topics (000, Figure 7).

With probability p_sel = min(1, g/N_t) a process that has an event is a link: it sends the event to
each process of its super-topic table with probability p_a = a/z. The table may hold processes of
several ancestors; the event goes to the nearest level known (PROTOCOLS 1).

Readings: the figure's ``RAND() >= p_sel`` is inverted against the text ("with probability
p_sel"); the text is followed. A process that is itself a member of the super-community accepts
the event there, which costs no message.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from camcast.doors.dissemination import DisseminationContext
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.topics import ROOT, Topic


class Upward:
    """Sends the events of one community of one process upward."""

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        self._ways = [
            (table, (table.super_topic, *table.super_topic.ancestors()))
            for table in context.super_tables
        ]
        self._size = 0.0  # the estimate of N_t that p_sel was computed for
        self._p_sel = 0.0

    @property
    def leads_somewhere(self) -> bool:
        """Whether the community is linked to another, so that `climb` may do something."""
        return bool(self._ways)

    def climb(self, batch: Batch, now: float) -> int:
        """Send a batch to super-processes; return to how many."""
        context, rng = self._context, self._context.rng
        alone = context.groups.alone
        sent = 0
        for table, ancestors in self._ways:
            topic, super_processes = table.nearest()
            if not alone:
                nearest = topic if super_processes else ROOT
                if self._accept_above(batch, ancestors, nearest, now):
                    continue
            if not super_processes:
                continue
            p_sel, size = batch.upward_probability, inf  # a fixed p_sel goes with the paper's p_a
            if p_sel is None:
                p_sel, size = self._selection_probability()
            if rng.random() < p_sel:
                p_a = context.parameters.link_probability(size, len(super_processes))
                chosen = [peer for peer in super_processes if rng.random() < p_a]
                if chosen:
                    context.events.send_upward(batch, topic, chosen, now)
                    sent += len(chosen)
        return sent

    def accept_above(self, batch: Batch, now: float) -> None:
        """Accept a batch in this process's own super-communities; send it to no other process."""
        if not self._context.groups.alone:
            for table, ancestors in self._ways:
                topic, super_processes = table.nearest()
                self._accept_above(batch, ancestors, topic if super_processes else ROOT, now)

    def _accept_above(
        self, batch: Batch, ancestors: Sequence[Topic], nearest: Topic, now: float
    ) -> bool:
        """Accept a batch in the nearest super-community that this process is a member of.

        False if there is none at or below the level at which super-processes are known.
        """
        accept = self._context.groups.accept
        for topic in ancestors:
            if topic.level < nearest.level:
                return False
            if accept(batch, topic, now):
                return True
        return False

    def _selection_probability(self) -> tuple[float, float]:
        """Return p_sel, and the N_t that it is for."""
        size = self._context.membership.size()
        if size != self._size:
            self._size, self._p_sel = size, self._context.parameters.selection_probability(size)
        return self._p_sel, size
