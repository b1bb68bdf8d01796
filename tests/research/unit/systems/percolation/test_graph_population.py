"""The percolation simulator against a dumb twin that follows Algorithm 2 line by line."""

from __future__ import annotations

from collections import deque
from math import sqrt
from random import Random
from typing import Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from camcast.research.systems.percolation.graph_population import (
    MEASURES,
    TTL_MAX,
    Gossip,
    Percolation,
    corpus_of,
    join,
    simulate,
    simulate_network,
)
from camcast.research.systems.percolation.graphs import GivenLinks, Graph, Poisson, PowerLaw
from camcast.research.systems.percolation.percolation_reach import (
    coverage,
    degrees_of,
    poisson_degrees,
)
from tests.intervals import bounds

NETWORK: Final = Poisson(4, 150).graph(seed=1, number=0)


class Counted(NamedTuple):
    receivers: int
    subscribers: int
    messages: int
    parasites: int
    hops: int


class Message(NamedTuple):
    source: int | None
    destination: int
    ttl: int
    hops: int


def twin(
    graph: Graph, subscribers: set[int], gamma: float, ttl: int, publisher: int, rng: Random
) -> Counted:
    """Algorithm 2 with a list of neighbours for each node, sets, and a buffer of messages."""
    first = graph.first.tolist()
    neighbours = {
        node: graph.neighbours[first[node] : first[node + 1]].tolist()
        for node in range(graph.nodes)
    }
    handled: set[int] = set()
    received: set[int] = set()
    messages, hops = 0, 0
    buffer = deque([Message(None, publisher, ttl, 0)])
    while buffer:
        m = buffer.popleft()  # line 2
        n = m.destination
        if n not in received:
            received.add(n)
            hops = m.hops
        if n in handled or m.ttl == 0:  # line 3
            continue
        handled.add(n)
        left = m.ttl - 1  # line 6
        others = [i for i in neighbours[n] if i != m.source]  # line 7
        interested = [i for i in others if i in subscribers]  # line 8
        to = interested + [i for i in others if i not in subscribers and rng.random() < gamma]
        messages += len(to)
        buffer += [Message(n, i, left, m.hops + 1) for i in sorted(to)]  # any order is right
    relays = received - subscribers - {publisher}
    return Counted(len(received), len(received & subscribers), messages, len(relays), hops)


def interest(graph: Graph, sigma: float, seed: int) -> tuple[NDArray[np.bool_], set[int]]:
    rng = Random(seed)
    subscribes = np.array([rng.random() < sigma for _ in range(graph.nodes)])
    return subscribes, {int(node) for node in np.flatnonzero(subscribes)}


# -- the twin --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ttl", [0, 1, 2, 4, TTL_MAX])
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_without_chance_both_count_the_same(gamma: float, ttl: int) -> None:
    """Of every other publisher of three overlays: gamma 0 and 1 leave nothing to chance."""
    star_and_ring = GivenLinks([*((0, leaf) for leaf in range(1, 6)), (6, 7), (7, 8), (8, 6)])
    overlays = (NETWORK, PowerLaw(4, 1).graph(1, 0), star_and_ring.graph(1, 0))
    for graph in overlays:
        subscribes, subscribers = interest(graph, 0.35, seed=graph.nodes)
        percolation = Percolation(graph, subscribes, Gossip(sigma=0.35, gamma=gamma, ttl=ttl))
        for publisher in range(0, graph.nodes, 2):
            counted = percolation.spread(publisher, Random(0)).tolist()
            expected = twin(graph, subscribers, gamma, ttl, publisher, Random(0))
            assert Counted(*counted) == expected, publisher


@pytest.mark.parametrize("ttl", [4, TTL_MAX])
def test_with_chance_both_have_the_same_distribution(ttl: int) -> None:
    """1,000 events each on one network, above the threshold, where all measures vary: means and
    mean squares are within 4.5 standard errors, which a true twin fails once in 10^4 tests."""
    gamma, events = 0.25, 1_000
    subscribes, subscribers = interest(NETWORK, 0.2, seed=2)
    percolation = Percolation(NETWORK, subscribes, Gossip(sigma=0.2, gamma=gamma, ttl=ttl))
    rng = Random(3)
    ours = np.array(
        [percolation.spread(rng.randrange(NETWORK.nodes), rng) for _ in range(events)], float
    )
    theirs = np.array(
        [
            twin(NETWORK, subscribers, gamma, ttl, rng.randrange(NETWORK.nodes), rng)
            for _ in range(events)
        ],
        float,
    )
    assert ours[:, 0].std() > 5  # there is something to compare
    for power in (1, 2):
        one, other = ours**power, theirs**power
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / events)
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) < 4.5 * error).all(), (power, error)


def test_the_twin_is_not_the_same_with_other_rules() -> None:
    """The comparison above sees a gossip probability that is 0.05 off."""
    subscribes, subscribers = interest(NETWORK, 0.2, seed=2)
    percolation = Percolation(NETWORK, subscribes, Gossip(sigma=0.2, gamma=0.3))
    rng, events = Random(3), 1_000
    publishers = [rng.randrange(NETWORK.nodes) for _ in range(events)]
    ours = np.array([percolation.spread(one, rng)[0] for one in publishers], float)
    theirs = np.array(
        [twin(NETWORK, subscribers, 0.25, TTL_MAX, one, rng).receivers for one in publishers], float
    )
    assert abs(ours.mean() - theirs.mean()) > 4.5 * sqrt((ours.var() + theirs.var()) / events)


# -- closed forms ----------------------------------------------------------------------------------


def test_flooding_uses_every_link_both_ways_but_a_tree_s() -> None:
    """2L - (R - 1) copies to R nodes with L links: nobody sends to whom it has the event from."""
    graph = PowerLaw(4, 1).graph(1, 0)
    corpus = simulate_network(graph, Gossip(sigma=0.3, gamma=1), 30, seed=1, network=0)
    whole = corpus.receivers == graph.nodes
    assert whole.sum() > 5
    assert (corpus.messages[whole] == 2 * graph.links - (graph.nodes - 1)).all()


def test_a_star_from_its_hub_is_a_binomial() -> None:
    """1,000 leaves: each is sent the event with probability gamma, and sends it to nobody."""
    star = GivenLinks([(0, leaf) for leaf in range(1, 1001)]).graph(1, 0)
    percolation = Percolation(star, np.zeros(1001, bool), Gossip(sigma=0, gamma=0.3))
    rng, events = Random(4), 2_000
    counts = np.array([percolation.spread(0, rng) for _ in range(events)])
    receivers = counts[:, 0] - 1
    assert (counts[:, MEASURES.index("messages")] == receivers).all()
    assert (counts[:, MEASURES.index("parasites")] == receivers).all()
    # 4 standard errors, 99.99 %: of the mean 14.5/√n, of the variance 210·√(2/n)
    assert abs(receivers.mean() - 300) < 4 * sqrt(210 / events)
    assert abs(receivers.var() - 210) < 4 * 210 * sqrt(2 / events)


def test_a_publisher_that_floods_sends_to_all_its_neighbours_and_nobody_else_does() -> None:
    """In a star whose leaves have a leaf each: from the hub, and from a leaf of a leaf."""
    links = [(0, leaf) for leaf in range(1, 11)] + [(leaf, leaf + 10) for leaf in range(1, 11)]
    star = GivenLinks(links).graph(1, 0)
    flooding = Gossip(sigma=0, gamma=0, publisher_floods=True)
    percolation = Percolation(star, np.zeros(21, bool), flooding)
    assert [percolation.spread(publisher, Random(4))[0] for publisher in (0, 1, 11)] == [11, 3, 2]


def test_only_subscribers_get_what_nobody_gossips() -> None:
    corpus = simulate(Poisson(5, 1_000), Gossip(sigma=0.3, gamma=0), 3, 50, seed=1)
    assert not corpus.parasites.any()
    assert (corpus.receivers - corpus.subscribers).max() == 1  # a publisher that is none
    assert corpus.receivers.max() > 100


def test_counts_fit_together() -> None:
    corpus = simulate(Poisson(5, 500), Gossip(sigma=0.2, gamma=0.3), 4, 100, seed=2)
    assert (corpus.receivers >= 1).all()
    assert (corpus.missed >= 0).all()
    assert (corpus.duplicates >= 0).all()
    assert (corpus.subscribers <= corpus.subscribed[:, None]).all()
    silent = corpus.receivers - corpus.subscribers - corpus.parasites
    assert set(silent.ravel().tolist()) == {0, 1}  # a publisher that does not subscribe
    assert ((corpus.hops == 0) == (corpus.receivers == 1)).all()


# -- the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlay", "sigma", "gamma"),
    [
        (Poisson(5, 2_000), 0.05, 0.05),
        (Poisson(5, 2_000), 0.4, 0.0),
        (Poisson(5, 2_000), 0.1, 0.6),
        (PowerLaw(6, 1.5), 0.1, 0.6),
        (PowerLaw(6, 1.3), 0.6, 0.1),
    ],
)
def test_the_model_is_within_the_simulation_s_interval(
    overlay: Poisson | PowerLaw, sigma: float, gamma: float
) -> None:
    """Below and above the threshold: receivers, subscribers, and how probable a spread is, at
    99.9 % each (3.9 standard errors of 20 networks' means, by Student)."""
    corpus = simulate(overlay, Gossip(sigma=sigma, gamma=gamma), 20, 80, seed=4)
    law = poisson_degrees(5) if isinstance(overlay, Poisson) else degrees_of(overlay.degrees)
    expected = coverage(law, overlay.nodes, sigma, gamma)
    for measure in ("receivers", "subscribers"):
        means = getattr(corpus, measure).mean(axis=1)
        error = means.std(ddof=1) / sqrt(len(means))
        assert abs(means.mean() - getattr(expected, measure)) < 3.9 * error, measure
    if expected.percolates:
        spread = (corpus.receivers > 0.3 * expected.reached * overlay.nodes).mean(axis=1)
        error = spread.std(ddof=1) / sqrt(len(spread))
        assert abs(spread.mean() - expected.percolates) < 3.9 * error


# -- determinism -----------------------------------------------------------------------------------


def test_a_network_and_an_event_determine_the_counts() -> None:
    """However the work is split; fewer events are the first of more."""
    overlay, gossip = Poisson(4, 400), Gossip(sigma=0.2, gamma=0.2, ttl=6)
    whole = simulate(overlay, gossip, 3, 20, seed=5)
    parts = [simulate(overlay, gossip, 1, 20, 5, network) for network in (0, 1, 2)]
    assert join(parts).as_json() == whole.as_json()
    fewer = simulate(overlay, gossip, 3, 7, seed=5)
    assert fewer.messages.tolist() == whole.messages[:, :7].tolist()
    assert simulate(overlay, gossip, 3, 20, seed=6).as_json() != whole.as_json()
    assert corpus_of(whole.as_json()).as_json() == whole.as_json()


def test_the_counts_are_the_same_in_every_process() -> None:
    """As counted when this was written: whoever changes the streams changes these."""
    corpus = simulate(Poisson(4, 400), Gossip(sigma=0.2, gamma=0.2), 2, 3, seed=1)
    assert corpus.subscribed.tolist() == [70, 80]
    assert corpus.receivers.tolist() == [[146, 124, 3], [2, 108, 175]]
    assert corpus.messages.tolist() == [[180, 146, 2], [1, 137, 236]]


def test_a_larger_sigma_only_adds_subscribers() -> None:
    few, more = (
        simulate(Poisson(4, 400), Gossip(sigma=sigma, gamma=0, ttl=1), 2, 50, seed=1)
        for sigma in (0.2, 0.4)
    )
    assert (few.receivers <= more.receivers).all()
    assert (few.subscribers <= more.subscribers).all()


def test_the_interval_is_of_networks_or_of_one_network_s_events() -> None:
    corpus = simulate(Poisson(4, 400), Gossip(sigma=0.2, gamma=0.3), 5, 40, seed=1)
    mean, _, high = bounds(corpus.interval("receivers"))
    means = corpus.receivers.mean(axis=1)
    assert mean == pytest.approx(means.mean())
    # Student's 97.5 % quantile with 4 degrees of freedom is 2.776
    assert high - mean == pytest.approx(2.776 * means.std(ddof=1) / sqrt(5), rel=1e-3)
    one = simulate(Poisson(4, 400), Gossip(sigma=0.2, gamma=0.3), 1, 40, seed=1)
    assert one.interval("messages").low is not None
    alone = simulate(Poisson(4, 400), Gossip(sigma=0.2, gamma=0.3), 1, 1, seed=1)
    assert alone.interval("messages").low is None


@pytest.mark.parametrize(
    "wrong", [{"sigma": 1.1}, {"sigma": -0.1}, {"gamma": float("nan")}, {"ttl": -1}]
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Gossip(**({"sigma": 0.1, "gamma": 0.1} | wrong))  # type: ignore[arg-type]  # on purpose


def test_reach_is_of_the_subscribers_of_networks_that_have_any() -> None:
    corpus = simulate(Poisson(4, 400), Gossip(sigma=0.2, gamma=0.3), 5, 40, seed=1)
    shares = corpus.subscribers / corpus.subscribed[:, None]
    for name, least in (("reaches_50", 0.5), ("reaches_90", 0.9)):
        assert bounds(corpus.interval(name))[0] == pytest.approx((shares >= least).mean())
    medians = np.sort(shares, axis=1)[:, 19]  # the twentieth of forty
    assert 0.5 < bounds(corpus.interval("reach_p50"))[0] == pytest.approx(medians.mean())
    nobody = simulate(Poisson(4, 400), Gossip(sigma=0.0, gamma=0.3), 2, 5, seed=1)
    assert nobody.interval("reaches_50").mean is nobody.interval("reach_p5").mean is None
