"""What there is to know of a measure: what it is called, what is possible, which way is better."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Final, Literal

from attrs import evolve, frozen

Better = Literal["more", "less", "neither"]


@frozen
class Facts:
    """What is known of a measure by its name."""

    title: str
    better: Better = "neither"
    unit: str = ""
    least: float = 0.0
    most: float = inf
    order: int = 1000
    """Where it stands among the others: the smallest first."""
    benchmark: str = ""
    """The benchmark whose number it is; empty for a measure of runs."""
    matters: bool = False
    """Whether it is printed and drawn; everything else is in the files alone."""

    @property
    def is_share(self) -> bool:
        """Whether it is between 0 and 1."""
        return self.most == 1.0


def _less(title: str, unit: str = "", *, matters: bool = False) -> Facts:
    return Facts(title, "less", unit, matters=matters)


_READING_ORDER: Final = {
    "reception": Facts("reception probability", "more", most=1.0, matters=True),
    "reliability": Facts("reliability", "more", most=1.0, matters=True),
    "hops_mean": _less("latency in hops, mean", matters=True),
    "hops_p50": _less("latency in hops, median"),
    "hops_p90": _less("latency in hops, 90 %"),
    "hops_p99": _less("latency in hops, 99 %"),
    "last_delivery_hop": _less("hops to the last delivery, mean", matters=True),
    "latency_ms_p50": _less("latency, median", "ms", matters=True),
    "latency_ms_p90": _less("latency, 90 %", "ms"),
    "latency_ms_p99": _less("latency, 99 %", "ms", matters=True),
    "efficiency": Facts("efficiency", "more", most=1.0, matters=True),
    "redundancy": _less("redundancy", matters=True),
    "duplicates": _less("duplicates"),
    "upward_messages": Facts("upward messages", matters=True),
    "control_bytes": _less("control traffic", "bytes", matters=True),
    "parasites": _less("parasites", matters=True),
    "view_mean": Facts("table size, mean", matters=True),
    "view_p5": Facts("table size, 5 %"),
    "view_p50": Facts("table size, median"),
    "view_p95": Facts("table size, 95 %"),
    "in_degree_mean": Facts("in-degree, mean"),
    "in_degree_variance": _less("in-degree, variance", matters=True),
    "in_degree_chi_square": _less("in-degree, chi-square"),
    "heal_seconds_p50": _less("time to heal, median", "s", matters=True),
    "heal_seconds_max": _less("time to heal, longest", "s", matters=True),
    "unhealed": _less("crashes never healed"),
    "join_visible_seconds_p50": _less("time until a join is seen, median", "s"),
    "join_visible_seconds_p99": _less("time until a join is seen, 99 %", "s"),
    "joins_invisible": _less("joins never seen"),
    "processes": Facts("processes"),
    "events": Facts("events"),
    "deliveries": Facts("deliveries"),
    "lost": _less("deliveries lost"),
}
_KNOWN: Final = {
    name: evolve(fact, order=order) for order, (name, fact) in enumerate(_READING_ORDER.items())
}
# What the names of benchmarks' numbers say: the first word of these that is in it.
_WORDS: Final[tuple[tuple[str, Better], ...]] = (
    *((phrase, "more") for phrase in ("per_second", "ratio", "reception", "reliability")),
    *(
        (phrase, "less")
        for phrase in ("seconds", "nanoseconds", "ms", "ns", "bits", "cpu", "memory", "bytes")
    ),
    *((phrase, "less") for phrase in ("missed", "dropped", "malformed", "lost", "parasites")),
    *((phrase, "less") for phrase in ("redundancy", "copies")),
)
_OF_THE_MACHINE: Final = ("raw_", "bare_")  # what ours is compared with, in the same minute
_BENCHMARKS_MATTER: Final = (
    *("deliveries_per_second", "messages_per_second", "ratio_to_raw", "cpu_ratio_to_raw"),
    *("latency_ms_p50", "latency_ms_p99", "redundancy", "missed"),
    *("cpu_seconds_per_1000_deliveries", "memory_mb_per_node"),
    *("nanoseconds_per_record", "nanoseconds", "seconds_median"),
)


@lru_cache(maxsize=4096)  # chosen: a comparison has some hundred measures, and asks often
def facts(metric: str) -> Facts:
    """Return what is known of a measure; of a benchmark's number, what its name says."""
    if metric in _KNOWN:
        return _KNOWN[metric]
    benchmark, _, name = metric.rpartition(".")
    matters = bool(benchmark) and name in _BENCHMARKS_MATTER
    order = 500 + _BENCHMARKS_MATTER.index(name) if matters else 1000
    unit = next((unit for unit in ("seconds", "ms", "mb") if unit in name.split("_")), "")
    return Facts(
        name.replace("_", " "),
        _guess(name),
        {"seconds": "s", "mb": "MB"}.get(unit, unit) if "per" not in name.split("_") else "",
        least=-inf,
        order=order,
        benchmark=benchmark,
        matters=matters,
    )


def _guess(name: str) -> Better:
    if name.startswith(_OF_THE_MACHINE):
        return "neither"
    padded = f"_{name}_"
    return next((better for phrase, better in _WORDS if f"_{phrase}_" in padded), "neither")
