"""The measures of an event of percolation gossip as it is shipped, on an overlay of SCAMP (003).

The overlay of `camcast.research.systems.percolation.protocol` is the union of both directions of
SCAMP's arcs: the neighbours of a process are the members of its view and its holders, the processes
that have it in their views. SCAMP's renewals keep the holders of every process at w = round((c+1)
ln n). If they are drawn at random from the n - 1 others, a process has

    w + Binomial(n - 1 - w, w/(n - 1))

neighbours, nearly 2w: its w holders, and those of the rest that it holds itself. Shipped views give
3 to 7 % fewer neighbours, as arcs in both directions are more frequent than by chance, and a
variance larger by a half.

The measures follow from that degree distribution by the giant component of
`camcast.research.systems.percolation.percolation_reach`, as Equation 17 diverges with Γ⟨q⟩ far
above 1. Below the threshold (gamma below some hundredths where few subscribe) Equation 17 holds and
is used. Γ, and the ways back, are thinned by the probability that a neighbour lives and a copy to
it arrives.

Close to the threshold neither holds in a finite overlay: do not use the model for Γ between half
the threshold and twice the threshold; `ScampPrediction.in_words` says so.

Approximations: the overlay is a tree around every process, though a fifth of all processes are
neighbours in a group of 120; processes are missed independently of each other; and there is no TTL.
tests/research/laws/test_shipped_nodes.py compares with shipped nodes. There is no closed form for
the rounds.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from attrs import frozen
from typing_extensions import override

from camcast.research.models.binomial import binomial
from camcast.research.models.event_prediction import EventPrediction
from camcast.research.systems.percolation.percolation_reach import (
    Coverage,
    Degrees,
    coverage,
    degrees_of,
    forwarding,
    missed_by_link,
)
from camcast.research.systems.percolation.setting import ScampOverlay


def overlay_degrees(setting: ScampOverlay) -> Degrees:
    """Return the distribution of the number of neighbours of a process."""
    others, w = setting.processes - 1, setting.holders
    rest, p = others - w, w / others
    if not rest:
        return degrees_of([others])
    most = min(rest, int(rest * p + 12 * (rest * p) ** 0.5 + 40))  # beyond is below 10^-12
    law = np.zeros(w + most + 1)
    law[w:] = binomial(rest, p, most)
    return Degrees(law)


@frozen(kw_only=True)
class ScampPrediction(EventPrediction):
    """The measures of one event of percolation gossip on an overlay of SCAMP."""

    entries: float
    """The mean number of neighbours of a process, whose subscriptions it knows."""
    coverage: Coverage
    """The percolation measures that the others are computed from."""

    @override
    def as_json(self) -> dict[str, Any]:
        """Return the measures as a JSON object."""
        return super().as_json() | {"coverage": self.coverage.as_json()}

    @override
    def in_words(self) -> str:
        """Say for people which of the two models holds, if any does."""
        found = self.coverage
        if found.threshold / 2 < found.gamma_total < 2 * found.threshold:
            return (
                f"Γ = {found.gamma_total:.3g} is near the threshold of {found.threshold:.3g}:"
                " do not rely on the model."
            )
        if found.receivers_infinite == inf:
            return (
                f"Γ = {found.gamma_total:.3g} is above the threshold of {found.threshold:.3g}:"
                f" Equation 17 diverges, and an event percolates with probability"
                f" {found.percolates:.2%}."
            )
        return (
            f"Γ = {found.gamma_total:.3g} is below the threshold of {found.threshold:.3g}:"
            f" Equation 17 holds, with {found.receivers_infinite:,.2f} receivers."
        )


def predict_on_scamp(setting: ScampOverlay) -> ScampPrediction:
    """Predict the measures of one publication. Deterministic; see the module's text."""
    gamma, degrees = setting.gamma, overlay_degrees(setting)
    alive = 1 - setting.crash
    others = (setting.processes - 1) * alive
    sigma = (setting.interested - 1) / (setting.processes - 1)
    effect = (1 - setting.loss) * alive
    nodes = 1 + round(others)
    covered = coverage(degrees, nodes, sigma, gamma, effect)
    total = forwarding(sigma, gamma)
    percolates, dies_out = covered.percolates, 1 - covered.percolates
    # by Equation 17; above the threshold the receivers of events that die out are left out
    few = 0.0 if covered.receivers_infinite == inf else covered.receivers - 1
    few_found = few / (others * total) if others * total else 0.0
    wanting = others * sigma
    by_few = degrees.mean + few * degrees.mean_excess  # neighbours of the publisher and those few

    def copies(subscriber: float, other: float) -> float:
        sent = percolates * others * _relayed(setting, degrees, sigma, effect, subscriber, other)
        return sent + by_few * (sigma * subscriber + (1 - sigma) * other)

    found = min(1.0, percolates * covered.reached_subscribers + few_found)
    everybody = percolates * covered.reached_subscribers**wanting
    if dies_out:
        everybody += dies_out * min(1.0, few_found / dies_out) ** wanting
    return ScampPrediction(
        reception=(1 + wanting * found) / (1 + wanting),
        reliability=everybody,
        messages=copies(1.0, gamma),
        parasite_copies=effect * copies(0.0, gamma),
        entries=degrees.mean,
        coverage=covered,
    )


def _relayed(
    setting: ScampOverlay,
    degrees: Degrees,
    sigma: float,
    effect: float,
    subscriber: float,
    other: float,
) -> float:
    """Return the mean number of copies that a node sends of a percolating event; 0 if it is missed.

    The node sends a copy to a neighbour with the probability `subscriber` or `other`, by the
    neighbour's subscription, but not to the one that the event came from. That one is more often a
    subscriber than a random neighbour, as are all neighbours of a node that is not missed.
    """
    missed = missed_by_link(degrees, sigma, setting.gamma, effect)
    count = np.arange(len(degrees.p), dtype=np.float64)
    q = degrees.q
    # the neighbour at the end of a link has the event over one of its other links
    has, other_has = (1 - float(q @ chance ** count[: len(q)]) for chance in missed)
    bringing = sigma * has + (1 - sigma) * other_has
    if not bringing:
        return 0.0
    back = (sigma * has * subscriber + (1 - sigma) * other_has * other) / bringing
    forward = sigma * subscriber + (1 - sigma) * other
    sent = 0.0
    for share, chance, used in zip(
        (sigma, 1 - sigma), missed, (effect, effect * setting.gamma), strict=True
    ):
        silent = sigma * subscriber * (1 - used * has) + (1 - sigma) * other * (
            1 - used * other_has
        )
        lost = count * silent * chance ** (count - 1).clip(0)
        sent += share * float(degrees.p @ (count * forward - lost - (1 - chance**count) * back))
    return sent
