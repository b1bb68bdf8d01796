"""The measures of one publication in a setting, without simulating it (paper 000, 4.5 and 6.1).

Theory of operation
-------------------
The communities are taken in the setting's order, from the event's own upward. Three laws of each
community suffice for all above it: the probability that the event gets there at all; given that,
the number of members that have it in the end; and the number that send in each round (its
*timeline*). For tables are independent of each other, and the order of sending does not matter for
who has the event in the end.

*The climb.* Each of the M members that have the event is a link with probability p_sel. A link
draws L entries, sends to each with probability p_a, and a copy takes effect with probability
`arrival_up` if its receiver is alive. D living members of the super-community have the event at
first.

*The spread.* The number of members that have the event in the end comes from the exact chain in a
community of up to `EXACT_SIZE` (`camcast.research.systems.camcast.small_community`), and from a
mean field in a larger one (`camcast.research.systems.camcast.large_community`). The last round of
each community follows from that of the communities below it
(`camcast.research.systems.camcast.last_rounds`).

Several paths
-------------
Where several communities below another may have the event (3.6), each pattern of which of them do
is weighted by its exact probability: the cost doubles with each community that is waiting for one
above it. The *numbers* of members that have the event are taken as independent between them.

docs/measured/models.md has the distance from the simulation; in the paper's setting it is up to
0.005, and 0.2 rounds. Do not use the model where gossip hardly survives: with k·r below about 2 the
number of members that have the event varies, which the mean field of large communities and the
rounds of any do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from typing import Final

import numpy as np
from attrs import frozen

from camcast.research.systems.camcast.community_law import Climb, Given, Law
from camcast.research.systems.camcast.large_community import (
    alive_roughly,
    extinction,
    in_the_mean,
    passed_over,
    silence,
)
from camcast.research.systems.camcast.last_rounds import last_rounds
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.camcast.small_community import (
    alive_at_most,
    alive_exactly,
    enter_exactly,
    spread_exactly,
)

EXACT_SIZE: Final = 64  # chosen: the chain takes 2 ms there, and time grows as N^4


@frozen
class Prediction:
    """The measures of one community, as `camcast.research.population.outcome` defines them."""

    size: int
    arrival: float
    """The probability that the event gets to any living member."""
    reception: float | None
    """The share of living members that have the event, the publisher included; None if nobody lives
    for certain. As in the simulators, outcomes in which nobody lives do not count."""
    reliability: float | None
    """The probability that all living members have it; None as of `reception`."""
    messages: float
    """Copies sent within the community."""
    upward_messages: float
    """Copies sent to all super-communities."""
    rounds: float | None
    """The last round in which a member sends, if the event gets there; None if it never does."""
    memory: int
    """Table entries of a member: its topic table and its super-topic tables."""


@frozen(eq=False)
class Outcome:
    """The outcome in one community, over all ways in which the event may get there."""

    arrival: float
    reception: float
    reliability: float
    infected: Law
    """How many members have the event, given that at least one has it."""


def predict(setting: Setting) -> list[Prediction]:
    """Predict the measures of one publication in the first community, community by community.

    A community that the event cannot reach has zeros, and None for its rounds; one in which all are
    certainly dead has no reception and no reliability. Deterministic.
    Raises `SettingError` for processes in several communities.
    """
    setting.refuse_overlaps("the closed form")
    outcomes = predict_outcomes(setting)
    rounds = last_rounds(setting, [outcome.arrival for outcome in outcomes])
    return [
        summarise(setting, index, outcome, last)
        for index, (outcome, last) in enumerate(zip(outcomes, rounds, strict=True))
    ]


def summarise(
    setting: Setting, index: int, outcome: Outcome, rounds: float | None = None
) -> Prediction:
    """Return the measures of a community; messages are its infected members times their fan-out."""
    community = setting.communities[index]
    infected = outcome.arrival * outcome.infected.mean
    supers = [setting.communities[above].size for above in community.supers]
    links = [community.links(size) for size in supers]
    upward = fsum(
        community.p_sel * community.p_a(size) * entries
        for size, entries in zip(supers, links, strict=True)
    )
    peopled = index == 0 or setting.stillborn < 1  # the publisher is alive
    return Prediction(
        size=community.size,
        arrival=outcome.arrival,
        reception=outcome.reception if peopled else None,
        reliability=outcome.reliability if peopled else None,
        messages=infected * community.fan_out,
        upward_messages=infected * upward,
        rounds=rounds,
        memory=community.fan_out + sum(links),
    )


def predict_outcomes(setting: Setting) -> list[Outcome]:
    """Return the outcome in each community; the work of `predict` without the rounds."""
    communities = setting.communities
    below: list[list[int]] = [[] for _ in communities]
    for index, community in enumerate(communities):
        for above in dict.fromkeys(community.supers):
            below[above].append(index)
    size, fan_out = communities[0].size, communities[0].fan_out
    first = _published(size, fan_out, setting.arrival_within(0), setting.stillborn)
    outcomes = [first]
    # pattern of communities that have the event -> its probability; see "Several paths"
    joint: dict[tuple[int, ...], float] = {(0,): first.arrival, (): 1 - first.arrival}
    for index in range(1, len(communities)):
        merged: dict[tuple[int, ...], float] = {}  # without communities that nothing waits for
        for pattern, weight in joint.items():
            kept = tuple(one for one in pattern if max(communities[one].supers, default=0) >= index)
            merged[kept] = merged.get(kept, 0.0) + weight
        climbs = {
            child: Climb(
                outcomes[child].infected,
                communities[child].p_sel,
                communities[child].p_a(communities[index].size),
                communities[child].links(communities[index].size),
                setting.arrival_up(child),
            )
            for child in below[index]
            if outcomes[child].arrival > 0
        }
        givens: dict[tuple[int, ...], Given] = {}
        weights: dict[tuple[int, ...], float] = {}
        following: dict[tuple[int, ...], float] = {}
        for pattern, weight in merged.items():
            entry = tuple(child for child in pattern if child in climbs)
            if entry and entry not in givens:
                givens[entry] = _entered(setting, index, [climbs[child] for child in entry])
            weights[entry] = weights.get(entry, 0.0) + weight
            reached = weight * givens[entry].arrival if entry else 0.0
            following[(*pattern, index)] = reached
            following[pattern] = weight - reached
        joint = following
        outcomes.append(_combine([(weights[entry], given) for entry, given in givens.items()]))
    return outcomes


def _combine(parts: Sequence[tuple[float, Given]]) -> Outcome:
    arrival = fsum(weight * given.arrival for weight, given in parts)
    if arrival <= 0:
        return Outcome(0.0, 0.0, 0.0, Law(np.zeros(1), np.ones(1)))
    counts = np.concatenate([given.infected.counts for _, given in parts])
    weights = np.concatenate([weight * given.infected.weights for weight, given in parts])
    return Outcome(
        arrival,
        fsum(weight * given.reception for weight, given in parts),
        fsum(weight * given.reliability for weight, given in parts),
        Law(counts, weights / weights.sum()),
    )


# -- one community --------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _published(size: int, fan_out: int, arrival: float, stillborn: float) -> Outcome:
    """Return the outcome in the community of the publisher, which is alive."""
    if alive_at_most(size, stillborn) <= EXACT_SIZE:
        others, chances = alive_exactly(size - 1, stillborn)
        law = np.zeros((len(others), int(others[-1]) + 2))
        law[np.arange(len(others)), others] = 1.0
        alive = others + 1
        given = spread_exactly(law, alive, chances, size, fan_out, arrival)
    else:
        rest, chances = alive_roughly(size - 1, stillborn)
        living = rest + 1
        lost = extinction(living, size, fan_out, arrival)
        given = in_the_mean(
            living, chances, size, fan_out, arrival, np.ones_like(living), lost, 1.0 / living
        )
    return _combine([(1.0, given)])


def _entered(setting: Setting, index: int, climbs: Sequence[Climb]) -> Given:
    """Return the outcome in a community if the event climbs from those of `climbs` only."""
    community, arrival = setting.communities[index], setting.arrival_within(index)
    size, fan_out = community.size, community.fan_out
    if alive_at_most(size, setting.stillborn) <= EXACT_SIZE:
        alive, chances = alive_exactly(size, setting.stillborn)
        law = np.zeros((len(alive), int(alive[-1]) + 1))
        law[np.arange(len(alive)), alive] = 1.0
        for climb in climbs:
            law = enter_exactly(law, climb, size)
        return spread_exactly(law, alive, chances, size, fan_out, arrival)
    living, chances = alive_roughly(size, setting.stillborn)
    eta = extinction(living, size, fan_out, arrival)
    nobody, lost, missed = np.ones_like(living), np.ones_like(living), 1.0
    for climb in climbs:
        p_copy = climb.p_a * climb.arrival * living / size
        nobody = nobody * silence(climb, p_copy)
        lost = lost * silence(climb, p_copy * (1 - eta))
        missed *= passed_over(climb, climb.p_a * climb.arrival * climb.links / size)
    return in_the_mean(living, chances, size, fan_out, arrival, 1 - nobody, lost, 1 - missed)
