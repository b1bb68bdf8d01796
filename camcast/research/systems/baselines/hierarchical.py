"""Baseline (c): hierarchical gossip broadcast (000, 4.2, 4.3, 4.4; Kermarrec et al., 2003).

The processes are dealt to C clusters, whatever they are interested in. A process keeps two tables:
one of its own cluster, and one of processes of other clusters. It sends an event once to
ceil(ln m + c1) members of its cluster of m, and once to ceil(ln C + c2) processes of other clusters
(Equation 5). The event reaches all clusters, and in each everybody, interested or not.

Readings: c1 = c2 = c of the community's parameters. A process's cluster is a digest of its
identity, so that its cluster is known to everybody. Processes of other clusters are drawn from a
membership of everybody, whose group events only pass through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.protocol import Group, Protocol
from camcast.protocols.camcast import FAN_OUTS, Gossip
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT, Topic

_NAME: Final = "cluster"


def cluster_of(peer: PeerId, clusters: int) -> int:
    """Return the number of a process's cluster."""
    return int.from_bytes(peer) % clusters


class _Within(Dissemination):
    """Spreads an event inside the process's own cluster, and sends it to other clusters."""

    def __init__(self, clusters: int, context: DisseminationContext) -> None:
        self._clusters = clusters
        self._gossip = Gossip(context)
        self._context = context

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        context = self._context
        context.groups.accept(batch, ROOT, now)  # copies from other clusters are duplicates then
        sent = self._gossip.disseminate(batch, now)
        everybody = context.groups.membership(ROOT)
        if everybody is None:
            return sent
        mine = cluster_of(context.me.peer, self._clusters)
        outside = [
            contact
            for contact in everybody.peers()
            if cluster_of(contact.peer, self._clusters) != mine
        ]
        fan_out = context.parameters.fan_out(float(self._clusters))
        chosen = context.rng.sample(outside, min(fan_out, len(outside)))
        context.events.send(batch, chosen, now, ROOT)
        return Sent(sent.peers + len(chosen))


class _Across(Dissemination):
    """Accepts an event that comes from another cluster in the process's own cluster."""

    def __init__(self, home: Topic, context: DisseminationContext) -> None:
        self._home = home
        self._groups = context.groups

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        self._groups.accept(batch, self._home, now)
        return Sent()


@frozen(kw_only=True)
class Hierarchical(Protocol):
    """Clusters of processes, whatever their interests."""

    name: ClassVar[str] = "hierarchical"
    source: ClassVar[str] = "000, 4.2 (c)"
    efforts: ClassVar[Sequence[Mapping[str, float]]] = FAN_OUTS
    parasitic: ClassVar[bool] = True

    clusters: int = field(default=3, validator=validators.ge(1))
    """C. [CAMCAST 6.1.1] as many as there are communities in the paper's setting"""

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the process's cluster, and the group of everybody."""
        home = Topic((_NAME, str(cluster_of(me, self.clusters))))
        return (
            Group(home, partial(_Within, self.clusters)),
            Group(ROOT, partial(_Across, home), transit=True),
        )
