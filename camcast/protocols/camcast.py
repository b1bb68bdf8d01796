"""CAMCAST's dissemination: infect and die, with a few upward messages (000, 3.5, Figures 7, 8).

A process that publishes an event, or receives it for the first time, acts once:

* with probability p_sel = min(1, g/N_t) it is a link: it sends the event to each process of
  its super-topic table with probability p_a = a/z. The table may hold processes of several
  ancestors; the event goes to the nearest level known (PROTOCOLS 1);
* it sends the event to ceil(ln N_t + c_t) random processes of its topic table.

Readings: the figures' ``RAND() >= p_sel`` is inverted against the text ("with probability
p_sel"), and their loop sends one message more than "ln N_t + c_t"; the text is followed. A
membership may pin some peers, which are then always among the chosen. A process that is
itself a member of the super-community passes the event into it directly, which costs no
message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import ClassVar

from attrs import frozen

from camcast.doors.dissemination import Dissemination, Neighbourhood
from camcast.doors.protocol import Group, Protocol
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT, Topic


class Camcast(Dissemination):
    """The dissemination of Figures 7 and 8, for one community of one process."""

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._at = neighbourhood
        self._size = 0.0  # the estimate of N_t that fan-out and p_sel were computed for
        self._fan_out = 0
        self._p_sel = 0.0

    def disseminate(
        self, event: Event, now: float, source: PeerId | None = None
    ) -> tuple[int, int]:
        """Execute DISSEMINATE (Figure 8) for an event that is new to this process."""
        at = self._at
        size = at.membership.size()
        if size != self._size:
            self._size = size
            self._fan_out = at.parameters.fan_out(size)
            self._p_sel = at.parameters.selection_probability(size)
        upward = self._send_upward(event) if at.links else 0
        peers = at.membership.peers().fan_out(self._fan_out, at.rng)
        at.courier.send(event, peers)
        return len(peers), upward

    def _send_upward(self, event: Event) -> int:
        at = self._at
        p_sel, size = event.upward_probability, inf  # a fixed p_sel goes with the paper's p_a
        if p_sel is None:
            p_sel, size = self._p_sel, self._size
        sent = 0
        for link in at.links:
            topic, super_processes = link.nearest()
            nearest = topic if super_processes else ROOT
            if at.courier.hand_over(event, link.super_topic, nearest):
                continue
            if super_processes and at.rng.random() < p_sel:
                p_a = at.parameters.link_probability(size, len(super_processes))
                chosen = [peer for peer in super_processes if at.rng.random() < p_a]
                if chosen:
                    at.courier.send_upward(event, topic, chosen)
                    sent += len(chosen)
        return sent


@frozen
class CamcastProtocol(Protocol):
    """One community a topic, linked to that of the super-topic."""

    name: ClassVar[str] = "camcast"
    source: ClassVar[str] = "000, sections 2 to 6"
    linked: ClassVar[bool] = True

    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the topic's community."""
        return (Group(interest, Camcast),)

    def home_size(self, interest: Topic, sizes: Mapping[Topic, int]) -> float:
        """Return the size of the community."""
        return float(sizes[interest])
