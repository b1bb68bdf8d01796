"""The weather between processes: what becomes of each frame, and when.

A link has a latency (constant, drawn from a distribution, or from a matrix of measured ones),
and may lose, duplicate or hold back what crosses it; copies of records that travel in one frame
share its fate. *Cuts* come and go: while one lasts, frames between its two sides are lost, in one
direction or in both. All chance comes from the random stream ``network``, so two protocols that
send alike meet the same weather.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from math import exp, log
from random import Random
from statistics import NormalDist
from typing import Final, Protocol

from attrs import field, frozen, validators

_PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]
_NOT_NEGATIVE: Final = [validators.ge(0.0)]


class Latency(Protocol):
    """How long a frame is under way, in seconds, between the sites of two processes."""

    def seconds(self, source: int, target: int, rng: Random, /) -> float:
        """Return or draw the latency from one site to another."""


@frozen
class Constant:
    """Every frame is under way for the same time: first sent, first received."""

    delay_seconds: float = field(default=0.01, validator=_NOT_NEGATIVE)

    def seconds(self, _source: int, _target: int, _rng: Random) -> float:
        """See `Latency`."""
        return self.delay_seconds


@frozen
class Uniform:
    """Any time between two bounds."""

    low_seconds: float = field(default=0.005, validator=_NOT_NEGATIVE)
    high_seconds: float = field(default=0.05, validator=_NOT_NEGATIVE)

    def __attrs_post_init__(self) -> None:
        if self.high_seconds < self.low_seconds:
            raise ValueError(
                f"high_seconds={self.high_seconds} is below low_seconds={self.low_seconds}"
            )

    def seconds(self, _source: int, _target: int, rng: Random) -> float:
        """See `Latency`."""
        return self.low_seconds + (self.high_seconds - self.low_seconds) * rng.random()


@frozen
class LogNormal:
    """A heavy tail, as measured on the Internet: the median, and the 95 % quantile over it."""

    median_seconds: float = field(default=0.0675, validator=[validators.gt(0.0)])
    # default: half of the median round trip of the PlanetLab matrix, 135 ms [data/README]
    p95_seconds: float = field(default=0.1625, validator=[validators.gt(0.0)])
    # default: half of its 95 % quantile, 325 ms
    _sigma: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.p95_seconds < self.median_seconds:
            raise ValueError(
                f"p95_seconds={self.p95_seconds} is below median_seconds={self.median_seconds}"
            )
        sigma = log(self.p95_seconds / self.median_seconds) / NormalDist().inv_cdf(0.95)
        object.__setattr__(self, "_sigma", sigma)

    def seconds(self, _source: int, _target: int, rng: Random) -> float:
        """See `Latency`."""
        return self.median_seconds * exp(self._sigma * rng.gauss(0.0, 1.0))


class Matrix:
    """Measured latencies between `size` sites; processes are spread over them in turn."""

    def __init__(self, size: int, seconds: Callable[[int, int], float]) -> None:
        """`seconds(i, j)` is the one-way latency from site i to site j."""
        self.size = size
        self._rows = [[seconds(i, j) for j in range(size)] for i in range(size)]

    def seconds(self, source: int, target: int, _rng: Random) -> float:
        """See `Latency`."""
        return self._rows[source % self.size][target % self.size]


class Obstacle(Protocol):
    """Something between processes, for a while: what of the frames that meet it gets lost."""

    @property
    def loss(self) -> float:
        """The probability that a frame that meets it is lost."""

    def severs(self, source: int, target: int, /) -> bool:
        """Say whether a frame from `source` to `target` meets it."""


@frozen(eq=False)
class Cut:
    """Frames from one side to the other are lost with a probability; sides are process numbers.

    An `Obstacle`. Processes on neither side are not touched.
    """

    one_side: Container[int]
    other_side: Container[int]
    one_way: bool = False
    loss: float = field(default=1.0, validator=_PROBABILITY)

    def severs(self, source: int, target: int) -> bool:
        """See `Obstacle`."""
        if source in self.one_side and target in self.other_side:
            return True
        return not self.one_way and source in self.other_side and target in self.one_side


@frozen(kw_only=True)
class Climate:
    """What the weather is like on every link, while nothing special happens."""

    latency: Latency = field(factory=Constant)
    loss: float = field(default=0.0, validator=_PROBABILITY)
    """Probability that a frame does not arrive."""
    duplication: float = field(default=0.0, validator=_PROBABILITY)
    """Probability that it arrives twice, the second time with a latency of its own."""
    reordering: float = field(default=0.0, validator=_PROBABILITY)
    """Probability that it is held back, so that later ones overtake it."""
    hold_seconds_max: float = field(default=0.1, validator=_NOT_NEGATIVE)
    """How long at most, uniformly. chosen: ten times the default latency."""


_LOST: Final[tuple[float, ...]] = ()


class Weather:
    """Decides about every frame; numbers name the processes."""

    def __init__(self, climate: Climate, rng: Random) -> None:
        self.climate = climate
        self.cuts: list[Obstacle] = []
        """The cuts that last at the moment."""
        self.lost = 0
        """Copies of records lost so far, by chance or by a cut."""
        self._rng = rng
        latency = climate.latency
        self._constant = (latency.delay_seconds,) if isinstance(latency, Constant) else None
        self._plain = not (climate.duplication or climate.reordering)
        self._steady: float | None = None
        if isinstance(latency, Constant) and self._plain and not climate.loss:
            self._steady = latency.delay_seconds

    @property
    def steady(self) -> float | None:
        """The delay of every frame, while it is the same for all and none is lost; else None."""
        return None if self.cuts else self._steady

    def delays(self, source: int, target: int, copies: int = 1) -> Sequence[float]:
        """Return after how many seconds a frame of so many copies arrives, if it does.

        Once, twice, or not at all.
        """
        climate, rng = self.climate, self._rng
        if climate.loss and rng.random() < climate.loss:
            self.lost += copies
            return _LOST
        if self.cuts and any(
            cut.severs(source, target) and (cut.loss == 1 or rng.random() < cut.loss)
            for cut in self.cuts
        ):
            self.lost += copies
            return _LOST
        if self._plain:
            return self._constant or (climate.latency.seconds(source, target, rng),)
        delays = [self._delay(source, target)]
        if rng.random() < climate.duplication:
            delays.append(self._delay(source, target))
        return delays

    def _delay(self, source: int, target: int) -> float:
        delay = self.climate.latency.seconds(source, target, self._rng)
        if self._rng.random() < self.climate.reordering:
            delay += self.climate.hold_seconds_max * self._rng.random()
        return delay
