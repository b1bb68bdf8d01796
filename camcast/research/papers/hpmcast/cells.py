"""The cells of the hpmcast paper, which its figures are put together from, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import attrs
import numpy as np

from camcast.research.papers.cell_results import CellResults
from camcast.research.papers.hpmcast import plan
from camcast.research.papers.hpmcast.plan import FLAT_PROCESSES, PMCAST, ROUNDS_FLAT, Plan
from camcast.research.population.outcome import mean_interval
from camcast.research.sweeps import JSON, Cell
from camcast.research.systems.flat import population as pmcast
from camcast.research.systems.flat.setting import FlatSetting
from camcast.research.systems.hpmcast.pmcast_law import completion_rounds, new_infected_law
from camcast.research.systems.hpmcast.tree_model import predict
from camcast.research.systems.hpmcast.tree_population import reception, simulate
from camcast.research.systems.hpmcast.tree_setting import FAN_OUT, HpmcastSetting

MEASURES: Final = ("reception", "rounds", "messages", "parasites", "parasite_copies")


def infections(protocol: str) -> list[tuple[int, int]]:
    """Return the curves of rfpbcast or pmcast: how many processes are interested, and F."""
    if protocol == plan.RFPBCAST:  # which sends to everybody, whoever is interested
        return [(FLAT_PROCESSES, fan_out) for fan_out in plan.FAN_OUTS_FLAT]
    return [(interested, FAN_OUT) for interested in plan.INTERESTED_FLAT]


def scaled(arity: int, interested: float) -> dict[str, Any]:
    """Return a setting of Figure 11."""
    # [hpmcast Figure 11: "= 3, R = 4, F = 3" is left of its caption]
    return {
        "arity": arity,
        "depth": 3,
        "redundancy": min(4, arity),
        "fan_out": 3,
        "interested": interested,
    }


def deep(depth: int) -> dict[str, Any]:
    """Return a setting of 6.2: a broadcast through so many levels."""
    return {"arity": round(plan.DEPTH_PROCESSES ** (1 / depth)), "depth": depth, "interested": 1.0}


def flat_interested() -> tuple[int, ...]:
    """Return the numbers of interested processes that Figure 9 is measured for."""
    return (*range(1, 10), *range(10, FLAT_PROCESSES + 1, 5))


def compute(cell: Cell) -> JSON:
    """Simulate one cell, and compute its model; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    if given["kind"] == "flat":
        return _compute_flat(given)
    if given["kind"] == "infection":
        return _compute_infection(given)
    names = [field.name for field in attrs.fields(HpmcastSetting)]
    setting = HpmcastSetting(**{name: given[name] for name in names})
    spread = simulate(setting, given["runs"], given["seed"])
    measures = {**spread.measures(), "reception": reception(spread)}
    return {
        **{name: measures[name].as_json() for name in MEASURES},
        "model": attrs.asdict(predict(setting)),
    }


def _compute_flat(given: Mapping[str, Any]) -> JSON:
    """Return how many rounds pass until all the interested have the event."""
    setting = FlatSetting(
        processes=FLAT_PROCESSES,
        interested=given["interested"],
        fan_out=FAN_OUT,
        rounds=plan.FLAT_ROUNDS,
        sender_filters=True,
    )
    completed = pmcast.simulate(setting, given["runs"], given["seed"]).completion
    return {
        "completion": mean_interval(completed[completed >= 0], 0.0).as_json(),
        "model": completion_rounds(FLAT_PROCESSES - 1, given["interested"] - 1, FAN_OUT),
    }


def _compute_infection(given: Mapping[str, Any]) -> JSON:
    """Return which share of its audience an event has got to after 0, 1, 2, … rounds."""
    setting = FlatSetting(
        processes=FLAT_PROCESSES,
        interested=given["interested"],
        fan_out=given["fan_out"],
        rounds=given["rounds"],
        sender_filters=given["protocol"] == PMCAST,
    )
    shares = (
        pmcast.simulate(setting, given["runs"], given["seed"]).infected_by_round / setting.audience
    )
    others, susceptible = FLAT_PROCESSES - 1, setting.audience - 1
    models = [
        new_infected_law(others, susceptible, setting.fan_out, rounds)
        for rounds in range(setting.rounds + 1)
    ]
    return {
        "shares": [mean_interval(round_, 0.0, 1.0).as_json() for round_ in shares.T],
        "models": [(1 + float(law @ np.arange(len(law)))) / setting.audience for law in models],
    }


class Results(CellResults[Plan]):
    """What was simulated, by cell."""

    def example(self, cell: Cell) -> dict[str, Any]:
        """Return the result of an event that everybody has at once."""
        one = {"mean": 1.0, "low": 1.0, "high": 1.0}
        if cell["kind"] == "flat":
            return {"completion": one, "model": 1.0}
        if cell["kind"] == "infection":
            rounds = ROUNDS_FLAT[str(cell["protocol"])] + 1
            return {"shares": [one] * rounds, "models": [1.0] * rounds}
        return {**dict.fromkeys(MEASURES, one), "model": {"reception_printed": 1.0}}

    def turn(self, cell: Any) -> Any:
        """Put large hierarchies first, as they take longest."""
        return -(cell["arity"] ** cell["depth"]) if cell["kind"] == "tree" else 0

    def hierarchy(self, **setting: Any) -> Any:
        """Return what became of events in a hierarchy; what is not given is as in Figure 7."""
        return self.of("tree", **attrs.asdict(HpmcastSetting(**setting)))

    def flat(self, interested: int) -> Any:
        """Return the rounds that pmcast takes among Figure 9's processes, some interested."""
        return self.of("flat", interested=interested)

    def infection(self, protocol: str, interested: int, fan_out: int) -> Any:
        """Return whom rfpbcast or pmcast reaches round by round, among Figure 9's processes."""
        flat = {"interested": interested, "fan_out": fan_out, "rounds": ROUNDS_FLAT[protocol]}
        return self.of("infection", protocol=protocol, **flat)
