"""What a publication in a setting comes to, without simulating it (paper 000, 4.5 and 6.1).

Theory of operation
-------------------
The communities are taken in the setting's order, which is from the event's own upward. Of each,
three laws are kept: with what probability the event gets there at all; given that, how many
members have it in the end; and how many of them send in each round (its *timeline*). They
suffice for everything above it, since tables are independent of each other, and who sends when
does not matter for who has the event in the end.

*The climb.* Each of the M members that have the event is a link with probability p_sel. A link
draws L entries, sends to each with probability p_a, and a copy takes effect with probability
`arrival` if its receiver is alive. So D living members of the super-community have it at first.

*Small communities* (up to `EXACT_SIZE`): the law of D, then the exact chain of
`camcast.models.camcast.reliability`, for every number A of living members, weighted binomially.

*Large ones*: A has a normal law, at `_NODES` points. Gossip from one member dies out early with
probability η, the least solution of η = (1 - r + r η)^k, where r = arrival · (A-1)/(N-1). If it
does not, the mean field says how many have it in the end,

    M = D + (A - D) (1 - p^M),    p = 1 - k · arrival / (N - 1)

and those whom *nobody* would reach if everybody else sent number λ = (A - D) p^(A-1) in the
mean and are Poisson distributed, so that all have it with probability e^-λ. (This is where
e^-e^-c comes from. λ has p^(A-1) and not the larger p^M: the event in question is that nobody
is missed, and then A - 1 others do send. Pairs that only reach each other are neglected.)

*Rounds.* The mean-field recursion f(t+1) = S(t) (1 - p^f(t)) for the f(t) who send in round t; a
round is the last with probability e^-f(t+1). An event that enters from below does so in a
random round, and gossip starts from that; so the recursion is run for every such round and
weighted. Rounds beyond `_ROUNDS_MAX` are not looked at.

Several paths
-------------
Where a community has several below it that may have the event (3.6), which of them do is dealt
with exactly, pattern by pattern: the cost doubles with each community that is waiting for one
above it. *How many* members have it is taken as independent between them.

How far from the simulation: docs/models.md. Not for gossip that hardly survives: with k·r below
about 2 the number of members who have the event varies, and the large communities' mean field
does not; nor do the rounds of any. In the paper's setting all is within 0.005 and 0.2 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, log1p, sqrt
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from camcast.models.binomial import binomial
from camcast.models.camcast.messages import Values
from camcast.models.camcast.reliability import run_chain, sending
from camcast.settings.chain import Community, Setting

EXACT_SIZE: Final = 64  # chosen: the chain takes 2 ms there, and time grows as N^4
_NODES: Final = 7  # chosen: Gauss-Hermite, exact for polynomials of degree 13 in A
_NEGLIGIBLE: Final = 1e-10  # chosen: probability mass left out of a law, below any simulation
_LINKS_SEEN: Final = 20_000  # chosen: as many reach a community of 64, if 1 copy in 10 arrives
_LINKS_MAX: Final = 128  # chosen: more links than that are counted in bundles
_ROUNDS_MAX: Final = 400  # chosen: ten times what 10^15 processes take
_FRONTIER_MIN: Final = 1e-4  # chosen: expected senders below which a round adds nothing to see


@frozen
class Prediction:
    """The measures of one community, as `camcast.population.outcome` defines them."""

    size: int
    arrival: float
    """The probability that the event gets to a living member at all."""
    reception: float
    """The share of living members that have the event, the publisher included."""
    reliability: float
    """The probability that all living members have it."""
    messages: float
    """Copies sent within the community."""
    upward_messages: float
    """Copies sent to all super-communities."""
    rounds: float | None
    """The last round in which a member sends, if the event gets there; None if it never does."""
    memory: int
    """Table entries of a member: its topic table and its super-topic tables."""


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
class Outcome:
    """What becomes of the event in one community, over all ways in which it may get there."""

    arrival: float
    reception: float
    reliability: float
    infected: Law
    """How many members have the event, given that one has."""


@frozen(eq=False)
class Climb:
    """The way up from one community, given that the event is there."""

    infected: Law
    p_sel: float
    p_a: float
    links: int


@frozen(eq=False)
class _Given:
    """An outcome under one pattern of arrivals below; not weighted yet."""

    arrival: float
    reception: float
    reliability: float
    infected: Law  # unnormalised: the weights sum to `arrival`


def predict(setting: Setting) -> list[Prediction]:
    """Predict what one publication in the first community comes to, community by community.

    Communities that the event cannot reach are predicted as well, with zeros. Deterministic.
    """
    outcomes = predict_outcomes(setting)
    rounds = _rounds(setting, outcomes)
    return [
        summarise(setting, index, outcome, last)
        for index, (outcome, last) in enumerate(zip(outcomes, rounds, strict=True))
    ]


def summarise(
    setting: Setting, index: int, outcome: Outcome, rounds: float | None = None
) -> Prediction:
    """Return the measures of a community, of which the messages follow from the infected."""
    community = setting.communities[index]
    infected = outcome.arrival * outcome.infected.mean
    supers = [setting.communities[above].size for above in community.supers]
    links = [community.links(size) for size in supers]
    upward = sum(
        community.p_sel * community.p_a(size) * entries
        for size, entries in zip(supers, links, strict=True)
    )
    return Prediction(
        size=community.size,
        arrival=outcome.arrival,
        reception=outcome.reception,
        reliability=outcome.reliability,
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
    first = _published(size, fan_out, setting.arrival, setting.stillborn)
    outcomes = [first]
    # pattern of communities that have the event -> its probability; see "Several paths"
    joint: dict[tuple[int, ...], float] = {(0,): first.arrival, (): 1 - first.arrival}
    for index in range(1, len(communities)):
        waiting = [
            child for child in range(index) if max(communities[child].supers, default=0) >= index
        ]
        joint = _merge(joint, waiting)
        climbs = {
            child: Climb(
                outcomes[child].infected,
                communities[child].p_sel,
                communities[child].p_a(communities[index].size),
                communities[child].links(communities[index].size),
            )
            for child in below[index]
            if outcomes[child].arrival > 0
        }
        givens: dict[tuple[int, ...], _Given] = {}
        weights: dict[tuple[int, ...], float] = {}
        following: dict[tuple[int, ...], float] = {}
        for pattern, weight in joint.items():
            entry = tuple(child for child in pattern if child in climbs)
            if entry and entry not in givens:
                givens[entry] = _entered(
                    communities[index], setting, [climbs[child] for child in entry]
                )
            weights[entry] = weights.get(entry, 0.0) + weight
            reached = weight * givens[entry].arrival if entry else 0.0
            following[(*pattern, index)] = reached
            following[pattern] = weight - reached
        joint = following
        outcomes.append(_combine([(weights[entry], given) for entry, given in givens.items()]))
    return outcomes


def _merge(
    joint: dict[tuple[int, ...], float], waiting: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """Forget the communities above which none is left to look at."""
    merged: dict[tuple[int, ...], float] = {}
    for pattern, weight in joint.items():
        kept = tuple(index for index in pattern if index in waiting)
        merged[kept] = merged.get(kept, 0.0) + weight
    return merged


def _combine(parts: Sequence[tuple[float, _Given]]) -> Outcome:
    arrival = sum(weight * given.arrival for weight, given in parts)
    if arrival <= 0:
        return Outcome(0.0, 0.0, 0.0, Law(np.zeros(1), np.ones(1)))
    counts = np.concatenate([given.infected.counts for _, given in parts])
    weights = np.concatenate([weight * given.infected.weights for weight, given in parts])
    return Outcome(
        arrival,
        sum(weight * given.reception for weight, given in parts),
        sum(weight * given.reliability for weight, given in parts),
        Law(counts, weights / weights.sum()),
    )


# -- one community --------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _published(size: int, fan_out: int, arrival: float, stillborn: float) -> Outcome:
    """Return the outcome where the event is published, by a member that is alive for certain."""
    if _alive_at_most(size, stillborn) <= EXACT_SIZE:
        others, chances = _alive_exactly(size - 1, stillborn)
        law = np.zeros((len(others), int(others[-1]) + 2))
        law[np.arange(len(others)), others] = 1.0
        alive = others + 1
        given = _exactly(law, alive, chances, size, fan_out, arrival)
    else:
        rest, chances = _alive_roughly(size - 1, stillborn)
        living = rest + 1
        lost = _extinction(living, size, fan_out, arrival)
        given = _in_the_mean(
            living, chances, size, fan_out, arrival, np.ones_like(living), lost, 1.0 / living
        )
    return _combine([(1.0, given)])


def _entered(community: Community, setting: Setting, climbs: Sequence[Climb]) -> _Given:
    """Return the outcome if exactly the communities of `climbs` have the event."""
    size, fan_out, arrival = community.size, community.fan_out, setting.arrival
    if _alive_at_most(size, setting.stillborn) <= EXACT_SIZE:
        alive, chances = _alive_exactly(size, setting.stillborn)
        law = np.zeros((len(alive), int(alive[-1]) + 1))
        law[np.arange(len(alive)), alive] = 1.0
        for climb in climbs:
            law = _enter_exactly(law, climb, size, arrival)
        return _exactly(law, alive, chances, size, fan_out, arrival)
    living, chances = _alive_roughly(size, setting.stillborn)
    eta = _extinction(living, size, fan_out, arrival)
    nobody, lost, missed = np.ones_like(living), np.ones_like(living), 1.0
    for climb in climbs:
        p_copy = climb.p_a * arrival * living / size
        nobody = nobody * _silence(climb, p_copy)
        lost = lost * _silence(climb, p_copy * (1 - eta))
        missed *= _passed_over(climb, climb.p_a * arrival * climb.links / size)
    return _in_the_mean(living, chances, size, fan_out, arrival, 1 - nobody, lost, 1 - missed)


def _silence(climb: Climb, p_copy: Values) -> Values:
    """Return P(no copy succeeds), if each of them does with `p_copy`; over the law of M."""
    with np.errstate(divide="ignore"):
        logarithm = np.log1p(-climb.p_sel * (1 - (1 - p_copy) ** climb.links))
    powers = np.exp(np.multiply.outer(climb.infected.counts, logarithm))
    return np.asarray(climb.infected.weights @ powers)


def _passed_over(climb: Climb, p_link: float) -> float:
    """Return P(a given member gets no copy), if a link sends one to it with `p_link`."""
    logarithm = log1p(-min(climb.p_sel * p_link, 1 - 1e-15))
    return float(climb.infected.weights @ np.exp(climb.infected.counts * logarithm))


# -- small communities: exactly ----------------------------------------------------------------


def _alive_at_most(size: int, stillborn: float) -> int:
    if stillborn == 0:
        return size
    mean = size * (1 - stillborn)
    # 8 standard deviations: a normal tail of 1e-15; 16: the Poisson's, for the small means
    return min(size, ceil(mean + 8 * sqrt(mean * stillborn)) + 16)


def _alive_exactly(size: int, stillborn: float) -> tuple[NDArray[np.int64], Values]:
    """Return how many may be alive (whole numbers) and how probable each is."""
    weights = binomial(size, 1 - stillborn, _alive_at_most(size, stillborn))
    alive = np.flatnonzero(weights > _NEGLIGIBLE)
    return alive, weights[alive] / weights[alive].sum()


def _enter_exactly(law: Values, climb: Climb, size: int, arrival: float) -> Values:
    """Let the links of a community below send: rows of P(s members do not have the event)."""
    step = sending(size, climb.links, climb.p_a * arrival, law.shape[1])
    number = _links(climb)
    bundle = ceil((len(number) - 1) / _LINKS_MAX)
    if bundle > 1:
        step = np.linalg.matrix_power(step, bundle)
        number = _bundled(number, bundle)
    result = number[0] * law
    for weight in number[1:]:
        law = law @ step
        result += weight * law
    return np.asarray(result)


def _links(climb: Climb) -> Values:
    """Return the law of how many members act as links."""
    counts, weights, p_sel = climb.infected.counts, climb.infected.weights, climb.p_sel
    mean = counts * p_sel
    most = int(min(counts.max(), np.max(mean + 8 * np.sqrt(mean)) + 17, _LINKS_SEEN))
    law = np.zeros(most + 1)
    for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
        if weight > _NEGLIGIBLE:
            low, high = int(count), ceil(count)
            for whole, share in ((low, 1 - (count - low)), (high, count - low)):
                if share > 0:
                    law += weight * share * binomial(whole, p_sel, most)
    reached = np.flatnonzero(np.cumsum(law[::-1])[::-1] > _NEGLIGIBLE)
    return np.asarray(law[: (reached[-1] if len(reached) else 0) + 1] / law.sum())


def _bundled(law: Values, bundle: int) -> Values:
    """Return the law in multiples of `bundle`, with the same mean."""
    whole, part = np.divmod(np.arange(len(law)), bundle)
    bundled = np.zeros(len(law) // bundle + 2)
    np.add.at(bundled, whole, law * (1 - part / bundle))
    np.add.at(bundled, whole + 1, law * part / bundle)
    return bundled


def _exactly(
    law: Values,
    alive: NDArray[np.int64],
    chances: Values,
    size: int,
    fan_out: int,
    arrival: float,
) -> _Given:
    """Run the chain from the `law` of those who do not have the event, for each number alive."""
    final = run_chain(law, alive, size, fan_out, arrival)
    left = np.arange(law.shape[1])
    infected = np.maximum(alive[:, None] - left, 0)
    peopled = alive > 0
    somebody = max(float(chances[peopled].sum()), np.finfo(np.float64).tiny)
    share = (final * infected).sum(axis=1)[peopled] / alive[peopled]
    weights = np.bincount(
        infected.ravel(), weights=(final * chances[:, None]).ravel(), minlength=law.shape[1]
    )
    return _Given(
        float(weights[1:].sum()),
        float(chances[peopled] @ share / somebody),
        float(chances[peopled] @ final[peopled, 0] / somebody),
        Law(np.asarray(left[1:], dtype=np.float64), np.asarray(weights[1:], dtype=np.float64)),
    )


# -- large communities: in the mean -------------------------------------------------------------


def _alive_roughly(size: int, stillborn: float) -> tuple[Values, Values]:
    if stillborn == 0:
        return np.array([float(size)]), np.ones(1)
    points, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    alive = size * (1 - stillborn) + sqrt(size * stillborn * (1 - stillborn)) * points
    return np.clip(alive, 0.0, float(size)), np.asarray(weights / weights.sum())


def _extinction(alive: Values, size: int, fan_out: int, arrival: float) -> Values:
    """Return η: the probability that what one member begins dies out; 1 if it must."""
    rate = arrival * np.maximum(alive - 1, 0.0) / (size - 1)
    eta = np.zeros_like(rate)
    for _ in range(200):  # chosen: geometric but at k·r = 1, where the model is poor anyway
        eta, before = (1 - rate + rate * eta) ** fan_out, eta
        if np.max(np.abs(eta - before)) < _NEGLIGIBLE:
            break
    return np.where(fan_out * rate <= 1, 1.0, eta)


def _in_the_mean(
    alive: Values,
    chances: Values,
    size: int,
    fan_out: int,
    arrival: float,
    entered: Values,
    lost: Values,
    direct: float | Values,
) -> _Given:
    """Return the outcome of gossip in a large community, at the nodes of A.

    `entered` is the probability that somebody alive has it at first, `lost` that nothing comes
    of it (1 - entered included), `direct` the share of the living that has it at first.
    """
    log_p = log1p(-min(fan_out * arrival / (size - 1), 1 - 1e-15))
    begun = alive * direct
    infected = alive.copy()
    for _ in range(200):  # from above, down to the largest solution
        following = begun + (alive - begun) * -np.expm1(infected * log_p)
        if np.max(np.abs(following - infected)) < 1e-9 * size:
            break
        infected = following
    taken = np.clip(1 - lost, 0.0, None)
    faded = np.clip(entered - taken, 0.0, None)
    everybody = np.exp(-(alive - begun) * np.exp((alive - 1) * log_p))
    # a gossip that dies out has 1/(1 - m) members on average, if each begins m others
    rate = arrival * (alive - 1) / (size - 1)
    eta = _extinction(alive, size, fan_out, arrival)
    mean_begun = np.minimum(fan_out * rate * (1 - rate + rate * eta) ** max(fan_out - 1, 0), 0.99)
    small = np.minimum(np.maximum(1.0, np.where(eta == 1, begun, 1.0)) / (1 - mean_begun), alive)
    return _Given(
        float(chances @ entered),
        float(chances @ ((taken * infected + faded * small) / alive)),
        float(chances @ (taken * everybody)),
        Law(
            np.concatenate([infected, small]),
            np.concatenate([chances * taken, chances * faded]),
        ),
    )


# -- rounds -----------------------------------------------------------------------------------


@frozen(eq=False)
class _Timeline:
    """Senders by round (columns), for each round of entry (rows)."""

    weights: Values
    fronts: Values

    @property
    def front(self) -> Values:
        """How many send in each round in the mean."""
        return np.asarray(self.weights @ self.fronts)

    def silence(self, log_silent: float) -> Values:
        """Return P(no copy has climbed by the end of each round)."""
        return np.asarray(self.weights @ np.exp(np.cumsum(self.fronts, axis=1) * log_silent))


def _rounds(setting: Setting, outcomes: Sequence[Outcome]) -> list[float | None]:
    """Return the mean of the last round in which each community sends; see "Rounds"."""
    timelines: dict[int, _Timeline] = {}
    last_rounds: list[float | None] = []
    for index, community in enumerate(setting.communities):
        if outcomes[index].arrival <= 0:
            last_rounds.append(None)
            continue
        if index == 0:
            alive = 1 + (community.size - 1) * (1 - setting.stillborn)
            weights, seeds, hit = np.ones(1), np.ones(1), np.zeros(0)
        else:
            alive = max(1.0, community.size * (1 - setting.stillborn))
            weights, seeds, hit = _entries(setting, index, timelines, outcomes)
            seeds = np.minimum(seeds, alive)
        fronts, quiet = _gossip_rounds(community, setting, alive, seeds, hit)
        timelines[index] = _Timeline(weights, fronts)
        # the round of entry, and every later one that is not the last but one with probability
        mean = np.arange(1, len(weights) + 1) + (1 - quiet).sum(axis=1)
        last_rounds.append(float(weights @ mean))
    return last_rounds


def _entries(
    setting: Setting, index: int, timelines: dict[int, _Timeline], outcomes: Sequence[Outcome]
) -> tuple[Values, Values, Values]:
    """Return how the event enters a community from below, by round.

    That is the probability that it enters first in each round, how many members then have it,
    and the probability that a member has a copy from below that was sent in each round.
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
        success = below.p_sel * (1 - (1 - p_a * setting.arrival * living) ** links)
        climbed = 1 - timeline.silence(log1p(-min(success, 1 - 1e-15)))
        climbed = np.pad(climbed, (0, rounds - len(climbed)), mode="edge")
        silence *= 1 - outcomes[child].arrival * climbed
        front = np.pad(timeline.front, (0, rounds - timeline.fronts.shape[1]))
        copies += outcomes[child].arrival * front * below.p_sel * p_a * links * setting.arrival
    entered = -np.diff(silence, prepend=1.0)
    # a copy that is sent in one round has its receiver send in the next
    weights = np.concatenate([[0.0], entered / max(float(entered.sum()), 1e-300)])
    several = np.maximum(copies * living, 1e-12)
    seeds = np.concatenate([[1.0], several / -np.expm1(-several)])
    return weights, seeds, np.asarray(1 - np.exp(-copies / community.size))


def _gossip_rounds(
    community: Community, setting: Setting, alive: float, seeds: Values, hit: Values
) -> tuple[Values, Values]:
    """Return the expected senders and P(nobody sends), by round of entry (rows) and round."""
    reached = community.fan_out * setting.arrival / max(community.size - 1, 1)
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
        silent = np.exp(-front)  # those left are few and Poisson, where it matters
        left = left - front
    return np.stack(fronts, axis=1), np.stack(quiet, axis=1)
