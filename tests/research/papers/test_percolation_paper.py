"""Publish-Subscribe Systems via Gossip (Ferretti, 003): what it says, claim by claim.

The section is quoted in each test. Where the paper is wrong, or we read it otherwise, the test
says so, and asserts what is. The figures in full are `camcast reproduce percolation`.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, floor, sqrt
from random import Random

import numpy as np
import pytest

from camcast.research.systems.percolation.graph_population import (
    Corpus,
    Gossip,
    Percolation,
    join,
    simulate_network,
)
from camcast.research.systems.percolation.graphs import (
    GivenLinks,
    Graph,
    Overlay,
    Poisson,
    PowerLaw,
)
from camcast.research.systems.percolation.link_use import link_use
from camcast.research.systems.percolation.percolation_reach import (
    coverage,
    degrees_of,
    forwarding,
    mean_receivers,
    mean_subscribers,
    mean_subscribers_of_the_paper,
    other_threshold,
    poisson_degrees,
    power_law_degrees,
    threshold,
)
from tests.intervals import bounds

NETWORKS = 20  # [percolation 5.2]
EVENTS = 100  # of 400 [percolation 5.2], for speed


@lru_cache
def scale_free(sigma: float, gamma: float) -> Corpus:
    """A corpus of a=6, b=1."""
    overlay, gossip = PowerLaw(6, 1), Gossip(sigma=sigma, gamma=gamma)
    return join([simulate_network(_network(n, overlay), gossip, EVENTS, 1, n) for n in range(6)])


@lru_cache
def _network(number: int, overlay: Overlay) -> Graph:
    return overlay.graph(1, number)


# -- III: the protocol -----------------------------------------------------------------------------


def test_all_interested_neighbours_and_nobody_the_event_came_from() -> None:
    """III-B: "n forwards it to the subset of neighbours whose subscriptions match [...], with
    exception of m. Then [...] for each node in this subset, n gossips e with a probability"."""
    triangle = GivenLinks([(0, 1), (1, 2), (2, 0)]).graph(1, 0)
    percolation = Percolation(triangle, np.ones(3, bool), Gossip(sigma=1, gamma=0))
    receivers, _, messages, *_ = percolation.spread(0, Random(1)).tolist()
    assert receivers == 3
    assert messages == 4  # 0 to both; each of them to the other, and not back to 0


def test_an_event_is_handled_once() -> None:
    """III-B: "n checks if it has already handled e in the past; in such a case, n drops e"."""
    ring = GivenLinks([(node, (node + 1) % 50) for node in range(50)]).graph(1, 0)
    percolation = Percolation(ring, np.ones(50, bool), Gossip(sigma=1, gamma=0))
    for _ in range(3):  # another event is another matter
        receivers, _, messages, _, hops = percolation.spread(0, Random(1)).tolist()
        assert (receivers, hops) == (50, 25)
        assert messages == 2 + 49  # the publisher to both sides, all others onward


def test_the_event_is_dropped_when_its_ttl_is_0() -> None:
    """III-B: "The event is dropped also if the Time-To-Live (TTL) [...] has reached a 0 value"."""
    star = GivenLinks([(0, leaf) for leaf in range(1, 10)]).graph(1, 0)
    everybody = np.ones(10, bool)
    reached = [
        Percolation(star, everybody, Gossip(sigma=1, gamma=0, ttl=ttl)).spread(1, Random(1))[0]
        for ttl in (0, 1, 2)
    ]
    assert reached == [1, 2, 10]


# -- IV: network coverage --------------------------------------------------------------------------


def test_second_neighbours_are_no_first_neighbours() -> None:
    """IV: "the probability that one of the second neighbours [...] is also a first neighbour of
    the same node, goes as 1/N": a tenth of the size has ten times as many triangles a link."""

    def share(nodes: int) -> float:
        closed, paths = 0, 0
        for number in range(4):
            graph = Poisson(5, nodes).graph(2, number)
            first = graph.first
            near = [set(graph.neighbours[first[n] : first[n + 1]].tolist()) for n in range(nodes)]
            for node in range(nodes):
                for neighbour in near[node]:
                    closed += len(near[neighbour] & near[node])
                    paths += len(near[neighbour]) - 1
        return closed / paths

    small, large = share(100), share(1_000)
    # E = 25/(5 N): 0.05 and 0.005; 40 to 60 triangles counted, each six times, so within a third
    assert small == pytest.approx(0.05, rel=0.4)
    assert large == pytest.approx(0.005, rel=0.4)


def test_the_number_of_receivers_below_the_threshold() -> None:
    """V-B1, Figure 3: "all results from the simulations lye near the theoretical value [(17)],
    regardless on the considered number of simulated network nodes".

    20 networks of 1,000 and of 5,000 nodes, at three values below the threshold: Equation 17 is
    within the 95 % interval of at least five of six corpora (with right intervals, in 97 of 100
    such tests), and within 4.6 standard errors (99.98 %, Student) of all.
    """
    within = 0
    for nodes in (1_000, 5_000):
        overlay = Poisson(5, nodes)
        graphs = [overlay.graph(1, number) for number in range(NETWORKS)]
        for sigma, gamma in ((0.05, 0.02), (0.05, 0.06), (0.1, 0.04)):
            gossip = Gossip(sigma=sigma, gamma=gamma)
            corpus = join([simulate_network(g, gossip, EVENTS, 1, n) for n, g in enumerate(graphs)])
            expected = mean_receivers(poisson_degrees(5), forwarding(sigma, gamma))
            mean, low, high = bounds(corpus.interval("receivers"))
            within += low <= expected <= high
            error = (high - low) / 2 / 2.093  # Student, 19 degrees
            assert abs(mean - expected) < 4.6 * error
    assert within >= 5


def test_subscribers_are_more_than_their_share_of_the_receivers() -> None:
    """IV-C: "To obtain the average number of subscribers <s> that receive the event, it suffices
    to multiply <r> by the probability that a peer is a subscriber".

    It does not suffice: a subscriber is sent every copy, another node one in 1/gamma. With the
    publisher's own share taken out, the others are subscribers with probability sigma/Gamma.
    """
    sigma, gamma = 0.1, 0.04
    overlay, gossip = Poisson(5, 2_000), Gossip(sigma=sigma, gamma=gamma)
    corpus = join(
        [simulate_network(overlay.graph(1, n), gossip, EVENTS, 1, n) for n in range(NETWORKS)]
    )
    receivers = mean_receivers(poisson_degrees(5), forwarding(sigma, gamma))
    means = corpus.subscribers.mean(axis=1)
    error = means.std(ddof=1) / sqrt(NETWORKS)
    ours = mean_subscribers(sigma, gamma, receivers)
    paper = mean_subscribers_of_the_paper(sigma, receivers)
    assert abs(means.mean() - ours) < 3.9 * error  # 99.9 %, Student
    assert paper < ours / 2
    assert abs(means.mean() - paper) > 10 * error


def test_the_event_percolates_from_where_equation_17_diverges() -> None:
    """IV-D: "Equation (17) has a divergence when (1+Gamma)<p> = Gamma<p2>, which signifies that
    [...] the event percolates through the network"."""
    for law in (poisson_degrees(5), degrees_of(PowerLaw(6, 1.5).degrees)):
        total = threshold(law)
        assert (1 + total) * law.mean == pytest.approx(total * law.square)
        assert not coverage(law, 1_000, 0, total * 0.999).percolates
        assert coverage(law, 1_000, 0, total * 1.001).percolates


def test_flooding_covers_the_component() -> None:
    """IV-D: "setting gamma = 1 allows to flood the event to the whole component"."""
    graph = Poisson(2, 300).graph(1, 0)
    first, near = graph.first, graph.neighbours
    component = {0}
    rest = [0]
    while rest:
        node = rest.pop()
        new = [n for n in near[first[node] : first[node + 1]].tolist() if n not in component]
        component.update(new)
        rest += new
    percolation = Percolation(graph, np.zeros(300, bool), Gossip(sigma=0, gamma=1))
    assert percolation.spread(0, Random(1))[0] == len(component) > 100


# -- V-A: the model alone --------------------------------------------------------------------------


def test_the_higher_gamma_the_smaller_the_sigma_of_the_transition() -> None:
    """V-A, Figures 1, 2: "for each specific gamma value, there is a phase transition [...] the
    higher gamma the smaller the value of sigma to have a transition"."""
    for law, gammas in (
        (poisson_degrees(5), (0, 0.05, 0.1, 0.15)),
        (power_law_degrees(3.3), (0, 0.2, 0.4, 0.5)),
    ):
        ends = [other_threshold(law, gamma) for gamma in gammas]
        assert all(end is not None and 0 < end < 1 for end in ends)
        assert ends == sorted(ends, key=lambda end: -(end or 0))
        for gamma, end in zip(gammas, ends, strict=True):
            below = forwarding((end or 0) * 0.99, gamma)
            assert mean_receivers(law, below) < float("inf")


def test_poisson_overlays_of_mean_5_percolate_from_one_fifth_on() -> None:
    """V-A, Figure 1, and V-B1, Figures 4, 5, where 0.1 is held and the other is "above the
    phase transition": from 1/9 on."""
    assert threshold(poisson_degrees(5)) == pytest.approx(0.2)
    assert other_threshold(poisson_degrees(5), 0.1) == pytest.approx(1 / 9)


# -- V-B: simulation -------------------------------------------------------------------------------


@pytest.mark.parametrize("varied", ["sigma", "gamma"])
def test_above_the_transition_a_portion_grows_with_either(varied: str) -> None:
    """V-B1, Figures 4, 5: "A non-negligible portion of nodes is reached in each configuration.
    Yet, the whole overlay is not covered completely. The amount of the reached nodes increases"."""
    overlay, means = Poisson(5, 2_000), []
    graphs = [overlay.graph(1, number) for number in range(5)]
    for value in (0.2, 0.4, 0.7, 1.0):
        gossip = Gossip(**({"sigma": 0.1, "gamma": 0.1} | {varied: value}))  # type: ignore[arg-type]  # no ttl
        corpus = join([simulate_network(g, gossip, 60, 1, n) for n, g in enumerate(graphs)])
        means.append(float(corpus.receivers.mean()) / overlay.nodes)
    assert means == sorted(means)
    assert means[0] > 0.02
    assert means[-1] < 1


def test_the_construction_of_aiello_chung_and_lu_has_a_fixed_size() -> None:
    """V-B2: "networks generated through the choice of a=6, b=1, resulting in networks composed of
    2482 nodes", the sum of floor(e^a / x^b) (the sum in the paper lacks the floor)."""
    assert PowerLaw(6, 1).nodes == 2482
    assert sum(floor(exp(6) / x) for x in range(1, floor(exp(6)) + 1)) == 2482
    assert _network(0, PowerLaw(6, 1)).nodes == 2482
    assert PowerLaw(6, 1).degrees.max() == floor(exp(6))


@pytest.mark.slow  # 2 s of simulation
def test_almost_all_peers_receive_the_event() -> None:
    """V-B2, Figure 8: "when gamma=0.6, sigma=0.1 almost all network peers receive the event [...]
    simulation results provide average results above 2200 nodes".

    About 2,200: 2,127 by the model, since 7 % of the events end near their publisher, as one node
    in six has one neighbour only. The events that spread reach 2,295 nodes on average. That is
    "above 2200"; the mean of all is not, in any of the readings of repeated links
    (docs/research/models.md).
    """
    corpus = scale_free(0.1, 0.6)
    mean = float(corpus.receivers.mean())
    assert mean == pytest.approx(2200, rel=0.05)
    spread = corpus.receivers > 0.1 * 2482
    assert 2200 < float(corpus.receivers[spread].mean()) < 2350
    expected = coverage(degrees_of(PowerLaw(6, 1).degrees), 2482, 0.1, 0.6)
    assert expected.receivers == pytest.approx(2127, abs=1)
    # 600 events, of which 7.3 % end early: 4 standard errors, 99.99 %
    assert abs(spread.mean() - expected.percolates) < 4 * sqrt(0.073 * 0.927 / 600)
    # "and thus, almost all subscribers receive the published events"
    subscribers = corpus.subscribers / corpus.subscribed[:, None]
    assert float(subscribers[spread].mean()) > 0.99


@pytest.mark.slow
def test_a_similar_behaviour_is_obtained_with_the_two_exchanged() -> None:
    """V-B2, Figure 7: "A similar behavior is obtained when sigma=0.6, gamma=0.1"."""
    corpus = scale_free(0.6, 0.1)
    assert float(corpus.receivers.mean()) == pytest.approx(
        float(scale_free(0.1, 0.6).receivers.mean()), rel=0.15
    )
    subscribers = corpus.subscribers / corpus.subscribed[:, None]
    assert float(subscribers[corpus.receivers > 248].mean()) > 0.95


@pytest.mark.parametrize("b", [1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
def test_the_points_of_figures_7_to_18_are_above_the_transition(b: float) -> None:
    """V-B2: "varying sigma above the phase transition (the model returns an infinite sub-graph)",
    with the other at 0.1: it is so for every value of the varied one."""
    assert other_threshold(degrees_of(PowerLaw(6, b).degrees), 0.1) == 0


# -- VI: conclusions -------------------------------------------------------------------------------


def test_duplicates_are_rare_below_the_transition_only() -> None:
    """VI: "tree-like overlay are obtained, hence limiting the possibility that a peer receives
    multiple messages containing the same event".

    Below the transition it is so. Above it a receiver of a=6, b=1 gets some 36 copies.
    """
    below = [
        simulate_network(Poisson(5, 2_000).graph(1, n), Gossip(sigma=0.05, gamma=0.06), 200, 1, n)
        for n in range(3)
    ]
    few = join(below)
    assert few.duplicates.sum() < 0.01 * few.receivers.sum()
    many = scale_free(0.1, 0.6)
    assert many.duplicates.sum() > 30 * many.receivers.sum()


def test_a_link_carries_an_event_in_both_directions() -> None:
    """VI: "Hence, no duplicate transmissions occur on a link."

    That is so in one direction. Two neighbours that have the event by other ways send it to each
    other: of the links of a=6, b=1 that carry an event, 45 % carry it twice, and 8 % where few
    nodes are sent it.
    """
    graph = _network(0, PowerLaw(6, 1))
    for gamma, least, most in ((0.6, 0.4, 0.5), (0.1, 0.05, 0.11)):
        uses = link_use(graph, Gossip(sigma=0.1, gamma=gamma), 5, 1, 0)
        used, twice = (sum(counts) for counts in zip(*uses, strict=True))
        assert least < twice / used < most
