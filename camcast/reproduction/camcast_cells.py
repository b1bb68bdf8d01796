"""The cells of section 6.1: every simulation that its tables and figures are put together from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from camcast.reproduction.camcast_plan import (
    CRASHED,
    CRASHED_COMPARED,
    ENGINES,
    RUNS,
    SIZES,
    TOPOLOGIES,
    Engine,
    Plan,
)
from camcast.sweeps import Cell

RUNS_CHAIN_MAX: Final = RUNS  # chosen: of the chain beside the others; 6 s
RUNS_VIRTUAL_MAX: Final = 100  # chosen: of the virtual network beside the others; 25 s
RUNS_PARASITES_MAX: Final = 20  # chosen: ±0.2 % of Table 2's largest number; 35 s in all
RUNS_MULTICAST_MAX: Final = 50  # chosen: ±6 % of any number, mostly ±3 %; 15 s in all

CAMCAST, BROADCAST, PMCAST = "(1) CAMCAST", "(2) gossip broadcast", "(3) PMcast"
FAN_OUTS: Final = {
    (CAMCAST, "ceil"): "measured at real nodes, an event of every topic",
    (BROADCAST, "floor"): "measured at real nodes, fan-out ⌊ln n + c⌋",
    (BROADCAST, "ceil"): "measured at real nodes, fan-out ⌈ln n + c⌉, as CAMCAST's is here",
}
"""What the measurement of Table 2 is of, by approach and rounding of the fan-out."""
FAN_OUTS_PMCAST: Final = (2, 4)
"""[hpmcast 5.3: F = 2] [chosen: 4, as of whole numbers it is nearest in Table 1's formula]"""


def cells(plan: Plan) -> list[Cell]:
    """Return all that is to be simulated, what takes longest first."""
    beside = [
        spread_cell(plan, crash=CRASHED_COMPARED, engine=cast(Engine, engine), runs=runs)
        for engine, runs in reversed(compared(plan).items())
    ]
    parasites = [
        parasites_cell(plan, approach, sizes, fan_out)
        for sizes in TOPOLOGIES.values()
        for approach, fan_out in FAN_OUTS
    ]
    multicasts = [
        multicast_cell(plan, sum(sizes), interested, fan_out)
        for sizes in TOPOLOGIES.values()
        for interested in (sum(sizes), sizes[-1])
        for fan_out in FAN_OUTS_PMCAST
    ]
    rounds = [
        spread_cell(plan, group)
        for sizes in TOPOLOGIES.values()
        for group in (sizes, group_of(sizes))
    ]
    broadcast = spread_cell(plan, group_of(SIZES), CRASHED_COMPARED)
    figures = [
        spread_cell(plan, crash=crash, weak=weak) for weak in (False, True) for crash in CRASHED
    ]
    return [*beside, *parasites, *multicasts, *rounds, broadcast, *figures]


def spread_cell(
    plan: Plan,
    sizes: Sequence[int] = SIZES,
    crash: float = 0.0,
    weak: bool = False,
    engine: Engine | None = None,
    runs: int | None = None,
) -> Cell:
    """Return the cell of an event's spread; engine and runs are the plan's if not given."""
    return {
        "kind": "spread",
        "engine": engine or plan.engine,
        "sizes": list(sizes),
        "crash": crash,
        "weak": weak and crash > 0,  # without crashes both variants are one cell
        "runs": runs or plan.runs,
        "seed": plan.seed,
    }


def parasites_cell(plan: Plan, approach: str, sizes: Sequence[int], fan_out: str) -> Cell:
    """Return the cell of the copies that the uninterested get by an approach, in one topology."""
    return {
        "kind": "parasites",
        "sizes": list(sizes if approach == CAMCAST else group_of(sizes)),
        "interested": None if approach == CAMCAST else sizes[-1],
        "fan_out": fan_out,
        "runs": min(plan.runs, RUNS_PARASITES_MAX),
        "seed": plan.seed,
    }


def multicast_cell(plan: Plan, processes: int, interested: int, fan_out: int) -> Cell:
    """Return the cell of an event that hpmcast, for PMcast, brings to so many interested."""
    return {
        "kind": "multicast",
        "processes": processes,
        "interested": interested,
        "fan_out": fan_out,
        "runs": min(plan.runs, RUNS_MULTICAST_MAX),
        "seed": plan.seed,
    }


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
