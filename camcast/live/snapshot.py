"""Takes a snapshot of a running process: `CommunityManager.stats()`, of `camcast.observe.stats`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from itertools import islice
from math import isinf
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from camcast.doors.transport import OutputPipes
from camcast.engine.liveness import Entry
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.engine.super_topic_table import SuperTopicTable
from camcast.inbox.deliveries import Deliveries
from camcast.live.runner import Runner
from camcast.observe.counters import Counters
from camcast.observe.stats import (
    AnnouncedStats,
    CertificateStats,
    CommunityStats,
    DiscoveryStats,
    FirstContactStats,
    LinkStats,
    LivenessStats,
    PeerState,
    PeerStats,
    PipeStats,
    RepairStats,
    RevocationStats,
    Stats,
    StoreStats,
)
from camcast.vocabulary.identity import Contact, PeerId

if TYPE_CHECKING:
    from camcast.live.archive.archive import FileArchive

CROWDED_PEERS_MAX: Final = 8  # chosen: more than that, and the machine of this process is meant


def take_stats(
    runner: Runner,
    pipes: OutputPipes,
    counters: Counters,
    communities: Iterable[CommunityStats],
    archive: FileArchive | None,
) -> Stats:
    """Take a snapshot of a running process, given those of its communities."""
    node, now = runner.node, asyncio.get_running_loop().time()
    store = runner.store
    return Stats(
        taken=runner.clock.wall(now),
        up_seconds=now - runner.clock.started,
        process=os.getpid(),
        peer=node.me.peer.hex(),
        address=node.me.address,
        counters=counters,
        pipes=PipeStats(
            open=len(pipes),
            open_max=pipes.pipes_max,
            connections=len(pipes.connections),
            connections_max=pipes.connections_max,
            crowded=len(pipes.crowded),
            crowded_peers=tuple(islice(pipes.crowded, CROWDED_PEERS_MAX)),
            waiting_bytes=pipes.waiting_bytes,
            waiting_bytes_max=pipes.limits.waiting_bytes_max,
        ),
        liveness=liveness_stats(node, now),
        discovery=discovery_stats(node, now),
        store=None
        if store is None
        else StoreStats(
            bytes=store.bytes, bytes_max=store.bytes_max, let_go_early=store.let_go_early
        ),
        archive=None if archive is None else archive.stats(),
        misfits=tuple(runner.misfits()),
        communities=tuple(communities),
        certificates=certificate_stats(node),
        revocations=revocation_stats(node),
        unlisted_roots=() if node.signing is None else tuple(node.signing.unlisted_roots()),
    )


def certificate_stats(node: Node) -> tuple[CertificateStats, ...]:
    """Return when the certificates of a node begin and end."""
    validity = {} if node.signing is None else node.signing.validity()
    return tuple(
        CertificateStats(topic=topic, serial=serial, begins=begins, ends=ends)
        for (topic, serial), (begins, ends) in validity.items()
    )


def revocation_stats(node: Node) -> tuple[RevocationStats, ...]:
    """Return the times of the lists of revocations that a node knows."""
    lists = {} if node.signing is None else node.signing.lists()
    return tuple(
        RevocationStats(issuer=issuer, signed=signed, due=due)
        for issuer, (signed, due) in lists.items()
    )


def take_announced(runner: Runner) -> list[AnnouncedStats]:
    """Return who has announced himself to this process, by topic and then by address."""
    now = asyncio.get_running_loop().time()
    found = [
        AnnouncedStats(
            topic=one.topic.name,
            peer=one.contact.peer.hex(),
            address=one.contact.address,
            seconds=now - one.since,
        )
        for one in runner.node.discovery.announced(now)
    ]
    return sorted(found, key=lambda one: (one.topic, one.address))


def liveness_stats(node: Node, now: float) -> LivenessStats:
    """Return the state of the peers that a node watches."""
    liveness = node.liveness
    return LivenessStats(
        watched=liveness.watched(),
        suspects=liveness.suspects(now),
        isolated=liveness.isolated,
        deaf=liveness.deaf and liveness.watched() > 0,
        health=liveness.health,
        pauses=liveness.pauses,
        paused_seconds=liveness.paused_seconds,
    )


def discovery_stats(node: Node, now: float) -> DiscoveryStats:
    """Return how a node finds strangers."""
    return DiscoveryStats(
        state=node.discovery.state,
        by_udp=node.discovery.asks_by_udp,
        first_contacts=tuple(
            FirstContactStats(
                address=one.address,
                answers=one.answers,
                seconds=0.0 if one.answers is None else now - one.since,
                heard_seconds=None if isinf(heard) else now - heard,
            )
            for one in node.discovery.first_contacts()
            for heard in (node.liveness.last_heard_from(one.address),)
        ),
    )


@define
class _Ties:
    """One other process, and in which tables it is."""

    contact: Contact
    tables: list[str] = field(factory=list)
    holds: list[str] = field(factory=list)
    links: list[str] = field(factory=list)


def take_peer_stats(runner: Runner) -> list[PeerStats]:
    """Take a snapshot of the processes in a running process's tables, in the order of joining."""
    now = asyncio.get_running_loop().time()
    known: dict[PeerId, _Ties] = {}

    def ties(contact: Contact) -> _Ties:
        return known.setdefault(contact.peer, _Ties(contact))

    for local_group in runner.node.local_groups:
        topic, membership = local_group.topic.name, local_group.membership
        for contact in membership.peers():
            ties(contact).tables.append(topic)
        for contact in membership.in_view() or ():
            ties(contact).holds.append(topic)
        for link in local_group.links:
            for contact in link.nearest()[1]:
                ties(contact).links.append(topic)
    return [
        _peer_stats(one, runner.node.liveness.entries.get(peer), now) for peer, one in known.items()
    ]


def _peer_stats(ties: _Ties, entry: Entry | None, now: float) -> PeerStats:
    state: PeerState = "unknown"
    heard = None
    if entry is not None and entry.met:
        heard = now - entry.heard
        state = "suspect" if entry.suspected_for(now) > 0 else "heard"
    if entry is not None and entry.silent:
        state = "silent"
    return PeerStats(
        peer=ties.contact.peer.hex(),
        address=ties.contact.address,
        state=state,
        heard_seconds=heard,
        tables=tuple(ties.tables),
        holds=tuple(ties.holds),
        links=tuple(ties.links),
    )


def take_community_stats(
    state: str,
    local_group: LocalGroup,
    deliveries: Deliveries[Any],
    *,
    published: int,
    now: float,
) -> CommunityStats:
    """Take a snapshot of one community."""
    latencies, subscriptions = deliveries.latencies, deliveries.subscriptions
    membership, repair = local_group.membership, local_group.repair
    holders, values = membership.in_view(), local_group.last_values
    return CommunityStats(
        topic=deliveries.topic.name,
        state=state,
        size=membership.size(),
        peers=len(membership.peers()),
        holders=None if holders is None else len(holders),
        published=published,
        delivered=deliveries.delivered,
        missed=deliveries.missed,
        callback_errors=deliveries.errors,
        latency_ms_p50=None if latencies is None else latencies.milliseconds(0.5, now),
        latency_ms_p99=None if latencies is None else latencies.milliseconds(0.99, now),
        outlived=local_group.outlived,
        lost_peers=local_group.lost_peers(now),
        known_streams=len(local_group.streams.known),
        links=tuple(_link_stats(link, now) for link in local_group.links),
        subscriptions=tuple(subscription.stats() for subscription in subscriptions),
        repair=None
        if repair is None
        else RepairStats(
            incomplete_streams=repair.incomplete_streams,
            holes=repair.holes(),
            held_back=0 if local_group.hold_back is None else local_group.hold_back.events,
            haves_sent=repair.haves_sent,
            wants_sent=repair.wants_sent,
            missed=repair.told_missed,
            keys=0 if values is None else values.keys,
            keys_bytes=0 if values is None else values.bytes,
            keys_let_go=0 if values is None else values.let_go,
        ),
    )


def _link_stats(link: SuperTopicTable, now: float) -> LinkStats:
    nearest, contacts = link.nearest()
    return LinkStats(
        super_topic=link.super_topic.name,
        nearest=nearest.name,
        contacts=len(contacts),
        remembered=link.remembered,
        searching=link.searching,
        alone_seconds=link.alone_for(now),
    )
