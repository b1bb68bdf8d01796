"""The three simulators of a setting, by name, and a setting as plain JSON.

`population` has every process by itself, `chain` only how many have the event, `virtual` the
code that ships. They agree in distribution (tests/laws/test_simulators_agree.py). Each is
imported when it is asked for: the population simulator compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from camcast.population.spread import Spread
from camcast.settings.setting import Community, Setting
from camcast.vocabulary.parameters import Parameters

Simulator = Callable[[Setting, int, int, int], Spread]
"""(setting, runs, seed, first run) -> counts; run r depends on the setting, the seed and r."""

SIMULATORS: Final = {
    "population": "camcast.population.camcast",
    "chain": "camcast.population.count_chain",
    "virtual": "camcast.simulation.static_network",
}

_COUNTS: Final = ("alive", "received", "rounds", "messages", "upward_messages")


def find_simulator(name: str) -> Simulator:
    """Return the simulator of this name; raises `ImportError` if an extra is missing."""
    simulator: Simulator = import_module(SIMULATORS[name]).simulate
    return simulator


def cell(simulator: str, setting: Setting, runs: int, seed: int, first_run: int) -> dict[str, Any]:
    """Return some runs of a setting as a cell of a sweep, which `simulate_cell` computes."""
    return {
        "simulator": simulator,
        "setting": attrs.asdict(setting),
        "runs": runs,
        "seed": seed,
        "first_run": first_run,
    }


def simulate_cell(given: Mapping[str, Any]) -> dict[str, Any]:
    """Compute a cell; the result is what `spread_of` reads."""
    plain = given["setting"]
    communities = tuple(
        Community(
            size=community["size"],
            supers=tuple(community["supers"]),
            parameters=Parameters(**community["parameters"]),
        )
        for community in plain["communities"]
    )
    setting = Setting(**plain | {"communities": communities})
    simulate = find_simulator(given["simulator"])
    spread = simulate(setting, given["runs"], given["seed"], given["first_run"])
    return {"sizes": spread.sizes} | {name: getattr(spread, name).tolist() for name in _COUNTS}


def spread_of(result: Mapping[str, Any]) -> Spread:
    """Read the result of a cell."""
    counts = {name: np.array(result[name], dtype=np.int64) for name in _COUNTS}
    return Spread(tuple(result["sizes"]), **counts)
