"""The metrics of a process, for Prometheus: a collector over `CommunityManager.stats()`.

Needs the extra ``camcast[metrics]``. Register a `Collector` in a registry of your own, or let
`camcast.ops.health.serve` answer over HTTP.

Nothing is measured between two questions: each is answered from one snapshot, which the manager's
event loop takes. Names, units and kinds follow Prometheus's conventions: ``_total`` for what only
grows, ``_bytes`` and ``_seconds``, and a label ``topic`` for what belongs to a community.
docs/operating.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, get_args

import attrs
from attrs import define, field
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as PrometheusMetric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector as PrometheusCollector
from typing_extensions import override

from camcast.app.community import State
from camcast.observe.condition_table import TABLE
from camcast.observe.counters import INPUT, METRIC, OUTPUTS, Metric
from camcast.observe.stats import CommunityStats, Stats, SubscriptionStats
from camcast.ops.http_server import Answer
from camcast.ops.snapshots import AnyManager, BusyError, Snapshots
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

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
_CONDITION: Final = Metric(
    "condition", "How many things a condition is found of, 0 where all is well", counts=False
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

    A manager that is not running, or whose event loop does not answer in
    `camcast.ops.snapshots.STATS_SECONDS`, has no metrics. Made for a running asyncio manager in its
    loop; it may then be asked from any thread.
    """

    def __init__(self, managers: AnyManager | Mapping[str, AnyManager]) -> None:
        self._snapshots = Snapshots(managers)

    def describe(self) -> Iterator[PrometheusMetric]:
        """Describe nothing, so that registering the collector takes no snapshot."""
        return iter(())

    @override
    def collect(self) -> Iterator[PrometheusMetric]:
        """Yield the metrics, from one snapshot of each manager."""
        named = self._snapshots.named
        families = _Families(("node",) if named else ())
        try:
            for name, stats in self._snapshots.take().items():
                families.node = (name,) if named else ()
                _add(families, stats)
        except BusyError as error:
            _log.warning("no metrics: %s", error)
        yield from families.made.values()


def _add(families: _Families, stats: Stats) -> None:
    families.add(_STARTED, stats.taken - stats.up_seconds, {})
    families.add_all(stats.counters)
    families.add_all(stats.counters.input, INPUT)
    families.add_all(stats.counters.outputs, OUTPUTS)
    families.add_all(stats.pipes)
    families.add_all(stats.liveness)
    if stats.store is not None:
        families.add_all(stats.store)
    if stats.archive is not None:
        families.add_all(stats.archive)
    for state in ("connected", "alone", "degraded"):
        families.add(_DISCOVERY, stats.discovery.state == state, {"state": state})
    for contact in stats.discovery.first_contacts:
        families.add(_GATEWAY, contact.answers, {"gateway": contact.address})
    for certificate in stats.certificates:
        families.add_all(certificate, topic=certificate.topic, serial=certificate.serial)
    for known in stats.revocations:
        families.add_all(known, issuer=known.issuer)
    for row in TABLE:
        lasting = [
            one for one in stats.conditions if (one.name, one.stage) == (row.name, "lasting")
        ]
        families.add(_CONDITION, len(lasting), {"condition": row.name})
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


def exposition(
    managers: AnyManager | Mapping[str, AnyManager],
) -> Callable[[str], Answer]:
    """Return what answers Prometheus in the format that its header ``Accept`` asks for.

    Besides the metrics of `Collector` there are those of the operating system's process
    (``process_cpu_seconds_total`` and others).
    """
    registry = CollectorRegistry()
    registry.register(Collector(managers))
    ProcessCollector(registry=registry)

    def expose(accept: str) -> Answer:
        encode, kind = choose_encoder(accept)
        return Answer(encode(registry), kind)

    return expose
