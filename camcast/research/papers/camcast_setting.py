"""Section 6.1.1 of the CAMCAST paper (000): the setting, its plan, and the runs of one event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pkgutil import resolve_name
from typing import Any, Final, Literal, get_args

import attrs
from attrs import frozen
from typing_extensions import override

from camcast.research.papers.paper import ONE, Given, Kind, Plan, Results
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.report.page import NOTHING, grid, interval_cell, notes_list, number
from camcast.research.sweeps import JSON
from camcast.research.systems.camcast.model import Prediction, predict
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.registry import CAMCAST, SYSTEMS
from camcast.vocabulary.parameters import Parameters

Engine = Literal["population", "chain", "virtual"]
ENGINES: Final[tuple[Engine, ...]] = get_args(Engine)

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.1.1] the root is a
SIZES: Final = (1000, 100, 10)  # [CAMCAST 6.1.1]
SUCCESS: Final = 0.85  # [CAMCAST 6.1.1]
PARAMETERS: Final = Parameters(c=5, g=5, a=1, z=3)  # [CAMCAST 6.1.1]
CRASHED: Final = tuple(twentieth / 20 for twentieth in range(19))
"""From 0 to 0.9; chosen: twice as fine as the paper's figures are likely to be."""
CRASHED_COMPARED: Final = 0.3
"""Where simulators and protocols are put beside each other. [CAMCAST 1.4: "the crash of 30%"]"""


@frozen(kw_only=True)
class CamcastPlan(Plan):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "camcast"
    RUNS = 4000  # chosen: the interval of a reliability is ±1.6 % or less; the paper has 100

    engine: Engine = "population"

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; known: {', '.join(ENGINES)}")


def group_of(sizes: Sequence[int]) -> tuple[int]:
    """Return the one group of everybody that gossip broadcast has (4.2, a)."""
    return (sum(sizes),)


def setting_of(
    sizes: Sequence[int] = SIZES,
    crash: float = 0.0,
    weak: bool = False,
    parameters: Parameters = PARAMETERS,
    success: float = SUCCESS,
) -> Setting:
    """Return the paper's setting (6.1.1): a chain of communities, the event's own first."""
    communities = chain(sizes, parameters)
    return Setting(communities=communities, success=success, crash=crash, weak=weak)


# -- in words -------------------------------------------------------------------------------------

SETTINGS: Final[Mapping[str, str | None]] = {
    f"Communities of {', '.join(f'{size:,}' for size in SIZES)}; c = {PARAMETERS.c:g},"
    f" g = {PARAMETERS.g:g}, a = {PARAMETERS.a:g}, z = {PARAMETERS.z}; a copy arrives with"
    f" probability {SUCCESS} (000, 6.1.1).": None,
    "Tables are static, uniform and independent: a topic table of ⌈ln N + c⌉ others and a"
    " super-topic table of z. Nobody replaces a crashed process in them. The publisher is"
    " alive, and links upward like anyone else: with p_sel = g/N, to each of z entries with"
    " p_a = a/z.": CAMCAST,
    "Rounds are synchronous: who receives the event in one round sends it in the next, once.": None,
    "Reception: the share of a community's alive processes that have the event in the end, in"
    " the mean over runs (Student's interval). Reliability: the share of runs in which all of"
    " them have it (Wilson's interval). The paper does not say what becomes of a run in which"
    " nobody of a community is alive; here it says nothing of its reception and reliability. If"
    " all were said to have received it, that of a with a share p of crashed would be"
    " p^10 + (1 - p^10) of what is shown: with 70 % crashed 9.4 % instead of 6.8 %.": CAMCAST,
    "The model is camcast.research.systems.camcast.model. It is not meant for gossip that hardly"
    " survives: beyond 80 % crashed it is too high.": CAMCAST,
    "All points are simulated with the same seed.": None,
}
"""The conventions, each with the protocol that it is about; None: all."""


def made(given: CamcastPlan) -> str:
    """Say what was given."""
    return f"Seed {given.seed}, {given.runs:,} runs, simulator {given.engine}."


# -- runs -----------------------------------------------------------------------------------------


def _spread(given: Given) -> JSON:
    parameters = Parameters(**given["parameters"]) if "parameters" in given else PARAMETERS
    setting = setting_of(
        given["sizes"], given["crash"], given["weak"], parameters, given.get("success", SUCCESS)
    )
    simulate = resolve_name(SYSTEMS[CAMCAST].simulators[given["engine"]].simulate)
    outcome = simulate(setting, given["runs"], given["seed"], 0)
    climbed = (outcome.upward_messages > 0).mean(axis=0).tolist()
    return {
        "communities": [community.as_json() for community in outcome.communities],
        "rounds_to_reach_all": outcome.rounds_to_reach_all.as_json(),
        "reception_of_all": mean_interval(
            outcome.delivered.sum(axis=1) / outcome.alive.sum(axis=1), 0.0, 1.0
        ).as_json(),
        "upward_share": climbed,
    }


def _example(given: Given) -> Any:
    """Return the result of an event that everybody has at once."""
    measures = ("reception", "reliability", "rounds", "messages", "upward_messages")
    communities = [dict.fromkeys(measures, ONE)] * len(given["sizes"])
    shares = {"reception_of_all": ONE, "upward_share": [1.0] * len(communities)}
    return {"communities": communities, "rounds_to_reach_all": ONE, **shares}


SPREAD: Final = Kind(
    _spread, _example, turn=lambda cell: {"virtual": 0, "chain": 2}.get(cell["engine"], 4)
)


def spread(
    results: Results[CamcastPlan],
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
    return results.of(
        "spread",
        engine=engine or results.plan.engine,
        sizes=list(sizes),
        crash=crash,
        weak=weak and crash > 0,  # without crashes both variants are one cell
        runs=runs,
        **given,
    )


def intervals(results: Results[CamcastPlan], measure: str, **setting: Any) -> list[Interval]:
    """Return a measure of a `spread`, by community."""
    communities = spread(results, **setting)["communities"]
    return [Interval(**community[measure]) for community in communities]


@cache
def model(**setting: Any) -> list[Prediction]:
    """Return the model's predictions of a setting, as `setting_of` is given it, by community."""
    return predict(setting_of(**setting))


# -- simulators side by side ----------------------------------------------------------------------

RUNS_CHAIN_MAX: Final = CamcastPlan.RUNS  # chosen: of the chain beside the others; 6 s
RUNS_VIRTUAL_MAX: Final = 100  # chosen: of the virtual network beside the others; 25 s


@frozen(kw_only=True)
class Agreement:
    """One measure of a community by every simulator, and by the model."""

    community: str
    measure: str
    by_simulator: Mapping[str, Interval]
    model: float | None


def agreement_of(results: Results[CamcastPlan]) -> tuple[Agreement, ...]:
    """Return what the simulators say of the cell in which they are compared."""
    predicted = model(crash=CRASHED_COMPARED)
    measures = ("reception", "reliability", "messages", "upward_messages", "rounds")
    return tuple(
        Agreement(
            community=community,
            measure=measure,
            by_simulator={
                engine: intervals(
                    results, measure, crash=CRASHED_COMPARED, engine=engine, runs=runs
                )[at]
                for engine, runs in compared(results.plan).items()
            },
            model=getattr(predicted[at], measure),
        )
        for at, community in enumerate(COMMUNITIES)
        for measure in measures
        if not (measure == "upward_messages" and community == COMMUNITIES[-1])
    )


def compared(given: CamcastPlan) -> dict[str, int]:
    """Return how many runs each simulator makes of the cell in which they are compared."""
    most = {"population": given.runs, "chain": RUNS_CHAIN_MAX, "virtual": RUNS_VIRTUAL_MAX}
    return {
        engine: given.runs if engine == given.engine else min(given.runs, most[engine])
        for engine in ENGINES
    }


def agreement_as_html(agreement: Sequence[Agreement], runs: Mapping[str, int]) -> str:
    """Return the table of the simulators; `runs` by their names."""
    what = {
        "population": "every process by itself, tables drawn when needed",
        "chain": "only how many processes have the event",
        "virtual": "the shipped node, encoding and decoding, in a virtual network",
    }
    rows = [
        f"<tr><td>{escape(row.community)}</td><td class='how'>"
        f"{escape(row.measure.replace('_', ' '))}</td>"
        + "".join(f"<td>{interval_cell(row.by_simulator[name])}</td>" for name in runs)
        + f"<td>{NOTHING if row.model is None else number(row.model)}</td></tr>"
        for row in agreement
    ]
    heads = ["", "", *(f"{name} ({count:,} runs)" for name, count in runs.items()), "model"]
    return (
        f"<p>Beyond the paper: the same cell, {CRASHED_COMPARED:.0%} of the processes dead"
        " from the beginning, in all three simulators and in the model, which simulates"
        " nothing.</p>" + grid(heads, rows) + notes_list(f"{name}: {what[name]}." for name in runs)
    )
