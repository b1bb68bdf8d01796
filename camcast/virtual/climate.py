"""The climate of a network: latency, loss, duplication and reordering on every link.

A link's latency is constant, drawn from a distribution, or taken from a matrix of measured ones.
`camcast.virtual.weather` draws from the climate what happens to each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from random import Random
from statistics import NormalDist
from typing import Protocol

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.vocabulary.arguments import NOT_NEGATIVE, PROBABILITY


class Latency(Protocol):
    """The time in seconds that a frame takes between the sites of two processes."""

    def seconds(self, source: int, target: int, rng: Random, /) -> float:
        """Return or draw the latency from one site to another."""


@frozen
class Constant(Latency):
    """Every frame takes the same time, so that frames arrive in the order of sending."""

    delay_seconds: float = field(default=0.01, validator=NOT_NEGATIVE)

    @override
    def seconds(self, _source: int, _target: int, _rng: Random) -> float:
        return self.delay_seconds


@frozen
class Uniform(Latency):
    """Every frame takes a time drawn uniformly between two bounds."""

    low_seconds: float = field(default=0.005, validator=NOT_NEGATIVE)
    high_seconds: float = field(default=0.05, validator=NOT_NEGATIVE)

    def __attrs_post_init__(self) -> None:
        if self.high_seconds < self.low_seconds:
            raise ValueError(
                f"high_seconds={self.high_seconds} is below low_seconds={self.low_seconds}"
            )

    @override
    def seconds(self, _source: int, _target: int, rng: Random) -> float:
        return self.low_seconds + (self.high_seconds - self.low_seconds) * rng.random()


@frozen
class LogNormal(Latency):
    """Latencies with a heavy tail, as on the Internet, by their median and 95 % quantile."""

    median_seconds: float = field(default=0.0675, validator=[validators.gt(0.0)])
    # chosen: half of the median round trip between 490 hosts of PlanetLab, 135 ms
    p95_seconds: float = field(default=0.1625, validator=[validators.gt(0.0)])
    # chosen: half of the 95 % quantile of the same, 325 ms
    _sigma: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.p95_seconds < self.median_seconds:
            raise ValueError(
                f"p95_seconds={self.p95_seconds} is below median_seconds={self.median_seconds}"
            )
        sigma = log(self.p95_seconds / self.median_seconds) / NormalDist().inv_cdf(0.95)
        object.__setattr__(self, "_sigma", sigma)

    @override
    def seconds(self, _source: int, _target: int, rng: Random) -> float:
        return self.median_seconds * exp(self._sigma * rng.gauss(0.0, 1.0))


@frozen(eq=False)
class Matrix(Latency):
    """Measured latencies between sites; processes are spread over the sites in turn."""

    rows: Sequence[Sequence[float]] = field(repr=False)
    """One-way seconds from the site of the row to that of the column, in a square matrix."""

    @override
    def seconds(self, source: int, target: int, _rng: Random) -> float:
        size = len(self.rows)
        return self.rows[source % size][target % size]


@frozen(kw_only=True)
class Climate:
    """The latency and faults of every link, without the cuts of `camcast.virtual.weather`."""

    latency: Latency = field(factory=Constant)
    loss: float = field(default=0.0, validator=PROBABILITY)
    """Probability that a frame does not arrive."""
    duplication: float = field(default=0.0, validator=PROBABILITY)
    """Probability that a frame arrives twice, the second time with a latency of its own."""
    reordering: float = field(default=0.0, validator=PROBABILITY)
    """Probability that a frame is held back, so that later ones overtake it."""
    hold_seconds_max: float = field(default=0.1, validator=NOT_NEGATIVE)
    """The longest uniform delay of a frame that is held back. chosen: ten default latencies."""
