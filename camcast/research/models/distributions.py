"""How a number is distributed over the events or the processes of a run, as a few measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
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


def rank(share: float, n: int) -> int:
    """Return the place of a quantile among `n` sorted values, from 0 on: the nearest rank."""
    return max(0, ceil(share * n) - 1)


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """Return the quantile of sorted values that is one of them; None if there are none."""
    return ordered[rank(share, len(ordered))] if ordered else None


def reach_of(reaches: Iterable[float]) -> dict[str, float | None]:
    """Compute the measures of `REACH` from the share of its receivers that each event reaches."""
    ordered = sorted(reaches)
    quantiles = {name: nearest_rank(ordered, share) for name, share in REACH_QUANTILES.items()}
    if not ordered:
        return quantiles | dict.fromkeys(REACHES)
    at_least = {name: sum(one >= least for one in ordered) for name, least in REACHES.items()}
    return quantiles | {name: n / len(ordered) for name, n in at_least.items()}


LOAD_QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p99": 0.99}
"""The quantiles of a load over processes."""

HUB: Final = LOAD_QUANTILES["p99"]
"""The quantile of the numbers of neighbours that a hub has at least."""


def load_of(load: str, of_each: Iterable[int]) -> dict[str, float | None]:
    """Compute the measures of a load from what each process sends or receives."""
    ordered = sorted(of_each)
    quantiles = {f"{load}_{name}": nearest_rank(ordered, q) for name, q in LOAD_QUANTILES.items()}
    total = sum(ordered)
    return quantiles | {f"{load}_peak": ordered[-1] * len(ordered) / total if total else None}


def role_load(of_role: Sequence[int], of_all: Sequence[int]) -> float | None:
    """Return how many times the mean of all the mean of a role is."""
    divisor = len(of_role) * sum(of_all)
    return sum(of_role) * len(of_all) / divisor if divisor else None


def loads_by_role(
    sent: Mapping[str, int],
    publishers: Container[str],
    links: Container[str],
    tables: Mapping[str, AbstractSet[str]],
) -> dict[str, float | None]:
    """Compute what the processes of each role send, for the mean of what each process `sent`.

    Of `publishers` and `links`, those count that are in `sent`. `tables` are the topic tables at
    the end of a run, by process, and say who is a hub.
    """
    neighbours = _neighbours_of(tables)
    hubs = dict.fromkeys(_hubs_of({process: neighbours[process] for process in sent}))
    roles = {"publishers": publishers, "links": links, "hubs": hubs}
    of_all = [*sent.values()]
    return {
        f"load_sent_{role}": role_load([n for one, n in sent.items() if one in having], of_all)
        for role, having in roles.items()
    }


def _neighbours_of(tables: Mapping[str, AbstractSet[str]]) -> Counter[str]:
    """Count whom the table of each process names, or whose table names it."""
    neighbours = Counter({process: len(table) for process, table in tables.items()})
    neighbours.update(
        [
            peer
            for process, table in tables.items()
            for peer in table
            if process not in tables.get(peer, ())
        ]
    )
    return neighbours


def _hubs_of(neighbours: Mapping[str, int]) -> list[str]:
    """Return the processes of which no more than 1 % have more neighbours; none without any."""
    most = nearest_rank(sorted(neighbours.values()), HUB)
    return [process for process, number in neighbours.items() if most and number >= most]
