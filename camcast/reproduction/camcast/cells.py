"""The cells of section 6.1: every simulation that its tables and figures are put together from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from camcast.reproduction.camcast.plan import (
    ENGINES,
    RUNS,
    SIZES,
    Engine,
    Plan,
)
from camcast.settings.baselines import Protocol
from camcast.sweeps import Cell

RUNS_CHAIN_MAX: Final = RUNS  # chosen: of the chain beside the others; 6 s
RUNS_VIRTUAL_MAX: Final = 100  # chosen: of the virtual network beside the others; 25 s
RUNS_PARASITES_MAX: Final = 20  # chosen: ±0.2 % of Table 2's largest number; 35 s in all
RUNS_MULTICAST_MAX: Final = 50  # chosen: ±6 % of any number, mostly ±3 %; 15 s in all

CAMCAST, BROADCAST, PMCAST = "(1) CAMCAST", "(2) gossip broadcast", "(3) PMcast"
MULTICAST, HIERARCHICAL = "4.2 (b) gossip multicast", "4.2 (c) hierarchical gossip broadcast"
APPROACHES: Final[Mapping[str, tuple[str, ...]]] = {
    CAMCAST: ("camcast",),
    BROADCAST: ("broadcast",),
    # [CAMCAST 2] "In PMcast [22] [...] the processes are arranged into a hierarchy": by either name
    PMCAST: ("pmcast", "hpmcast"),
    MULTICAST: ("multicast",),
    HIERARCHICAL: ("hierarchical",),
}
"""The rows of Tables 1 and 2, by the names of protocols that choose them."""
DIVIDED: Final[Mapping[str, Protocol]] = {MULTICAST: "multicast", HIERARCHICAL: "hierarchical"}
"""The approaches that the paper's tables leave out."""
FAN_OUTS: Final = {
    (CAMCAST, "ceil"): "measured at real nodes, an event of every topic",
    (BROADCAST, "floor"): "measured at real nodes, fan-out ⌊ln n + c⌋",
    (BROADCAST, "ceil"): "measured at real nodes, fan-out ⌈ln n + c⌉, as CAMCAST's is here",
}
"""What the measurement of Table 2 is of, by approach and rounding of the fan-out."""
FAN_OUTS_PMCAST: Final = (2, 4)
"""[hpmcast 5.3: F = 2] [chosen: 4, as of whole numbers it is nearest in Table 1's formula]"""


def approaches(plan: Plan) -> tuple[str, ...]:
    """Return the approaches that are to be computed, in the order of the tables."""
    return tuple(approach for approach, names in APPROACHES.items() if any(map(plan.about, names)))


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


def baseline_cell(plan: Plan, approach: str, sizes: Sequence[int], *, root: bool) -> Cell:
    """Return the cell of a baseline: an event of the bottom-most topic, or of the root's."""
    return {
        "kind": "baseline",
        "protocol": DIVIDED[approach],
        "sizes": list(sizes),
        "published_in": len(sizes) - 1 if root else 0,
        "runs": plan.runs,
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
