"""What Figures 13 to 18 of the CAMCAST paper (000, 6.1.2) show; `figures` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from attrs import frozen

from camcast.models.camcast.messages import gossip_messages, upward_messages
from camcast.reproduction.camcast.plan import (
    COMMUNITIES,
    CRASHED,
    PARAMETERS,
    SIZES,
    SUCCESS,
    setting_of,
)
from camcast.reproduction.camcast.results import Results, model
from camcast.reproduction.paper import NumberedFigure

_SHARES: Final = (
    ("reception", "Reception probability", "alive processes that receive it"),
    ("reliability", "Reliability", "events that all alive receive"),
)
"""Measure, title and axis of Figures 15 and 16, and of 17 and 18."""


@frozen(kw_only=True)
class Point:
    """A row of a figure: one measure of a community at one share of crashed processes.

    A `mean` with neither `runs` nor interval is a formula's, which `simulator` names.
    """

    community: str
    crashed: float
    measure: str
    mean: float | None
    low: float | None = None
    high: float | None = None
    model: float | None = None
    simulator: str
    runs: int | None = None


@frozen(kw_only=True)
class Figure(NumberedFigure):
    """A figure of the paper."""

    measure: str
    """What the points are that were simulated; the others are formulas."""
    axis: str
    points: tuple[Point, ...]


def figures(results: Results) -> tuple[Figure, ...]:
    """Return the figures, in the paper's order."""
    weakly = (
        "each copy meets its receiver crashed with this probability; nobody is dead, and everybody"
        " counts"
    )
    stillborn = "each process is dead from the beginning with this probability"
    return (
        Figure(
            number=13,
            title="Number of events sent in each community",
            measure="messages",
            axis="copies of one event",
            notes="Copies sent within the community, whatever becomes of them. Dotted: N (ln N"
            " + c), the paper's order N ln N with its constant (4.3.1). The fan-out is"
            " ⌈ln N + c⌉, so that a community in which all are alive and reached sends up to"
            f" one copy a process more. Crashed: {stillborn}.",
            points=(*_points(results, "messages"), *_formula_points(results, "messages")),
        ),
        Figure(
            number=14,
            title="Number of upward messages sent to the super-community",
            measure="upward_messages",
            axis="copies of one event",
            notes="Copies sent by the links of the community, whatever becomes of them. Dotted:"
            " the paper's nbUpwardMsg = N p_sel p_a z p_succ (4.3.1), p_succ = 0.85 · (share"
            " alive), the copies that would be received if all N members sent; it is the same"
            " for g and d."
            f" Crashed: {stillborn}.",
            points=(
                *_points(results, "upward_messages", COMMUNITIES[:-1]),
                *_formula_points(results, "upward_messages"),
            ),
        ),
        *(
            Figure(
                number=number,
                title=named + (", weakly consistent membership" if weak else ""),
                measure=measure,
                axis=axis,
                notes=f"Crashed: {weakly if weak else stillborn}.",
                points=_points(results, measure, weak=weak),
            )
            for number, (weak, (measure, named, axis)) in enumerate(
                product((False, True), _SHARES), start=15
            )
        ),
    )


def _points(
    results: Results, measure: str, communities: Sequence[str] = COMMUNITIES, weak: bool = False
) -> tuple[Point, ...]:
    return tuple(
        Point(
            community=community,
            crashed=crash,
            measure=measure,
            model=getattr(model(SIZES, crash, weak)[at], measure),
            simulator=results.plan.engine,
            runs=results.plan.runs,
            **results.spread(crash=crash, weak=weak)["communities"][at][measure],
        )
        for at, community in enumerate(communities)
        for crash in CRASHED
    )


def _formula_points(results: Results, measure: str) -> tuple[Point, ...]:
    points = []
    for at, community in enumerate(setting_of().communities):
        for crash in CRASHED:
            if measure == "messages":
                mean, name = gossip_messages(community.size, PARAMETERS.c), "N (ln N + c)"
            elif not community.supers:
                continue
            else:
                size = SIZES[community.supers[0]]
                name = "N p_sel p_a z p_succ"
                mean = upward_messages(
                    community.size,
                    community.p_sel,
                    community.p_a(size),
                    community.links(size),
                    SUCCESS * (1 - crash),
                )
            points.append(
                Point(
                    community=COMMUNITIES[at],
                    crashed=crash,
                    measure=name,
                    mean=float(mean),
                    simulator="formula",
                )
            )
    return tuple(points)
