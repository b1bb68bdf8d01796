"""From the runs of a fleet to the figures of a live benchmark (`extra_info`)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from extra_info import Value, conditions, redundancy
from fleet import Fleet, Run
from raw_pipe import Raw

from camcast import Parameters


def live_info(
    fleet: Fleet,
    about: Mapping[str, Value],
    parameters: Parameters,
    runs: list[Run],
    raws: list[Raw],
) -> dict[str, Value]:
    """Return `about` and the figures of some rounds, each with its raw pair.

    A rate that somebody else sets is not compared with anything: paced runs compare what a
    delivery costs and how long it takes, the others how many there are in a second.
    """
    median = statistics.median
    rate = about["rate_per_second"]
    ratios = [
        run.deliveries_per_second / raw.messages_per_second
        for run, raw in zip(runs, raws, strict=True)
    ]
    costs = [
        run.cpu_seconds_per_1000 / raw.cpu_seconds_per_1000
        for run, raw in zip(runs, raws, strict=True)
    ]
    latency, raw_latency = median(run.latency_ms(0.5) for run in runs), raws[0].latency_ms_p50
    published = sum(run.published for run in runs)
    deliveries = sum(run.delivered for run in runs)
    sent = {name: sum(run.counts[name] for run in runs) for name in runs[0].counts}
    return {
        **about,
        "seed": fleet.seed,
        "nodes": fleet.nodes,
        "events": runs[0].published,
        "rounds": len(runs),
        "deliveries": deliveries,
        "missed": sum(run.expected for run in runs) - deliveries,
        **{name: sent[name] for name in ("messages", "control_messages", "bytes")},
        "cpu_seconds_per_1000_deliveries": median(run.cpu_seconds_per_1000 for run in runs),
        "memory_mb_per_node": fleet.memory_mb_per_node,
        "redundancy": redundancy(sent["messages"], deliveries, published),
        **conditions(parameters, {}),
        "processes": fleet.processes,
        "deliveries_per_second": median(run.deliveries_per_second for run in runs),
        "raw_messages_per_second": median(raw.messages_per_second for raw in raws),
        "ratio_to_raw": median(ratios) if rate is None else None,
        "ratio_to_raw_min": min(ratios) if rate is None else None,
        "ratio_to_raw_max": max(ratios) if rate is None else None,
        "raw_cpu_seconds_per_1000_messages": median(raw.cpu_seconds_per_1000 for raw in raws),
        "cpu_ratio_to_raw": median(costs),
        "latency_ms_p50": latency,
        "latency_ms_p99": median(run.latency_ms(0.99) for run in runs),
        "raw_latency_ms_p50": raw_latency,
        "latency_ratio_to_raw": None if raw_latency is None else latency / raw_latency,
        "cores_busy": median(run.cpu_seconds / run.seconds for run in runs),
        "view_mean": fleet.facts()["view_mean"],
        **{name: sent[name] for name in ("records_dropped", "malformed")},
    }
