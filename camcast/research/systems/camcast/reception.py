"""The probability that a process receives an event, by infect-and-die gossip and climbs.

In one community
----------------
Each process that has the event sends it once, to k of the N - 1 others. A sender misses a given
process with probability 1 - k/(N-1). Of the N - 2 processes besides that one and the publisher a
share π has the event, and the publisher certainly has it, so that

    π = 1 - (1 - k/(N-1)) ^ (1 + (N-2) π)

The largest solution is the mean-field limit of 000, 4.5.1 and of [24] there (π of the paper,
without the publisher). It is exactly 1 when k >= N - 1. It neglects that gossip may die out
in its first rounds, which has a probability below e^-k, and it takes tables to be uniform and
independent of each other. k is at most the mean size of the tables that the membership keeps.

The climb
---------
M = 1 + (N-1) π processes have the event. Each acts as a link with probability p_sel and then
sends to each of z super-processes with probability p_a, so that

    pit = 1 - (1 - p_sel (1 - (1-p_a)^z)) ^ M

This is the exact pit for p_succ = 1, as over TCP, where Equation 6 gives 1 always. A climb that
succeeds has E = M p_sel p_a z / pit messages on average, which reach the share
d = 1 - (1 - 1/N_u) ^ E of the super-community directly; gossip reaches others from there:

    π_u = 1 - (1-d) (1 - k/(N_u-1)) ^ ((N_u-1) π_u)

The reception of an ancestor is the product of all pit on the way and its own π_u. Where pit is
below 1 this is a further approximation, as M and E are replaced by their means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from camcast.vocabulary.parameters import Parameters

_ROUNDS: Final = 10_000  # chosen: convergence is geometric except at k = 1, where it is slow
_PRECISION: Final = 1e-12  # chosen: far below what 10^6 events could show


@frozen
class Level:
    """A community: `size` processes with topic tables of `view` entries on average."""

    size: int
    view: float
    parameters: Parameters

    @property
    def fan_out(self) -> float:
        """k, the number of processes that each sends to: at most its table, and all others."""
        wanted = self.parameters.fan_out(self.size)
        return max(0.0, min(float(wanted), self.view, self.size - 1.0))


def predict(levels: Sequence[Level]) -> list[float]:
    """Predict the reception at each level of an event published in the first.

    `levels` runs from the event's own community to the root. The publisher does not count in the
    reception of the first level.
    """
    first, *above = levels
    reception = spread(first, publisher=True)
    predicted, climbed, infected = [reception], 1.0, 1 + (first.size - 1) * reception
    below = first
    for level in above:
        pit = climb(below, infected, level.size)
        climbed *= pit
        entries = infected * upward_messages(below, level.size) / pit if pit else 0.0
        direct = 1 - (1 - 1 / level.size) ** entries
        reached = spread(level, direct=direct)
        predicted.append(climbed * reached)
        infected, below = level.size * reached, level
    return predicted


def spread(level: Level, *, publisher: bool = False, direct: float = 0.0) -> float:
    """Return π, the share of the members that gossip reaches.

    With `publisher` one member has the event at first, and does not count in the share. A share
    `direct` has the event from the community below.
    """
    if level.size <= 1:
        return 1.0
    missed_by_one = 1 - level.fan_out / (level.size - 1)
    share = 1.0
    for _ in range(_ROUNDS):
        senders = 1 + (level.size - 2) * share if publisher else (level.size - 1) * share
        next_share = 1 - (1 - direct) * float(missed_by_one**senders)
        if abs(share - next_share) < _PRECISION:
            break
        share = next_share
    return next_share


def climb(level: Level, infected: float, super_size: int) -> float:
    """Return pit, the probability of an upward message if `infected` members have the event."""
    links = min(level.parameters.z, super_size)
    p_sel = level.parameters.selection_probability(level.size)
    silent = 1 - p_sel * (1 - (1 - level.parameters.link_probability(level.size, links)) ** links)
    return 1 - float(silent**infected)


def upward_messages(level: Level, super_size: int) -> float:
    """Return how many upward messages a member that has the event sends on average."""
    links = min(level.parameters.z, super_size)
    p_sel = level.parameters.selection_probability(level.size)
    return p_sel * level.parameters.link_probability(level.size, links) * links
