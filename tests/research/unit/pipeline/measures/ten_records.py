"""Traces of ten records, and what docs/formats.md makes of them, reckoned by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from camcast.observe.trace import TraceRecord
from tests.research.unit.pipeline.run_folders import Tale

_EVENT: Final[dict[str, Any]] = {"topic": ".a", "event": "e-1-1"}
Right = Mapping[tuple[str, str], float]
"""By community and metric; whatever is not there is 0 if it is a count, else null."""


def reach(share: float) -> dict[str, float]:
    """Return the measures of reach of a single event that reaches a share of its receivers."""
    reaches = {f"reaches_{p}": float(100 * share >= p) for p in (10, 25, 50, 75, 90, 95, 99)}
    return {"reach_p5": share, "reach_p50": share, **reaches}


def load(of: str, p5: float, p50: float, p99: float, peak: float | None = None) -> dict[str, float]:
    """Return the measures of a load; nobody has a peak where nobody has a load."""
    found = {f"{of}_p5": p5, f"{of}_p50": p50, f"{of}_p99": p99}
    return found if peak is None else found | {f"{of}_peak": peak}


NO_LOAD: Final = {
    **load("load_sent", 0, 0, 0),
    **load("load_received", 0, 0, 0),
    **load("load_bytes", 0, 0, 0),
}


def half_received() -> tuple[list[TraceRecord], Right]:
    """Node 1 publishes; 2 delivers after a quarter of a second, and 3 never."""
    tale = Tale()
    for node in (1, 2, 3):
        tale.add(node - 1, "join", node, ".a")
    tale.add(2.5, "learn", 1, ".a", peer=2)
    tale.add(3, "learn", 2, ".a", peer=3)
    tale.add(10, "publish", 1, ".a", **_EVENT)
    tale.add(10, "send", 1, ".a", peer=2, **_EVENT)
    tale.add(10.25, "receive", 2, ".a", **_EVENT)
    tale.add(10.25, "deliver", 2, ".a", hops=1, **_EVENT)
    tale.add(10.5, "duplicate", 2, ".a", **_EVENT)
    both = {
        "processes": 3,
        "events": 1,
        "deliveries": 1,
        "lost": 1,
        "reception": 1 / 2,
        "reliability": 0,
        **reach(1 / 2),
        "duplicates": 1,
        "efficiency": 1 / 2,
        **NO_LOAD,
        **load("load_sent", 0, 0, 1, 3),  # 1, 0 and 0: three times the mean
        **load("load_received", 0, 0, 2, 3),  # 0, 2 and 0
        "load_sent_publishers": 3,
        "load_sent_hubs": 0,  # of 2, which names 3, and which 1 names
        **dict.fromkeys(("hops_mean", "hops_p50", "hops_p90", "hops_p99"), 1),
        "last_delivery_hop": 1,
        **dict.fromkeys(("latency_ms_p50", "latency_ms_p90", "latency_ms_p99"), 250),
        "view_mean": 2 / 3,  # 1, 1 and 0
        "view_p5": 0,
        "view_p50": 1,
        "view_p95": 1,
        "in_degree_mean": 2 / 3,  # 0, 1 and 1
        "in_degree_variance": 2 / 9,  # (4/9 + 1/9 + 1/9) / 3
        "joins_seen": 2,
        "joins_invisible": 1,  # of 1, whom nobody knows
        "join_visible_seconds_p50": 1,  # of 3, from 2 s to 3 s
        "join_visible_seconds_p99": 1.5,  # of 2, from 1 s to 2.5 s
    }
    right = {(place, metric): value for metric, value in both.items() for place in ("", ".a")}
    right[".a", "in_degree_chi_square"] = 1  # (4/9 + 1/9 + 1/9) / (2/3)
    return tale.records, right


def crash_and_climb() -> tuple[list[TraceRecord], Right]:
    """Node 3 dies and is forgotten after 2.5 s; an event of .a climbs to the root."""
    tale = Tale()
    tale.add(0, "join", 1, ".")
    tale.add(0, "join", 2, ".a")
    tale.add(0, "join", 3, ".a")
    tale.add(1, "learn", 2, ".a", peer=3)
    tale.add(5, "crash", 3)
    tale.add(7.5, "forget", 2, ".a", peer=3)
    tale.add(8, "publish", 2, ".a", **_EVENT)
    tale.add(8, "upward", 2, ".a", peer=1, **_EVENT)
    tale.add(8.125, "deliver", 1, ".", hops=1, **_EVENT)
    tale.add(9, "control", 2, ".a", size=100)
    spread = {
        "events": 1,
        "deliveries": 1,
        "reception": 1,
        "reliability": 1,
        **reach(1),
        **dict.fromkeys(("hops_mean", "hops_p50", "hops_p90", "hops_p99"), 1),
        "last_delivery_hop": 1,
        **dict.fromkeys(("latency_ms_p50", "latency_ms_p90", "latency_ms_p99"), 125),
    }
    healed = {"heal_seconds_p50": 2.5, "heal_seconds_max": 2.5}
    seen = {"join_visible_seconds_p50": 1, "join_visible_seconds_p99": 1, "joins_seen": 1}  # of 3
    tables = dict.fromkeys(("view_mean", "view_p5", "view_p50", "view_p95"), 0)
    tables |= dict.fromkeys(("in_degree_mean", "in_degree_variance"), 0)
    of_places: dict[str, Mapping[str, float]] = {
        ".": {**spread, **tables, "processes": 1, "joins_invisible": 1},
        ".a": {**healed, **seen, **tables, "processes": 1, "joins_invisible": 1},
        "": {**spread, **healed, **seen, **tables, "processes": 2, "joins_invisible": 2},
    }
    right = {(place, m): value for place, of in of_places.items() for m, value in of.items()}
    for place in ("", ".a"):
        right[place, "upward_messages"] = 1
        right[place, "control_bytes"] = 100
    loads = {
        ".": NO_LOAD,
        ".a": {
            **NO_LOAD,
            **load("load_sent", 1, 1, 1, 1),  # of 2 alone
            **load("load_bytes", 100, 100, 100, 1),
            "load_sent_publishers": 1,
            "load_sent_links": 1,
        },
        "": {
            **NO_LOAD,
            **load("load_sent", 0, 0, 1, 2),
            **load("load_bytes", 0, 0, 100, 2),
            "load_sent_publishers": 2,
            "load_sent_links": 2,
        },
    }
    right |= {(place, m): value for place, of in loads.items() for m, value in of.items()}
    return tale.records, right


def tree_and_parasite() -> tuple[list[TraceRecord], Right]:
    """One copy for one delivery is no redundancy; a copy goes astray to .c; 2 leaves at 4 s."""
    tale = Tale()
    tale.add(0, "join", 1, ".a")
    tale.add(0, "join", 2, ".a")
    tale.add(0, "join", 3, ".c")
    tale.add(1, "publish", 1, ".a", **_EVENT)
    tale.add(1, "deliver", 1, ".a", **_EVENT)
    tale.add(1, "send", 1, ".a", peer=2, **_EVENT)
    tale.add(1.5, "receive", 2, ".a", **_EVENT)
    tale.add(1.5, "deliver", 2, ".a", hops=1, **_EVENT)
    tale.add(1.75, "parasite", 3, ".a", **_EVENT)
    tale.add(4, "leave", 2, ".a")
    spread = {
        "events": 1,
        "deliveries": 1,
        "reception": 1,
        "reliability": 1,
        **reach(1),
        "efficiency": 1,
        "redundancy": 0,
        **dict.fromkeys(("hops_mean", "hops_p50", "hops_p90", "hops_p99"), 1),
        "last_delivery_hop": 1,
        **dict.fromkeys(("latency_ms_p50", "latency_ms_p90", "latency_ms_p99"), 500),
    }
    tables = dict.fromkeys(("view_mean", "view_p5", "view_p50", "view_p95"), 0)
    tables |= dict.fromkeys(("in_degree_mean", "in_degree_variance"), 0)
    of_places: dict[str, dict[str, float]] = {
        ".a": {**spread, **tables, **NO_LOAD, "processes": 2, "joins_invisible": 2},
        ".c": {**tables, **NO_LOAD, "processes": 1, "joins_invisible": 1, "parasites": 1},
        "": {**spread, **tables, **NO_LOAD, "processes": 3, "joins_invisible": 3, "parasites": 1},
    }
    sent, received = partial(load, "load_sent"), partial(load, "load_received")
    of_places[".a"] |= {**sent(0, 0, 1, 2), **received(0, 0, 1, 2), "load_sent_publishers": 2}
    of_places[""] |= {**sent(0, 0, 1, 3), "load_sent_publishers": 3}
    of_places[""] |= received(0, 1, 1, 3 / 2)  # the parasite of 3, too
    right = {(place, m): value for place, of in of_places.items() for m, value in of.items()}
    return tale.records, right


def hub_passes_on() -> tuple[list[TraceRecord], Right]:
    """Node 1 names the others, has the event from 2 and sends it to 3."""
    tale = Tale()
    for node in (1, 2, 3):
        tale.add(0, "join", node, ".a")
    for peer in (2, 3):
        tale.add(1, "learn", 1, ".a", peer=peer)
    tale.add(2, "publish", 2, ".a", **_EVENT)
    tale.add(2, "send", 2, ".a", peer=1, **_EVENT)
    tale.add(2.5, "deliver", 1, ".a", hops=1, **_EVENT)
    tale.add(2.5, "send", 1, ".a", peer=3, **_EVENT)
    tale.add(3, "deliver", 3, ".a", hops=2, **_EVENT)
    both = {
        "processes": 3,
        "events": 1,
        "deliveries": 2,
        "reception": 1,
        "reliability": 1,
        **reach(1),
        "redundancy": 1,  # two copies, and one other than the first that delivers
        **NO_LOAD,
        **load("load_sent", 0, 1, 1, 3 / 2),  # 1, 1 and 0
        "load_sent_publishers": 3 / 2,
        "load_sent_hubs": 3 / 2,
        "hops_mean": 3 / 2,
        "hops_p50": 1,
        "hops_p90": 2,
        "hops_p99": 2,
        "last_delivery_hop": 2,
        "latency_ms_p50": 500,
        "latency_ms_p90": 1000,
        "latency_ms_p99": 1000,
        "view_mean": 2 / 3,
        "view_p5": 0,
        "view_p50": 0,
        "view_p95": 2,
        "in_degree_mean": 2 / 3,
        "in_degree_variance": 2 / 9,  # 0, 1 and 1
        "joins_seen": 2,
        "joins_invisible": 1,  # nobody names 1
        "join_visible_seconds_p50": 1,
        "join_visible_seconds_p99": 1,
    }
    right = {(place, metric): value for metric, value in both.items() for place in ("", ".a")}
    right[".a", "in_degree_chi_square"] = 1
    return tale.records, right


TEN_RECORDS: Final = {
    "half_received": half_received(),
    "crash_and_climb": crash_and_climb(),
    "tree_and_parasite": tree_and_parasite(),
    "hub_passes_on": hub_passes_on(),
}
"""Records and right values, by the name of the run."""
