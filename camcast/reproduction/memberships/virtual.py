"""The memberships in the virtual network, which the CAMCAST paper (000, 6.2) could not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from camcast.reproduction.memberships.plan import VARIANTS, Plan
from camcast.reproduction.memberships.runs import (
    BOTTOM,
    parameters_of,
    rows_of,
    setting_of,
    table_to_law,
)
from camcast.scenarios.virtual import Crashes, Links, VirtualScenario
from camcast.scenarios.workload import Workload
from camcast.simulation.scenario_run import run_scenario
from camcast.sweeps import JSON, Cell

VIRTUAL_EVENTS_MAX: Final = 20  # chosen: 13,000 copies each; 10 s a cell in all
VIRTUAL_RATE: Final = 20.0  # chosen: all are published before anybody misses the crashed
VIRTUAL_SETTLE_SECONDS: Final = 20.0  # chosen: as REST_SECONDS
VIRTUAL_SECONDS: Final = 5.0  # chosen: three after the last event; one takes one to spread
LOSS: Final = 0.15  # [CAMCAST 6.1.1: a copy arrives with probability 0.85]
CRASHED: Final = 0.1  # [issue 4]


def virtual_cells(plan: Plan) -> list[Cell]:
    """Return the runs in the virtual network, what takes longest first."""
    return [
        {
            "kind": "virtual",
            "backend": backend,
            "sizes": list(plan.virtual_sizes),
            "p_sel": p_sel,
            "events": min(plan.events, VIRTUAL_EVENTS_MAX),
            "seed": plan.seed,
            "run": run,
            **plan.variant,
        }
        for backend in VARIANTS
        for run in range(plan.runs)
        for p_sel in plan.virtual_p_sel
    ]


def run_virtual(given: Mapping[str, Any]) -> JSON:
    """Carry out the run of a virtual cell, of one p_sel."""
    p_sel = given["p_sel"]
    scenario = VirtualScenario(
        **setting_of(given),
        parameters=attrs.evolve(parameters_of(given), p_sel=p_sel),
        settle_seconds=VIRTUAL_SETTLE_SECONDS,
        duration_seconds=VIRTUAL_SECONDS,
        links=Links(loss=LOSS),
        crashes=(Crashes(at_seconds=0.0, share=CRASHED),),
        workload=Workload(topic=BOTTOM, events=given["events"], rate=VIRTUAL_RATE),
    )
    outcome = run_scenario(scenario)
    return {
        "rows": rows_of(outcome.summary, p_sel),
        "table_to_law": table_to_law(outcome.summary),
        "parasites": outcome.summary.parasites,
    }
