"""In which round the last member of each community sends.

By the mean-field recursion, f(t+1) = S(t) (1 - p^f(t)) members send in round t + 1, where S(t)
living members do not have the event after round t; a round is the last with probability e^-f(t+1).
An event from below enters a community in a random round, in which its gossip starts, so that the
recursion runs for every such round and is weighted. Rounds beyond `_ROUNDS_MAX` are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p
from typing import Final

import numpy as np
from attrs import frozen

from camcast.research.systems.camcast.message_equations import Values
from camcast.research.systems.camcast.setting import Community, Setting

_ROUNDS_MAX: Final = 400  # chosen: ten times what 10^15 processes take
_FRONTIER_MIN: Final = 1e-4  # chosen: with fewer expected senders a round adds less than is printed


@frozen(eq=False)
class _Timeline:
    """Senders by round (columns), for each round of entry (rows)."""

    weights: Values
    fronts: Values

    @property
    def front(self) -> Values:
        """The mean number of senders in each round."""
        return np.asarray(self.weights @ self.fronts)

    def silence(self, log_silent: float) -> Values:
        """Return P(no copy has climbed by the end of each round)."""
        return np.asarray(self.weights @ np.exp(np.cumsum(self.fronts, axis=1) * log_silent))


def last_rounds(setting: Setting, arrivals: Sequence[float]) -> list[float | None]:
    """Return the mean of the last round in which each community sends; None if it never does.

    `arrivals` are the probabilities that the event gets to each community.
    """
    timelines: dict[int, _Timeline] = {}
    found: list[float | None] = []
    for index, community in enumerate(setting.communities):
        if arrivals[index] <= 0:
            found.append(None)
            continue
        if index == 0:
            alive = 1 + (community.size - 1) * (1 - setting.stillborn)
            weights, seeds, hit = np.ones(1), np.ones(1), np.zeros(0)
        else:
            alive = max(1.0, community.size * (1 - setting.stillborn))
            weights, seeds, hit = _entries(setting, index, timelines, arrivals)
            seeds = np.minimum(seeds, alive)
        arrival = setting.arrival_within(index)
        fronts, quiet = _gossip_rounds(community, arrival, alive, seeds, hit)
        timelines[index] = _Timeline(weights, fronts)
        # the round of entry, and each later round with the probability that somebody sends in it
        mean = np.arange(1, len(weights) + 1) + (1 - quiet).sum(axis=1)
        found.append(float(weights @ mean))
    return found


def _entries(
    setting: Setting, index: int, timelines: dict[int, _Timeline], arrivals: Sequence[float]
) -> tuple[Values, Values, Values]:
    """Return how the event enters a community from below, by round.

    These are the probability that it first enters in each round, the mean number of members that
    then have it, and the probability that a member gets a copy sent from below in each round.
    """
    community = setting.communities[index]
    living = 1 - setting.stillborn
    rounds = max(timeline.fronts.shape[1] for timeline in timelines.values())
    silence, copies = np.ones(rounds), np.zeros(rounds)
    for child, timeline in timelines.items():
        below = setting.communities[child]
        if index not in below.supers:
            continue
        links, p_a = below.links(community.size), below.p_a(community.size)
        arrival = setting.arrival_up(child)
        success = below.p_sel * (1 - (1 - p_a * arrival * living) ** links)
        climbed = 1 - timeline.silence(log1p(-min(success, 1 - 1e-15)))
        climbed = np.pad(climbed, (0, rounds - len(climbed)), mode="edge")
        silence *= 1 - arrivals[child] * climbed
        front = np.pad(timeline.front, (0, rounds - timeline.fronts.shape[1]))
        copies += arrivals[child] * front * below.p_sel * p_a * links * arrival
    entered = -np.diff(silence, prepend=1.0)
    # the receiver of a copy sends in the round after the copy was sent
    weights = np.concatenate([[0.0], entered / max(float(entered.sum()), 1e-300)])
    several = np.maximum(copies * living, 1e-12)
    seeds = np.concatenate([[1.0], several / -np.expm1(-several)])
    return weights, seeds, np.asarray(1 - np.exp(-copies / community.size))


def _gossip_rounds(
    community: Community, arrival: float, alive: float, seeds: Values, hit: Values
) -> tuple[Values, Values]:
    """Return the expected senders and P(nobody sends), by round of entry (rows) and round."""
    reached = community.fan_out * arrival / max(community.size - 1, 1)
    log_p = log1p(-min(reached, 1 - 1e-15))
    log_unhit = np.log1p(-np.minimum(hit, 1 - 1e-15))
    entry = np.arange(len(seeds))
    left = alive - seeds
    front, silent = np.zeros(len(seeds)), np.ones(len(seeds))
    fronts, quiet = [], []
    for time in range(_ROUNDS_MAX):
        if time < len(seeds):
            front[time] = seeds[time]
        fronts.append(front)
        quiet.append(silent)
        if time >= max(len(seeds), len(hit)) - 1 and front.max() < _FRONTIER_MIN:
            break
        log_missed = front * log_p + (log_unhit[time] if time < len(hit) else 0.0)
        log_missed = np.where(entry <= time, log_missed, 0.0)
        front = -left * np.expm1(log_missed)
        silent = np.exp(-front)  # where it matters, senders are few and Poisson distributed
        left = left - front
    return np.stack(fronts, axis=1), np.stack(quiet, axis=1)
