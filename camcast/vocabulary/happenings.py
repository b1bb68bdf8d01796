"""Happenings: everything that may happen in a process, in one table of kinds, and who is told.

A *happening* of the process (a change of its communities, tables, links or gateways) is told once,
as a `Happening`. The trace and the counters take it at once, because the order of a trace's records
counts. The driver's subscribers take it when the outbox is drained: the log, the ring of what
happened last, and the application, which gets a `Change`.

What happens to *events* is told by the batch, as plain arguments (`TakeBatch`), to the trace and to
the ring; where nobody wants to know, an event costs one comparison with None. Counters of events
are counted where it happens, and a test holds counters and trace against the table.

To add a kind: its name in `HappeningKind` (or `EventKind`), and its row in the table of kinds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

import msgspec
from attrs import frozen

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GroupId, Topic

Standing = Literal["member", "alone", "degraded", "deaf"]
"""How a process stands in a community that it has joined."""

_OfCommunity = Literal[
    "joined", "left", "unheard", "unanswered", "missed", "history_short", "carries"
]
_OfRepair = Literal["repair_full", "promise_broken", "too_long", "refused_as_too_long"]
_OfTables = Literal["peer_seen", "peer_gone", "linked", "unlinked", "searching"]
_OfProcess = Literal[
    "isolated", "healed", "deafened", "hears", "paused", "clock_set", "moved", "crashed"
]
_OfGateways = Literal["gateway_answers", "gateway_lost", "gateway_back", "gateway_moved"]
_OfDiscovery = Literal["seek", "found", _OfGateways]
HappeningKind = Literal[Standing, _OfCommunity, _OfRepair, _OfTables, _OfProcess, _OfDiscovery]

BatchKind = Literal[
    "publish", "send", "upward", "receive", "duplicate", "deliver", "parasite", "drop"
]
"""The happenings of batches of events."""
EventKind = Literal[BatchKind, "filtered", "lagged", "unsent"]

_OfLife = Literal["join", "leave", "learn", "forget", "crash", "seek", "found", "missed"]
TraceKind = Literal[BatchKind, _OfLife, "control"]
"""The kinds of records of a trace. `control` alone is no happening: it sums up the traffic that is
not events, the bytes that the node has sent for a community since its last such record, each copy
counted; without a community, what it sent for no community of its own."""
ChangeKind = Literal[Standing, "left", "peer_seen", "peer_gone"]
"""The changes that are made of happenings."""
ConditionKind = Literal["wrong", "right"]
"""The changes that are made of conditions (`camcast.observe.conditions`)."""

NO_GROUP: Final = GroupId(bytes(8))
"""Stands for the group of the parts of a node that serve all groups."""


class Happening(msgspec.Struct, frozen=True, gc=False):
    """Something that happened to a process."""

    kind: HappeningKind
    group: GroupId = NO_GROUP
    """The group that it is about, if it is about one."""
    topic: Topic | None = None
    """The topic that it is about: the one joined, sought or found, or a super-topic."""
    contact: Contact | None = None
    addresses: tuple[str, ...] = ()
    """The gateways that it is about."""
    count: int = 0
    seconds: float = 0.0
    silent: bool = False
    """Whether the peer of a `peer_gone` was found dead or cut off, and did not just leave."""
    event: str = ""
    """The first of the `count` events that it is about."""


TakeBatch = Callable[[float, BatchKind, Batch, str, tuple[bytes, ...]], None]
"""Takes what happened to a batch: when, what, in which community, and which peers it went to."""


@frozen
class Change:
    """A change in one community, as this process sees it.

    How the process stands: ``member``, with peers in the topic table; ``alone``, without any;
    ``degraded``, when no peer is heard from, so that this process may be cut off; ``deaf``, when
    no frame of anybody has arrived for three silences, so that nobody may be able to connect to it;
    ``left``. And who is in its topic table: ``peer_seen`` came in, and ``peer_gone`` is in it no
    more. Of those that are gone the `silent` ones were found dead or cut off. Others have left
    the community, or live on outside this table: it holds some members only.

    And what is wrong with the process or with the community in it: a condition (docs/operating.md,
    Conditions) that lasts is ``wrong``, and ``right`` once it is over. One that another condition
    explains is not told.

    Example:
        ::

            async for change in community.changes():
                if isinstance(change, Change) and change.kind == "degraded":
                    print("cut off from", change.topic)
    """

    kind: ChangeKind | ConditionKind
    topic: Topic
    peer: Contact | None = None
    """Of `peer_seen` and `peer_gone`."""
    silent: bool = False
    condition: str = ""
    """Of `wrong` and `right`: the name of the condition."""
    says: str = ""
    """A sentence about what is wrong."""
    do: str = ""
    """Advice: what to do about it."""


class Line(NamedTuple):
    """A line of the log."""

    level: int
    text: str
    """Names in braces are values of the happening (`camcast.observe.log`)."""
    fields: tuple[str, ...] = ()
    """The values that programs read in the record of the log, besides the kind and the community.
    """


@frozen
class Row:
    """A row of the table of kinds: what is made of a happening of a kind."""

    log: Line | None = None
    """None: it is not logged."""
    trace: TraceKind | None = None
    """The kind of the trace's record; None: it is not traced."""
    change: ChangeKind | None = None
    """The change that the application gets."""
    restands: bool = False
    """Whether the process may stand otherwise in the community afterwards."""
    ring: bool = False
    """Whether the ring remembers it, for `camcast trace`."""
    counters: tuple[str, ...] = ()
    """The counters of the process that count it, each event or each copy of one."""


def _info(text: str, *fields: str) -> Line:
    return Line(logging.INFO, text, fields)


def _debug(text: str, *fields: str) -> Line:
    return Line(logging.DEBUG, text, fields)


PROCESS_KINDS: Final[Mapping[HappeningKind, Row]] = {
    # This process joined the community.
    "joined": Row(_info("joined {topic}"), trace="join", restands=True, ring=True),
    # This process left the community.
    "left": Row(_info("left {topic}"), trace="leave", change="left", ring=True),
    # Before `left`: the last events that it published were sent to no process.
    "unheard": Row(
        _info(
            "leaves {topic} with {count} events that it published last and could give to nobody:"
            " no other member and no super-process is known to live",
            "count",
        )
    ),
    # No discovery could name members of the community; this process seeks again.
    "unanswered": Row(
        _info("{topic} cannot be joined yet: {gateways} could not tell who is there", "gateways")
    ),
    # This process stands in the community with peers in its topic table.
    "member": Row(_info("a member of {topic}, with {peers} in its table"), change="member"),
    # This process knows no other member of the community.
    "alone": Row(_info("alone in {topic}: no other member is known"), change="alone"),
    # This process hears nothing of its peers in the community.
    "degraded": Row(
        _info("cut off in {topic}: nothing is heard of its {peers}"), change="degraded"
    ),
    # No frame reaches this process, of whatever process.
    "deaf": Row(
        _info("deaf in {topic}: no frame arrives, of its {peers} or others"), change="deaf"
    ),
    # A process came into the topic table.
    "peer_seen": Row(
        _debug("{contact} came into the table of {topic}", "peer", "address"),
        trace="learn",
        change="peer_seen",
        restands=True,
    ),
    # A process left the topic table: it was found dead or cut off (`silent`), or not.
    "peer_gone": Row(
        _debug("{contact} left the table of {topic}{silently}", "peer", "address", "silent"),
        trace="forget",
        change="peer_gone",
        restands=True,
    ),
    # No peer sends anything.
    "isolated": Row(restands=True, ring=True),
    # A peer sends again after `isolated`.
    "healed": Row(restands=True, ring=True),
    # No frame of anybody has come for three silences, though peers are watched.
    "deafened": Row(restands=True, ring=True),
    # A frame has come after `deafened`.
    "hears": Row(restands=True, ring=True),
    # This process did not run for some seconds, until now.
    "paused": Row(_info("this process did not run for {seconds:.1f} s", "seconds"), ring=True),
    # The wall clock was set forward by some seconds, back if negative.
    "clock_set": Row(
        Line(
            logging.WARNING,
            "the clock of this machine was set from {from} to {to}, by {seconds:+.1f} s: {me} goes"
            " by the new time from now on",
            ("seconds", "from", "to"),
        ),
        counters=("clock_sets",),
    ),
    # This process announces another address, which its machine or its name has now.
    "moved": Row(_info("this process is at {address} from now on", "address"), ring=True),
    # This process begins to take part in a community for members that nobody can dial.
    "carries": Row(_info("carries {topic} for processes that nobody can dial"), ring=True),
    # The nearest known super-processes changed; the first ones are logged at INFO.
    "linked": Row(
        _debug("{topic} is linked to {count} processes of {of}", "of", "count"), ring=True
    ),
    # No super-process is known.
    "unlinked": Row(
        _info("{topic} has no link to {of} any more: its events do not climb", "of"), ring=True
    ),
    # This process searches for super-processes up to a topic.
    "searching": Row(_debug("{topic} looks for super-processes up to {of}", "of")),
    # A gateway gave its first answer.
    "gateway_answers": Row(_debug("the gateway {gateways} answers", "gateways")),
    # A gateway does not answer.
    "gateway_lost": Row(_info("the gateway {gateways} does not answer", "gateways")),
    # A gateway answers after `gateway_lost`.
    "gateway_back": Row(_info("the gateway {gateways} answers again", "gateways")),
    # The name of a gateway has other addresses than before.
    "gateway_moved": Row(_info("a gateway has moved: {gateways}", "gateways")),
    # The discovery is asked for members of a topic.
    "seek": Row(_debug("looks for members of {of}", "of"), trace="seek"),
    # The discovery answered; traced if it named a process.
    "found": Row(_debug("found {count} members of {of}", "of", "count"), trace="found"),
    # Subscribers were told of events that can no longer be had.
    "missed": Row(trace="missed", ring=True, counters=("told_missed",)),
    # Streams of which something is missing found no room among those that are asked for.
    "repair_full": Row(
        Line(
            logging.WARNING,
            "more is missing in {topic} than can be asked for: {count} streams found no room until"
            " now (said once a minute); what is lost of them is told as missed",
            ("count",),
        ),
        ring=True,
        counters=("repairs_unplaced",),
    ),
    # A process that told of events was asked for them in vain, and makes way for others.
    "promise_broken": Row(counters=("promises_broken",)),
    # This process was offered an event that is longer than it takes.
    "too_long": Row(
        Line(
            logging.WARNING,
            "an event in {topic} is longer than the {count} bytes that this process takes; its"
            " subscribers miss it (event_bytes_max, --event-bytes-max; said once a minute)",
            ("count",),
        ),
        ring=True,
    ),
    # A member takes no event as long as one that this process has published.
    "refused_as_too_long": Row(
        Line(
            logging.WARNING,
            "a member of {topic} takes events of {count} bytes at most, and one of this process is"
            " longer: set event_bytes_max alike for all members (said once a minute)",
            ("count",),
        ),
        ring=True,
    ),
    # A subscription asked for more of the past than the members keep that answered.
    "history_short": Row(
        Line(
            logging.WARNING,
            "of the past of {topic} {count} s can be had: no member that answered keeps more",
            ("count",),
        ),
        ring=True,
    ),
    # This process died, as written by the process that killed it.
    "crashed": Row(trace="crash", ring=True),
}
"""The happenings of a process."""

EVENT_KINDS: Final[Mapping[EventKind, Row]] = {
    # This process published an event.
    "publish": Row(trace="publish", ring=True),
    # A copy was sent within the community.
    "send": Row(trace="send", ring=True, counters=("event_copies_sent",)),
    # A copy was sent to a super-community.
    "upward": Row(trace="upward", ring=True, counters=("upward_sent",)),
    # The first copy arrived in a community.
    "receive": Row(trace="receive", ring=True, counters=("events",)),
    # A later copy arrived.
    "duplicate": Row(trace="duplicate", counters=("duplicates",)),
    # An event was handed to the application.
    "deliver": Row(trace="deliver", ring=True),
    # A copy arrived of a community that this process is not part of.
    "parasite": Row(trace="parasite", ring=True, counters=("parasites",)),
    # A copy arrived of a community that this process has left, or without its rights.
    "drop": Row(trace="drop", ring=True, counters=("late", "unverified")),
    # A subscription's interest (`where`) does not match.
    "filtered": Row(ring=True),
    # A subscription's full queue dropped an event.
    "lagged": Row(ring=True),
    # A full output pipe dropped an event.
    "unsent": Row(ring=True),
}
"""The happenings of an event; none of them is logged."""
