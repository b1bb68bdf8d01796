"""What tests read off an interval."""

from __future__ import annotations

from camcast.research.population.outcome import Interval


def bounds(interval: Interval) -> tuple[float, float, float]:
    """Return mean, low and high; fails where there was nothing to tell one of them from."""
    assert interval.mean is not None
    assert interval.low is not None
    assert interval.high is not None
    return interval.mean, interval.low, interval.high
