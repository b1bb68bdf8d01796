"""Baseline (a): gossip broadcast (000, 4.2).

One group of everybody. Each event infects the whole system: a process that is not interested in it
receives, and forwards, a parasite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from camcast.doors.protocol import Group, Protocol
from camcast.protocols.camcast import FAN_OUTS, Gossip
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT, Topic


@frozen
class Broadcast(Protocol):
    """One group for all topics."""

    name: ClassVar[str] = "broadcast"
    source: ClassVar[str] = "000, 4.2 (a)"
    parasitic: ClassVar[bool] = True
    efforts: ClassVar[Sequence[Mapping[str, float]]] = FAN_OUTS

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the group of everybody."""
        return (Group(ROOT, Gossip),)
