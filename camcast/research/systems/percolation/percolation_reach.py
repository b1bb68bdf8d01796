"""How many nodes percolation gossip reaches (paper 003, 4): Equations 1 to 17, and beyond.

In the paper
------------
A node has i neighbours with probability p_i, and a node at the end of a link has i *other*
neighbours with probability q_i. A node sends an event to each of them with probability
Γ = sigma + (1 - sigma) gamma, independently. The event spreads as a branching process, and the
nodes it reaches are a tree: the probability of a second path to a node goes as 1/N (4).
`receivers_law` has the law of the tree's size by Equations 9 to 13, and `mean_receivers` its mean,
Equation 17. The mean diverges when Γ⟨q⟩ reaches 1, the *threshold*, from which on the event
*percolates* (4.4).

What the paper has wrong
------------------------
⟨s⟩ = sigma ⟨r⟩ (4.3) assumes that receivers subscribe as often as other nodes. But a subscriber is
sent every copy, and another node only the share gamma: the node at the end of a link that was used
subscribes with probability sigma/Γ. So ⟨s⟩ = sigma + (⟨r⟩ - 1) sigma/Γ, as the publisher may be any
node. (With gamma = 0 only the publisher can be a receiver without a subscription.)

Beyond the threshold
--------------------
Equations 12 and 13 still hold, at x = 1 with a root u below 1 (Newman 2005, [17]): along a link
that is followed, the event dies out with probability u = F→(u). Hence

* the event percolates with probability 1 - F(u). The mean size of the events that do not, times
  their probability, is the part of R'(1) that stays finite: F(u) + F'(u) u / (1 - F→'(u));
* the nodes that a percolating event reaches are found by going back from a node over the links on
  which it would have got the event: every link of a subscriber, and each link of another node with
  probability gamma. A way back over a link dies out with probability

      v = sigma G→(v) + (1 - sigma) G→(1 - gamma + gamma v)

  so that the share 1 - G(v) of the subscribers is reached, and 1 - G(1 - gamma + gamma v) of
  others.

Forwards all links are independent; backwards the links of one node depend on its subscription. Both
directions have the same threshold, since both have the mean Γ⟨q⟩, but an event does not percolate
with the same probability with which a node is reached, as it does over independent links.

Degrees of neighbours are taken as independent. In a simple graph with hubs they are not:
docs/measured/models.md has the distance from the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, lgamma, log
from typing import Any, Final

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

Law = NDArray[np.float64]
"""Probabilities of 0, 1, 2, ..."""

_NEGLIGIBLE: Final = 1e-17  # chosen: below the precision of a sum of probabilities
_TAIL_FROM: Final = 10_000  # chosen: larger degrees have 4·10^-6 of the links at exponent 3.3
_PRECISION: Final = 1e-14  # chosen: of roots; about the rounding of a sum of 400 terms
_STEPS_MAX: Final = 10_000  # chosen: Newton's method takes some ten, and more at the threshold


@frozen(eq=False)
class Degrees:
    """A degree distribution; ⟨p⟩ and ⟨p²⟩ are its first two moments.

    Raises `ValueError` if the probabilities do not add up to 1, or nobody has a neighbour.
    """

    p: Law
    mean: float = field()
    square: float = field()

    @mean.default
    def _mean(self) -> float:
        return float(np.arange(len(self.p)) @ self.p)

    @square.default
    def _square(self) -> float:
        return float(np.arange(len(self.p)) ** 2.0 @ self.p)

    def __attrs_post_init__(self) -> None:
        if abs(self.p.sum() - 1) > 1e-6:  # chosen: of a tail cut off, and rounding
            raise ValueError(f"the probabilities of the degrees add up to {self.p.sum():g}, not 1")
        if not self.mean > 0:
            raise ValueError("no node has a neighbour; give degrees above 0")

    @property
    def q(self) -> Law:
        """The excess degrees: q_i = (i+1) p_(i+1) / Σ j p_j (4.1)."""
        return np.arange(1, len(self.p)) * self.p[1:] / self.mean

    @property
    def mean_excess(self) -> float:
        """⟨q⟩ = (⟨p²⟩ - ⟨p⟩) / ⟨p⟩ (Equation 8)."""
        return (self.square - self.mean) / self.mean


def degrees_of(sequence: ArrayLike) -> Degrees:
    """Return the distribution of the degrees of given nodes."""
    counts = np.bincount(np.asarray(sequence, np.int64))
    return Degrees(counts / counts.sum())


def poisson_degrees(mean: float) -> Degrees:
    """Return the Poisson distribution."""
    law: list[float] = []
    while len(law) < mean or law[-1] > _NEGLIGIBLE:
        law.append(exp(len(law) * log(mean) - mean - lgamma(len(law) + 1)))
    return Degrees(np.array(law), mean, mean + mean**2)


def power_law_degrees(exponent: float) -> Degrees:
    """Return p_i ~ i^-exponent for i from 1 on (5.1 has the exponent 3.3).

    ⟨p²⟩ is infinite up to 3. Raises `ValueError` up to 2, where there is no mean.
    """
    if not exponent > 2:
        raise ValueError(f"a power law of exponent {exponent:g} has no mean; give more than 2")
    law = np.zeros(_TAIL_FROM)
    law[1:] = np.arange(1.0, _TAIL_FROM) ** -exponent
    whole = _zeta(exponent)
    square = _zeta(exponent - 2) / whole if exponent > 3 else inf
    return Degrees(law / whole, _zeta(exponent - 1) / whole, square)


def _zeta(s: float) -> float:
    """Return Riemann's zeta: the first terms, and the rest by Euler and Maclaurin."""
    n = 1000.0
    head = float((np.arange(1.0, n) ** -s).sum())
    return float(head + n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12)


# -- one node -------------------------------------------------------------------------------------


def forwarding(sigma: float, gamma: float) -> float:
    """Return Γ = sigma + (1 - sigma) gamma: how probably a neighbour is sent the event (4.2)."""
    return sigma + (1 - sigma) * gamma


def generating_forwarded(law: Law, gamma_total: float, x: ArrayLike) -> Any:
    """Return Σ f_i x^i, where f_i is the probability to send to i neighbours (Equations 1 to 5).

    That is F(x) = G(Γx + 1 - Γ) of degrees p, or F→(x) of excess degrees q, for |x| <= 1; G is the
    generating function of `law`. F'(1) = Γ⟨p⟩ and F→'(1) = Γ⟨q⟩ (Equations 6 and 7).
    """
    return np.polynomial.polynomial.polyval(gamma_total * np.asarray(x) + 1 - gamma_total, law)


# -- all receivers --------------------------------------------------------------------------------


def receivers_law(degrees: Degrees, gamma_total: float, most: int) -> tuple[Law, Law]:
    """Return r_i from a node and r→_i from a link, for i = 0..most (Equations 9 to 13).

    They are the coefficients of R(x) = x F(R→(x)) and R→(x) = x F→(R→(x)), computed by Cauchy's
    integral over a circle inside the unit circle, where iterating the second equation converges.
    """
    points = 1 << (4 * most + 4).bit_length()  # chosen: aliasing of later terms is below 10^-12
    radius = 1e-12 ** (1 / points)
    x = radius * np.exp(2j * np.pi * np.arange(points) / points)
    from_link = np.zeros(points, np.complex128)
    for _ in range(_STEPS_MAX):
        before = from_link
        from_link = x * generating_forwarded(degrees.q, gamma_total, from_link)
        if np.abs(from_link - before).max() < _PRECISION:
            break
    from_node = x * generating_forwarded(degrees.p, gamma_total, from_link)
    scale = radius ** -np.arange(most + 1.0) / points
    # fft's sign is that of x^-i
    r, r_link = (np.fft.fft(values)[: most + 1].real * scale for values in (from_node, from_link))
    return r, r_link


def mean_receivers(degrees: Degrees, gamma_total: float) -> float:
    """Return ⟨r⟩ = 1 + Γ⟨p⟩² / ((1+Γ)⟨p⟩ - Γ⟨p²⟩) (Equation 17); infinite from the threshold on.

    The publisher is one of the receivers.
    """
    if gamma_total == 0:
        return 1.0  # where ⟨p²⟩ may be infinite
    below = (1 + gamma_total) * degrees.mean - gamma_total * degrees.square
    return 1 + gamma_total * degrees.mean**2 / below if below > 0 else inf


def mean_subscribers_of_the_paper(sigma: float, receivers: float) -> float:
    """Return ⟨s⟩ = sigma ⟨r⟩, as printed (4.3); the module's text says why it is wrong."""
    return sigma * receivers if sigma else 0.0


def mean_subscribers(sigma: float, gamma: float, receivers: float) -> float:
    """Return how many of the receivers of an event that does not percolate subscribe to it.

    That is sigma + (⟨r⟩ - 1) sigma/Γ: the publisher subscribes with probability sigma, and a node
    that was sent the event over a link with probability sigma/Γ.
    """
    return sigma + (receivers - 1) * sigma / forwarding(sigma, gamma) if sigma else 0.0


# -- the threshold --------------------------------------------------------------------------------


def threshold(degrees: Degrees) -> float:
    """Return the Γ from which Equation 17 diverges: ⟨p⟩ / (⟨p²⟩ - ⟨p⟩) (4.4).

    A value above 1, or infinite, means that no event percolates: the network has no giant
    component.
    """
    return 1 / degrees.mean_excess if degrees.mean_excess else inf


def other_threshold(degrees: Degrees, probability: float) -> float | None:
    """Return the least sigma with which events percolate at a given gamma; None if there is none.

    Γ is symmetric in both, so that this is also the least gamma at a given sigma.
    """
    least = threshold(degrees)
    if probability >= least:
        return 0.0
    return (least - probability) / (1 - probability) if least <= 1 else None


# -- beyond it ------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Coverage:
    """How many nodes and subscribers an event reaches, in infinite networks and a finite one."""

    gamma_total: float
    """Γ of Equation 1; with loss, Γ times the probability that a copy takes effect."""
    threshold: float
    """The Γ from which events percolate."""
    receivers_infinite: float
    """⟨r⟩ in an infinite network (Equation 17)."""
    subscribers_infinite: float
    """⟨s⟩ in an infinite network, corrected."""
    percolates: float
    """Probability that an event percolates: in an infinite network it reaches infinitely many."""
    reached: float
    """Share of all nodes that a percolating event reaches."""
    reached_subscribers: float
    """Share of the subscribers that a percolating event reaches."""
    receivers: float
    """Mean number of receivers in the finite network, the publisher included.

    It is at most the number of nodes, also at the threshold, where the formula is infinite.
    """
    subscribers: float
    """Mean number of subscribers among the receivers in the finite network."""

    def as_json(self) -> dict[str, float | None]:
        """Return the measures as a JSON object, with None for infinite ones."""
        values = attrs.asdict(self)
        return {name: None if value == inf else value for name, value in values.items()}


def coverage(
    degrees: Degrees, nodes: int, sigma: float, gamma: float, arrival: float = 1.0
) -> Coverage:
    """Return how far an event spreads in a network of `nodes` living nodes with these degrees.

    `arrival` is the probability that a neighbour lives and a copy to it arrives; the paper has
    neither loss nor crashes. Raises `ValueError` for a probability outside [0, 1].
    """
    for name, probability in (("sigma", sigma), ("gamma", gamma), ("arrival", arrival)):
        if not 0 <= probability <= 1:
            raise ValueError(f"{name} is a probability from 0 to 1, not {probability:g}")
    total = arrival * forwarding(sigma, gamma)
    receivers = mean_receivers(degrees, total)
    dies = _least_root(lambda u: _forward(degrees.q, total, u))
    ended, ended_slope = _forward(degrees.p, total, dies)
    _, successors = _forward(degrees.q, total, dies)
    percolates = 1 - ended if receivers == inf else 0.0
    missed_subscriber, missed_other = (
        _with_slope(degrees.p, missed)[0]
        for missed in missed_by_link(degrees, sigma, gamma, arrival)
    )
    found = 1 - missed_subscriber if percolates else 0.0
    reached = sigma * found + (1 - sigma) * (1 - missed_other) if percolates else 0.0
    if receivers == inf:
        others = ended_slope * dies / (1 - successors) if successors < 1 else 0.0
    else:
        ended, others = 1.0, receivers - 1
    return Coverage(
        gamma_total=total,
        threshold=threshold(degrees),
        receivers_infinite=receivers,
        subscribers_infinite=mean_subscribers(sigma, gamma, receivers),
        percolates=percolates,
        reached=reached,
        reached_subscribers=found,
        receivers=min(nodes, nodes * percolates * reached + ended + others),
        subscribers=min(
            sigma * nodes,
            sigma * (nodes * percolates * found + ended)
            + (others * sigma / forwarding(sigma, gamma) if sigma else 0.0),
        ),
    )


def _forward(law: Law, gamma_total: float, u: float) -> tuple[float, float]:
    """Return F(u) and F'(u) of degrees, or F→(u) and F→'(u) of excess degrees."""
    value, slope = _with_slope(law, gamma_total * u + 1 - gamma_total)
    return value, gamma_total * slope


def missed_by_link(
    degrees: Degrees, sigma: float, gamma: float, arrival: float = 1.0
) -> tuple[float, float]:
    """Return the probabilities that a link does not bring a percolating event to one of its ends.

    The first is for a subscriber, v of the module's text, the second for another node,
    1 - gamma + gamma v. A link brings the event only if a copy arrives, with probability `arrival`.
    """
    q = degrees.q

    def back(v: float) -> tuple[float, float]:
        subscriber, other = _forward(q, arrival, v), _forward(q, arrival * gamma, v)
        value, slope = (sigma * s + (1 - sigma) * o for s, o in zip(subscriber, other, strict=True))
        return value, slope

    brings = 1 - _least_root(back)
    return 1 - arrival * brings, 1 - arrival * gamma * brings


def _with_slope(law: Law, x: float) -> tuple[float, float]:
    """Return a generating function's value and derivative at a number."""
    powers = x ** np.arange(len(law))
    return float(law @ powers), float(np.arange(1, len(law)) * law[1:] @ powers[:-1])


def _least_root(curve: Callable[[float], tuple[float, float]]) -> float:
    """Return the least u with curve(u) = u; `curve` is a generating function and its derivative.

    A generating function is convex and 1 at 1. Newton's method from 0 stays below the root, as a
    convex curve lies above its tangents.
    """
    u = 0.0
    for _ in range(_STEPS_MAX):
        value, slope = curve(u)
        if slope >= 1 or value - u < _PRECISION:
            break
        u = min(1.0, u + (value - u) / (1 - slope))
    return u
