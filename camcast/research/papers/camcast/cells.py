"""The cells of section 6.1, each a simulation of one setting: how they are computed, and found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final, cast

import attrs

from camcast.research.papers.camcast import plan
from camcast.research.papers.camcast.plan import PARAMETERS, RUNS, SIZES, SUCCESS, Plan
from camcast.research.papers.camcast.pmcast_rows import multicast
from camcast.research.papers.cell_results import CellResults
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.simulation.static_network import DealtNetwork
from camcast.research.sweeps import JSON, Cell
from camcast.research.systems.baselines import population as baselines
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast.model import Prediction, predict
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.registry import CAMCAST as SYSTEM
from camcast.research.systems.registry import SYSTEMS
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.streams import stream

RUNS_CHAIN_MAX: Final = RUNS  # chosen: of the chain beside the others; 6 s
RUNS_VIRTUAL_MAX: Final = 100  # chosen: of the virtual network beside the others; 25 s
RUNS_PARASITES_MAX: Final = 20  # chosen: ±0.2 % of Table 2's largest number; 35 s in all
RUNS_MULTICAST_MAX: Final = 50  # chosen: ±6 % of any number, mostly ±3 %; 15 s in all

_MEASURES = ("reception", "reliability", "rounds", "messages", "upward_messages")


def compute(cell: Cell) -> JSON:
    """Simulate one cell; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    computed_by = {
        "spread": _spread,
        "parasites": _parasites,
        "multicast": _multicast,
        "baseline": _baseline,
    }
    return computed_by[given["kind"]](given)


def _spread(given: Mapping[str, Any]) -> JSON:
    parameters = Parameters(**given["parameters"]) if "parameters" in given else PARAMETERS
    setting = plan.setting_of(
        given["sizes"], given["crash"], given["weak"], parameters, given.get("success", SUCCESS)
    )
    simulate = resolve_name(SYSTEMS[SYSTEM].simulators[given["engine"]].simulate)
    spread = simulate(setting, given["runs"], given["seed"], 0)
    climbed = (spread.upward_messages > 0).mean(axis=0).tolist()
    return {
        "communities": [community.as_json() for community in spread.communities],
        "rounds_to_reach_all": spread.rounds_to_reach_all.as_json(),
        "reception_of_all": mean_interval(
            spread.delivered.sum(axis=1) / spread.alive.sum(axis=1), 0.0, 1.0
        ).as_json(),
        "upward_share": climbed,
    }


def _parasites(given: Mapping[str, Any]) -> JSON:
    """Return, run by run, how many copies uninterested processes received.

    With CAMCAST one event of every topic is published, and their copies are added up.
    """
    sizes, runs, seed = given["sizes"], range(given["runs"]), given["seed"]
    # ceil(x - 1) is floor(x), but for whole x, which ln n + 5 is for no n
    c = PARAMETERS.c - (1 if given["fan_out"] == "floor" else 0)
    setting = plan.setting_of(sizes, parameters=attrs.evolve(PARAMETERS, c=c))
    if given["interested"] is not None:
        return [copies_outside(setting, 0, given["interested"], seed, run) for run in runs]
    everywhere = range(len(sizes))
    return [
        sum(copies_outside(setting, at, sizes[at], seed, run) for at in everywhere) for run in runs
    ]


def copies_outside(
    setting: Setting, publisher_in: int, interested: int, seed: int, run: int
) -> int:
    """Publish one event in a community, and count its copies at those it is not for.

    These are all members of the communities before (below) the publisher's, and of its own all
    but the first `interested`, of whom the publisher is one. A copy that a node counts as a
    parasite counts, whoever the node is. The nodes are those of
    `camcast.research.simulation.static_network`: shipped code, dealt tables, one second a round.
    Each frame is counted by the node that it arrives at (`NodeCounters`); nothing is concluded from
    what was sent.
    """
    dealt = DealtNetwork(setting, stream(seed, "workload", "parasites", run))
    dealt.publish(publisher_in)
    found = 0
    for index, living in enumerate(dealt.alive):
        for position, process in living.items():
            counters = process.node.counters
            found += counters.parasites
            if index < publisher_in or (index == publisher_in and position >= interested):
                found += counters.events + counters.duplicates + counters.late
    return found


def _multicast(given: Mapping[str, Any]) -> JSON:
    """Return what became of an event each run, measure by measure."""
    what = given["processes"], given["interested"], given["fan_out"], SUCCESS
    runs = (stream(given["seed"], "workload", "multicast", run) for run in range(given["runs"]))
    found = [attrs.asdict(multicast(*what, dice)) for dice in runs]
    return {measure: [run[measure] for run in found] for measure in found[0]}


def _baseline(given: Mapping[str, Any]) -> JSON:
    """Return what became of an event each run, measure by measure."""
    setting = baseline(given["protocol"], plan.setting_of(given["sizes"]), given["published_in"])
    spread = baselines.simulate(setting, given["runs"], given["seed"])
    return {"rounds": spread.rounds.tolist(), "parasites": spread.parasite_copies.tolist()}


class Results(CellResults[Plan]):
    """What was simulated, by cell."""

    def example(self, cell: Any) -> Any:
        """Return the result of an event that everybody has at once."""
        one = {"mean": 1.0, "low": 1.0, "high": 1.0}
        if cell["kind"] == "spread":
            communities = [dict.fromkeys(_MEASURES, one)] * len(cell["sizes"])
            shares = {"reception_of_all": one, "upward_share": [1.0] * len(communities)}
            return {"communities": communities, "rounds_to_reach_all": one, **shares}
        if cell["kind"] == "parasites":
            return [1]
        return {name: [1] for name in ("last", "rounds", "parasites", "parasite_copies")}

    def turn(self, cell: Cell) -> Any:
        """Put the virtual network first, then the chain, as they take longest."""
        order = ("virtual", "parasites", "chain", "multicast")
        names = [cell.get("engine"), cell["kind"]]
        return min((order.index(name) for name in order if name in names), default=len(order))

    def spread(
        self,
        sizes: Sequence[int] = SIZES,
        crash: float = 0.0,
        weak: bool = False,
        parameters: Parameters = PARAMETERS,
        success: float = SUCCESS,
        *,
        engine: str | None = None,
        runs: int | None = None,
    ) -> Any:
        """Return what became of an event in a setting, which is given as to `setting_of`.

        Engine and runs are the plan's if not given.
        """
        given: dict[str, Any] = {}  # what is not that of 6.1.1
        if parameters != PARAMETERS:
            given["parameters"] = attrs.asdict(parameters)
        if success != SUCCESS:
            given["success"] = success
        return self.of(
            "spread",
            engine=engine or self.plan.engine,
            sizes=list(sizes),
            crash=crash,
            weak=weak and crash > 0,  # without crashes both variants are one cell
            runs=runs,
            **given,
        )

    def intervals(self, measure: str, **setting: Any) -> list[Interval]:
        """Return a measure of a `spread`, by community."""
        communities = self.spread(**setting)["communities"]
        return [Interval(**community[measure]) for community in communities]

    def parasites(self, approach: str, sizes: Sequence[int], fan_out: str) -> Any:
        """Return, run by run, the copies that the uninterested get with an approach."""
        ours = approach == plan.CAMCAST
        return self.of(
            "parasites",
            sizes=list(sizes if ours else plan.group_of(sizes)),
            interested=None if ours else sizes[-1],
            fan_out=fan_out,
            runs=min(self.plan.runs, RUNS_PARASITES_MAX),
        )

    def multicast(self, processes: int, interested: int, fan_out: int) -> Any:
        """Return what became of an event of hpmcast, which stands for PMcast (`pmcast_rows`)."""
        return self.of(
            "multicast",
            processes=processes,
            interested=interested,
            fan_out=fan_out,
            runs=min(self.plan.runs, RUNS_MULTICAST_MAX),
        )

    def baseline(self, approach: str, sizes: Sequence[int], *, root: bool) -> Any:
        """Return what a baseline made of an event, of the bottom-most topic or of the root's."""
        at = len(sizes) - 1 if root else 0
        return self.of(
            "baseline", protocol=plan.DIVIDED[approach], sizes=list(sizes), published_in=at
        )


@cache
def model(**setting: Any) -> list[Prediction]:
    """Return the model's predictions of a setting, as `setting_of` is given it, by community."""
    return predict(plan.setting_of(**setting))


def compared(given: Plan) -> dict[str, int]:
    """Return how many runs each simulator makes of the cell in which they are compared."""
    most = {"population": given.runs, "chain": RUNS_CHAIN_MAX, "virtual": RUNS_VIRTUAL_MAX}
    return {
        engine: given.runs if engine == given.engine else min(given.runs, most[engine])
        for engine in plan.ENGINES
    }
