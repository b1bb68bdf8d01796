"""The state of a running process at one moment, as values: `CommunityManager.stats()`.

Every class here holds plain values only: a snapshot does not go on counting, keeps nothing alive,
and can be written as JSON (`Stats.as_dict`, or msgspec). Fields name the metrics that they are for
Prometheus. A unit stands last in a name; a count has none. Counts are since the start: the rates
are the difference of two snapshots.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from attrs import field, frozen

from camcast.observe.counters import Counters, gauge, total


@frozen(kw_only=True)
class PipeStats:
    """The output pipes and the connections of an event loop, which its managers may share."""

    open: int = gauge("pipes_open", "Output pipes")
    """Output pipes."""
    open_max: int = gauge("pipes_open_max", "How many output pipes there may be")
    connections: int = gauge("connections", "Connections that others have to this process")
    """Connections that others have to this process."""
    connections_max: int = gauge("connections_max", "How many of them there may be")
    crowded: int = gauge("pipes_crowded", "Output pipes that are more than half full")
    """Output pipes that are more than half full."""
    crowded_peers: tuple[str, ...]
    """The addresses that some of these lead to."""
    waiting_bytes: int = gauge("pipes_waiting_bytes", "What waits in all output pipes")
    """The bytes that wait in all output pipes together."""
    waiting_bytes_max: int = gauge("pipes_waiting_max_bytes", "How much may wait in them")


@frozen(kw_only=True)
class LivenessStats:
    """The state of the peers that the process watches, whatever it shares with them."""

    watched: int = gauge("peers_watched", "Peers that get heartbeats")
    """Peers that get heartbeats."""
    suspects: int = gauge("peers_suspect", "Of these, the ones that have been silent for too long")
    """Those of them that were silent for too long, and are not given up yet."""
    isolated: bool = gauge("isolated", "1 while nothing is heard of any peer")
    """Whether nothing is heard of any peer: this process may be cut off."""
    deaf: bool = gauge("deaf", "1 while peers are watched and no frame of anybody comes")
    """Whether no frame has come for three silences, though peers are watched: nobody may be able to
    connect to this process."""
    health: int = gauge(
        "health_factor", "Patience with others, 1 to 8: more after being late itself"
    )
    """How patient the process is with its peers, 1 to 8: more after it was late itself."""
    pauses: int = total("pauses", "How often the process did not run for longer than a period")
    """How often the process itself did not run for longer than a heartbeat's period."""
    paused_seconds: float = total("paused_seconds", "How long it did not run")
    """How long these pauses were together."""


@frozen(kw_only=True)
class FirstContactStats:
    """A configured first contact, such as a gateway."""

    address: str
    answers: bool | None
    """Whether it answered when it was asked last; None: nothing was asked yet."""
    seconds: float
    """Since when that is so; 0 if nothing was asked yet."""
    heard_seconds: float | None = None
    """Since when nothing came of a peer at its address; None: no peer is known there."""


@frozen(kw_only=True)
class DiscoveryStats:
    """How strangers are found."""

    state: str
    """The state of the discovery: ``connected``, ``alone`` or ``degraded``
    (`camcast.doors.discovery.Discovery.state`)."""
    first_contacts: tuple[FirstContactStats, ...]
    by_udp: bool
    """Whether first contacts are nodes of a DHT, asked over UDP, and no gateways."""


@frozen(kw_only=True)
class StoreStats:
    """The events that are kept for those who missed them, by all managers of an event loop."""

    bytes: int = gauge("store_bytes", "Events kept for those who missed them")
    bytes_max: int = gauge("store_max_bytes", "How much may be kept")
    let_go_early: int = total("store_let_go_early", "Batches let go early, as the store was full")
    """How many batches were let go before their time, because the store was full."""


@frozen(kw_only=True)
class ArchiveStats:
    """The archive of the process, in which events outlive it."""

    path: str
    state: str
    """``writing``; ``full``: the disk takes nothing more, and is tried every five seconds; or
    ``damaged``."""
    bytes: int = gauge("archive_bytes", "Bytes of the archive's file that are in use")
    bytes_max: int = gauge("archive_max_bytes", "How many may be in use")
    waiting_bytes: int = gauge("archive_waiting_bytes", "What waits for being written to it")
    """The bytes of events that wait for being written."""
    waiting_bytes_max: int = gauge("archive_waiting_max_bytes", "How much may wait for that")
    """Beyond so many, events are not archived."""
    written: int = total("archive_batches_written", "Batches written to the archive")
    lost: int = total("archive_batches_lost", "Batches that the archive could not take")
    """The batches that could not be written: they are not in the archive."""


@frozen(kw_only=True)
class LinkStats:
    """A super-topic table."""

    super_topic: str
    nearest: str
    """The nearest topic above of which super-processes are known."""
    contacts: int = gauge(
        "link_contacts", "Processes in the super-topic table, of the nearest topic"
    )
    """How many are known of it."""
    remembered: int = gauge("link_remembered", "Others that could be asked")
    """How many others the table could ask if these fail."""
    searching: bool = gauge("link_searching", "1 while nearer super-processes are looked for")
    """Whether nearer super-processes are being looked for."""
    alone_seconds: float = gauge(
        "link_alone_seconds", "For how long no process above has been known, 0 while one is"
    )
    """For how long no process of the super-topic or above has been known; 0 while one is."""


@frozen(kw_only=True)
class RepairStats:
    """How a community's process asks for what it missed (docs/reliability.md)."""

    incomplete_streams: int = gauge("repair_incomplete_streams", "Streams with something asked for")
    """Streams of which something is asked for at the moment."""
    holes: int = gauge("repair_holes", "Ranges of events that are missing in these")
    """Ranges of events that are missing in these."""
    held_back: int = gauge(
        "repair_held_back", "Events that wait for an earlier one that is missing"
    )
    """Events that are held back, so that they come in the order of their publication."""
    haves_sent: int = total("repair_haves_sent", "Messages that say what is known")
    wants_sent: int = total("repair_wants_sent", "Messages that ask for events")
    missed: int = total("repair_events_missed", "Events that can no longer be had")
    """Events that were given up, because nobody keeps them."""
    keys: int = gauge("repair_keys", "Keys with a last value, or deleted within a day")
    """Keys of which the last value is kept, or that were deleted within a day."""
    keys_bytes: int = gauge("repair_keys_bytes", "Bytes of these last values")
    keys_let_go: int = total("repair_keys_let_go", "Last values let go, as their room was full")
    """Last values that were let go for others, because their room was full."""


@frozen(kw_only=True)
class SubscriptionStats:
    """The queue of one subscription."""

    where: str | None
    """The interest that events have to match; None: all match."""
    queued_events: int = gauge("queued_events", "Events in the queues of subscriptions")
    queued_events_max: int = gauge("queued_events_max", "How many there may be")
    queued_bytes: int = gauge("queued_bytes", "Bytes of their payloads")
    queued_bytes_max: int = gauge("queued_max_bytes", "How many there may be")
    missed: int
    """Events that were dropped because the queue was full."""
    errors: int
    """How often the callback has raised."""


@frozen(kw_only=True)
class CommunityStats:
    """A community that this process is in, or is joining."""

    topic: str
    state: str
    """The state of this process in the community, as `Community.state` gives it."""
    size: float = gauge("community_size", "Estimate of the processes in the community")
    """The estimate of how many processes the community has."""
    peers: int = gauge("community_peers", "Processes in the topic table")
    """The processes in the topic table."""
    holders: int | None = gauge(
        "community_holders", "Processes that have this one in their topic tables"
    )
    """The processes that have this one in their tables; None where that is not known."""
    published: int = total("community_events_published", "Events published here")
    """Events that this process published here, and that were accepted."""
    delivered: int = total("community_events_delivered", "Events handed to subscriptions")
    """Events handed to the subscriptions, this process's own and those from below included."""
    missed: int = total(
        "community_events_lagged", "Events that full queues of subscriptions dropped"
    )
    """Events that subscriptions dropped because their queues were full, ended ones included."""
    callback_errors: int = total("callback_errors", "How often callbacks of subscriptions raised")
    """How often the subscriptions' callbacks have raised, likewise."""
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    """From the publication to the delivery of events of other processes in the last minute
    (`camcast.inbox.deliveries`); None without such events, and without a control socket."""
    outlived: bool
    """Whether the peer that left the topic table last was found dead or cut off."""
    lost_peers: tuple[str, ...]
    """The addresses of peers that were found dead or cut off lately
    (`camcast.engine.local_group`)."""
    known_streams: int = gauge("community_known_streams", "Streams of which something is known")
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
class CertificateStats:
    """A certificate of the process, in the profile ``signed``."""

    topic: str
    serial: str
    """In hexadecimal, as `camcast revoke` takes it."""
    begins: float
    """In seconds since 1970."""
    ends: float = gauge("certificate_end_seconds", "When a certificate ends, since 1970")
    """Likewise."""


@frozen(kw_only=True)
class RevocationStats:
    """The latest list of revocations of an issuer that the process knows."""

    issuer: str
    """The public key of the issuer, as text."""
    signed: float = gauge(
        "revocations_signed_seconds", "When an issuer's latest list was signed, since 1970"
    )
    """When it was signed, in seconds since 1970."""
    due: float = gauge("revocations_due_seconds", "When an issuer's next list is due, since 1970")
    """When the next list is due, in seconds since 1970."""


@frozen(kw_only=True)
class AnnouncedStats:
    """A member of a community that has announced itself to a gateway."""

    topic: str
    peer: str
    """Its identity, in hexadecimal."""
    address: str
    seconds: float
    """For how long it has been announced."""


Stage = Literal["beginning", "lasting", "over"]


@frozen(kw_only=True)
class ConditionStats:
    """A condition: something that is, or was, wrong with the process."""

    name: str
    """Its row in `camcast.observe.condition_table.TABLE`."""
    about: str
    """The topic or the address that it is about; empty: the process itself."""
    stage: Stage
    """``beginning``: it may end by itself; ``lasting``: it is a finding; ``over``: it is history.
    """
    ok: bool | None
    """False, or None where only the operator can know whether it is wrong."""
    says: str
    do: str
    """Advice: what to do about it."""
    because: str | None
    """The name of another condition that explains it."""
    since: float
    """When it was seen first, in seconds since 1970."""
    seen: float
    """When it was seen last, likewise."""
    unready: bool
    """Whether the process is not ready for work while it is seen."""


@frozen(kw_only=True)
class Stats:
    """A snapshot of one process.

    Example:
        ::

            print(json.dumps(manager.stats().as_dict()))
    """

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
    """The counts since the start."""
    pipes: PipeStats
    liveness: LivenessStats
    discovery: DiscoveryStats
    store: StoreStats | None
    """None without repair."""
    archive: ArchiveStats | None = None
    """None without an archive."""
    misfits: tuple[str, ...] = ()
    """A sentence about each process met in the last minute that is of another system, membership or
    protocol."""
    communities: tuple[CommunityStats, ...] = field(factory=tuple)
    certificates: tuple[CertificateStats, ...] = ()
    """Those that the process goes by; empty in other profiles than ``signed``."""
    revocations: tuple[RevocationStats, ...] = ()
    unlisted_roots: tuple[str, ...] = ()
    """The keys of the trusted roots of which no list of revocations is known, as texts; none where
    none is expected (``--no-revocations``)."""
    conditions: tuple[ConditionStats, ...] = ()
    """The faults of the process, causes first, and those of the last hour."""

    def unready(self) -> tuple[str, ...]:
        """Return why the process is not ready for work, a reason each; empty if it is.

        It is if all communities that it was asked to join are joined, and frames reach it. A
        gateway, which is in no community, is ready as soon as it runs.
        """
        seen = (one for one in self.conditions if one.unready and one.stage != "over")
        return tuple(f"{one.name}: {one.says}" for one in seen)

    def as_dict(self) -> dict[str, Any]:
        """Return the snapshot as plain dictionaries, lists, numbers and text."""
        snapshot: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return snapshot
