"""The table of conditions: what can be wrong with a process, how it shows, and what to do then.

`TABLE` has a row for each condition. The test of a row reads a snapshot of the process (`Stats`)
and yields a `Sight` for each thing that the condition is about: a community, a gateway, or the
process. A `camcast.observe.conditions.Watch` looks at all rows.

*Never and no longer.* A gateway that never answered, a super-topic where nobody ever was, and a
founder without peers are not what a gateway, links and peers are that were lost. What a snapshot
alone cannot show, the watch remembers (`Past`).

*Counts.* What was refused, dropped or lost shows as counts that grow. Such a condition is over once
the count has not grown for `FADES_SECONDS`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import inf
from typing import Final, NamedTuple

import msgspec
from attrs import define, field, frozen

from camcast.observe.stats import FirstContactStats, Stats

LOOK_SECONDS: Final = 5.0  # chosen: six looks in the 30 s in which a fault is to be told
FADES_SECONDS: Final = 20.0  # chosen: above the 10 s between two attempts to join or to announce
SETTLED_SECONDS: Final = (
    10.0  # chosen: a join, and a search upward, take 1 or 2 and may be repeated
)
SLOW_SECONDS: Final = 5.0  # chosen: many times what a burst takes to be read
FULL_SHARE: Final = 0.5  # chosen: as much time is left as it took to fill
PAUSED_SHARE: Final = 0.2  # chosen: of the time; heartbeats are late by more than jitter
RENEW_SHARE: Final = 0.2  # chosen: of a certificate's time; 1.4 days of a week
# chosen: within so long every process has heard of a list that one of them has (docs/security.md)
UNLISTED_SECONDS: Final = 30.0
OVERDUE_SECONDS: Final = 300.0  # [docs/operating.md] the clocks of two processes differ by so much
KEPT_SECONDS: Final = 1.0  # chosen: how closely it is known for how long an event has waited
LOOKS_MAX: Final = 64  # chosen: a minute at least; what waits for longer is as slow


class Sight(NamedTuple):
    """One thing of which a test has seen a condition."""

    about: str
    """The topic or the address that it is about; empty: the process itself."""
    says: str
    do: str


class _Count(msgspec.Struct, gc=False):  # a Struct: each process has some twenty from its start
    """A count of the process."""

    base: float
    """Its value before it began to grow."""
    value: float
    grew_at: float = -inf


@define
class Past:
    """The memory of the tests: facts of earlier snapshots."""

    now: float = 0.0
    """The time of this snapshot, in seconds since the process started."""
    has_heard: bool = False
    """Whether the process has heard of peers at some time."""
    answered: dict[str, None] = field(factory=dict)
    """The gateways that have answered at some time."""
    linked: dict[tuple[str, str], None] = field(factory=dict)
    """The topics, each with a super-topic, of which super-processes were known at some time."""
    _counts: dict[str, _Count] = field(factory=dict)
    _backlogs: dict[tuple[str, int], deque[tuple[float, int]]] = field(factory=dict)
    """For each queue that was not empty, the looks since then, each with the number of events that
    had been delivered."""

    def grew(self, name: str, value: float) -> float:
        """Return by how much a count grew until it last stood still for `FADES_SECONDS`."""
        count = self._counts.get(name)
        if count is None:
            count = self._counts[name] = _Count(value, value)
        if value > count.value:
            if self.now - count.grew_at > FADES_SECONDS:
                count.base = count.value
            count.value, count.grew_at = value, self.now
        return count.value - count.base if self.now - count.grew_at <= FADES_SECONDS else 0.0

    def oldest_seconds(self, queue: tuple[str, int], queued: int, delivered: int) -> float:
        """Return for how long, at least, the oldest event in a queue has waited.

        `delivered` events came so far, of which the queue has the last ones, or some of the last.
        """
        if not queued:
            self._backlogs.pop(queue, None)
            return 0.0
        looks = self._backlogs.setdefault(queue, deque(maxlen=LOOKS_MAX))
        while looks and looks[0][1] <= delivered - queued:  # the event came after that look
            looks.popleft()
        # Who asks ten times a second must not push out the look of five seconds ago.
        if not looks or self.now - looks[-1][0] >= KEPT_SECONDS:
            looks.append((self.now, delivered))
        return self.now - looks[0][0]


Test = Callable[[Stats, Past], Iterator[Sight]]


@frozen
class Row:
    """A row of the table of conditions."""

    name: str
    meaning: str
    """The condition in a few words, for the documentation and for alerts."""
    test: Test
    level: int | None = None
    """The level of its lines in the log; None: the fault is logged where it happens."""
    ok: bool | None = False
    """None: whether it is wrong, only the operator can know."""
    after_seconds: float = 0.0
    """For how long it is to be seen before it lasts."""
    explains: tuple[str, ...] = ()
    """The conditions that it explains."""
    unready: bool = False
    """Whether a process is not ready while it is seen."""


def utc(wall: float) -> str:
    """Return a time in seconds since 1970 in the words of ISO 8601, in UTC."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words, such as ``1 peer``."""
    return f"{number:.0f} {noun if number == 1 else plural or noun + 's'}"


# -- tests -----------------------------------------------------------------------------------


def _growing(
    count: Callable[[Stats], float], says: str, do: str, noun: str = "event", *, plural: str = ""
) -> Test:
    """Return the test of a count that should not grow; `says` has a place for the growth."""

    def test(stats: Stats, past: Past) -> Iterator[Sight]:
        if grown := past.grew(says, count(stats)):
            yield Sight("", says.format(counted(grown, noun, plural)), do)

    return test


def _paused(stats: Stats, past: Past) -> Iterator[Sight]:
    grown = past.grew("paused", stats.liveness.paused_seconds)
    if grown > PAUSED_SHARE * FADES_SECONDS:
        says = f"did not run for {grown:.0f} s lately, so that others may take it for dead"
        yield Sight("", says, "give it more CPU, and let nothing block its event loop")


def _not_admitted(stats: Stats, past: Past) -> Iterator[Sight]:
    outputs = stats.counters.outputs
    refused = past.grew("strangers_refused", outputs.strangers_refused)
    broken = past.grew("handshakes_broken", outputs.handshakes_broken)
    if refused or broken > 1:  # one may be of a process that died at that moment
        says = (
            f"{counted(refused + broken, 'connection')} to peers or gateways failed: they and this"
            " process do not have the same passphrase, or do not trust each other's keys"
        )
        do = (
            "give all the same --passphrase-file, or certificates by one authority; the log has the"
            " addresses"
        )
        yield Sight("", says, do)


def _misfits(stats: Stats, past: Past) -> Iterator[Sight]:
    for says in stats.misfits:
        do = "if both belong together, give both the same --system, --membership and --protocol"
        address, _, why = says.partition(": ")
        yield Sight(address, why, do)


def _deaf(stats: Stats, past: Past) -> Iterator[Sight]:
    peers = counted(stats.liveness.watched, "peer")
    if not stats.liveness.deaf:
        past.has_heard |= stats.liveness.watched > 0 and not stats.liveness.isolated
    elif past.has_heard:
        says = f"no frame reaches {stats.address} any longer, of {peers} or others"
        do = "check this machine's network and firewall, and see whether the others live"
        yield Sight("", says, do)
    else:
        says = f"no frame has ever reached {stats.address}, of {peers} or others"
        do = "let others connect to that address: see --advertise, the firewall and NAT"
        yield Sight("", says, do)


def _isolated(stats: Stats, past: Past) -> Iterator[Sight]:
    if stats.liveness.isolated:
        watched = stats.liveness.watched
        says = "nothing is heard: all peers that were known are lost"
        if watched:
            says = f"nothing is heard of any of {counted(watched, 'peer')}"
        do = "see whether they live; if so, check this machine's network: they have given it up"
        yield Sight("", says, do)


DHT_DO: Final = "start `camcast gateway --overlay` there, and let UDP pass at the same port number"


def _is_held_up(gateway: FirstContactStats) -> bool:
    """Say whether a gateway does not answer in time, though what it sends as a peer arrives."""
    heard = gateway.heard_seconds
    return gateway.answers is False and heard is not None and heard < SLOW_SECONDS


def _no_gateway(stats: Stats, past: Past) -> Iterator[Sight]:
    discovery = stats.discovery
    gateways = discovery.first_contacts
    past.answered |= {one.address: None for one in gateways if one.answers}
    if discovery.by_udp:
        if discovery.state == "degraded":
            yield Sight("", "no node of the DHT answers any longer", DHT_DO)
        return
    if not gateways or any(one.answers is not False or _is_held_up(one) for one in gateways):
        return
    names = ", ".join(one.address for one in gateways)
    if any(one.address in past.answered for one in gateways):
        says = f"no gateway answers any longer: {names}"
        do = "start it again, or name another one; processes that start now cannot join"
    else:
        says = f"no gateway has ever answered: {names}"
        do = "check addresses, routes and firewalls with `camcast doctor --gateway`"
    yield Sight("", says, do)


def _gateway_silent(stats: Stats, past: Past) -> Iterator[Sight]:
    gateways = stats.discovery.first_contacts
    if all(one.answers is False for one in gateways):
        return  # which is `no_gateway`
    for one in gateways:
        if one.answers is False and not _is_held_up(one):
            ever = "any longer" if one.address in past.answered else "and never has"
            do = "start it again, or name another gateway"
            yield Sight(one.address, f"does not answer {ever}; others do", do)


def _unjoined(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.communities:
        if one.state != "joining":
            continue
        if stats.discovery.by_udp:
            says = f"{one.topic} is not joined; the DHT: {stats.discovery.state}"
            yield Sight(one.topic, says, DHT_DO)
        else:
            do = "see what is said of the gateways, or found the community by naming none"
            yield Sight(one.topic, f"{one.topic} is not joined", do)


def _alone(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.communities:
        if one.state == "alone" and one.outlived:
            says = f"the other members of {one.topic} that were known were found dead or cut off"
            do = "start another member, or check this machine's network"
            yield Sight(one.topic, says, do)


def _no_link(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.communities:
        for link in one.links:
            key = one.topic, link.super_topic
            if link.contacts:
                past.linked[key] = None
            elif key in past.linked and one.state not in ("joining", "left"):
                says = f"nobody of {link.super_topic} or above is known any longer: no event climbs"
                do = "start a subscriber there, if there is to be one"
                yield Sight(one.topic, says, do)


def _peer_lost(stats: Stats, past: Past) -> Iterator[Sight]:
    lost: dict[str, list[str]] = {}
    for one in stats.communities:
        for peer in one.lost_peers:
            lost.setdefault(peer, []).append(one.topic)
    for peer, topics in lost.items():
        says = f"was found dead or cut off, in {', '.join(topics)}"
        yield Sight(peer, says, "start it again, if it was to run")


def _slow_subscriber(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.communities:
        for place, queue in enumerate(one.subscriptions):
            waits = past.oldest_seconds((one.topic, place), queue.queued_events, one.delivered)
            full = max(
                queue.queued_events / queue.queued_events_max,
                queue.queued_bytes / queue.queued_bytes_max,
            )
            if waits >= SLOW_SECONDS or full > FULL_SHARE:
                says = (
                    f"{counted(queue.queued_events, 'event')} of {one.topic} wait for their"
                    f" subscriber, the oldest for {waits:.0f} s or more; the queue is"
                    f" {full:.0%} full"
                )
                do = (
                    "let the subscriber, or the reader of stdout, take events faster: by the batch,"
                    " in another thread, or fewer with where="
                )
                yield Sight(one.topic, says, do)


_READ_FASTER: Final = "look at the process, its machine and its network, or publish less"


def _slow_peer(stats: Stats, past: Past) -> Iterator[Sight]:
    for address in stats.pipes.crowded_peers:
        says = "takes records more slowly than they come: its pipe is over half full"
        yield Sight(address, says, _READ_FASTER)
    for one in filter(_is_held_up, stats.discovery.first_contacts):
        says = (
            f"answers of {one.address} come late or not at all, though other records of it do:"
            " they wait where the pipes to this process are full"
        )
        yield Sight(stats.address, says, _READ_FASTER)
        return


def _store_filling(stats: Stats, past: Past) -> Iterator[Sight]:
    store = stats.store
    if store is not None and store.bytes > FULL_SHARE * store.bytes_max:
        says = f"{store.bytes / store.bytes_max:.0%} of the room for events kept for others is used"
        do = "keep events for a shorter time (--retention), or publish less"
        yield Sight("", says, do)


def _archive_full(stats: Stats, past: Past) -> Iterator[Sight]:
    archive = stats.archive
    if archive is not None and archive.state == "full":
        lost = counted(archive.lost, "batch", "batches")
        says = f"the disk takes nothing for {archive.path}; {lost} of events not kept there so far"
        yield Sight("", says, "make room on the disk: the archive goes on by itself")


def _archive_slow(stats: Stats, past: Past) -> Iterator[Sight]:
    archive = stats.archive
    if archive is None or archive.state != "writing":
        return
    used = archive.waiting_bytes / archive.waiting_bytes_max
    if used > FULL_SHARE:
        lost = counted(archive.lost, "batch", "batches")
        says = (
            f"the disk takes events for {archive.path} more slowly than they come: {used:.0%} of"
            f" the room for those that wait is used; {lost} not kept there so far"
        )
        yield Sight("", says, "put the archive on a faster disk, or publish less")


def _archive_damaged(stats: Stats, past: Past) -> Iterator[Sight]:
    archive = stats.archive
    if archive is not None and archive.state == "damaged":
        do = (
            f"stop the process, and let `camcast history {archive.path} --repair` save what can be"
            " read; other members have the rest"
        )
        yield Sight("", f"{archive.path} is damaged: no event is kept there any longer", do)


def _no_certificate(stats: Stats, past: Past) -> Iterator[Sight]:
    ended = [one for one in stats.certificates if stats.taken > one.ends]
    if ended and len(ended) == len(stats.certificates):
        ends = max(one.ends for one in ended)
        says = f"the last certificate of this process ended at {utc(ends)}: nobody lets it in"
        yield Sight("", says, _CERTIFY)


def _certificate_ended(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.certificates:
        if stats.taken > one.ends:
            says = f"the certificate {one.serial} for {one.topic} ended at {utc(one.ends)}"
            yield Sight(one.topic, says, _CERTIFY)


def _certificate_ends(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.certificates:
        left = one.ends - stats.taken
        if 0 <= left < RENEW_SHARE * (one.ends - one.begins):
            says = (
                f"the certificate {one.serial} for {one.topic} ends at {utc(one.ends)}, in"
                f" {counted(left / 3600, 'hour')}"
            )
            yield Sight(one.topic, says, _CERTIFY)


def _list_overdue(stats: Stats, past: Past) -> Iterator[Sight]:
    for one in stats.revocations:
        if stats.taken > one.due + OVERDUE_SECONDS:
            says = (
                f"no list of revocations of {one.issuer} has come since the last one, which was to"
                f" be followed by {utc(one.due)}: what was revoked since is not known here"
            )
            do = "let the issuer sign again (camcast revoke), and give --revocations to a process"
            yield Sight(one.issuer, says, do)


def _no_list(stats: Stats, past: Past) -> Iterator[Sight]:
    for root in stats.unlisted_roots if stats.up_seconds > UNLISTED_SECONDS else ():
        says = f"no list of revocations of the trusted root {root} is known: what it revoked counts"
        do = "let its owner sign one (camcast revoke) for --revocations, or say --no-revocations"
        yield Sight(root, says, do)


# -- the table -------------------------------------------------------------------------------

_CUT_OFF: Final = ("no_gateway", "gateway_silent", "unjoined", "no_link", "alone", "peer_lost")
_CERTIFY: Final = (
    "certify its key again (camcast system renew, or camcast certify), and put the file in the"
    " place of the old one: it is read within 5 s"
)
_NOT_LET_IN: Final = ("no_gateway", "gateway_silent", "unjoined")
_WARNING: Final = logging.WARNING

TABLE: Final = (
    Row(
        "paused",
        "The process itself did not run, or its machine slept",
        _paused,
        explains=("deaf", "isolated", *_CUT_OFF),
    ),
    Row(
        "clock_set",
        "The wall clock of the machine was set",
        _growing(
            lambda stats: stats.counters.clock_sets,
            "the clock of this machine was set {}",
            "let chrony or systemd-timesyncd run; camcast goes by the new time",
            noun="time",
        ),
        ok=None,
        explains=("unjoined",),
    ),
    Row(
        "key_twice",
        "Two processes use one key",
        _growing(
            lambda stats: stats.counters.key_conflicts,
            "two processes were found to use one key ({})",
            "the log names key and addresses: give each process a key of its own",
            noun="time",
        ),
    ),
    Row(
        "in_own_name",
        "Events came in the name of a process that it did not publish",
        _growing(
            lambda stats: stats.counters.forged,
            "{} came in the name of this process, which did not publish them",
            "if this machine was set back to a snapshot, the process goes on beyond them; else"
            " somebody forges: change the group's passphrase, or use keys",
        ),
    ),
    Row(
        "no_certificate",
        "All certificates of the process have ended",
        _no_certificate,
        _WARNING,
        unready=True,
        explains=("certificate_ended", "not_admitted", "deaf", "isolated", *_CUT_OFF),
    ),
    Row(
        "certificate_ended", "A certificate of the process has ended", _certificate_ended, _WARNING
    ),
    Row("certificate_ends", "A fifth of a certificate's time is left", _certificate_ends, _WARNING),
    Row("list_overdue", "An issuer's next list of revocations is overdue", _list_overdue, _WARNING),
    Row("no_list", "No list of revocations of a trusted root is known", _no_list, _WARNING),
    Row(
        "not_admitted",
        "Peers or gateways ask for other keys than this process has",
        _not_admitted,
        explains=_NOT_LET_IN,
    ),
    Row(
        "strangers",
        "Processes without the keys that are asked for tried to connect",
        _growing(
            lambda stats: stats.counters.input.strangers_refused,
            "{} of processes without this one's passphrase, or without a key that it trusts",
            "if they should be in, give all the same --passphrase-file; the log has the addresses",
            noun="connection",
        ),
        ok=None,
    ),
    Row(
        "other_release",
        "Peers speak another version of the wire format",
        _growing(
            lambda stats: (
                stats.counters.outputs.versions_refused
                + stats.counters.input.versions_refused
                + stats.counters.other_versions
            ),
            "peers speak another version of the wire format ({})",
            "let all of a community run the same release",
            noun="time",
        ),
        explains=_NOT_LET_IN,
    ),
    Row(
        "misfit",
        "Processes of another system, membership or protocol were met",
        _misfits,
        ok=None,
        explains=_NOT_LET_IN,
    ),
    Row(
        "too_few_files",
        "There was no room for connections",
        _growing(
            lambda stats: (
                stats.counters.outputs.pipes_refused + stats.counters.input.connections_refused
            ),
            "{} refused, since too few files may be open",
            "allow more open files: ulimit -n, LimitNOFILE=",
            noun="connection",
        ),
        explains=("deaf", "isolated"),
    ),
    Row(
        "deaf",
        "No frame of anybody arrives",
        _deaf,
        _WARNING,
        unready=True,
        explains=("isolated", *_CUT_OFF),
    ),
    Row(
        "isolated",
        "Nothing is heard of any peer",
        _isolated,
        _WARNING,
        unready=True,
        explains=_CUT_OFF,
    ),
    Row(
        "no_gateway",
        "None of the gateways answers",
        _no_gateway,
        _WARNING,
        after_seconds=SETTLED_SECONDS,  # what may explain it, such as `deaf`, is seen later
        explains=("unjoined",),
    ),
    Row(
        "gateway_silent",
        "A gateway does not answer, while others do",
        _gateway_silent,
        after_seconds=SETTLED_SECONDS,
    ),
    Row(
        "unjoined",
        "A community is not joined yet",
        _unjoined,
        _WARNING,
        after_seconds=SETTLED_SECONDS,
        unready=True,
    ),
    Row("alone", "The other members of a community were found dead", _alone, _WARNING),
    Row(
        "no_link",
        "No super-process is known any longer",
        _no_link,
        _WARNING,
        after_seconds=SETTLED_SECONDS,
    ),
    Row("peer_lost", "A peer was found dead or cut off", _peer_lost, ok=None),
    Row(
        "slow_subscriber",
        "Events wait for a subscriber",
        _slow_subscriber,
        _WARNING,
        explains=("events_dropped",),
    ),
    Row(
        "slow_peer",
        "Records wait for a peer",
        _slow_peer,
        _WARNING,
        after_seconds=LOOK_SECONDS,
        explains=("not_accepted",),
    ),
    Row(
        "store_filling",
        "The room for events kept for others is half full",
        _store_filling,
        _WARNING,
        explains=("let_go_early",),
    ),
    Row("archive_full", "The disk takes nothing for the archive", _archive_full, _WARNING),
    Row("archive_slow", "Events wait for the disk of the archive", _archive_slow, _WARNING),
    Row("archive_damaged", "The file of the archive is damaged", _archive_damaged, _WARNING),
    Row(
        "events_dropped",
        "Full queues of subscriptions dropped events",
        _growing(
            lambda stats: stats.counters.missed,
            "subscribers were too slow for {}",
            "take them by the batch, give them longer queues, or filter with where=",
        ),
    ),
    Row(
        "events_gone",
        "Events can no longer be had",
        _growing(
            lambda stats: stats.counters.told_missed,
            "{} can no longer be had",
            "let events be kept for longer (--retention), and find out who was cut off",
        ),
    ),
    Row(
        "too_many_streams",
        "Events were refused, as too many streams are known",
        _growing(
            lambda stats: stats.counters.unplaced,
            "{} refused: there is no room for further streams of events, or for gaps in theirs",
            "each process that publishes has a stream of its own: let one go on, as `camcast"
            " publish` does with lines on stdin, in place of one for each event",
        ),
        _WARNING,
    ),
    Row(
        "not_accepted",
        "Published events were not accepted",
        _growing(
            lambda stats: stats.counters.unpublished,
            "{} not accepted, since peers take them too slowly",
            "publish more slowly, or with wait=True",
        ),
    ),
    Row(
        "keys_let_go",
        "Last values of keys were let go",
        _growing(
            lambda stats: sum(one.repair.keys_let_go for one in stats.communities if one.repair),
            "{} let go, the oldest first, since the room for them was full",
            "publish fewer keys or smaller values in a community, and delete keys (publish(None))",
            noun="last value",
        ),
        _WARNING,
    ),
    Row(
        "let_go_early",
        "Events kept for others were let go early",
        _growing(
            lambda stats: 0 if stats.store is None else stats.store.let_go_early,
            "{} let go before their time, since the room for them was full",
            "keep events for a shorter time (--retention), or publish less",
            noun="batch",
            plural="batches",
        ),
        _WARNING,
    ),
    Row(
        "callback_fails",
        "Callbacks of subscriptions raised",
        _growing(
            lambda stats: sum(one.callback_errors for one in stats.communities),
            "callbacks have raised {}",
            "the log has the tracebacks",
            noun="time",
        ),
    ),
    Row(
        "plug_fails",
        "Plugs raised, or answered wrongly",
        _growing(
            lambda stats: stats.counters.plug_errors,
            "plugs have raised, or answered wrongly, {}",
            "the log names the plug, the verb and the topic: tell its authors",
            noun="time",
        ),
    ),
    Row(
        "fails",
        "The process itself failed at something",
        _growing(
            lambda stats: stats.counters.failures,
            "timers, datagrams or deliveries raised an error {}",
            "the log has the tracebacks: please report them",
            noun="time",
        ),
    ),
    Row(
        "trace_fails",
        "The trace cannot be written",
        _growing(
            lambda stats: stats.counters.trace_failures,
            "the trace could not be written {}",
            "see whether its disk is full",
            noun="time",
        ),
    ),
)
"""The conditions, causes above consequences."""
