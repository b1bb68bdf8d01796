"""Section 6.1 of the CAMCAST paper (000), computed again: Tables 1 and 2, Figures 13 to 18.

What is computed is a sweep of cells, each a simulation of one setting, whose results
are kept line by line in ``cells.jsonl``; the tables and figures are put together from the results
alone (`reproduce`). How they are drawn is the matter of `figures` and `page`.

Where the paper leaves a convention open, the table's or figure's `notes` say which one is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, Final, cast

import attrs
from attrs import frozen

from camcast.population import baselines
from camcast.population.outcome import Interval, mean_interval
from camcast.report.evidence import Evidence
from camcast.reproduction.camcast.evidence import evidence
from camcast.reproduction.camcast.figures import figures
from camcast.reproduction.camcast.parasites import copies_outside
from camcast.reproduction.camcast.plan import (
    COMMUNITIES,
    CRASHED_COMPARED,
    PARAMETERS,
    SIZES,
    SUCCESS,
    Plan,
    setting_of,
)
from camcast.reproduction.camcast.pmcast_rows import multicast
from camcast.reproduction.camcast.results import Results, compared, model
from camcast.reproduction.camcast.tables import Table, tables
from camcast.reproduction.figure import Figure
from camcast.reproduction.paper import ByCells
from camcast.settings.baselines import baseline
from camcast.sweeps import JSON, Cell
from camcast.systems import CAMCAST, SYSTEMS
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.streams import stream


@frozen(kw_only=True)
class Agreement:
    """One measure of a community by every simulator, and by the model."""

    community: str
    measure: str
    by_simulator: Mapping[str, Interval]
    model: float | None


@frozen(kw_only=True)
class Reproduction:
    """Everything that was computed again."""

    plan: Plan
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    agreement: tuple[Agreement, ...]
    runs_compared: Mapping[str, int]
    """How many runs of each simulator the agreement is of."""
    evidence: tuple[Evidence, ...]


def compute(cell: Cell) -> JSON:
    """Simulate one cell; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    if given["kind"] == "parasites":
        return _compute_parasites(given)
    if given["kind"] == "multicast":
        return _compute_multicast(given)
    if given["kind"] == "baseline":
        return _compute_baseline(given)
    parameters = Parameters(**given["parameters"]) if "parameters" in given else PARAMETERS
    setting = setting_of(
        given["sizes"], given["crash"], given["weak"], parameters, given.get("success", SUCCESS)
    )
    simulate = resolve_name(SYSTEMS[CAMCAST].simulators[given["engine"]].simulate)
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


def _compute_parasites(given: Mapping[str, Any]) -> JSON:
    """Return the copies that uninterested processes received, run by run.

    Of CAMCAST, of one event of every topic each.
    """
    sizes, runs, seed = given["sizes"], range(given["runs"]), given["seed"]
    # ceil(x - 1) is floor(x), but for whole x, which ln n + 5 is for no n
    c = PARAMETERS.c - (1 if given["fan_out"] == "floor" else 0)
    setting = setting_of(sizes, parameters=attrs.evolve(PARAMETERS, c=c))
    if given["interested"] is not None:
        return [copies_outside(setting, 0, given["interested"], seed, run) for run in runs]
    everywhere = range(len(sizes))
    return [
        sum(copies_outside(setting, at, sizes[at], seed, run) for at in everywhere) for run in runs
    ]


def _compute_multicast(given: Mapping[str, Any]) -> JSON:
    """Return what became of an event each run, measure by measure."""
    found = [
        attrs.asdict(
            multicast(
                given["processes"],
                given["interested"],
                given["fan_out"],
                SUCCESS,
                stream(given["seed"], "workload", "multicast", run),
            )
        )
        for run in range(given["runs"])
    ]
    return {measure: [run[measure] for run in found] for measure in found[0]}


def _compute_baseline(given: Mapping[str, Any]) -> JSON:
    """Return what became of an event each run, measure by measure."""
    setting = baseline(given["protocol"], setting_of(given["sizes"]), given["published_in"])
    spread = baselines.simulate(setting, given["runs"], given["seed"])
    return {"rounds": spread.rounds.tolist(), "parasites": spread.parasite_copies.tolist()}


def _together(simulated: Results) -> Reproduction:
    plan = simulated.plan
    ours = plan.about("camcast")
    both = tables(simulated)
    return Reproduction(
        plan=plan,
        tables=both,
        figures=figures(simulated) if ours else (),
        agreement=_agreement(simulated) if ours else (),
        runs_compared=compared(plan) if ours else {},
        evidence=evidence(simulated, both),
    )


reproduce: Final = ByCells(compute, Results, _together)
"""Simulate all cells of a plan, or those that a file does not have yet; see `Reproduce`."""


def _agreement(results: Results) -> tuple[Agreement, ...]:
    spreads = {
        engine: results.spread(crash=CRASHED_COMPARED, engine=engine, runs=runs)
        for engine, runs in compared(results.plan).items()
    }
    predicted = model(SIZES, CRASHED_COMPARED)
    measures = ("reception", "reliability", "messages", "upward_messages", "rounds")
    return tuple(
        Agreement(
            community=community,
            measure=measure,
            by_simulator={
                engine: Interval(**spread["communities"][at][measure])
                for engine, spread in spreads.items()
            },
            model=getattr(predicted[at], measure),
        )
        for at, community in enumerate(COMMUNITIES)
        for measure in measures
        if not (measure == "upward_messages" and community == COMMUNITIES[-1])
    )
