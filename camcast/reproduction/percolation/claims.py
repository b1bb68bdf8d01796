"""What the percolation paper (003) says of its results, and whether ours say so too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from camcast.models.percolation.reach import (
    mean_subscribers_of_the_paper,
    other_threshold,
    poisson_degrees,
)
from camcast.report.claim import Claim, verdict
from camcast.reproduction.percolation import plan
from camcast.reproduction.percolation.cells import Results, above_threshold, below_threshold, model
from camcast.reproduction.percolation.plan import GAMMA, SIGMA, Setting, overlay_name

_SIZE: Final = 2482  # [percolation 5.2.2]
_RECEIVERS: Final = 2200  # [percolation 5.2.2] "above"
_SIGNIFICANT: Final = 0.01  # chosen: of all nodes, "a significant portion"
_SIMILAR: Final = 0.9  # chosen: of 2,200, as "similar"
_FEW: Final = 0.1  # chosen: duplicates a receiver, as "limiting the possibility"


def claims(results: Results) -> tuple[Claim, ...]:
    """Return the paper's statements beside what was found."""
    return (
        _subscribers(results),
        _transition(),
        _near(results),
        _significant(results),
        _increasing(results),
        _size(results),
        _almost_all(results, *plan.ALMOST_ALL),
        _almost_all(results, *reversed(plan.ALMOST_ALL)),
        _duplicates(results),
    )


def _subscribers(results: Results) -> Claim:
    held, paper, ours = [], [], []
    points = _points(below_threshold())
    for setting in points:
        measured, predicted = results.at(setting).interval("subscribers"), model(setting)
        theirs = mean_subscribers_of_the_paper(setting.sigma, predicted.receivers_infinite)
        held.append(_within(theirs, measured.low, measured.high))
        paper.append(theirs / (measured.mean or 1))
        ours.append(_within(predicted.subscribers_infinite, measured.low, measured.high))
    return Claim(
        where="IV-C",
        quote="To obtain the average number of subscribers ⟨s⟩ that receive the event, it suffices"
        f" to multiply ⟨r⟩ by the probability that a peer is a subscriber {SIGMA}",
        holds=verdict(all(held)),
        found="Subscribers are sent every copy and the others few, so that they are more than"
        f" their share of the receivers. In Figure 3 {SIGMA}⟨r⟩ is {min(paper):.0%} to"
        f" {max(paper):.0%} of what is measured, and in {sum(held)} of {len(points)} intervals;"
        f" {SIGMA} + (⟨r⟩ - 1) {SIGMA}/Γ is in {sum(ours)}.",
    )


def _transition() -> Claim:
    degrees = poisson_degrees(plan.MEAN_DEGREE)
    ends = [(gamma, other_threshold(degrees, gamma) or 0.0) for gamma in plan.GAMMAS_MODELLED[1]]
    falling = [end for _, end in ends]
    listed = ", ".join(f"{end:.3f} at {GAMMA} = {gamma:g}" for gamma, end in ends)
    return Claim(
        where="V-A, Figure 1",
        quote=f"the higher {GAMMA} the smaller the value of {SIGMA} to have a transition",
        holds=verdict(falling == sorted(falling, reverse=True)),
        found=f"The transition is at {SIGMA} = {listed}.",
    )


def _near(results: Results) -> Claim:
    points = _points(below_threshold())
    within, deviations = 0, []
    for setting in points:
        measured, expected = results.at(setting).interval("receivers"), model(setting)
        within += _within(expected.receivers_infinite, measured.low, measured.high)
        deviations.append((measured.mean or 0.0) / expected.receivers_infinite - 1)
    farthest = max(deviations, key=abs)
    return Claim(
        where="V-B1, Figure 3",
        quote="all results from the simulations lye near the theoretical value, regardless on the"
        " considered number of simulated network nodes",
        # 95 of 100 intervals should have it
        holds=verdict(within >= 0.8 * len(points), "yes, in the mean over networks"),
        found=f"Equation 17 is in {within} of {len(points)} intervals; the mean of all networks is"
        f" at most {abs(farthest):.1%} from it. Single networks scatter more near the transition.",
    )


def _significant(results: Results) -> Claim:
    shares = {
        setting: _mean(results, setting) / results.at(setting).nodes
        for setting in dict.fromkeys(_points(above_threshold()))
        if model(setting).percolates
    }
    least = min(shares, key=lambda setting: shares[setting])
    return Claim(
        where="V",
        quote="when the theoretical model estimates that an infinite amount of nodes is reached"
        " [...], simulations show that a significant portion of the simulated network receives the"
        " events",
        holds=verdict(min(shares.values()) >= _SIGNIFICANT),
        found=f"At {len(shares)} points above the transition, {min(shares.values()):.1%} to"
        f" {max(shares.values()):.1%} of the nodes in the mean; the least with"
        f" {overlay_name(least.overlay)}, {SIGMA} = {least.sigma:g}, {GAMMA} = {least.gamma:g}.",
    )


def _increasing(results: Results) -> Claim:
    figures = above_threshold()
    rising = 0
    for settings in figures.values():
        means = [_mean(results, setting) for setting in settings]
        rising += means == sorted(means)
    most = max(
        _mean(results, setting) / results.at(setting).nodes
        for setting in (*figures[4], *figures[5])
    )
    return Claim(
        where="V-B1, Figures 4, 5",
        quote="the whole overlay is not covered completely. The amount of the reached nodes"
        f" increases with the varied parameter {SIGMA} (resp. {GAMMA}).",
        holds=verdict(rising == len(figures) and most < 1),
        found=f"It increases from point to point in {rising} of all {len(figures)} such figures. In"
        f" Figures 4 and 5 at most {most:.1%} of the nodes are reached: even flooding does not"
        " reach those without a link to the giant component.",
    )


def _size(results: Results) -> Claim:
    nodes = results.at(Setting(plan.power_law(1.0), *plan.ALMOST_ALL)).nodes
    return Claim(
        where="V-B2",
        quote="the choice of a=6, b=1, resulting in networks composed of 2482 nodes",
        holds=verdict(nodes == _SIZE),
        found=f"{nodes:,} nodes.",
    )


def _almost_all(results: Results, sigma: float, gamma: float) -> Claim:
    setting = Setting(plan.power_law(1.0), sigma, gamma)
    corpus, predicted = results.at(setting), model(setting)
    measured = corpus.interval("receivers")
    mean, reached = measured.mean or 0.0, corpus.receivers_spread or 0.0
    ended = 1 - sum(corpus.spread) / len(corpus.spread)
    if sigma == plan.HELD:
        where, least = "V-B2, Figure 8", float(_RECEIVERS)
        quote = (
            f"when {GAMMA} = 0.6, {SIGMA} = 0.1 almost all network peers receive the event [...]"
            " simulation results provide average results above 2200 nodes"
        )
    else:
        where, least = "V-B2, Figure 7", _SIMILAR * _RECEIVERS
        quote = f"A similar behavior is obtained when {SIGMA} = 0.6, {GAMMA} = 0.1."
    only_spread = "of events that spread" if reached > least else "no"
    return Claim(
        where=where,
        quote=quote,
        holds="yes" if mean > least else only_spread,
        found=f"{mean:,.0f} ({measured.low or 0:,.0f} to {measured.high or 0:,.0f}) of"
        f" {corpus.nodes:,}; the model says {predicted.receivers:,.0f}. {ended:.1%} of the events"
        f" end near their publisher (model: {1 - predicted.percolates:.1%}), as a node in six has"
        f" one neighbour; those that spread get to {reached:,.0f}.",
    )


def _duplicates(results: Results) -> Claim:
    below = max(_copies(results, setting) for setting in _points(below_threshold()))
    settings = {
        "Poisson": above_threshold()[5][-1],
        "a = 6, b = 1": Setting(plan.power_law(1.0), *plan.ALMOST_ALL),
    }
    above = {name: _copies(results, setting) for name, setting in settings.items()}
    listed = "; ".join(
        f"{name}, {SIGMA} = {setting.sigma:g}, {GAMMA} = {setting.gamma:g}: {above[name]:.1f}"
        for name, setting in settings.items()
    )
    return Claim(
        where="VI",
        quote="the low clustering guarantees that tree-like overlay are obtained, hence limiting"
        " the possibility that a peer receives multiple messages containing the same event",
        holds=verdict(max(above.values()) < _FEW) if below >= _FEW else "below the transition",
        found=f"Duplicates a receiver: up to {below:.3f} in Figure 3, below the transition. Above"
        f" it: {listed}. What is short of a tree is not the neighbourhood but the whole: most"
        " links join two nodes that both have the event by other ways.",
    )


def _copies(results: Results, setting: Setting) -> float:
    return _mean(results, setting, "duplicates") / (_mean(results, setting) or 1.0)


def _mean(results: Results, setting: Setting, measure: str = "receivers") -> float:
    return results.at(setting).interval(measure).mean or 0.0


def _points(of: Mapping[int, Sequence[Setting]]) -> list[Setting]:
    return [setting for settings in of.values() for setting in settings]


def _within(value: float, low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= value <= high
