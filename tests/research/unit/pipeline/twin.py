"""The measures of a run, computed as simply as can be from the definitions in docs/formats.md.

The twin shares nothing but the traces with the pipeline and with
`camcast.research.runs.summary`, and is the oracle of both."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Values = dict[tuple[str, str], float | None]
"""By community ("" for the whole run) and metric."""

DEFAULTS = {"community": "", "peer": "", "topic": "", "event": "", "hops": 0, "size": 0}
QUANTILES = {
    "load_sent": {"p5": 0.05, "p50": 0.5, "p99": 0.99},
    "load_received": {"p5": 0.05, "p50": 0.5, "p99": 0.99},
    "load_bytes": {"p5": 0.05, "p50": 0.5, "p99": 0.99},
    "reach": {"p5": 0.05, "p50": 0.5},
    "hops": {"p50": 0.5, "p90": 0.9, "p99": 0.99},
    "latency_ms": {"p50": 0.5, "p90": 0.9, "p99": 0.99},
    "view": {"p5": 0.05, "p50": 0.5, "p95": 0.95},
    "heal_seconds": {"p50": 0.5, "max": 1.0},
    "join_visible_seconds": {"p50": 0.5, "p99": 0.99},
}


def read_records(folder: Path) -> list[Record]:
    records: list[Record] = []
    for path in folder.glob("trace-*.jsonl"):
        records += [DEFAULTS | json.loads(line) for line in path.read_text().splitlines()]
    for path in folder.glob("trace-*.parquet"):
        import pyarrow.parquet as pq  # of an extra, which JSON lines do not need

        records += pq.read_table(path).to_pylist()
    return sorted(records, key=lambda r: (r["when"], r["sequence"], r["kind"]))


class Stint:
    def __init__(self, node: str, community: str, begins: float) -> None:
        self.node, self.community = node, community
        self.begins = self.joined = begins
        self.left = self.crashed = self.again = math.inf


class Twin:
    """All values of one run."""

    def __init__(self, folder: Path) -> None:
        self.records = read_records(folder)
        said = json.loads((folder / "scenario.json").read_text())
        self.has_control = said["versions"]["trace"] >= 2
        scenario = said["scenario"]
        several = [topic for kind in scenario.get("processes", []) for topic in kind["topics"]]
        self.communities = ["", *dict.fromkeys([*scenario["communities"], *several])]
        self.below = {name: one["below"] for name, one in scenario.get("topics", {}).items()}
        self.stints: list[Stint] = []
        self.crashes: list[tuple[str, str, float, float]] = []  # node, community, when, again
        self.find_stints()
        self.values: Values = {}
        self.tables = self.last_tables()
        for community in self.communities:
            self.measure_spread(community)
            self.measure_copies(community)
        self.measure_tables()
        self.measure_all(folder / "summary.json")

    def of(self, *kinds: str) -> Iterable[Record]:
        return (record for record in self.records if record["kind"] in kinds)

    # -- who was there ---------------------------------------------------------------------

    def find_stints(self) -> None:
        joined = defaultdict(set)
        for record in self.of("join"):
            joined[record["node"]].add(record["community"])
        open_stint: dict[tuple[str, str], Stint] = {}
        last_kind: dict[tuple[str, str], str] = {}
        left_early: dict[tuple[str, str], float] = {}
        crashes: list[tuple[str, str, float, int]] = []
        for record in self.of("join", "leave", "crash"):
            node, when, kind = record["node"], record["when"], record["kind"]
            places = {record["community"]}
            if kind == "crash" and record["community"] == "":
                places = joined[node] or {""}
            for place in places:
                key = node, place
                if kind == "join" and last_kind.get(key) != "join":
                    stint = Stint(node, place, when)
                    if key in open_stint:
                        open_stint[key].again = when
                    open_stint[key] = stint
                    self.stints.append(stint)
                elif kind == "join":
                    open_stint[key].joined = when
                elif kind == "leave":
                    if key in open_stint:
                        open_stint[key].left = when
                    else:
                        left_early[key] = when
                else:
                    crashes.append((node, place, when, len(self.stints)))
                    if key in open_stint:
                        open_stint[key].crashed = min(open_stint[key].crashed, when)
                last_kind[key] = kind
        for node, place, when, begun in crashes:
            later = [
                s.begins for s in self.stints[begun:] if (s.node, s.community) == (node, place)
            ]
            self.crashes.append((node, place, when, min(later, default=math.inf)))
        leaves = [s.left for s in open_stint.values()]
        leaves += [when for key, when in left_early.items() if key not in open_stint]
        self.end = min(leaves, default=math.inf)

    def alive(self) -> set[tuple[str, str]]:
        last = {(s.node, s.community): s for s in self.stints}
        return {key for key, stint in last.items() if stint.crashed == math.inf}

    # -- how events spread -----------------------------------------------------------------

    def measure_spread(self, community: str) -> None:
        published: dict[str, Record] = {}
        for record in self.of("publish"):
            published.setdefault(record["event"], record)
        delivered: dict[tuple[str, str, str], Record] = {}
        for record in self.of("deliver"):
            key = record["event"], record["node"], record["community"]
            delivered.setdefault(key, record)
        expected, complete, events = 0, 0, 0
        reaches: list[Fraction] = []
        hops: list[float] = []
        latencies: list[float] = []
        last_hops: list[int] = []
        for event, publication in published.items():
            levels = set(self.levels_of(publication["topic"]))
            receivers = {
                (stint.node, stint.community)
                for stint in self.stints
                if stint.community in levels & ({community} if community else levels)
                and stint.joined <= publication["when"] < stint.left
                and stint.crashed == math.inf
                and stint.node != publication["node"]
            }
            if not receivers:
                continue
            got = [delivered[event, *place] for place in receivers if (event, *place) in delivered]
            events += 1
            expected += len(receivers)
            complete += len(got) == len(receivers)
            reaches.append(Fraction(len(got), len(receivers)))
            hops += [record["hops"] for record in got]
            latencies += [1000 * (record["when"] - publication["when"]) for record in got]
            if got:
                last_hops.append(max(record["hops"] for record in got))
        self.put(community, "events", events if community else len(published))
        self.put(community, "deliveries", len(hops))
        self.put(community, "lost", expected - len(hops))
        self.put(community, "reception", ratio(len(hops), expected))
        self.put(community, "reliability", ratio(complete, events))
        self.put(community, "hops_mean", ratio(sum(map(int, hops)), len(hops)))
        self.put(community, "last_delivery_hop", ratio(sum(last_hops), len(last_hops)))
        for percent in (10, 25, 50, 75, 90, 95, 99):
            enough = sum(100 * reach >= percent for reach in reaches)
            self.put(community, f"reaches_{percent}", ratio(enough, events))
        self.put_quantiles(community, "reach", [float(reach) for reach in reaches])
        self.put_quantiles(community, "hops", hops)
        self.put_quantiles(community, "latency_ms", latencies)
        sent: Counter[str] = Counter()
        reached: Counter[str] = Counter()
        for record in self.of("send", "upward"):
            if not community or (record["kind"], record["community"]) == ("send", community):
                sent[record["event"]] += 1
        for event, _, place in delivered:
            reached[event] += community in ("", place)
        spread = [event for event in reached if reached[event] > 1]
        others = sum(reached[event] - 1 for event in spread)
        copies = sum(sent[event] for event in spread)
        self.put(community, "redundancy", ratio(copies - others, others))

    def measure_copies(self, community: str) -> None:
        here = [r for r in self.records if community in ("", r["community"])]
        kinds = Counter(record["kind"] for record in here)
        arrived = kinds["receive"] + kinds["duplicate"]
        self.put(community, "duplicates", kinds["duplicate"])
        self.put(community, "upward_messages", kinds["upward"])
        self.put(community, "efficiency", ratio(kinds["receive"], arrived))
        control = sum(record["size"] for record in here if record["kind"] == "control")
        self.put(community, "control_bytes", control if self.has_control else None)
        self.measure_load(community, here)
        parasites = 0
        for record in self.of("parasite", "deliver"):
            levels = self.levels_of(record["topic"])
            if record["kind"] == "deliver" and record["community"] in levels:
                continue
            joins = [(s.joined, s.community) for s in self.stints if s.node == record["node"]]
            parasites += community in ("", max(joins)[1] if joins else "")
        self.put(community, "parasites", parasites)

    def measure_load(self, community: str, here: Sequence[Record]) -> None:
        members = {node for node, place in self.alive() if community in ("", place)}
        loads = {
            "load_sent": ("send", "upward"),
            "load_received": ("receive", "duplicate", "parasite"),
            "load_bytes": ("send", "upward", "control"),
        }
        of_each: dict[str, dict[str, int]] = {}
        for load, kinds in loads.items():
            mine = [record for record in here if record["kind"] in kinds]
            of_each[load] = {
                node: sum(
                    record["size"] if load == "load_bytes" else 1
                    for record in mine
                    if record["node"] == node
                )
                for node in members
            }
            values = [*of_each[load].values()]
            if load == "load_bytes" and not self.has_control:
                values = []
            self.put_quantiles(community, load, values)
            mean = Fraction(sum(values), len(values)) if values else Fraction(0)
            self.put(community, f"{load}_peak", float(max(values) / mean) if mean else None)
        sent = of_each["load_sent"]
        mean = Fraction(sum(sent.values()), len(sent)) if sent else Fraction(0)
        neighbours: dict[str, set[str]] = {node: set() for node in members}
        for (owner, place), peers in self.tables.items():
            for peer in peers if community in ("", place) else ():
                neighbours.setdefault(owner, set()).add(peer)
                neighbours.setdefault(peer, set()).add(owner)
        degrees = sorted(len(neighbours[node]) for node in members)
        most = degrees[math.ceil(0.99 * len(degrees)) - 1] if degrees else 0
        roles = {
            "publishers": {record["node"] for record in self.of("publish")},
            "links": {record["node"] for record in self.of("upward")},
            "hubs": {node for node in members if most and len(neighbours[node]) >= most},
        }
        for role, having in roles.items():
            nodes = members & having
            share = Fraction(sum(sent[node] for node in nodes), len(nodes) or 1)
            self.put(
                community, f"load_sent_{role}", float(share / mean) if nodes and mean else None
            )

    def measure_all(self, summary: Path) -> None:
        """Count those who never joined, of whom the summary alone knows, as if they were there."""
        said = json.loads(summary.read_text()) if summary.exists() else {}
        outside = {"": said.get("never_joined")}
        for one in said.get("summary", said).get("communities", []):
            outside[one["topic"]] = one.get("never_joined")
        topics = {record["event"]: record["topic"] for record in self.of("publish")}
        lost = dict.fromkeys(self.communities, 0)
        for topic in topics.values():
            for community in set(self.levels_of(topic)) & set(lost):
                lost[community] += outside.get(community) or 0
        lost[""] = sum(lost.values())
        for community in self.communities:
            received, missed = (
                int(self.values[community, name] or 0) for name in ("deliveries", "lost")
            )
            all_due = received + missed + lost[community]
            known = outside.get(community) is not None
            self.put(community, "never_joined", outside.get(community))
            self.put(community, "reception_of_all", ratio(received, all_due) if known else None)

    def levels_of(self, topic: str) -> list[str]:
        """Return the topic and all above; one may be there twice."""
        above = [] if topic in ("", ".") else [topic[: topic.rindex(".")] or "."]
        levels = [topic or "."]
        for one in self.below.get(topic, above):
            levels += self.levels_of(one)
        return levels

    # -- the tables ------------------------------------------------------------------------

    def last_tables(self) -> dict[tuple[str, str], set[str]]:
        """Return the tables as they are when the first member leaves."""
        tables: dict[tuple[str, str], set[str]] = defaultdict(set)
        for record in self.of("learn", "forget", "crash"):
            if record["when"] >= self.end:
                continue
            _enter(record, tables)
        return tables

    def measure_tables(self) -> None:
        """Replay the tables, and look at them between any two instants."""
        tables: dict[tuple[str, str], set[str]] = defaultdict(set)
        crashes = [crash for crash in self.crashes if crash[2] < self.end]
        last_named = [when for _, _, when, _ in crashes]
        joins = [stint for stint in self.stints if stint.joined < self.end]
        seen: dict[Stint, float] = {}
        changes = [r for r in self.of("learn", "forget", "crash") if r["when"] < self.end]
        instants = sorted({record["when"] for record in changes})
        for now, then in zip(instants, [*instants, self.end][1:], strict=True):
            for record in changes:
                if record["when"] == now:
                    _enter(record, tables)
            named = {(peer, place) for (_, place), peers in tables.items() for peer in peers}
            for number, (dead, place, when, again) in enumerate(crashes):
                until = min(then, again)
                if until > max(now, when) and any(
                    peer == dead and place in ("", where) for peer, where in named
                ):
                    last_named[number] = until
            by_others = {
                (peer, place)
                for (owner, place), peers in tables.items()
                for peer in peers
                if owner != peer
            }
            for stint in joins:
                until = min(then, stint.left, stint.crashed, stint.again)
                if (
                    stint not in seen
                    and until > max(now, stint.joined)
                    and (stint.node, stint.community) in by_others
                ):
                    seen[stint] = max(now, stint.joined)
        alive = self.alive()
        for community in self.communities:
            here = sorted(key for key in alive if community in ("", key[1]))
            sizes = [len(tables[key]) for key in here]
            degrees = [
                sum(place == key[1] and key[0] in tables[owner, place] for owner, place in alive)
                for key in here
            ]
            self.put(community, "processes", len(here))
            self.put(community, "view_mean", ratio(sum(sizes), len(sizes)))
            self.put_quantiles(community, "view", sizes)
            mean = Fraction(sum(degrees), len(degrees)) if degrees else Fraction(0)
            squares = sum((degree - mean) ** 2 for degree in degrees)
            self.put(community, "in_degree_mean", float(mean) if degrees else None)
            self.put(community, "in_degree_variance", ratio(squares, len(degrees)))
            chi_square = float(squares / mean) if mean and community else None
            self.put(community, "in_degree_chi_square", chi_square)
            heals = [
                (last, when)
                for (_, place, when, _), last in zip(crashes, last_named, strict=True)
                if community in ("", place)
            ]
            healed = [last - when for last, when in heals if last < self.end]
            self.put(community, "unhealed", len(heals) - len(healed))
            self.put_quantiles(community, "heal_seconds", healed)
            newcomers = [stint for stint in joins if community in ("", stint.community)]
            waits = [seen[stint] - stint.joined for stint in newcomers if stint in seen]
            self.put(community, "joins_seen", len(waits))
            self.put(community, "joins_invisible", len(newcomers) - len(waits))
            self.put_quantiles(community, "join_visible_seconds", waits)

    # -- writing it down -------------------------------------------------------------------

    def put(self, community: str, metric: str, value: float | None) -> None:
        self.values[community, metric] = value if value is None else float(value)

    def put_quantiles(self, community: str, sample: str, values: Sequence[float]) -> None:
        ordered = sorted(values)
        for name, share in QUANTILES[sample].items():
            rank = max(1, math.ceil(share * len(ordered)))
            self.put(community, f"{sample}_{name}", ordered[rank - 1] if ordered else None)


def _enter(record: Record, tables: dict[tuple[str, str], set[str]]) -> None:
    """Change the tables as a `learn`, `forget` or `crash` says."""
    if record["kind"] == "crash":
        for owner, place in tables:
            if owner == record["node"]:
                tables[owner, place] = set()
    elif record["kind"] == "learn":
        tables[record["node"], record["community"]].add(record["peer"])
    else:
        tables[record["node"], record["community"]].discard(record["peer"])


def ratio(part: int | Fraction, whole: int) -> float | None:
    return float(Fraction(part) / whole) if whole else None
