"""The metrics of a process, for Prometheus: a collector over `CommunityManager.stats()`.

Needs the extra ``camcast[metrics]``. Register a `Collector` in a registry of your own, or let
`serve` answer over HTTP::

    with camcast.ops.metrics.serve(manager, port=9100):
        ...

Nothing is measured between two questions: each is answered from one snapshot, which the manager's
event loop takes. Names, units and kinds follow Prometheus's conventions: ``_total`` for what only
grows, ``_bytes`` and ``_seconds``, and a label ``topic`` for what belongs to a community.
docs/operating.md lists them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Final, get_args

from attrs import define, field, frozen
from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector as PrometheusCollector

from camcast.app import blocking
from camcast.app.community import State
from camcast.app.community_errors import CommunityError
from camcast.app.manager import CommunityManager
from camcast.doors.transport import BindError
from camcast.inbox.subscription import running_loop
from camcast.live.stats import CommunityStats, Stats

_log = logging.getLogger(__name__)

# chosen: half the time that Prometheus gives a scrape by default; a loop that is busy for longer
# has no metrics.
STATS_SECONDS: Final = 5.0

AnyManager = CommunityManager | blocking.CommunityManager
_Labels = tuple[str, ...]


@frozen
class _Of:
    """A metric that is one field of a part of the snapshot."""

    field: str
    name: str
    """The name in Prometheus, without ``camcast_`` and ``_total``."""
    meaning: str
    counts: bool = True
    """Whether it only grows."""


def _now(field: str, name: str, meaning: str) -> _Of:
    return _Of(field, name, meaning, counts=False)


_COUNTERS: Final = (
    _Of("published", "events_published", "Events that this process published"),
    _Of("unpublished", "events_unpublished", "Events not accepted, as peers took them too slowly"),
    _Of("events", "events_received", "First copies of events that interest this process"),
    _Of("duplicates", "event_duplicates", "Later copies of events"),
    _Of("parasites", "event_parasites", "Copies of events of communities it was never in"),
    _Of("late", "events_late", "Copies of events of communities that it has left"),
    _Of("forged", "events_forged", "Events that came as this process's own, and are not"),
    _Of("unverified", "events_unverified", "Events whose signature or right did not verify"),
    _Of("held", "events_held", "Events that waited for the certificate of their publisher"),
    _Of("unadmitted", "messages_unadmitted", "What others sent without the right to"),
    _Of("given_up", "events_given_up", "Events that count as known: too many gaps above them"),
    _Of("unplaced", "events_unplaced", "Events refused: too many streams, or gaps in theirs"),
    _Of("repaired", "events_repaired", "First copies of events that were asked for"),
    _Of("told_missed", "events_missed", "Events that can no longer be had"),
    _Of("missed", "events_lagged", "Events that full queues of subscriptions dropped"),
    _Of("event_copies_sent", "event_copies_sent", "Copies of events to members of the same group"),
    _Of("upward_sent", "event_copies_upward", "Copies of events to members of super-communities"),
    _Of("repairs_sent", "event_copies_repairing", "Of both, the copies that were asked for"),
    _Of("controls", "controls_received", "Control records that arrived"),
    _Of("stray_controls", "controls_stray", "Control records that no part of the process takes"),
    _Of("malformed", "frames_malformed", "Frames with a record that does not follow the format"),
    _Of("other_versions", "frames_other_version", "Frames of another version of the wire format"),
    _Of("trace_failures", "trace_failures", "How often the trace could not be written"),
)
_INPUT: Final = (
    _Of("frames_received", "frames_received", "Frames that arrived"),
    _Of("bytes_received", "received_bytes", "Bytes of the frames that arrived"),
    _Of("frames_refused", "frames_refused", "Frames that no transport allows"),
    _Of("frames_failed", "frames_failed", "Frames whose receiver raised an error"),
    _Of("connections_refused", "connections_refused", "Connections refused: there were too many"),
    _Of("versions_refused", "connections_other_version", "Refused: of another wire version"),
    _Of("strangers_refused", "connections_strange", "Refused: without the keys asked for"),
    _Of("forgers_refused", "connections_forging", "Cut off: what they sent was forged"),
)
_OUTPUTS: Final = (
    _Of("frames_sent", "frames_sent", "Frames that left"),
    _Of("records_sent", "records_sent", "Records in the frames that left"),
    _Of("bytes_sent", "sent_bytes", "Bytes of the frames that left"),
    _Of("records_dropped", "records_dropped", "Records that found no room, or no open pipe"),
    _Of("records_misdirected", "records_misdirected", "Of these, meant for one no longer there"),
    _Of("pipes_refused", "pipes_refused", "Output pipes that could not be opened"),
    _Of("controls_sent", "controls_sent", "Copies of control records to be sent"),
    _Of("controls_unsent", "controls_unsent", "Answers not given: too many in one turn"),
    _Of("versions_refused", "peers_other_version", "Connections to peers of another wire version"),
    _Of("strangers_refused", "peers_strange", "Connections to peers without the keys asked for"),
)
_PIPES: Final = (
    _now("open", "pipes_open", "Output pipes"),
    _now("open_max", "pipes_open_max", "How many output pipes there may be"),
    _now("connections", "connections", "Connections that others have to this process"),
    _now("connections_max", "connections_max", "How many of them there may be"),
    _now("crowded", "pipes_crowded", "Output pipes that are more than half full"),
    _now("waiting_bytes", "pipes_waiting_bytes", "What waits in all output pipes"),
    _now("waiting_bytes_max", "pipes_waiting_max_bytes", "How much may wait in them"),
)
_LIVENESS: Final = (
    _now("watched", "peers_watched", "Peers that get heartbeats"),
    _now("suspects", "peers_suspect", "Of these, the ones that have been silent for too long"),
    _now("isolated", "isolated", "1 while nothing is heard of any peer"),
    _now("health", "health_factor", "Patience with others, 1 to 8: more after being late itself"),
    _Of("pauses", "pauses", "How often the process did not run for longer than a period"),
    _Of("paused_seconds", "paused_seconds", "How long it did not run"),
)
_STORE: Final = (
    _now("bytes", "store_bytes", "Events kept for those who missed them"),
    _now("bytes_max", "store_max_bytes", "How much may be kept"),
    _Of("let_go_early", "store_let_go_early", "Batches let go early, as the store was full"),
)
_COMMUNITY: Final = (
    _now("size", "community_size", "Estimate of the processes in the community"),
    _now("peers", "community_peers", "Processes in the topic table"),
    _now("holders", "community_holders", "Processes that have this one in their topic tables"),
    _now("known_streams", "community_known_streams", "Streams of which something is known"),
    _Of("published", "community_events_published", "Events published here"),
    _Of("delivered", "community_events_delivered", "Events handed to subscriptions"),
    _Of("missed", "community_events_lagged", "Events that full queues of subscriptions dropped"),
    _Of("callback_errors", "callback_errors", "How often callbacks of subscriptions raised"),
)
_REPAIR: Final = (
    _now("incomplete_streams", "repair_incomplete_streams", "Streams with something asked for"),
    _now("holes", "repair_holes", "Ranges of events that are missing in these"),
    _Of("haves_sent", "repair_haves_sent", "Messages that say what is known"),
    _Of("wants_sent", "repair_wants_sent", "Messages that ask for events"),
    _Of("missed", "repair_events_missed", "Events that can no longer be had"),
)
_LINK: Final = (
    _now("contacts", "link_contacts", "Processes in the super-topic table, of the nearest topic"),
    _now("remembered", "link_remembered", "Others that could be asked"),
    _now("searching", "link_searching", "1 while nearer super-processes are looked for"),
)
# Sums over a community's subscriptions: one that ends would leave a gap in a series of its own.
_QUEUES: Final = (
    _now("queued_events", "queued_events", "Events in the queues of subscriptions"),
    _now("queued_events_max", "queued_events_max", "How many there may be"),
    _now("queued_bytes", "queued_bytes", "Bytes of their payloads"),
    _now("queued_bytes_max", "queued_max_bytes", "How many there may be"),
)
# These are made of more than one field.
_STARTED: Final = _now("", "start_time_seconds", "When the manager started, seconds since 1970")
_DISCOVERY: Final = _now("", "discovery_state", "1 for the state in which the discovery is")
_GATEWAY: Final = _now("", "gateway_answers", "1 if the gateway answered when it was asked last")
_STATE: Final = _now("", "community_state", "1 for the state in which the process is there")


@define
class _Families:
    """The metrics of one answer, by their names."""

    node_label: _Labels
    node: _Labels = ()
    """The value of `node_label` for the metrics that are added next."""
    made: dict[str, Metric] = field(factory=dict)

    def add(self, metric: _Of, value: float | None, labels: Mapping[str, str]) -> None:
        """Add a value with its labels; None: there is none."""
        if value is None:
            return
        family = self.made.get(metric.name)
        if family is None:
            make = CounterMetricFamily if metric.counts else GaugeMetricFamily
            names = (*self.node_label, *labels)
            family = make(f"camcast_{metric.name}", f"{metric.meaning}.", labels=names)
            self.made[metric.name] = family
        family.add_metric([*self.node, *labels.values()], float(value))  # type: ignore[attr-defined]  # both kinds have it

    def add_all(self, metrics: tuple[_Of, ...], of: object, **labels: str) -> None:
        """Add the metrics of a part of the snapshot."""
        for metric in metrics:
            self.add(metric, getattr(of, metric.field), labels)


class Collector(PrometheusCollector):
    """The metrics of one manager, or of several by their names, which are the label ``node``.

    A manager that is not running, or whose event loop does not answer in `STATS_SECONDS`, has no
    metrics. Made for a running asyncio manager in its loop; it may then be asked from any thread.
    """

    def __init__(self, managers: AnyManager | Mapping[str, AnyManager]) -> None:
        self._node_label: _Labels = ()
        if isinstance(managers, Mapping):
            self._node_label, self._managers = ("node",), managers
        else:
            self._managers = {"": managers}
        self._loop = None
        if any(isinstance(one, CommunityManager) for one in self._managers.values()):
            self._loop = asyncio.get_running_loop()

    def describe(self) -> Iterator[Metric]:
        """Describe nothing, so that registering the collector takes no snapshot."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, from one snapshot of each manager."""
        families = _Families(self._node_label)
        for name, stats in self._snapshots().items():
            families.node = (name,) if self._node_label else ()
            _add(families, stats)
        yield from families.made.values()

    def _snapshots(self) -> dict[str, Stats]:
        def take() -> dict[str, Stats]:
            snapshots = {}
            for name, manager in list(self._managers.items()):
                try:
                    snapshots[name] = manager.stats()
                except CommunityError:  # it was closed
                    continue
            return snapshots

        if self._loop is None or running_loop() is self._loop:
            return take()
        answer: SimpleQueue[dict[str, Stats]] = SimpleQueue()
        try:
            self._loop.call_soon_threadsafe(lambda: answer.put(take()))
            return answer.get(timeout=STATS_SECONDS)
        except (Empty, RuntimeError):  # the loop is busy, or has ended
            _log.warning("no metrics: the event loop does not answer within %g s", STATS_SECONDS)
            return {}


def _add(families: _Families, stats: Stats) -> None:
    families.add(_STARTED, stats.taken - stats.up_seconds, {})
    families.add_all(_COUNTERS, stats.counters)
    families.add_all(_INPUT, stats.counters.input)
    families.add_all(_OUTPUTS, stats.counters.outputs)
    families.add_all(_PIPES, stats.pipes)
    families.add_all(_LIVENESS, stats.liveness)
    if stats.store is not None:
        families.add_all(_STORE, stats.store)
    for state in ("connected", "alone", "degraded"):
        families.add(_DISCOVERY, stats.discovery.state == state, {"state": state})
    for contact in stats.discovery.first_contacts:
        families.add(_GATEWAY, contact.answers, {"gateway": contact.address})
    for community in stats.communities:
        _add_community(families, community)


def _add_community(families: _Families, community: CommunityStats) -> None:
    topic = community.topic
    families.add_all(_COMMUNITY, community, topic=topic)
    for state in get_args(State):
        families.add(_STATE, community.state == state, {"topic": topic, "state": state})
    for link in community.links:
        families.add_all(_LINK, link, topic=topic, super_topic=link.super_topic)
    queues = community.subscriptions
    for metric in _QUEUES:
        total = sum(getattr(queue, metric.field) for queue in queues)
        families.add(metric, total, {"topic": topic})
    if community.repair is not None:
        families.add_all(_REPAIR, community.repair, topic=topic)


@contextmanager
def serve(
    managers: AnyManager | Mapping[str, AnyManager], host: str = "127.0.0.1", port: int = 0
) -> Iterator[str]:
    """Answer Prometheus over HTTP, from a thread, until the block ends; yield the URL.

    With port 0 it is any free port. Besides the metrics of `Collector` there are those of the
    operating system's process (``process_cpu_seconds_total`` and others). Nobody who asks is
    authenticated: off the loopback, anybody can read topics and gateways. Raises `BindError`.
    """
    registry = CollectorRegistry()
    registry.register(Collector(managers))
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BindError(
            error.errno, f"metrics cannot be served at {host}:{port}: {reason}; choose another port"
        ) from error
    shown = f"[{host}]" if ":" in host else host
    try:
        yield f"http://{shown}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
