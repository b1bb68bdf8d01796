"""The metrics of a run that both engines compute, whatever they compute them with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from camcast.research.models.distributions import REACH
from camcast.research.pipeline.ingest.run_to_read import RunFolder
from camcast.research.pipeline.measured import Measured

COUNTS: Final = (
    *("processes", "events", "deliveries", "lost", "upward_messages", "duplicates", "parasites"),
    *("control_bytes", "unhealed", "joins_invisible", "joins_seen"),
)
"""Metrics that are 0 where nothing happened."""
METRICS: Final = (
    *COUNTS,
    *("reception", "reliability", "efficiency", "redundancy"),
    *REACH,
    *("load_sent_p5", "load_sent_p50", "load_sent_p99", "load_sent_peak"),
    *("load_received_p5", "load_received_p50", "load_received_p99", "load_received_peak"),
    *("load_bytes_p5", "load_bytes_p50", "load_bytes_p99", "load_bytes_peak"),
    *("load_sent_publishers", "load_sent_links", "load_sent_hubs"),
    *("hops_mean", "hops_p50", "hops_p90", "hops_p99", "last_delivery_hop"),
    *("latency_ms_p50", "latency_ms_p90", "latency_ms_p99"),
    *("view_mean", "view_p5", "view_p50", "view_p95"),
    *("in_degree_mean", "in_degree_variance", "in_degree_chi_square"),
    *("heal_seconds_p50", "heal_seconds_max"),
    *("join_visible_seconds_p50", "join_visible_seconds_p99"),
    *("never_joined", "reception_of_all"),
)

SHARES: Final = {"p5": 0.05, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}
"""Of every sample; those that are in `METRICS` are kept."""
SEEN: Final = {"join_visible_seconds": "joins_seen"}
"""The metrics that count the samples with a value."""
IN_VAIN: Final = {"heal_seconds": "unhealed", "join_visible_seconds": "joins_invisible"}
"""The metrics that count the samples without a value."""

_OF_CONTROL: Final = ("control_bytes", *(name for name in METRICS if "load_bytes" in name))
_CONTROL_SINCE: Final = 2  # the schema version from which `control` is recorded


def unrecorded(run: RunFolder) -> tuple[str, ...]:
    """Return the metrics of what traces of a run's version have no records of."""
    return _OF_CONTROL if run.trace_version < _CONTROL_SINCE else ()


def measured_of(
    runs: Iterable[RunFolder], values: Mapping[tuple[str, str, str], float | None]
) -> list[Measured]:
    """Return one measure for each of `METRICS` of each run and community.

    `values` are those found, by run, community and metric; what is neither there nor in a run's
    summary was not measured.
    """
    measured = []
    for run in runs:
        unknown = unrecorded(run)
        for community in ("", *sorted(run.communities)):
            for metric in METRICS:
                else_ = run.of_all.get((community, metric), 0.0 if metric in COUNTS else None)
                value = values.get((run.run, community, metric), else_)
                if metric in unknown:
                    value = None
                measured.append(
                    Measured(
                        *(run.run, run.backend, run.protocol, community, run.p_sel),
                        *(run.parameters, run.version, run.seed, metric, value),
                    )
                )
    return measured
