"""Figures 1 to 18 of the percolation paper (003) as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np
from attrs import frozen

from camcast.models.percolation.reach import (
    Degrees,
    forwarding,
    mean_receivers,
    mean_subscribers,
    mean_subscribers_of_the_paper,
    other_threshold,
    poisson_degrees,
    power_law_degrees,
)
from camcast.reproduction.paper import NumberedFigure
from camcast.reproduction.percolation.cells import (
    Results,
    above_threshold,
    below_threshold,
    model,
    overlay_of,
    paper,
)
from camcast.reproduction.percolation.plan import (
    B_DRAWN,
    EXPONENT,
    GAMMA,
    GAMMAS_MODELLED,
    HELD,
    MEAN_DEGREE,
    SIGMA,
    SIGMA_BELOW,
    A,
    B,
    Setting,
    overlay_name,
    power_law,
)

_STEPS: Final = 150  # chosen: of a curve of Figures 1 and 2, from 0 up to its transition
_RECEIVERS_MAX: Final = 50.0  # chosen: where a curve of Figures 1 and 2 ends


@frozen(kw_only=True)
class Point:
    """A row of a figure: receivers, or those of them that subscribe.

    With a `network` it is the mean of that one alone.
    """

    overlay: str
    nodes: int | None
    """None of an infinite network."""
    sigma: float
    gamma: float
    measure: str
    network: int | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    model: float | None = None
    paper: float | None = None
    """What the paper's equations say; None also for infinitely many."""
    networks: int | None = None
    events: int | None = None


@frozen(kw_only=True)
class DegreeCount:
    """A row of Figure 6: how many nodes have a degree."""

    overlay: str
    degree: int
    wanted: int
    """floor(e^a / x^b)."""
    nodes: int
    """In a network."""


@frozen(kw_only=True)
class Figure(NumberedFigure):
    """A figure of the paper."""

    varied: str
    """What is on its horizontal axis: sigma, gamma or degree."""
    points: tuple[Point, ...] | tuple[DegreeCount, ...]


def figures(results: Results) -> tuple[Figure, ...]:
    """Return all figures, in the paper's order."""
    found = [_modelled(1), _modelled(2), _below(results), _degrees(results)]
    found += [_above(results, number, settings) for number, settings in above_threshold().items()]
    return tuple(sorted(found, key=lambda figure: figure.number))


def _modelled(number: int) -> Figure:
    """Return Figure 1 or 2, which nothing is simulated for."""
    if number == 1:
        degrees, title = poisson_degrees(MEAN_DEGREE), f"Poisson, mean {MEAN_DEGREE:g}"
    else:
        degrees, title = power_law_degrees(EXPONENT), f"Scale-free, exponent -{EXPONENT:g}"
    points = [
        point for gamma in GAMMAS_MODELLED[number] for point in _curve(degrees, gamma, number)
    ]
    return Figure(
        number=number,
        title=title,
        notes="Equation 17 for an infinite network: lines are all receivers, dots the subscribers"
        " among them. Vertical lines: the phase transitions, to the right of which Equation 17"
        f" diverges. Subscribers are those of the corrected formula; {SIGMA}⟨r⟩ of the paper is in"
        " the column paper of the data.",
        varied="sigma",
        points=tuple(points),
    )


def _curve(degrees: Degrees, gamma: float, number: int) -> list[Point]:
    end = other_threshold(degrees, gamma)
    assert end, "the curves of Figures 1 and 2 are below the threshold, and end at it"
    points = []
    for sigma in np.linspace(0, end, _STEPS, endpoint=False).tolist():
        receivers = mean_receivers(degrees, forwarding(sigma, gamma))
        if receivers > _RECEIVERS_MAX:
            break
        means = {
            "receivers": (receivers, receivers),
            "subscribers": (
                mean_subscribers(sigma, gamma, receivers),
                mean_subscribers_of_the_paper(sigma, receivers),
            ),
        }
        points += [
            Point(
                overlay=f"poisson:{MEAN_DEGREE:g}" if number == 1 else f"exponent -{EXPONENT:g}",
                nodes=None,
                sigma=sigma,
                gamma=gamma,
                measure=measure,
                model=ours,
                paper=theirs,
            )
            for measure, (ours, theirs) in means.items()
        ]
    return points


def _below(results: Results) -> Figure:
    points = [
        point
        for settings in below_threshold().values()
        for setting in settings
        for point in _points(results, setting)
    ]
    return Figure(
        number=3,
        title=f"Poisson, mean {MEAN_DEGREE:g}, below the transition",
        notes=f"Each dot is the mean of one network; {SIGMA} = {SIGMA_BELOW:g}. The dashed line is"
        " Equation 17, which knows of no size.",
        varied="gamma",
        points=tuple(points),
    )


def _degrees(results: Results) -> Figure:
    counts = []
    for b in B_DRAWN:
        overlay = overlay_of(power_law(b))
        found = np.bincount(overlay.graph(results.plan.seed, 0).degrees)
        wanted = np.bincount(overlay.degrees)  # type: ignore[attr-defined]  # a PowerLaw
        counts += [
            DegreeCount(
                overlay=overlay_name(power_law(b)),
                degree=degree,
                wanted=int(wanted[degree]),
                nodes=int(found[degree]) if degree < len(found) else 0,
            )
            for degree in range(1, len(wanted))
        ]
    return Figure(
        number=6,
        title="Degrees of scale-free networks",
        notes="The construction of Aiello, Chung and Lu. Dots: nodes of one network that have a"
        f" degree. Lines: ⌊e^a / x^b⌋, as many as should; a = {A:g}.",
        varied="degree",
        points=tuple(counts),
    )


def _above(results: Results, number: int, settings: Sequence[Setting]) -> Figure:
    varies_sigma = len({setting.gamma for setting in settings}) == 1
    what, held = (SIGMA, GAMMA) if varies_sigma else (GAMMA, SIGMA)
    b = B.get(number if varies_sigma else number - 1)
    name = f"Poisson, mean {MEAN_DEGREE:g}" if b is None else f"a = {A:g}, b = {b:g}"
    return Figure(
        number=number,
        title=f"{name}, varying {what}",
        notes=f"Above the transition; {held} = {HELD:g}. Each dot is the mean of one network, the"
        " line that of all, with its 95 % interval. Equation 17 is infinite here; dashed is the"
        " model that goes on with generating functions where it diverges. The upper line is all"
        " nodes.",
        varied="sigma" if varies_sigma else "gamma",
        points=tuple(point for setting in settings for point in _points(results, setting)),
    )


def _points(results: Results, setting: Setting) -> list[Point]:
    corpus, predicted = results.at(setting), model(setting)
    points = []
    for measure in ("receivers", "subscribers"):
        here = Point(
            overlay=overlay_name(setting.overlay),
            nodes=corpus.nodes,
            sigma=setting.sigma,
            gamma=setting.gamma,
            measure=measure,
            events=results.plan.events,
        )
        points.append(
            attrs.evolve(
                here,
                **attrs.asdict(corpus.interval(measure)),
                model=getattr(predicted, measure),
                paper=paper(setting, measure),
                networks=results.plan.runs,
            )
        )
        points += [
            attrs.evolve(here, network=network, mean=mean)
            for network, mean in enumerate(corpus.means[measure])
        ]
    return points
