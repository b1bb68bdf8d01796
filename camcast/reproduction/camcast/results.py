"""What was simulated of section 6.1, and what the model says of the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import attrs

from camcast.models.camcast.prediction import Prediction, predict
from camcast.reproduction.camcast.approaches import CAMCAST, DIVIDED
from camcast.reproduction.camcast.plan import (
    ALONE,
    ENGINES,
    LIVE_PARAMETERS,
    LIVE_SIZES,
    PARAMETERS,
    RUNS,
    SIZES,
    SUCCESS,
    Plan,
    setting_of,
)
from camcast.reproduction.cell_results import CellResults
from camcast.sweeps import Cell
from camcast.vocabulary.parameters import Parameters

RUNS_CHAIN_MAX: Final = RUNS  # chosen: of the chain beside the others; 6 s
RUNS_VIRTUAL_MAX: Final = 100  # chosen: of the virtual network beside the others; 25 s
RUNS_PARASITES_MAX: Final = 20  # chosen: ±0.2 % of Table 2's largest number; 35 s in all
RUNS_MULTICAST_MAX: Final = 50  # chosen: ±6 % of any number, mostly ±3 %; 15 s in all

_MEASURES = ("reception", "reliability", "rounds", "messages", "upward_messages")


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
        engine: str | None = None,
        runs: int | None = None,
        parameters: Parameters = PARAMETERS,
        success: float = SUCCESS,
    ) -> Any:
        """Return that of an event's spread; engine and runs are the plan's if not given."""
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

    def involved(self, share: float) -> Any:
        """Return that of an event in the setting of 1.4 and 7, where this share links upward."""
        return self.spread(LIVE_SIZES, parameters=involving(share), success=1.0)

    def alone(self, c: int) -> Any:
        """Return that of an event in a single community, without loss (2.2)."""
        parameters = attrs.evolve(PARAMETERS, c=c)
        return self.spread((ALONE,), parameters=parameters, success=1.0)

    def parasites(self, approach: str, sizes: Sequence[int], fan_out: str) -> Any:
        """Return that of the copies the uninterested get by an approach, in one topology."""
        ours = approach == CAMCAST
        return self.of(
            "parasites",
            sizes=list(sizes if ours else group_of(sizes)),
            interested=None if ours else sizes[-1],
            fan_out=fan_out,
            runs=min(self.plan.runs, RUNS_PARASITES_MAX),
        )

    def multicast(self, processes: int, interested: int, fan_out: int) -> Any:
        """Return that of an event which hpmcast, for PMcast, brings to so many interested."""
        return self.of(
            "multicast",
            processes=processes,
            interested=interested,
            fan_out=fan_out,
            runs=min(self.plan.runs, RUNS_MULTICAST_MAX),
        )

    def baseline(self, approach: str, sizes: Sequence[int], *, root: bool) -> Any:
        """Return that of a baseline: an event of the bottom-most topic, or of the root's."""
        at = len(sizes) - 1 if root else 0
        return self.of("baseline", protocol=DIVIDED[approach], sizes=list(sizes), published_in=at)


def involving(share: float) -> Parameters:
    """Return the parameters of 6.2.1 with which this share of the processes links upward."""
    return attrs.evolve(LIVE_PARAMETERS, p_sel=share)


@cache
def model(
    sizes: tuple[int, ...] = SIZES, crash: float = 0.0, weak: bool = False
) -> list[Prediction]:
    """Return the model's predictions of a setting, by community."""
    return predict(setting_of(sizes, crash, weak))


@cache
def involved_model(share: float) -> list[Prediction]:
    """Return the model's predictions of `Results.involved`, by community."""
    return predict(setting_of(LIVE_SIZES, parameters=involving(share), success=1.0))


def compared(plan: Plan) -> dict[str, int]:
    """Return how many runs each simulator makes of the cell in which they are compared."""
    most = {"population": plan.runs, "chain": RUNS_CHAIN_MAX, "virtual": RUNS_VIRTUAL_MAX}
    return {
        engine: plan.runs if engine == plan.engine else min(plan.runs, most[engine])
        for engine in ENGINES
    }


def group_of(sizes: Sequence[int]) -> tuple[int]:
    """Return the one group of everybody that gossip broadcast has (4.2, a)."""
    return (sum(sizes),)
