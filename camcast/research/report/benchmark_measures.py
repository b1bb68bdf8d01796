"""The numbers of benchmarks: of pytest-benchmark's own statistics, and of our benchmarks.

A benchmark's measure is named after its benchmark and its number, as
``live_multicast.fast(nodes=50).missed``. Of a number that is not in this table nothing is guessed:
its direction is unknown, unless somebody says which way is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from attrs import evolve

from camcast.research.report.measures import COUNT, MEASURES, Better, Measure, measure_of

CONDITIONS: Final = (
    *("nodes", "processes", "levels", "events", "rounds", "payload_bytes", "rate_per_second"),
)
"""Numbers of ``extra_info`` that were set, and not measured."""


def _number(
    name: str,
    better: Better,
    meaning: str,
    *,
    unit: str = "",
    per: str = "",
    headline: bool = False,
) -> Measure:
    title = name.replace("_", " ")
    return Measure(name, title, better, COUNT, meaning, unit=unit, per=per, headline=headline)


# Comparisons show the headlines first, in this order.
_ALL: Final = (
    # -- live multicast
    _number(
        "deliveries_per_second",
        "more",
        "at all nodes together; median of the rounds",
        per="seconds of the round",
        headline=True,
    ),
    _number(
        "messages_per_second",
        "more",
        "records that the virtual network carried in a second of the processor",
        per="processor seconds",
        headline=True,
    ),
    _number(
        "ratio_to_raw",
        "more",
        "deliveries a second for the raw pair's messages a second; null if paced",
        per="messages a second of the raw pair",
        headline=True,
    ),
    _number(
        "cpu_ratio_to_raw",
        "less",
        "processor time of a delivery for that of a raw message",
        per="processor seconds of a raw message",
        headline=True,
    ),
    _number(
        "latency_ms_p50",
        "less",
        "publish to deliver, half of them; of a burst the length of queues",
        unit="ms",
        headline=True,
    ),
    _number("latency_ms_p99", "less", "publish to deliver, 99 % of them", unit="ms", headline=True),
    _number(
        "redundancy",
        "less",
        "copies for each delivery at others than the publisher; 1 is a tree",
        per="deliveries at others than the publisher",
        headline=True,
    ),
    _number("missed", "less", "deliveries that should have been, and were not", headline=True),
    _number(
        "cpu_seconds_per_1000_deliveries",
        "less",
        "of all processes, until the last delivery; median of the rounds",
        unit="s",
        per="thousands of deliveries",
        headline=True,
    ),
    _number(
        "memory_mb_per_node",
        "less",
        "what a node adds to its process, without what that loads once",
        unit="MB",
        per="nodes",
        headline=True,
    ),
    _number(
        "nanoseconds_per_record",
        "less",
        "codec: one record",
        unit="ns",
        per="records",
        headline=True,
    ),
    _number("nanoseconds", "less", "table: one operation", unit="ns", headline=True),
    _number(
        "seconds_median", "less", "pytest-benchmark: median of the rounds", unit="s", headline=True
    ),
    _number("seconds_min", "less", "pytest-benchmark: the fastest round", unit="s"),
    _number("seconds_mean", "less", "pytest-benchmark: mean of the rounds", unit="s", per="rounds"),
    _number("deliveries", "neither", "in all rounds, at the publishers too"),
    _number("messages", "less", "copies of events that were sent, in all rounds"),
    _number("control_messages", "less", "copies of control messages that were sent meanwhile"),
    _number("bytes", "less", "of everything sent", unit="bytes"),
    _number(
        "ratio_to_raw_min",
        "more",
        "the lowest `ratio_to_raw` of the rounds",
        per="messages a second of the raw pair",
    ),
    _number(
        "ratio_to_raw_max",
        "more",
        "the highest `ratio_to_raw` of the rounds",
        per="messages a second of the raw pair",
    ),
    _number(
        "latency_ratio_to_raw",
        "less",
        "median latency for that of the raw pair; null if fast",
        per="median latency of the raw pair",
    ),
    _number(
        "raw_messages_per_second",
        "neither",
        "of the raw pair, which is the machine's",
        per="seconds of the round",
    ),
    _number(
        "raw_cpu_seconds_per_1000_messages",
        "neither",
        "sender and receiver of the raw pair",
        unit="s",
        per="thousands of messages",
    ),
    _number("raw_latency_ms_p50", "neither", "of the paced raw pair; null if fast", unit="ms"),
    _number("cores_busy", "neither", "processor seconds a second", per="seconds of the round"),
    _number("view_mean", "neither", "size of the topic tables", per="tables"),
    _number("records_dropped", "less", "records for which a peer's queue had no room"),
    _number("malformed", "less", "frames that were refused"),
    # -- engine step, hand-over, codec, tables, membership
    _number(
        "microseconds_per_step", "less", "engine step: median of the rounds", unit="us", per="steps"
    ),
    _number("copies_per_step", "neither", "engine step: copies that the node sends", per="steps"),
    _number("view", "neither", "entries of the table"),
    _number("events_per_batch", "neither", "hand-over: as set", per="batches"),
    _number(
        "nanoseconds_per_event",
        "less",
        "hand-over: processor time, payloads copied out of the batch included",
        unit="ns",
        per="events",
    ),
    _number(
        "cpu_ratio_to_asyncio_queue",
        "less",
        "hand-over: processor time for that of an `asyncio.Queue`, one item an event",
        per="processor seconds of the queue",
    ),
    _number("record_bytes", "less", "codec: header and all", unit="bytes"),
    _number("virtual_seconds", "neither", "virtual time that was simulated", unit="s"),
    _number(
        "milliseconds_per_join",
        "less",
        "membership: processor time, and what everybody does meanwhile",
        unit="ms",
        per="joins",
    ),
    _number(
        "microseconds_per_message",
        "less",
        "membership: processor time of a message",
        unit="us",
        per="messages",
    ),
    _number(
        "control_bytes_per_node_and_second",
        "less",
        "membership: of a settled community, in records",
        unit="bytes",
        per="nodes and virtual seconds",
    ),
    _number(
        "cpu_share_per_node", "less", "membership: of one core", per="nodes and virtual seconds"
    ),
    # -- look-up
    _number("wanted", "neither", "look-up: contacts that were asked for"),
    _number("loss", "neither", "look-up: share of datagrams lost, as set"),
    _number("lookups", "neither", "look-up: how many"),
    _number(
        "found_share", "more", "look-up: processes that got at least one contact", per="processes"
    ),
    _number("seconds_p50", "less", "look-up: virtual time until the answer, median", unit="s"),
    _number("seconds_p95", "less", "look-up: virtual time until the answer, 95 %", unit="s"),
    _number("datagrams_per_lookup", "less", "look-up: datagrams sent", per="look-ups"),
    _number(
        "cpu_milliseconds_per_lookup", "less", "look-up: processor time", unit="ms", per="processes"
    ),
    # -- virtual network and population
    _number("seconds", "less", "processor time of the whole", unit="s"),
    _number(
        "bare_happenings_per_second",
        "neither",
        "virtual network: an event queue that does nothing else, which is the machine's",
        per="processor seconds",
    ),
    _number(
        "ratio_to_bare_queue",
        "more",
        "virtual network: messages a second for the event queue's happenings",
        per="happenings a second of the bare queue",
    ),
    _number("peak_memory_mb", "less", "largest resident memory", unit="MB"),
    _number("processes_per_second", "more", "population: processes simulated", per="seconds"),
    _number("success", "neither", "population: probability that a copy arrives, as set"),
    _number("ns_per_copy", "less", "population: time of a copy", unit="ns", per="copies"),
    _number(
        "of_which_numba_and_python_mb", "neither", "population: memory before any run", unit="MB"
    ),
    _number("bits_per_process", "less", "population: memory", unit="bits", per="processes"),
    _number("reception", "more", "population: processes that deliver", per="processes"),
    _number("runs_per_second", "more", "population: small runs simulated", per="seconds"),
    _number("eon_processes_per_second", "neither", "EoN's, on the same job", per="seconds"),
    _number("ratio_to_eon", "more", "EoN's time for ours", per="seconds of ours"),
    _number("ratio_with_its_graph", "more", "EoN's time, its graph's too", per="seconds of ours"),
    _number("eon_graph_seconds", "neither", "until EoN's graph is made", unit="s"),
)
BENCHMARK_MEASURES: Final[Mapping[str, Measure]] = {
    measure.name: evolve(measure, order=len(MEASURES) + order) for order, measure in enumerate(_ALL)
}
"""The numbers of benchmarks, by name."""
_UNKNOWN_ORDER: Final = len(MEASURES) + len(BENCHMARK_MEASURES)


def find_measure(
    name: str, benchmark: str = "", better: Mapping[str, Better] | None = None
) -> Measure:
    """Return a measure: of runs, or with a `benchmark` of the number behind it in the name.

    `better` says which way is better of benchmarks' numbers, by the number's name or by that of
    the measure; whoever says so wants to see the number. Raises `KeyError` for a measure of runs
    that there is none of.
    """
    if not benchmark:
        return measure_of(name)
    measure = _of_benchmark(name, benchmark)
    said = (better or {}).get(name) or (better or {}).get(measure.number)
    return evolve(measure, better=said, headline=True) if said else measure


@lru_cache(maxsize=4096)  # chosen: a comparison has some hundred measures, and asks for each value
def _of_benchmark(name: str, benchmark: str) -> Measure:
    number = name.removeprefix(f"{benchmark}.")
    known = BENCHMARK_MEASURES.get(number)
    if known is None:
        meaning = "a number of somebody else's benchmark"
        known = Measure(number, number, "unknown", COUNT, meaning, order=_UNKNOWN_ORDER)
    return evolve(known, name=name, benchmark=benchmark)
