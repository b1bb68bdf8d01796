"""Baseline (b): gossip multicast, one group a topic (000, 4.2).

An event spreads in the group of its own topic, and there only. A process is therefore in the group
of its topic and in that of every subtopic, and keeps a table for each. It must know the subtopics
beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from camcast.doors.protocol import Group, Protocol
from camcast.protocols.camcast import FAN_OUTS, make_spread
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic


@frozen
class Multicast(Protocol):
    """A group for each topic, of all who are interested in it or in a super-topic."""

    name: ClassVar[str] = "multicast"
    source: ClassVar[str] = "000, 4.2 (b)"
    efforts: ClassVar[Sequence[Mapping[str, float]]] = FAN_OUTS

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the topic's group, and those of its subtopics."""
        below = (topic for topic in topics if topic != interest and interest.includes(topic))
        return tuple(Group(topic, make_spread, batched=True) for topic in (interest, *below))
