"""The cells of the hpmcast paper: the simulations that its figures are put together from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import attrs
import numpy as np

from camcast.models.hpmcast.prediction import predict
from camcast.models.pmcast_law import completion_rounds, new_infected_law
from camcast.population import flat as pmcast
from camcast.population.hpmcast import reception, simulate
from camcast.population.outcome import mean_interval
from camcast.reproduction.hpmcast.plan import (
    DEPTH_PROCESSES,
    FAN_OUTS_FLAT,
    FLAT_PROCESSES,
    FLAT_ROUNDS,
    INTERESTED_FLAT,
    PMCAST,
    RFPBCAST,
)
from camcast.settings.flat import FlatSetting
from camcast.settings.tree import FAN_OUT, HpmcastSetting
from camcast.sweeps import JSON, Cell

MEASURES: Final = ("reception", "rounds", "messages", "parasites", "parasite_copies")


def infections(protocol: str) -> list[tuple[int, int]]:
    """Return of how many interested processes, and of which F, rfpbcast or pmcast is shown."""
    if protocol == RFPBCAST:  # which sends to everybody, whoever is interested
        return [(FLAT_PROCESSES, fan_out) for fan_out in FAN_OUTS_FLAT]
    return [(interested, FAN_OUT) for interested in INTERESTED_FLAT]


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


def flat_interested() -> tuple[int, ...]:
    """Return of how many interested processes Figure 9 is measured."""
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
        "model": predict(setting).as_json(),
    }


def _compute_flat(given: Mapping[str, Any]) -> JSON:
    """Return how many rounds pass until all the interested have the event."""
    setting = FlatSetting(
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
