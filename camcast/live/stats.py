"""What a running process looks like at one moment: `CommunityManager.stats()`.

Every class here holds plain values only: a snapshot does not go on counting, keeps nothing alive,
and can be written as JSON (`Stats.as_dict`, or msgspec). A unit stands last in a name; a count has
none. Counts are since the start: the rates are the difference of two snapshots.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from attrs import define, field, frozen

from camcast.doors.transport import OutputPipes
from camcast.engine.liveness import Entry
from camcast.engine.local_group import LocalGroup
from camcast.engine.super_topic_table import SuperTopicTable
from camcast.inbox.deliveries import Deliveries
from camcast.inbox.subscription import SubscriptionStats
from camcast.live.counters import Counters
from camcast.live.runner import Runner
from camcast.vocabulary.identity import Contact, PeerId


@frozen(kw_only=True)
class PipeStats:
    """The output pipes and the connections of an event loop, which its managers may share."""

    open: int
    """Output pipes."""
    open_max: int
    connections: int
    """Connections that others have to this process."""
    connections_max: int
    crowded: int
    """Output pipes that are more than half full."""
    waiting_bytes: int
    """What waits in all output pipes together."""
    waiting_bytes_max: int


@frozen(kw_only=True)
class LivenessStats:
    """What the process knows of the peers that it watches, whatever it shares with them."""

    watched: int
    """Peers that get heartbeats."""
    suspects: int
    """Those of them that were silent for too long, and are not given up yet."""
    isolated: bool
    """Whether nothing is heard of any peer: this process may be cut off."""
    health: int
    """How patient the process is with its peers, 1 to 8: more after it was late itself."""
    pauses: int
    """How often the process itself did not run for longer than a heartbeat's period."""
    paused_seconds: float
    """How long these pauses were together."""


@frozen(kw_only=True)
class FirstContactStats:
    """A configured first contact, such as a gateway."""

    address: str
    answers: bool | None
    """Whether it answered when it was asked last; None: nothing was asked yet."""
    seconds: float
    """Since when that is so; 0 if nothing was asked yet."""


@frozen(kw_only=True)
class DiscoveryStats:
    """How strangers are found."""

    state: str
    """See `CommunityManager.discovery_state`."""
    first_contacts: tuple[FirstContactStats, ...]


@frozen(kw_only=True)
class StoreStats:
    """The events that are kept for those who missed them, by all managers of an event loop."""

    bytes: int
    bytes_max: int
    let_go_early: int
    """How many batches were let go before their time, because the store was full."""


@frozen(kw_only=True)
class LinkStats:
    """A super-topic table."""

    super_topic: str
    nearest: str
    """The nearest topic above of which super-processes are known."""
    contacts: int
    """How many are known of it."""
    remembered: int
    """How many others the table could ask if these fail."""
    searching: bool
    """Whether nearer super-processes are being looked for."""


@frozen(kw_only=True)
class RepairStats:
    """How a community's process asks for what it missed (docs/reliability.md)."""

    incomplete_streams: int
    """Streams of which something is asked for at the moment."""
    holes: int
    """Ranges of events that are missing in these."""
    haves_sent: int
    wants_sent: int
    missed: int
    """Events that were given up, because nobody keeps them any more."""


@frozen(kw_only=True)
class CommunityStats:
    """A community that this process is in, or is joining."""

    topic: str
    state: str
    """See `Community.state`."""
    size: float
    """The estimate of how many processes the community has."""
    peers: int
    """The processes in the topic table."""
    holders: int | None
    """The processes that have this one in their tables; None where that is not known."""
    published: int
    """Events that this process published here, and that were accepted."""
    delivered: int
    """Events handed to the subscriptions, this process's own and those from below included."""
    missed: int
    """Events that subscriptions dropped because their queues were full, ended ones included."""
    callback_errors: int
    """How often the subscriptions' callbacks have raised, likewise."""
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    """From the publication to the delivery of events of other processes in the last minute
    (`camcast.inbox.deliveries`); None without such events, and without a control socket."""
    known_streams: int
    """Streams of whose events this process knows which it has had."""
    links: tuple[LinkStats, ...]
    subscriptions: tuple[SubscriptionStats, ...]
    repair: RepairStats | None
    """None where nothing is repaired."""


PeerState = Literal["heard", "suspect", "silent", "unknown"]


@frozen(kw_only=True)
class PeerStats:
    """A process that this one has in a table, or that has this one in its own."""

    peer: str
    """Its identity, in hexadecimal."""
    address: str
    state: PeerState
    """``suspect``: nothing was heard for too long; ``silent``: it was given up; ``unknown``: it was
    not heard of yet."""
    heard_seconds: float | None
    """How long ago it was heard of last; None: not yet."""
    tables: tuple[str, ...]
    """The communities in whose topic tables it is."""
    holds: tuple[str, ...]
    """The communities in which it has this process in its topic table."""
    links: tuple[str, ...]
    """The communities in whose super-topic tables it is."""


@frozen(kw_only=True)
class Stats:
    """A snapshot of one process."""

    taken: float
    """When, in seconds since 1970."""
    up_seconds: float
    """For how long the manager has been running."""
    process: int
    """The number of the process in its operating system."""
    peer: str
    """The identity of the process, in hexadecimal."""
    address: str
    counters: Counters
    """What was counted since the start."""
    pipes: PipeStats
    liveness: LivenessStats
    discovery: DiscoveryStats
    store: StoreStats | None
    """None without repair."""
    communities: tuple[CommunityStats, ...] = field(factory=tuple)

    def as_dict(self) -> dict[str, Any]:
        """Return the snapshot as plain dictionaries, lists, numbers and text."""
        snapshot: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return snapshot


def take_stats(
    runner: Runner, pipes: OutputPipes, counters: Counters, communities: Iterable[CommunityStats]
) -> Stats:
    """Take a snapshot of a running process, given those of its communities."""
    node, now = runner.node, asyncio.get_running_loop().time()
    liveness, store = node.liveness, runner.store
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
            waiting_bytes=pipes.waiting_bytes,
            waiting_bytes_max=pipes.limits.waiting_bytes_max,
        ),
        liveness=LivenessStats(
            watched=liveness.watched(),
            suspects=liveness.suspects(now),
            isolated=liveness.isolated,
            health=liveness.health,
            pauses=liveness.pauses,
            paused_seconds=liveness.paused_seconds,
        ),
        discovery=DiscoveryStats(
            state=node.discovery.state,
            first_contacts=tuple(
                FirstContactStats(
                    address=one.address,
                    answers=one.answers,
                    seconds=0.0 if one.answers is None else now - one.since,
                )
                for one in node.discovery.first_contacts()
            ),
        ),
        store=None
        if store is None
        else StoreStats(
            bytes=store.bytes, bytes_max=store.bytes_max, let_go_early=store.let_go_early
        ),
        communities=tuple(communities),
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
) -> CommunityStats:
    """Take a snapshot of one community."""
    latencies, subscriptions = deliveries.latencies, deliveries.subscriptions
    now = asyncio.get_running_loop().time()
    membership, repair = local_group.membership, local_group.repair
    holders = membership.in_view()
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
        known_streams=len(local_group.streams.known),
        links=tuple(map(_link_stats, local_group.links)),
        subscriptions=tuple(subscription.stats() for subscription in subscriptions),
        repair=None
        if repair is None
        else RepairStats(
            incomplete_streams=repair.incomplete_streams,
            holes=repair.holes(),
            haves_sent=repair.haves_sent,
            wants_sent=repair.wants_sent,
            missed=repair.told_missed,
        ),
    )


def _link_stats(link: SuperTopicTable) -> LinkStats:
    nearest, contacts = link.nearest()
    return LinkStats(
        super_topic=link.super_topic.name,
        nearest=nearest.name,
        contacts=len(contacts),
        remembered=link.remembered,
        searching=link.searching,
    )
