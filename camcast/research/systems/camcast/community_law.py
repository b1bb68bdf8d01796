"""The laws of one community's outcome, from which those of the communities above follow."""

from __future__ import annotations

from attrs import frozen

from camcast.research.systems.camcast.message_equations import Values


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
    """The conditions of an event's climb from one community, given that the event is there."""

    infected: Law
    """How many members have the event."""
    p_sel: float
    p_a: float
    links: int
    """How many entries a link's super-topic table has."""
    arrival: float
    """The probability that a copy to a process that is not stillborn takes effect."""


@frozen(eq=False)
class Given:
    """The outcome in one community, given which communities below have the event."""

    arrival: float
    reception: float
    reliability: float
    infected: Law
    """How many members have the event; the weights sum to `arrival`, not to 1."""
