"""The cells of the hpmcast paper: the simulations that its figures are put together from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs

from camcast.models.hpmcast_prediction import predict
from camcast.models.pmcast_law import completion_rounds
from camcast.reproduction.hpmcast_plan import (
    ARITIES,
    DEPTH_PROCESSES,
    DEPTHS,
    FAN_OUTS,
    FLAT_PROCESSES,
    FLAT_ROUNDS,
    REDUNDANCIES,
    SHARES,
    SHARES_COMPARED,
    SHARES_LOW,
    SHARES_SCALED,
    SHARES_SMALL,
    THRESHOLDS,
    Plan,
)
from camcast.simulation import pmcast
from camcast.simulation.hpmcast import simulate
from camcast.simulation.hpmcast_setting import ESTIMATES, FAN_OUT, HpmcastSetting
from camcast.simulation.spread import mean_interval
from camcast.sweeps import JSON, Cell


def hierarchy_cell(plan: Plan, **setting: Any) -> Cell:
    """Return the cell of a hierarchy; what is not given is as in Figure 7."""
    given: dict[str, JSON] = attrs.asdict(HpmcastSetting(**setting))
    return given | {"kind": "hierarchy", "runs": plan.runs, "seed": plan.seed}


def flat_cell(plan: Plan, interested: int) -> Cell:
    """Return the cell of pmcast among the processes of Figure 9, of whom some are interested."""
    return {"kind": "flat", "interested": interested, "runs": plan.runs, "seed": plan.seed}


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
    return {"arity": round(DEPTH_PROCESSES ** (1 / depth)), "depth": depth, "interested": 1.0}


def cells(plan: Plan) -> list[Cell]:
    """Return all that is to be simulated, what takes longest first."""
    settings: list[dict[str, Any]] = [
        *(scaled(arity, share) for arity in reversed(ARITIES) for share in SHARES_SCALED),
        *({"redundancy": R, "interested": p} for R in reversed(REDUNDANCIES) for p in SHARES_LOW),
        *({"fan_out": fan_out, "interested": p} for fan_out in FAN_OUTS for p in SHARES_COMPARED),
        *({"interested": p, "estimate": one} for one in ESTIMATES for p in reversed(SHARES)),
        *({"interested": p, "threshold": D} for D in THRESHOLDS for p in (*SHARES_SMALL, 0.1)),
        *map(deep, DEPTHS),
    ]
    flat = [flat_cell(plan, interested) for interested in flat_interested()]
    return [*(hierarchy_cell(plan, **setting) for setting in settings), *flat]


def flat_interested() -> tuple[int, ...]:
    """Return of how many interested processes Figure 9 is measured."""
    return (*range(1, 10), *range(10, FLAT_PROCESSES + 1, 5))


def compute(cell: Cell) -> JSON:
    """Simulate one cell, and compute its model; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    if given["kind"] == "flat":
        return _compute_flat(given)
    names = [field.name for field in attrs.fields(HpmcastSetting)]
    setting = HpmcastSetting(**{name: given[name] for name in names})
    spread = simulate(setting, given["runs"], given["seed"])
    figures = {name: interval.as_json() for name, interval in spread.figures().items()}
    return {**figures, "model": predict(setting).as_json()}


def _compute_flat(given: Mapping[str, Any]) -> JSON:
    """Return how many rounds pass until all the interested have the event."""
    setting = pmcast.FlatSetting(
        processes=FLAT_PROCESSES,
        interested=given["interested"],
        fan_out=FAN_OUT,
        rounds=FLAT_ROUNDS,
        sender_filters=True,
    )
    completed = pmcast.simulate(setting, given["runs"], given["seed"]).completion
    return {
        "completion": mean_interval(completed[completed >= 0], 0.0).as_json(),
        "model": completion_rounds(FLAT_PROCESSES - 1, given["interested"] - 1, FAN_OUT),
    }
