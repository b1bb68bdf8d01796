"""What Figures 13 to 18 of the CAMCAST paper (000, 6.1.2) show, and its headline (1.4, 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Final

from camcast.research.papers.camcast import plan
from camcast.research.papers.camcast.cells import Results, model
from camcast.research.papers.camcast.plan import COMMUNITIES, SIZES
from camcast.research.papers.figure import Figure, Point
from camcast.research.systems.camcast.message_equations import gossip_messages, upward_messages

_SHARES: Final = (
    ("reception", "Reception probability", "alive processes that receive it"),
    ("reliability", "Reliability", "events that all alive receive"),
)
"""Measure, title and axis of Figures 15 and 16, and of 17 and 18."""
_STILLBORN: Final = "Crashed: each process is dead from the beginning with this probability."
_WEAKLY: Final = (
    "Crashed: each copy meets its receiver crashed with this probability; nobody is dead, and"
    " everybody counts."
)
_CRASHED: Final = "share of crashed processes"
_COPIES: Final = "copies of one event"

Formula = Callable[[int, float], float]
"""Of a community's place in the chain, and the share of crashed processes."""


def figures(results: Results) -> tuple[Figure, ...]:
    """Return the paper's figures in its order, then the headline's."""
    return (
        Figure(
            name="figure13",
            title="Number of events sent in each community",
            x=_CRASHED,
            y=_COPIES,
            notes="Copies sent within the community, whatever becomes of them. Dotted: N (ln N"
            " + c), the paper's order N ln N with its constant (4.3.1). The fan-out is"
            " ⌈ln N + c⌉, so that a community in which all are alive and reached sends up to"
            f" one copy a process more. {_STILLBORN}",
            points=_points(results, "messages", formula=_gossip_messages, panels=True),
        ),
        Figure(
            name="figure14",
            title="Number of upward messages sent to the super-community",
            x=_CRASHED,
            y=_COPIES,
            notes="Copies sent by the links of the community, whatever becomes of them. Dotted:"
            " the paper's nbUpwardMsg = N p_sel p_a z p_succ (4.3.1), p_succ = 0.85 · (share"
            " alive), the copies that would be received if all N members sent; it is the same"
            f" for g and d. The line is at one copy. {_STILLBORN}",
            points=_points(results, "upward_messages", COMMUNITIES[:-1], _upward_messages),
            rule=1.0,
        ),
        *(
            Figure(
                name=f"figure{number}",
                title=named + (", weakly consistent membership" if weak else ""),
                x=_CRASHED,
                y=axis,
                notes=_WEAKLY if weak else _STILLBORN,
                points=_points(results, measure, weak=weak),
                domain=(0, 1),
            )
            for number, (weak, (measure, named, axis)) in enumerate(
                product((False, True), _SHARES), start=15
            )
        ),
        _involved(results),
    )


def _points(
    results: Results,
    measure: str,
    communities: Sequence[str] = COMMUNITIES,
    formula: Formula | None = None,
    *,
    weak: bool = False,
    panels: bool = False,
) -> tuple[Point, ...]:
    return tuple(
        Point(
            series=community,
            x=crash,
            model=getattr(model(crash=crash, weak=weak)[at], measure),
            formula=None if formula is None else formula(at, crash),
            runs=results.plan.runs,
            panel=f"{community}: {SIZES[at]:,} processes" if panels else "",
            **results.spread(crash=crash, weak=weak)["communities"][at][measure],
        )
        for at, community in enumerate(communities)
        for crash in plan.CRASHED
    )


def _gossip_messages(at: int, _crash: float) -> float:
    return float(gossip_messages(SIZES[at], plan.PARAMETERS.c))


def _upward_messages(at: int, crash: float) -> float:
    community, above = plan.setting_of().communities[at], SIZES[at + 1]
    arriving = plan.SUCCESS * (1 - crash)
    p_a, links = community.p_a(above), community.links(above)
    return float(upward_messages(community.size, community.p_sel, p_a, links, arriving))


def _involved(results: Results) -> Figure:
    sizes = ", ".join(
        f"{size} in {name}" for name, size in zip(COMMUNITIES, plan.LIVE_SIZES, strict=True)
    )
    return Figure(
        name="involved",
        title="Reliability by the share of processes involved in climbing",
        x="share of processes that send upward, p_sel",
        y="events that all receive",
        notes=f"Sections 1.4 and 7, without a figure in the paper: {sizes}; c = 0, a = 2 and z = 4"
        f" as in 6.2.1, nothing lost, nobody crashed, p_a = a/z as printed. The paper has 100 % at"
        f" {plan.INVOLVED:.0%}.",
        points=tuple(
            Point(
                series=community,
                x=share,
                model=model(**plan.involved(share))[at].reliability,
                runs=results.plan.runs,
                **results.spread(**plan.involved(share))["communities"][at]["reliability"],
            )
            for at, community in enumerate(COMMUNITIES)
            for share in plan.SHARES_INVOLVED
        ),
        domain=(0, 1),
        logarithmic="x",
    )
