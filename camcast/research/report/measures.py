"""Every measure that a command prints, once: its name, title, direction, form and meaning.

The name is the key in JSON, CSV and Parquet, and means the same in every command. These names are
kept apart, because one word stood for both before:

* `reception` is a share of processes, `reliability` a share of events: those that *all* expected
  receivers got (000, 6.1.2). What the hpmcast paper (002, 5.2) calls its reliability is a share of
  processes, hence `reception` here, and `reception_printed` by its Equation 23.
* `reaches_90` is a share of events, too: those that 90 % of their expected receivers got;
  `reliability` is the end of this distribution, at 100 %.
* `parasites` counts a process once for each event that it got and did not want (its first copy);
  `parasite_copies` counts every copy that such a process got, as Table 2 of 000 does.
* `hops_mean` is a mean over deliveries, `last_delivery_hop` the distance of the last of them.
* `messages` counts copies of events, `records_sent` counts control messages, too.

The numbers of benchmarks have a table of their own (`camcast.research.report.benchmark_measures`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final, Literal

from attrs import evolve, field, frozen

from camcast.research.models.distributions import REACHES

Better = Literal["more", "less", "neither", "unknown"]
"""Which way is better. Of "neither" it is known that no direction is: of "unknown", a number of
somebody else's benchmark, nothing is known."""

COUNT: Final = "count"
"""The form of counts and of their means: whole numbers, or two decimals of a small fraction."""
_WHOLE_FROM: Final = 100  # chosen: from there on, the decimals of a mean count are noise
_LOADS: Final = {
    "load_sent": ("copies sent by a process", "", "copies of events that it sends"),
    "load_received": ("copies received by a process", "", "copies of events, wanted or not"),
    "load_bytes": ("bytes sent by a process", "bytes", "payloads of events, control messages"),
}


@frozen
class Measure:
    """A measure: its title, unit and meaning, whatever its value is."""

    name: str
    """The key in JSON, CSV and Parquet."""
    title: str
    """The measure's name in a sentence, or above a figure."""
    better: Better
    form: str
    """`COUNT`, or how Python's `format` writes its values; a share ends with ``%``."""
    meaning: str
    """The measure's meaning, as a line in a table says it."""
    source: str = ""
    """Its source, the paper and the section, as ``000, 6.1.2``; empty for a measure of ours."""
    heading: str = field(default="", kw_only=True)
    """The head of its column in a table, if that is not the title."""
    unit: str = field(default="", kw_only=True)
    per: str = field(default="", kw_only=True)
    """The divisor of a share, a ratio or a mean; empty if there is none."""
    headline: bool = field(default=False, kw_only=True)
    """Whether comparisons print and draw it; any other measure is in their files alone."""
    over: tuple[str, str] | None = field(default=None, kw_only=True)
    """The measures that count what it is taken over, and what it leaves out: ``83 of 85``."""
    least: float = field(default=0.0, kw_only=True)
    """The smallest value that is possible."""
    order: int = field(default=0, kw_only=True)
    """The place among all measures in a comparison: the smallest first."""
    benchmark: str = field(default="", kw_only=True)
    """The benchmark that measured it, of which `name` has the number's name behind it; empty for
    a measure of runs."""

    @property
    def number(self) -> str:
        """The name without the benchmark."""
        return self.name.removeprefix(f"{self.benchmark}.") if self.benchmark else self.name

    @property
    def unit_name(self) -> str:
        """The unit in a word; never empty."""
        return "share" if self.is_share else self.unit or "count"

    @property
    def is_share(self) -> bool:
        """Whether its values are between 0 and 1."""
        return self.form.endswith("%")

    @property
    def directed(self) -> bool:
        """Whether one direction is known to be better."""
        return self.better in ("more", "less")

    @property
    def most(self) -> float:
        """The largest value that is possible."""
        return 1.0 if self.is_share else inf

    @property
    def title_and_unit(self) -> str:
        """The title, with the unit if there is one."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def column(self) -> str:
        """The head of its column in a table."""
        return self.heading or self.title_and_unit

    def text(self, mean: float | None, low: float | None = None, high: float | None = None) -> str:
        """Write a value for people, or a mean with its interval: ``2.5 [2.1, 2.9]``, or ``-``."""
        if mean is None:
            return "-"
        if low is None or high is None:
            return self._number(mean)
        return f"{self._number(mean)} [{self._number(low)}, {self._number(high)}]"

    def _number(self, value: float) -> str:
        if self.form == COUNT:
            whole = abs(value) >= _WHOLE_FROM or float(value).is_integer()
            return format(value, ",.0f" if whole else ",.2f")
        return "100%" if self.is_share and value == 1.0 else format(value, self.form)


_MEMBERS: Final = ("processes", "never_joined")
_JOINS: Final = ("joins_seen", "joins_invisible")

# Comparisons have their tables and figures in this order. Not formatted: a measure is two lines.
# fmt: off
_ALL: Final = (
    # -- of runs, from their traces
    Measure("reception", "reception probability", "more", ".3%",
            "share of the processes that want an event and deliver it", "000, 6.1.2 and 6.2.2",
            heading="reception", headline=True,
            per="(event, expected receiver) pairs"),
    Measure("predicted", "predicted reception", "more", ".3%",
            "the reception that the model predicts", "000, 4.5.1", heading="predicted",
            per="(event, expected receiver) pairs"),
    Measure("reliability", "reliability", "more", ".2%",
            "share of the events that everybody who wants them delivers", "000, 6.1.2",
            headline=True,
            per="events with an expected receiver"),
    Measure("reach_p5", "reach of an event, 5 %", "more", ".1%",
            "5 % of the events reach this share of their expected receivers, or less",
            "002, 1.1.3", heading="reach 5 %"),
    Measure("reach_p50", "reach of an event, median", "more", ".1%",
            "half the events reach this share of their expected receivers, or less",
            "002, 1.1.3", heading="reach"),
    *(Measure(name, f"events that reach {least:.0%}", "more", ".2%",
              f"share of the events that reach at least {least:.0%} of their expected receivers",
              "002, 1.1.3",
              per="events with an expected receiver")
      for name, least in REACHES.items()),
    Measure("hops_mean", "mean latency in hops", "less", ".2f",
            "hops of a delivery, from the publisher", "000, 6.2.2", heading="hops", headline=True,
            per="deliveries at expected receivers"),
    Measure("hops_p50", "latency in hops, median", "less", ".0f", "hops of half the deliveries"),
    Measure("hops_p90", "latency in hops, 90 %", "less", ".0f", "hops of 90 % of the deliveries"),
    Measure("hops_p99", "latency in hops, 99 %", "less", ".0f", "hops of 99 % of the deliveries"),
    Measure("last_delivery_hop", "hops to the last delivery", "less", ".2f",
            "hops to the last receiver of an event", "Leitão et al. 2007",
            heading="last hop", headline=True,
            per="events that an expected receiver delivers"),
    Measure("latency_ms_p50", "latency, median", "less", ".1f",
            "publish to deliver, half of them", heading="p50 ms", unit="ms", headline=True),
    Measure("latency_ms_p90", "latency, 90 %", "less", ".1f",
            "publish to deliver, 90 % of them", heading="p90 ms", unit="ms"),
    Measure("latency_ms_p99", "latency, 99 %", "less", ".1f",
            "publish to deliver, 99 % of them", heading="p99 ms", unit="ms", headline=True),
    Measure("efficiency", "efficiency", "more", ".1%",
            "useful copies of all that arrive: useful / (useful + duplicates)", "000, 6.2.2",
            headline=True,
            per="copies that arrive"),
    Measure("redundancy", "redundancy", "less", ".2f",
            "copies sent for each delivery, less one", "Leitão et al. 2007",
            headline=True,
            per="deliveries at others than the first, of events with two or more"),
    Measure("duplicates", "duplicates", "less", COUNT, "copies that arrive again"),
    *(measure
      for load, (title, unit, meaning) in _LOADS.items()
      for measure in (
          *(Measure(f"{load}_p{percent}", f"{title}, {share}", "less", COUNT,
                    f"{percent} % of the processes have so many or fewer: {meaning}",
                    "000, 1.3; 002, 6.1.2", unit=unit)
            for percent, share in ((5, "5 %"), (50, "median"), (99, "99 %"))),
          Measure(f"{load}_peak", f"{title}, largest / mean", "less", ".2f",
                  f"how many times the mean the busiest process has: {meaning}",
                  "000, 1.3; 002, 6.1.2", per="mean of the members that did not crash"),
      )),
    *(Measure(f"load_sent_{role}s", f"copies sent by a {role} / mean", "neither", ".2f",
              f"how many times the mean of all a process sends that {acts}", source,
              per="mean of the members that did not crash")
      for role, acts, source in (
          ("publisher", "publishes", "000, 1.3"),
          ("link", "sends upward", "000, 3.5"),
          ("delegate", "stands for a subsystem (simulators; no trace says who does)", "002, 6.1.2"),
          ("hub", "is of the 1 % with the most neighbours", "003, II-A"),
      )),
    Measure("upward_messages", "upward messages", "neither", COUNT,
            "copies sent to super-communities", "000, 6.1.2, Figure 14",
            heading="upward", headline=True),
    Measure("control_bytes", "control traffic", "less", COUNT,
            "bytes of control messages sent", heading="control bytes", unit="bytes", headline=True),
    Measure("parasites", "parasites", "less", COUNT,
            "processes that get an event they do not want, once an event", "000, 1", headline=True),
    Measure("parasite_copies", "parasite copies", "less", COUNT,
            "copies that reach a process that does not want them", "000, 6.1.2, Table 2"),
    Measure("view_mean", "table size, mean", "neither", ".1f",
            "peers in a process's topic table", heading="view", headline=True,
            per="members that did not crash", over=_MEMBERS),
    Measure("view_p5", "table size, 5 %", "neither", COUNT, "peers in 5 % of the topic tables"),
    Measure("view_p50", "table size, median", "neither", COUNT, "peers in half the topic tables"),
    Measure("view_p95", "table size, 95 %", "neither", COUNT, "peers in 95 % of the topic tables"),
    Measure("view_law", "table size by its law", "neither", ".1f",
            "what the membership's own law says", heading="law"),
    Measure("in_degree_mean", "in-degree, mean", "neither", ".1f", "tables that name a process",
            per="members that did not crash", over=_MEMBERS),
    Measure("in_degree_variance", "in-degree, variance", "less", ".1f",
            "variance of the number of tables that name a process", headline=True,
            per="members that did not crash", over=_MEMBERS),
    Measure("in_degree_chi_square", "in-degree, chi-square", "less", ".1f",
            "distance of the in-degrees from a uniform choice",
            per="mean in-degree", over=_MEMBERS),
    Measure("heal_seconds_p50", "time to heal, median", "less", ".2f",
            "from a crash until no table names the dead, half of them", unit="s", headline=True),
    Measure("heal_seconds_max", "time to heal, longest", "less", ".2f",
            "from a crash until no table names the dead, at most", unit="s", headline=True),
    Measure("unhealed", "crashes never healed", "less", COUNT,
            "crashed that tables name to the end"),
    Measure("join_visible_seconds_p50", "time until a join is seen, median", "less", ".2f",
            "from a join until another's table names the newcomer, half of them", unit="s",
            over=_JOINS),
    Measure("join_visible_seconds_p99", "time until a join is seen, 99 %", "less", ".2f",
            "from a join until another's table names the newcomer, 99 % of them", unit="s",
            over=_JOINS),
    Measure("joins_seen", "joins seen", "neither", COUNT, "newcomers that a table names"),
    Measure("joins_invisible", "joins never seen", "less", COUNT, "newcomers that no table names"),
    Measure("processes", "processes", "neither", COUNT,
            "members that did not crash", heading="proc."),
    Measure("events", "events", "neither", COUNT, "events published"),
    Measure("deliveries", "deliveries", "neither", COUNT, "deliveries at expected receivers"),
    Measure("lost", "deliveries lost", "less", COUNT, "expected deliveries that did not happen"),
    Measure("lost_told", "losses told", "neither", COUNT,
            "of the deliveries lost, those of which somebody was told that they will not come"),
    Measure("told_missed", "told missed", "neither", COUNT,
            "how often somebody was told that an event will not come, lost or not"),
    # -- of whole runs
    Measure("crashed", "crashed", "neither", COUNT, "processes that crashed"),
    Measure("dead_entries", "dead entries", "less", COUNT,
            "entries of living processes' tables that name the dead"),
    Measure("lines_torn", "torn lines", "less", COUNT, "lines of the trace that a crash cut off"),
    Measure("joined", "joined", "neither", COUNT, "processes (lives) that became members"),
    Measure("never_joined", "never joined", "less", COUNT,
            "living processes that did not become members of all their communities",
            headline=True),
    Measure("lost_outside", "deliveries lost outside", "less", COUNT,
            "deliveries that would have been due at who never joined"),
    Measure("reception_of_all", "reception of all", "more", ".2%",
            "deliveries at all who were to be members, whether they joined or not", headline=True,
            per="(event, process that was to be a member) pairs"),
    Measure("records_sent", "records sent", "less", COUNT,
            "event copies and control messages sent"),
    Measure("bytes", "bytes sent", "less", COUNT, "bytes of all records sent"),
    Measure("datagrams", "datagrams", "less", COUNT,
            "datagrams sent by discoveries that speak UDP"),
    Measure("datagram_bytes", "bytes of datagrams", "less", COUNT,
            "what discoveries that speak UDP sent, without the headers"),
    Measure("lost_copies", "lost copies", "less", COUNT, "records that were lost on the way"),
    Measure("forged", "forged", "less", COUNT, "deliveries of events that liars forged"),
    Measure("unverified", "unverified", "neither", COUNT,
            "events refused for want of a true signature"),
    Measure("signature_seconds", "CPU for signatures", "less", ".2f",
            "CPU that all processes would spend on signatures", unit="s"),
    Measure("undeliverable", "undeliverable", "less", COUNT, "records that found nobody alive"),
    Measure("unpublished", "unpublished", "less", COUNT, "events that nobody was there to publish"),
    Measure("event_copies", "event copies", "less", COUNT,
            "copies of events sent, in the whole run"),
    Measure("control_copies", "control copies", "less", COUNT,
            "messages of membership, links and protocol, from the first join on"),
    Measure("filtered", "filtered", "less", COUNT,
            "events of the right topic that a process's constraints turned away"),
    Measure("table_entries", "table entries", "less", ".1f",
            "peers in all tables of a process, in the mean",
            per="processes"),
    # -- of single events: simulators and models
    Measure("arrival", "arrival", "more", ".3%",
            "probability that the event gets to the community at all", "000, 4.5",
            per="events"),
    Measure("alive", "alive", "neither", COUNT, "living processes that want the event"),
    Measure("delivered", "delivered", "more", COUNT,
            "living processes that deliver, publisher too"),
    Measure("rounds", "rounds", "less", ".2f",
            "rounds until nobody sends any more", "000, 6.1.2, Table 1",
            per="runs"),
    Measure("messages", "messages", "less", COUNT,
            "copies of the event sent", "000, 6.1.2, Figure 13"),
    Measure("between", "messages between clusters", "less", COUNT,
            "of the messages, those between clusters", "000, 4.2", heading="between"),
    Measure("entries", "entries", "less", ".1f",
            "other processes that one knows", "002, Equation 12",
            per="processes"),
    Measure("memory", "memory", "less", ".1f",
            "table entries of a process", "000, 4.4", heading="entries",
            per="processes"),
    Measure("latency", "latency in rounds", "less", ".1f",
            "rounds until all have it, by the formulas", "000, 4.6", heading="rounds"),
    Measure("view", "view", "less", COUNT, "processes that one knows", "002, Equation 18"),
    Measure("updated", "updated", "less", ".1f",
            "processes that know a process", "002, Equation 35"),
    Measure("reception_printed", "reception, printed", "more", ".3%",
            "the reception by the paper's own equation", "002, Equation 23",
            per="processes that want the event"),
    Measure("rounds_printed", "rounds, printed", "less", ".2f",
            "the rounds by the paper's own equation", "002, Equation 20"),
    Measure("rounds_shortened", "rounds, shortened", "less", ".2f",
            "the rounds by the paper's shorter equation", "002, Equation 21"),
    # -- of percolation
    Measure("receivers", "receivers", "neither", COUNT,
            "nodes that have the event, publisher included", "003, 4.3"),
    Measure("subscribers", "subscribers reached", "more", COUNT,
            "receivers that subscribe", "003, 4.3"),
    Measure("missed", "missed", "less", COUNT, "subscribers that do not get the event", "003, 5"),
    Measure("hops", "hops", "less", ".2f", "hops from the publisher to the last one", "003, 5"),
    Measure("gamma_total", "Γ", "neither", ".4g",
            "probability that a copy goes over an edge", "003, Equation 1"),
    Measure("threshold", "threshold", "neither", ".4g",
            "the Γ from which events percolate", "003, 4.4"),
    Measure("receivers_infinite", "receivers, infinite network", "neither", ".2f",
            "receivers in an infinite network", "003, Equation 17"),
    Measure("subscribers_infinite", "subscribers, infinite network", "neither", ".2f",
            "subscribers among them, the paper's 4.3 corrected"),
    Measure("subscribers_of_the_paper", "subscribers, as printed", "neither", ".2f",
            "subscribers among them, as the paper has it", "003, 4.3"),
    Measure("percolates", "percolates", "more", ".1%", "probability that an event percolates",
            per="events"),
    Measure("reached", "reached", "more", ".1%", "nodes that an event which percolates reaches",
            per="nodes"),
    Measure("reached_subscribers", "subscribers reached", "more", ".1%",
            "subscribers that an event which percolates reaches",
            per="subscribers"),
    # -- of the memberships side by side
    Measure("reception_low", "reception at the lowest p_sel", "more", ".3%",
            "reception of d and a at the lowest p_sel", "000, 6.2.2",
            per="(event, expected receiver) pairs"),
    Measure("upward", "upward messages an event", "neither", ".2f",
            "copies sent to the super-community, an event", "000, 6.2.2",
            per="events"),
    Measure("table_to_law", "tables / law", "neither", ".2f",
            "mean table size, as a share of the membership's law",
            per="size by the law"),
    Measure("unlisted", "in nobody's table", "less", ".1%",
            "processes in nobody's topic table, whom no event can reach",
            per="processes"),
    Measure("start_seconds", "all joined", "less", ".2f",
            "from the first join until all have joined, in waves", unit="s"),
    Measure("settle_seconds", "settled", "less", ".2f",
            "from then until sizes and super-topic tables are known, with a rest", unit="s"),
    Measure("controls", "controls a process and s", "less", ".2f",
            "control messages that a process receives in a second",
            per="processes and seconds"),
    Measure("bootstrap_seconds", "all joined at once", "less", ".2f",
            "until all have joined who start at the same instant", unit="s"),
    Measure("chi_square", "in-degree in g: chi-square / degrees of freedom", "less", ".2f",
            "distance of the in-degrees from uniform tables: about 1",
            per="degrees of freedom"),
    Measure("control_kilobytes", "control kB a process and hour", "less", ".2f",
            "what a process sends in an hour without events",
            per="processes and hours"),
    Measure("newcomer_seconds", "a newcomer has joined", "less", ".2f",
            "until a newcomer has joined", unit="s"),
    Measure("listed_seconds", "a newcomer is in somebody's table", "less", ".2f",
            "until somebody's table names a newcomer", unit="s"),
    Measure("dropped_seconds", "the crashed are in nobody's table", "less", ".2f",
            "until nobody's table names the crashed", unit="s"),
    Measure("reception_alone", "reception in g, first contact dead", "more", ".3%",
            "reception after the first contact crashed",
            per="(event, expected receiver) pairs"),
    Measure("reception_storm", "reception in g after crashes, 15 % lost", "more", ".3%",
            "reception right after processes have crashed, while copies are lost",
            per="(event, expected receiver) pairs"),
    Measure("copies_each", "copies a process and event", "less", ".2f",
            "copies that a process sends of an event it has",
            per="processes and events"),
    Measure("joined_alone", "newcomers through any member then, share", "more", ".1%",
            "newcomers that then join through an arbitrary member",
            per="newcomers"),
    Measure("overtaken", "order: overtaken events", "less", ".1%",
            "deliveries after a later event of their publisher, which sends 50 a second",
            per="deliveries at others than the publisher"),
    Measure("past_seconds", "late joiners: all of the past", "less", ".2f",
            "from a newcomer's joining until it has all that was published before", unit="s"),
)
# fmt: on
MEASURES: Final[Mapping[str, Measure]] = {
    measure.name: evolve(measure, order=order) for order, measure in enumerate(_ALL)
}
"""All measures of runs, simulations and models, by name."""

OF_ALL: Final = ("never_joined", "lost_outside", "reception_of_all")
"""The measures that count the processes that never joined; any other is of the members."""


def repair_in_words(repair: bool | None) -> str:
    """Return whether missed events were asked for, as tables say it; empty where it is open."""
    return {True: "with repair", False: "without repair", None: ""}[repair]


def measure_of(name: str) -> Measure:
    """Return the measure of runs, simulations or models of this name; raises `KeyError`."""
    return MEASURES[name]
