"""Snapshots of nodes in the virtual network, and snapshots in which something was changed."""

from __future__ import annotations

from typing import Any

import attrs

from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.inbox.deliveries import Deliveries, Inbox
from camcast.live.snapshot import (
    certificate_stats,
    discovery_stats,
    liveness_stats,
    revocation_stats,
    take_community_stats,
)
from camcast.observe.counters import Counters, PipeCounters
from camcast.observe.stats import ArchiveStats, CommunityStats, PipeStats, Stats, StoreStats


def stats_of(node: Node, now: float) -> Stats:
    """Return the snapshot of a node that has no pipes and no subscriptions."""
    return Stats(
        taken=node.clock.wall(now),
        up_seconds=now,
        process=1,
        peer=node.me.peer.hex(),
        address=node.me.address,
        counters=Counters(
            **attrs.asdict(node.counters), input=PipeCounters(), outputs=PipeCounters()
        ),
        pipes=PipeStats(
            open=0,
            open_max=1,
            connections=0,
            connections_max=1,
            crowded=0,
            crowded_peers=(),
            waiting_bytes=0,
            waiting_bytes_max=1,
        ),
        liveness=liveness_stats(node, now),
        discovery=discovery_stats(node, now),
        store=StoreStats(bytes=0, bytes_max=1000, let_go_early=0),
        archive=ArchiveStats(
            path="events.archive",
            state="writing",
            bytes=0,
            bytes_max=1000,
            waiting_bytes=0,
            waiting_bytes_max=1000,
            written=0,
            lost=0,
        ),
        misfits=tuple(node.misfits.lately(now)),
        communities=tuple(_community(node, one, now) for one in node.local_groups),
        certificates=certificate_stats(node),
        revocations=revocation_stats(node),
    )


def _community(node: Node, local_group: LocalGroup, now: float) -> CommunityStats:
    state = "alone"
    if not local_group.joined:
        state = "joining"
    elif local_group.membership.peers():
        state = "deaf" if node.liveness.deaf else "member"
    deliveries: Deliveries[bytes] = Deliveries(local_group.topic, Inbox())
    return take_community_stats(state, local_group, deliveries, published=0, now=now)


def changed(part: Any, path: str, value: object) -> Any:
    """Return a snapshot, or a part of one, with another value at a path such as ``pipes.open``."""
    name, _, rest = path.partition(".")
    if isinstance(part, tuple):
        place = int(name)
        return (*part[:place], changed(part[place], rest, value), *part[place + 1 :])
    new = changed(getattr(part, name), rest, value) if rest else value
    return attrs.evolve(part, **{name: new})
