"""How a number is distributed over the events or the processes of a run, as a few measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

# chosen: quarters, and beyond them the two ends, where events of a gossip are: it dies out, or
# reaches nearly all
_REACH_PERCENT: Final = (10, 25, 50, 75, 90, 95, 99)
REACHES: Final = {f"reaches_{percent}": percent / 100 for percent in _REACH_PERCENT}
"""The measures of the share of events that reach so many of their receivers, and the least reach
that each counts."""
REACH_QUANTILES: Final = {"reach_p5": 0.05, "reach_p50": 0.5}
"""The quantiles of the reach of events, and the share of the events that each is of."""
REACH: Final = (*REACH_QUANTILES, *REACHES)


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """Return the quantile of sorted values that is one of them; None if there are none."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def reach_of(reaches: Iterable[float]) -> dict[str, float | None]:
    """Compute the measures of `REACH` from the share of its receivers that each event reaches."""
    ordered = sorted(reaches)
    quantiles = {name: nearest_rank(ordered, share) for name, share in REACH_QUANTILES.items()}
    if not ordered:
        return quantiles | dict.fromkeys(REACHES)
    at_least = {name: sum(one >= least for one in ordered) for name, least in REACHES.items()}
    return quantiles | {name: n / len(ordered) for name, n in at_least.items()}
