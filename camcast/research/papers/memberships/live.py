"""The memberships among live nodes, as the CAMCAST paper measured them (000, 6.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs

from camcast.observe.trace_reading import Reading
from camcast.research.experiment.by_p_sel import read_apart
from camcast.research.experiment.run import run_experiment
from camcast.research.papers.memberships import plan
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.runs.summary import CommunitySummary, Summary, summarise
from camcast.research.scenarios.live import Scenario, chain
from camcast.research.scenarios.workload import Workload
from camcast.research.sweeps import JSON
from camcast.vocabulary.topics import Topic

RATE: Final = 50.0  # chosen: a third of the copies a second that one machine can carry
JOIN_SECONDS_MAX: Final = 120.0  # chosen: a wave; look-ups of a busy machine time out, and repeat
SETTLE_SECONDS_MAX: Final = 15.0  # chosen: as `Scenario`
PROCESSES: Final = 2  # chosen: as many as the smallest machine has cores
_BOTTOM: Final = Topic(("d", "g"))
_NAMES: Final = dict(zip((".d.g", ".d", "."), plan.COMMUNITIES, strict=True))


def run_live(given: Mapping[str, Any]) -> JSON:
    """Carry out the run of a live cell; all p_sel are measured among the same nodes."""
    values = tuple(given["p_sel"])
    scenario = Scenario(
        name="memberships",
        communities=chain(given["sizes"], ["d", "g"]),
        membership=given["backend"],
        options=plan.options_of(given),
        seed=plan.seed_of(given),
        parameters=plan.parameters_of(given),
        workload=Workload(topic=_BOTTOM, events=given["events"] * len(values), rate=RATE),
        processes=PROCESSES,
        repair=False,
        join_seconds=JOIN_SECONDS_MAX,
        settle_seconds=SETTLE_SECONDS_MAX,
        rest_seconds=given["rest_seconds"],
        upward_probabilities=values,
    )
    with TemporaryDirectory(prefix="camcast-") as place:
        folder = OutputFolder(Path(place))
        outcome = asyncio.run(run_experiment(scenario, folder, lambda _progress: None))
        if outcome.interrupted:
            raise KeyboardInterrupt
        readings = read_apart(scenario, folder)
    rows: list[JSON] = []
    for p_sel, reading in readings.items():
        parameters = attrs.evolve(scenario.parameters, p_sel=p_sel)
        described = attrs.evolve(scenario, parameters=parameters)
        summary, receptions = summarise(reading, described), _receptions(reading)
        rows += [
            {
                "p_sel": p_sel,
                "community": _NAMES[community.topic],
                "reception": community.reception,
                "reliability": community.reliability,
                "efficiency": community.efficiency,
                "hops_mean": community.hops_mean,
                "upward": community.upward_messages / summary.events,
                "predicted": community.predicted,
                "by_event": receptions[community.topic],
            }
            for community in summary.communities
        ]
    seconds = outcome.timings
    lived = sum(seconds.values()) - seconds["reading the traces"]
    return {
        "rows": rows,
        "table_to_law": _table_to_law(outcome.summary),
        "unlisted": _unlisted(next(iter(readings.values()))),
        "start_seconds": seconds["joining"],
        "settle_seconds": seconds["settling tables"],
        "controls": outcome.counters["controls"] / scenario.nodes / lived,
        "parasites": outcome.parasites,
    }


def _receptions(reading: Reading) -> Mapping[str, list[float]]:
    """Return by community which share of it got each event; nobody leaves before or crashes."""
    found: dict[str, list[float]] = {}
    for topic in {member.topic: None for member in reading.members.values()}:
        members = [node for node, member in reading.members.items() if member.topic == topic]
        for event, publish in reading.published.items():
            expected = [node for node in members if node != publish.node]
            got = sum(node in reading.deliveries[event] for node in expected)
            found.setdefault(topic, []).append(got / max(1, len(expected)))
    return found


def _table_to_law(summary: Summary) -> float:
    """Return the entries of all topic tables, as a share of what the membership's law says."""

    def entries(value: Callable[[CommunitySummary], float | None]) -> float:
        return sum((value(c) or 0.0) * c.processes for c in summary.communities)

    return entries(lambda c: c.view_mean) / max(1.0, entries(lambda c: c.view_law or 0.0))


def _unlisted(reading: Reading) -> float:
    """Return the share of members that nobody has in the topic table, before anybody leaves."""
    members = reading.members.values()
    views = reading.views(nextafter(min(member.left for member in members), -inf))
    listed = set().union(*views.values())
    return sum(member.node not in listed for member in members) / len(members)
