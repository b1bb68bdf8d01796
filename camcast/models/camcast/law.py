"""What is handed from one community to the next in `camcast.models.camcast.prediction`."""

from __future__ import annotations

from attrs import frozen

from camcast.models.camcast.messages import Values


@frozen(eq=False)
class Law:
    """Weighted numbers of members: `counts` with probability `weights`, which sum to 1."""

    counts: Values
    weights: Values

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.counts @ self.weights)


@frozen(eq=False)
class Climb:
    """The way up from one community, given that the event is there."""

    infected: Law
    p_sel: float
    p_a: float
    links: int


@frozen(eq=False)
class Given:
    """An outcome under one pattern of arrivals below; not weighted yet."""

    arrival: float
    reception: float
    reliability: float
    infected: Law  # unnormalised: the weights sum to `arrival`
