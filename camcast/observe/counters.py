"""The counters of a process, each with the metric that it is for Prometheus."""

from __future__ import annotations

from typing import Any, Final

from attrs import NOTHING, define, field, frozen

METRIC: Final = "metric"
"""The key of a field's metadata that has its `Metric`; `INPUT` and `OUTPUTS` those of pipes."""
INPUT: Final = "input"
OUTPUTS: Final = "outputs"


@frozen
class Metric:
    """The Prometheus metric of a field."""

    name: str
    """Without ``camcast_`` and ``_total``."""
    meaning: str
    counts: bool = True
    """Whether it only grows."""


def count(name: str, meaning: str, default: Any = 0, *, repr: bool = True) -> Any:
    """Return a field that is a metric and only grows; with `repr` it is in the digests of runs."""
    return field(default=default, repr=repr, metadata={METRIC: Metric(name, meaning)})


def total(name: str, meaning: str) -> Any:
    """Return a field of a snapshot that is a metric and only grows.

    It has no default, though mypy sees one: attrs refuses a snapshot without it.
    """
    return count(name, meaning, NOTHING)


def gauge(name: str, meaning: str) -> Any:
    """Return a field of a snapshot that is a metric and goes up and down; see `total`."""
    return field(metadata={METRIC: Metric(name, meaning, counts=False)})


def _pipe(**metrics: tuple[str, str]) -> Any:
    """Return a counter of pipes: a metric of the `input`, or of the `outputs`, or both."""
    return field(default=0, metadata={side: Metric(*metric) for side, metric in metrics.items()})


def _in(name: str, meaning: str) -> Any:
    return _pipe(input=(name, meaning))


def _out(name: str, meaning: str) -> Any:
    return _pipe(outputs=(name, meaning))


@define
class NodeCounters:
    """The counts of a node: records received, their fates, and records sent."""

    events: int = count("events_received", "First copies of events that interest this process")
    """First copies of events that interest this process, in each of its groups."""
    duplicates: int = count("event_duplicates", "Later copies of events")
    """Later copies of an event in the same group, of interest or not."""
    parasites: int = count("event_parasites", "Copies of events of communities it was never in")
    """First copies of events that do not interest this process, in its groups; and every copy in
    a group that it never was in. With CAMCAST this must stay 0."""
    relayed: int = count(
        "events_relayed", "First copies of events of communities that it relays", repr=False
    )
    """First copies of events that do not interest this process, in communities that it was
    configured to carry for processes that nobody can dial (`camcast.engine.carrying`)."""
    late: int = count("events_late", "Copies of events of communities that it has left")
    """Event copies of groups that this process has left, and copies of events that it published so
    long ago that it can no longer compare them (`camcast.engine.own_events`)."""
    controls: int = count("controls_received", "Control records that arrived")
    stray_controls: int = count(
        "controls_stray", "Control records that no part of the process takes"
    )
    """Control records that no part of this node takes."""
    malformed: int = count("records_malformed", "Records that do not follow the format")
    """Records that did not follow the format, each dropped alone; where a record's length was
    wrong, the rest of its frame was dropped with it and counts as one record."""
    records_unknown: int = count(  # 0 in the digest of every run
        "records_unknown", "Records skipped, which a later release may know", repr=False
    )
    """Records of a kind, with a flag of the head or with a tag that this release does not know."""
    other_versions: int = count(
        "frames_other_version", "Frames of another version of the wire format"
    )
    """Frames of another version of the wire format."""
    datagrams_other_system: int = count(  # 0 in the digest of every run
        "datagrams_other_system", "Datagrams of processes of another system", repr=False
    )
    """Datagrams of a discovery whose senders are of another system."""
    forged: int = count("events_forged", "Events that came as this process's own, and are not")
    """Events falsely claiming to be from this process."""
    unverified: int = count("events_unverified", "Events whose signature or right did not verify")
    """Events whose signature, or whose publisher's right, did not verify (docs/security.md)."""
    held: int = count("events_held", "Events that waited for the certificate of their publisher")
    """Events that had to wait for the certificate of their publisher; `unverified` has those for
    which it never came."""
    unadmitted: int = count("messages_unadmitted", "What others sent without the right to")
    """Frames, messages and introductions whose senders had no right to them (docs/security.md)."""
    over_rate: int = count(  # 0 in the digest of every run
        "events_over_rate",
        "Events beyond what their publisher's certificate allows a second",
        repr=False,
    )
    """Of other processes, which are `unverified`, too, and of this one, which raised an error."""
    key_conflicts: int = count(
        "key_conflicts", "Sightings of two processes with one key, at most one a minute each"
    )
    """How often two other processes, or another and this one, were found to use one key."""
    given_up: int = count("events_given_up", "Events that count as known: too many gaps above them")
    """Events not received that count as known from now on: too many gaps came above them."""
    unplaced: int = count("events_unplaced", "Events refused: too many streams, or gaps in theirs")
    """Events that were refused because too many streams, or gaps in theirs, are known already."""
    upward_sent: int = count(
        "event_copies_upward", "Copies of events to members of super-communities"
    )
    event_copies_sent: int = count(
        "event_copies_sent", "Copies of events to members of the same group"
    )
    """Copies of events to members of the same group; `upward_sent` is not among them."""
    repairs_sent: int = count("event_copies_repairing", "Of both, the copies that were asked for")
    """Copies of events that other processes had asked for; they are in the two counts above,
    too."""
    repaired: int = count("events_repaired", "First copies of events that were asked for")
    """First copies of events that this process had asked for in their group."""
    told_missed: int = count("events_missed", "Events that can no longer be had")
    """Events of which a subscriber was told that they can no longer be had."""
    repairs_unplaced: int = count(  # 0 in the digest of every run
        "repairs_unplaced", "Streams that found no room among those asked for", repr=False
    )
    """Streams of which something was missing and that found no room to be asked for, or gave it to
    another process's (`camcast.engine.repair.asking`); counted once a minute."""
    promises_broken: int = count(  # loss breaks promises; the digests of runs have their Wants
        "promises_broken", "Streams told of, asked for twice, and never sent", repr=False
    )
    """How often a process that had told of a stream sent nothing when it was asked twice: it lies,
    or loss and overload kept its answers away."""
    clock_sets: int = count(  # 0 in the digest of every run
        "clock_sets", "How often the wall clock was set by over a second", repr=False
    )
    """How often the wall clock of the machine was set (`camcast.vocabulary.clock`)."""
    plug_errors: int = count(  # 0 in the digest of every run
        "plug_errors", "How often plugs raised, or answered wrongly", repr=False
    )
    """How often plugs raised, or answered what they may not (`camcast.doors.contained`)."""
    trace_failures: int = count(  # a trace changes no digest of a run
        "trace_failures", "How often the trace could not be written", repr=False
    )
    """How often the sink of the trace has failed, and dropped the records that it held."""


@define
class PipeCounters:
    """The counts of pipes since they were opened: frames that went through, and losses."""

    frames_sent: int = _out("frames_sent", "Frames that left")
    records_sent: int = _out("records_sent", "Records in the frames that left")
    bytes_sent: int = _out("sent_bytes", "Bytes of the frames that left")
    records_dropped: int = _out("records_dropped", "Records that found no room, or no open pipe")
    """Queue full, too large, pipe refused or closed."""
    pipes_refused: int = _out("pipes_refused", "Output pipes that could not be opened")
    """At `pipes_max`, bad address, no descriptor."""
    frames_received: int = _in("frames_received", "Frames that arrived")
    bytes_received: int = _in("received_bytes", "Bytes of the frames that arrived")
    frames_refused: int = _in("frames_refused", "Frames that no transport allows")
    """Multipart, several records in a frame above `frame_bytes_max`."""
    frames_failed: int = _in("frames_failed", "Frames whose receiver raised an error")
    connections_refused: int = _in(
        "connections_refused", "Connections refused: there were too many"
    )
    """At `connections_max`."""
    handshakes_refused: int = _in(
        "handshakes_refused", "Connections refused: their host made too many"
    )
    """Beyond `camcast.live.wire.zmtp.zmtp_input.HANDSHAKES_A_SECOND`, for ten seconds."""
    connections_replaced: int = _in(
        "connections_replaced", "Connections ended, as others needed the place"
    )
    """Idle ones at `connections_max`, and those of a process or host that has more than its
    share."""
    records_misdirected: int = _out(
        "records_misdirected", "Of these, meant for one no longer there"
    )
    """Of the dropped: meant for another than listens there now."""
    controls_sent: int = _out("controls_sent", "Copies of control records to be sent")
    """That `send` got: queued or dropped."""
    controls_unsent: int = _out("controls_unsent", "Answers not given: too many in one turn")
    """Beyond `camcast.live.runner.CONTROL_COPIES_A_TURN_MAX`."""
    versions_refused: int = _pipe(
        input=("connections_other_version", "Refused: of another wire version"),
        outputs=("peers_other_version", "Connections to peers of another wire version"),
    )
    systems_refused: int = _pipe(
        input=("connections_other_system", "Refused: of another system"),
        outputs=("peers_other_system", "Connections to peers of another system"),
    )
    strangers_refused: int = _pipe(
        input=("connections_strange", "Refused: without the keys asked for"),
        outputs=("peers_strange", "Connections to peers without the keys asked for"),
    )
    handshakes_broken: int = _out("peers_breaking_off", "Handshakes that peers broke off")
    """By peers that may ask for other keys, or have died."""
    forgers_refused: int = _in("connections_forging", "Cut off: what they sent was forged")
    """For what is forged in their frames."""


@define(kw_only=True)
class Counters(NodeCounters):
    """All counts of a process, until this record was made."""

    published: int = count("events_published", "Events that this process published")
    """Events that `publish` accepted."""
    unpublished: int = count(
        "events_unpublished", "Events not accepted, as peers took them too slowly"
    )
    """Their receipts say so."""
    missed: int = count("events_lagged", "Events that full queues of subscriptions dropped")
    failures: int = count("failures", "Timers, datagrams and deliveries that raised an error")
    """Inputs of the process and wishes of its node that ended in an error, beside `plug_errors` and
    the frames of `input` that failed: defects of CAMCAST, or of what takes its log."""
    input: PipeCounters = field(factory=PipeCounters)
    """The counts of the input at this process's own address."""
    outputs: PipeCounters = field(factory=PipeCounters)
    """The counts of the output pipes, which all processes of an event loop may share."""
