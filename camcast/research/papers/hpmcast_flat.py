"""rfpbcast and pmcast, the flat algorithms of the hpmcast paper (002, sections 2 and 4).

Everybody knows everybody: how many rounds an event takes, and what share has it after each.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

import numpy as np

from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.paper import ONE, Given, Kind, Kinds, Results, Shown
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.report.evidence import between, exact, exceeds, statement, value
from camcast.research.sweeps import JSON
from camcast.research.systems.flat import population as pmcast
from camcast.research.systems.flat.setting import FlatSetting
from camcast.research.systems.hpmcast.pmcast_law import completion_rounds, new_infected_law
from camcast.research.systems.hpmcast.tree_setting import FAN_OUT
from camcast.research.systems.pmcast.pmcast_equations import pmcast_law, pmcast_rounds
from camcast.research.systems.rfpbcast.rfpbcast_equations import pittel_rounds

RFPBCAST, PMCAST = "rfpbcast", "pmcast"

FLAT_PROCESSES: Final = 100  # [hpmcast Figure 9]
FLAT_ROUNDS: Final = 2000  # chosen: of two interested the second waits 50 on average
FAN_OUTS_FLAT: Final = (2, 4)  # chosen: that of Figure 9, and twice it
INTERESTED_FLAT: Final = (20, 50)  # chosen: of Figure 9's processes, a fifth and half
ROUNDS_FLAT: Final = {RFPBCAST: 10, PMCAST: 20}  # chosen: then nearly all have it
_NEARLY: Final = 0.9  # chosen: of an asymptote, which leaves an O(1) out

INTERESTED: Final = "interested processes, p₁"
_CHAIN: Final = (
    " Dashed: the exact chain, in which the F that one sender chooses are distinct. Dotted: "
)
_INFECTION_NOTES: Final = {
    RFPBCAST: "Beyond the paper's figures: its Figure 1, process by process. It is the same whoever"
    f" is interested.{_CHAIN}Equations 2 and 3, by which it may choose the same process twice.",
    PMCAST: "Beyond the paper's figures: its Figure 2, process by process; nobody else gets it."
    f"{_CHAIN}Equations 7 and 8, those of rfpbcast for n p₁ processes and a fan-out of F p₁.",
}


def _flat_setting(interested: int, fan_out: int, rounds: int, protocol: str) -> FlatSetting:
    return FlatSetting(
        processes=FLAT_PROCESSES,
        interested=interested,
        fan_out=fan_out,
        rounds=rounds,
        sender_filters=protocol == PMCAST,
    )


def _completed(given: Given) -> JSON:
    """Return how many rounds pass until all the interested have the event."""
    setting = _flat_setting(given["interested"], FAN_OUT, FLAT_ROUNDS, PMCAST)
    completed = pmcast.simulate(setting, given["runs"], given["seed"]).completion
    return {
        "completion": mean_interval(completed[completed >= 0], 0.0).as_json(),
        "model": completion_rounds(FLAT_PROCESSES - 1, given["interested"] - 1, FAN_OUT),
    }


def flat_interested() -> tuple[int, ...]:
    """Return the numbers of interested processes that Figure 9 is measured for."""
    return (*range(1, 10), *range(10, FLAT_PROCESSES + 1, 5))


def completion(results: Results[Any]) -> Shown:
    """Figure 9: the rounds until all the interested have an event of pmcast, beside Equation 9."""
    formula = [
        Point(
            series="T(np₁, Fp₁), Equation 9",
            x=p,
            formula=float(pmcast_rounds(FLAT_PROCESSES, p, FAN_OUT)),
        )
        for p in (0.006, 0.007, 0.008, 0.009, *(percent / 100 for percent in range(1, 101)))
    ]
    found = {n_1: results.of("flat", interested=n_1) for n_1 in flat_interested()}
    measured = [
        Point(
            series="rounds until all have it, pmcast",
            x=n_1 / FLAT_PROCESSES,
            model=of["model"],
            runs=results.plan.runs,
            **of["completion"],
        )
        for n_1, of in found.items()
    ]
    yield Figure(
        name="figure9",
        title="Rounds depending on p₁; n = 100, F = 2",
        x=INTERESTED,
        y="rounds",
        notes="Dotted: the formula, 0 where one process is interested, and negative below (the"
        " paper's axis is labelled “Fanout”, and goes down to -120). Beyond the paper: how many"
        " rounds pmcast takes until all the interested have the event; dashed: its exact chain.",
        points=(*measured, *formula),
    )
    curve = {n_1: float(pmcast_rounds(FLAT_PROCESSES, n_1 / FLAT_PROCESSES, FAN_OUT))
             for n_1 in range(1, FLAT_PROCESSES + 1)}  # fmt: skip
    yield value(
        "002",
        "Figure 9, at np₁ = 1",
        "becoming 0 in p1 n = 1",
        0.0,
        exact(curve[1]),
        "T(np₁, Fp₁), Equation 9: a formula, which nothing is simulated for.",
    )
    needed = {n_1: Interval(**of["completion"]) for n_1, of in found.items()}
    top = max(needed, key=lambda n_1: needed[n_1].mean or 0.0)
    yield statement(
        "002",
        "Figure 9",
        "the computed expected number of rounds increases first with a decreasing p1, before"
        " decreasing quickly",
        [exceeds(needed[top], needed[FLAT_PROCESSES]), exceeds(needed[top], needed[1])],
        f"pmcast takes {needed[FLAT_PROCESSES].mean:.1f} rounds if all {FLAT_PROCESSES} are"
        f" interested, {needed[top].mean:.1f} if {top} are, and {needed[1].mean:.0f} for one;"
        f" Equation 9 says {curve[FLAT_PROCESSES]:.1f}, {curve[top]:.1f} and {curve[1]:.0f}.",
    )


def _infected(given: Given) -> JSON:
    """Return which share of its audience an event has got to after 0, 1, 2, … rounds."""
    setting = _flat_setting(*(given[of] for of in ("interested", "fan_out", "rounds", "protocol")))
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


def infections(protocol: str) -> list[dict[str, Any]]:
    """Return the curves of rfpbcast or pmcast: what is given to their runs, but for the number."""
    if protocol == RFPBCAST:  # which sends to everybody, whoever is interested
        varied = [(FLAT_PROCESSES, fan_out) for fan_out in FAN_OUTS_FLAT]
    else:
        varied = [(interested, FAN_OUT) for interested in INTERESTED_FLAT]
    same = {"protocol": protocol, "rounds": ROUNDS_FLAT[protocol]}
    return [{**same, "interested": one, "fan_out": fan_out} for one, fan_out in varied]


def necessary(results: Results[Any]) -> Shown:
    """Equation 4: the rounds in which rfpbcast infects nearly a whole system."""
    held, found = [], []
    for curve in infections(RFPBCAST):
        n, fan_out = curve["interested"], curve["fan_out"]
        rounds = float(pittel_rounds(n, fan_out))
        share = Interval(**results.of("infection", **curve)["shares"][ceil(rounds)])
        held.append(between(share, _NEARLY))
        needed = completion_rounds(n - 1, n - 1, fan_out)
        found.append(
            f"T({n}, {fan_out}) = {rounds:.2f}: after {ceil(rounds)} rounds {share.mean:.1%} have"
            f" it, and all after {needed:.1f} in the mean (exact chain)."
        )
    yield statement(
        "002",
        "2.1.2, Equation 4",
        "the total number of rounds necessary to infect an entire system of size n (large)",
        held,
        f"{' '.join(found)} The asymptote leaves an O(1) out; nearly all is {_NEARLY:.0%}.",
    )


def infection(protocol: str, results: Results[Any]) -> Shown:
    """Beyond the figures: whom an event of rfpbcast or pmcast has reached after each round."""
    filters = protocol == PMCAST
    measured, equation = [], []
    for curve in infections(protocol):
        interested, fan_out = curve["interested"], curve["fan_out"]
        found = results.of("infection", **curve)
        p = interested / FLAT_PROCESSES
        name = f"p₁ = {p:g}" if filters else f"F = {fan_out}"
        for rounds, (share, model) in enumerate(zip(found["shares"], found["models"], strict=True)):
            measured.append(
                Point(series=name, x=rounds, model=model, runs=results.plan.runs, **share)
            )
            law = pmcast_law(FLAT_PROCESSES, p, fan_out, rounds)
            mean = float(law @ np.arange(len(law))) / interested
            equation.append(Point(series=f"{name}, by equation", x=rounds, formula=mean))
    yield Figure(
        name=protocol,
        title=f"{protocol}, round by round; n = {FLAT_PROCESSES}"
        + (f", F = {FAN_OUT}" if filters else ""),
        x="rounds",
        y="share of the interested that have it" if filters else "share that have the event",
        notes=_INFECTION_NOTES[protocol],
        points=(*measured, *equation),
        domain=(0, 1),
    )


KINDS: Final[Kinds] = {
    "flat": Kind(_completed, lambda _cell: {"completion": ONE, "model": 1.0}),
    "infection": Kind(
        _infected,
        lambda cell: {
            "shares": [ONE] * (cell["rounds"] + 1),
            "models": [1.0] * (cell["rounds"] + 1),
        },
    ),
}
