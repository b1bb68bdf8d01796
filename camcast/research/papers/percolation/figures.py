"""Figures 1 to 18 of the percolation paper (003) as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.percolation import plan
from camcast.research.papers.percolation.cells import (
    Results,
    above_threshold,
    below_threshold,
    model,
    overlay_of,
    paper,
)
from camcast.research.papers.percolation.plan import GAMMA, SIGMA, Setting
from camcast.research.systems.percolation import percolation_reach as reach

_STEPS: Final = 150  # chosen: of a curve of Figures 1 and 2, from 0 up to its transition
_RECEIVERS_MAX: Final = 20.0  # chosen: where a curve of Figures 1 and 2 ends; the bend is seen
_SUBSCRIBERS: Final = f"{SIGMA}, share of subscribers"
_GOSSIP: Final = f"{GAMMA}, gossip probability"
_NODES: Final = "nodes reached"


def figures(results: Results) -> tuple[Figure, ...]:
    """Return all figures, in the paper's order."""
    above = above_threshold()
    return (
        _modelled(1),
        _modelled(2),
        _below(results),
        *(_above(results, number, above[number]) for number in (4, 5)),
        _degrees(results),
        *(_above(results, number, settings) for number, settings in above.items() if number > 6),
    )


def _modelled(number: int) -> Figure:
    """Return Figure 1 or 2, which nothing is simulated for."""
    if number == 1:
        degrees = reach.poisson_degrees(plan.MEAN_DEGREE)
        title = f"Poisson, mean {plan.MEAN_DEGREE:g}"
    else:
        degrees = reach.power_law_degrees(plan.EXPONENT)
        title = f"Scale-free, exponent -{plan.EXPONENT:g}"
    return Figure(
        name=f"figure{number}",
        title=title,
        x=_SUBSCRIBERS,
        y=_NODES,
        notes="Equation 17 for an infinite network: all receivers, and the subscribers among them,"
        f" which the paper has as {SIGMA}⟨r⟩ (dotted) and the corrected formula puts right"
        " (dashed). A curve ends where Equation 17 diverges, at its phase transition.",
        points=tuple(
            point for gamma in plan.GAMMAS_MODELLED[number] for point in _curve(degrees, gamma)
        ),
        wide=False,
    )


def _curve(degrees: reach.Degrees, gamma: float) -> Iterator[Point]:
    end = reach.other_threshold(degrees, gamma)
    assert end, "the curves of Figures 1 and 2 are below the threshold, and end at it"
    series = f"{GAMMA} = {gamma:g}"
    for sigma in np.linspace(0, end, _STEPS, endpoint=False).tolist():
        receivers = reach.mean_receivers(degrees, reach.forwarding(sigma, gamma))
        if receivers > _RECEIVERS_MAX:
            break
        yield Point(series=series, x=sigma, panel="receivers", formula=receivers)
        yield Point(
            series=series,
            x=sigma,
            panel="subscribers among them",
            model=reach.mean_subscribers(sigma, gamma, receivers),
            formula=reach.mean_subscribers_of_the_paper(sigma, receivers),
        )


def _below(results: Results) -> Figure:
    return Figure(
        name="figure3",
        title=f"Poisson, mean {plan.MEAN_DEGREE:g}, below the transition",
        x=_GOSSIP,
        y=_NODES,
        notes=f"Each dot is the mean of one network; {SIGMA} = {plan.SIGMA_BELOW:g}. The dotted"
        " line is Equation 17, which knows of no size; our model is the same there.",
        points=tuple(
            point
            for nodes, settings in below_threshold().items()
            for setting in settings
            for point in _points(results, setting, "receivers", f"{nodes:,} nodes", setting.gamma)
        ),
        wide=False,
    )


def _degrees(results: Results) -> Figure:
    points = []
    for b in plan.B_DRAWN:
        overlay = overlay_of(plan.power_law(b))
        found = np.bincount(overlay.graph(results.plan.seed, 0).degrees)
        wanted = np.bincount(overlay.degrees)  # type: ignore[attr-defined]  # a PowerLaw
        points += [
            Point(
                series=plan.overlay_name(plan.power_law(b)),
                x=degree,
                # on a logarithmic axis there is no place for a degree that no node has
                mean=int(found[degree]) or None if degree < len(found) else None,
                formula=int(wanted[degree]) or None,
                runs=1,
            )
            for degree in range(1, len(wanted))
        ]
    return Figure(
        name="figure6",
        title="Degrees of scale-free networks",
        x="degree",
        y="nodes",
        notes="The construction of Aiello, Chung and Lu: nodes of one network that have a degree."
        f" Dotted: ⌊e^a / x^b⌋, as many as should; a = {plan.A:g}.",
        points=tuple(points),
        logarithmic="xy",
        wide=False,
    )


def _above(results: Results, number: int, settings: Sequence[Setting]) -> Figure:
    varies_sigma = len({setting.gamma for setting in settings}) == 1
    what, held = (SIGMA, GAMMA) if varies_sigma else (GAMMA, SIGMA)
    b = plan.B.get(number if varies_sigma else number - 1)
    name = f"Poisson, mean {plan.MEAN_DEGREE:g}" if b is None else f"a = {plan.A:g}, b = {b:g}"
    nodes = results.at(settings[0]).nodes
    return Figure(
        name=f"figure{number}",
        title=f"{name}, varying {what}",
        x=_SUBSCRIBERS if varies_sigma else _GOSSIP,
        y=_NODES,
        notes=f"Above the transition; {held} = {plan.HELD:g}. Each dot is the mean of one network,"
        " the line that of all, with its 95 % interval. Equation 17 is infinite here; dashed is the"
        " model that goes on with generating functions where it diverges. The upper line is all"
        f" {nodes:,} nodes.",
        points=tuple(
            point
            for setting in settings
            for measure in ("receivers", "subscribers")
            for point in _points(
                results,
                setting,
                measure,
                measure,
                setting.sigma if varies_sigma else setting.gamma,
            )
        ),
        rule=nodes,
        wide=False,
    )


def _points(
    results: Results, setting: Setting, measure: str, series: str, x: float
) -> Iterator[Point]:
    corpus = results.at(setting)
    yield Point(
        series=series,
        x=x,
        model=getattr(model(setting), measure),
        formula=paper(setting, measure),
        runs=results.plan.runs,
        **corpus.interval(measure).as_json(),
    )
    for network, mean in enumerate(corpus.means[measure]):
        yield Point(series=series, x=x, mean=mean, runs=1, sample=network)
