"""The law of gossip in one view, and laws of whole numbers: for `addressed` and `flat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import fsum
from typing import Final

import numpy as np

from camcast.research.models.binomial import binomial
from camcast.research.systems.camcast.reliability import sending
from camcast.research.systems.hpmcast.pmcast_law import SUSCEPTIBLE_MAX, round_transitions
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law, transitions

NEGLIGIBLE: Final = 1e-8  # chosen: a case this improbable is left out; far below any interval


# chosen: of three levels with crashes some 2,000 cases are asked for, 70 times each
@lru_cache(maxsize=65_536)
def gossiped(
    others: int,
    susceptible: int,
    fan_out: int,
    periods: int,
    arrival: float,
    senders: int,
    alone: bool = False,
) -> tuple[Law, float]:
    """Return P(k of the susceptible have it in the end), and how often such ones gossip.

    A sender chooses among so many `others`; if the publisher is `alone`, he among one more until
    somebody has the event. Both are for so many `periods`. Do not write into what is returned.
    """
    law = np.zeros(susceptible + 1)
    law[0] = 1.0
    if not periods or not susceptible or not senders:
        return law, 0.0
    gossips, counts = 0.0, np.arange(susceptible + 1)
    if susceptible > SUSCEPTIBLE_MAX:
        matrix = _chain(senders + susceptible, fan_out / others, arrival)[senders:, senders:]
    elif alone:
        after = round_transitions(others, susceptible - 1, fan_out, arrival, senders + 1)
        matrix = np.zeros((susceptible + 1, susceptible + 1))
        matrix[1:, 1:] = after[::-1, ::-1]
        first = sending(others + 1, min(fan_out, others + 1), arrival, susceptible + 1)
        matrix[0] = first[-1, ::-1]
    else:
        matrix = round_transitions(others, susceptible, fan_out, arrival, senders)[::-1, ::-1]
    for _ in range(periods):
        gossips += float(law @ counts)
        law = law @ matrix
    return law, gossips


@lru_cache(maxsize=2)  # chosen: 32 MB each; one size of group after the other is asked for
def _chain(processes: int, chosen: float, arrival: float) -> Law:
    return transitions(processes, min(1.0, chosen) * arrival)


def mean_most(law: Mapping[int, float], count: int) -> float:
    """Return the mean of the largest of so many independent numbers."""
    whole = fsum(law.values())
    below, found = 0.0, 0.0
    for number in range(max(law)):
        below += law.get(number, 0.0) / whole
        found += 1 - min(1.0, below) ** count
    return found


def likely_hits(trials: int, p: float) -> list[tuple[int, float]]:
    """Return the numbers of hits that are not negligible, with their probabilities."""
    width = 7 * (trials * p * (1 - p)) ** 0.5 + 10  # chosen: none beyond it is above 10^-12
    law = binomial(trials, p, min(trials, int(trials * p + width)))
    return [(int(hits), float(law[hits])) for hits in np.flatnonzero(law > NEGLIGIBLE)]


def grouped(
    law: Iterable[tuple[int, float]], first: int, least: float
) -> Iterator[tuple[int, float]]:
    """Yield a law in fewer numbers from `first` on.

    Neighbours are taken together, for their mean, until they are as probable as `least`.
    """
    chance = mean = 0.0
    for number, p in law:
        if number < first:
            yield number, p
            continue
        chance, mean = chance + p, mean + number * p
        if chance >= least:
            yield from ((at, chance * p_at) for at, p_at in between(mean / chance))
            chance = mean = 0.0
    if chance:
        yield from ((at, chance * p_at) for at, p_at in between(mean / chance))


def between(mean: float) -> Iterator[tuple[int, float]]:
    """Yield the two whole numbers around a mean that give it, or the one."""
    least = int(mean + 1e-9)
    above = max(0.0, mean - least)
    if above < 1 - 1e-9:
        yield least, 1 - above
    if above > 1e-9:
        yield least + 1, above
