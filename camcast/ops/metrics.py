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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, get_args

import attrs
from attrs import define, field
from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as PrometheusMetric
from prometheus_client.registry import Collector as PrometheusCollector
from typing_extensions import override

from camcast.app import blocking
from camcast.app.community import State
from camcast.app.loop_thread import Moment
from camcast.app.manager import CommunityManager
from camcast.doors.transport import BindError
from camcast.inbox.feed import running_loop
from camcast.observe.counters import INPUT, METRIC, OUTPUTS, Metric
from camcast.observe.stats import CommunityStats, Stats, SubscriptionStats
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

# chosen: half the time that Prometheus gives a scrape by default; a loop that is busy for longer
# has no metrics.
STATS_SECONDS: Final = 5.0

AnyManager = CommunityManager | blocking.CommunityManager
_Labels = tuple[str, ...]


def _gauge(name: str, meaning: str) -> Metric:
    return Metric(name, meaning, counts=False)


# These are made of more than one field.
_STARTED: Final = Metric(
    "start_time_seconds", "When the manager started, seconds since 1970", counts=False
)
_DISCOVERY: Final = Metric(
    "discovery_state", "1 for the state in which the discovery is", counts=False
)
_GATEWAY: Final = Metric(
    "gateway_answers", "1 if the gateway answered when it was asked last", counts=False
)
_STATE: Final = Metric(
    "community_state", "1 for the state in which the process is there", counts=False
)


@define
class _Families:
    """The metrics of one answer, by their names."""

    node_label: _Labels
    node: _Labels = ()
    """The value of `node_label` for the metrics that are added next."""
    made: dict[str, PrometheusMetric] = field(factory=dict)

    def add(self, metric: Metric, value: float | None, labels: Mapping[str, str]) -> None:
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

    def add_all(self, of: Any, key: str = METRIC, **labels: str) -> None:
        """Add the fields of a part of the snapshot that are metrics, by a key of their metadata."""
        for name, metric in _metrics(type(of), key):
            self.add(metric, getattr(of, name), labels)


def _metrics(part: type, key: str = METRIC) -> Iterator[tuple[str, Metric]]:
    """Yield the fields of a part of a snapshot that are metrics."""
    for one in attrs.fields(part):
        if key in one.metadata:
            yield one.name, one.metadata[key]


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

    def describe(self) -> Iterator[PrometheusMetric]:
        """Describe nothing, so that registering the collector takes no snapshot."""
        return iter(())

    @override
    def collect(self) -> Iterator[PrometheusMetric]:
        """Yield the metrics, from one snapshot of each manager."""
        families = _Families(self._node_label)
        for name, stats in self._snapshots().items():
            families.node = (name,) if self._node_label else ()
            _add(families, stats)
        yield from families.made.values()

    def _snapshots(self) -> dict[str, Stats]:
        snapshots: dict[str, Stats] = {}

        def take() -> None:
            for name, manager in list(self._managers.items()):
                with suppress(CommunityError):  # it was closed
                    snapshots[name] = manager.stats()
            taken.happen()

        taken = Moment()
        try:
            if self._loop is None or running_loop() is self._loop:
                with blocking.timeout(STATS_SECONDS):
                    take()
            else:
                self._loop.call_soon_threadsafe(take)
                if not taken.wait(STATS_SECONDS):
                    raise TimeoutError
        except (TimeoutError, RuntimeError):  # the loop is busy, or has ended
            _log.warning("no metrics: the event loop does not answer within %g s", STATS_SECONDS)
            return {}
        return snapshots


def _add(families: _Families, stats: Stats) -> None:
    families.add(_STARTED, stats.taken - stats.up_seconds, {})
    families.add_all(stats.counters)
    families.add_all(stats.counters.input, INPUT)
    families.add_all(stats.counters.outputs, OUTPUTS)
    families.add_all(stats.pipes)
    families.add_all(stats.liveness)
    if stats.store is not None:
        families.add_all(stats.store)
    for state in ("connected", "alone", "degraded"):
        families.add(_DISCOVERY, stats.discovery.state == state, {"state": state})
    for contact in stats.discovery.first_contacts:
        families.add(_GATEWAY, contact.answers, {"gateway": contact.address})
    for community in stats.communities:
        _add_community(families, community)


def _add_community(families: _Families, community: CommunityStats) -> None:
    topic = community.topic
    families.add_all(community, topic=topic)
    for state in get_args(State):
        families.add(_STATE, community.state == state, {"topic": topic, "state": state})
    for link in community.links:
        families.add_all(link, topic=topic, super_topic=link.super_topic)
    # Sums over the subscriptions: one that ends would leave a gap in a series of its own.
    for name, metric in _metrics(SubscriptionStats):
        total = sum(getattr(queue, name) for queue in community.subscriptions)
        families.add(metric, total, {"topic": topic})
    if community.repair is not None:
        families.add_all(community.repair, topic=topic)


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
