"""The weather between processes: whether and when each frame arrives.

The climate (`camcast.virtual.climate`) says how long frames are under way, and how many are
lost, duplicated or held back; copies of records that travel in one frame share its fate. *Cuts*
come and go: while one lasts, frames between its two sides are lost, in one direction or in both.
All random numbers come from the stream ``network``, so two protocols that send alike meet the same
weather.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from random import Random
from typing import Final, Protocol

from attrs import field, frozen
from typing_extensions import override

from camcast.virtual.climate import Climate, Constant
from camcast.vocabulary.arguments import PROBABILITY


class Obstacle(Protocol):
    """A cut between processes, as the weather sees it: frames that meet it may get lost."""

    @property
    def loss(self) -> float:
        """The probability that a frame that meets the obstacle gets lost."""

    def severs(self, source: int, target: int, /) -> bool:
        """Say whether a frame from `source` to `target` meets the obstacle."""


@frozen(eq=False)
class Cut(Obstacle):
    """Frames from one side to the other are lost with a probability; sides are process numbers.

    Processes on neither side are not touched.
    """

    one_side: Container[int]
    other_side: Container[int]
    one_way: bool = False
    loss: float = field(default=1.0, validator=PROBABILITY)

    @override
    def severs(self, source: int, target: int) -> bool:
        if source in self.one_side and target in self.other_side:
            return True
        return not self.one_way and source in self.other_side and target in self.one_side


_LOST: Final[tuple[float, ...]] = ()


class Weather:
    """Decides when each frame arrives, if at all; processes are named by numbers."""

    def __init__(self, climate: Climate, rng: Random) -> None:
        self.climate = climate
        self.cuts: list[Obstacle] = []
        """The cuts that are in force now."""
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
        """Return the delays in seconds after which a frame of so many copies arrives.

        There is one delay, two for a duplicated frame, or none for a lost one.
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
