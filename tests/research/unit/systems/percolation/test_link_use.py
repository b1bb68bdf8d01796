"""Links that carry an event in one direction or in both, against graphs that can be counted."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from camcast.research.systems.percolation.graph_population import Gossip, simulate_network
from camcast.research.systems.percolation.graphs import GivenLinks, Poisson
from camcast.research.systems.percolation.link_use import link_use


@pytest.mark.parametrize(
    ("links", "used", "twice"),
    [
        ([(0, 1), (1, 2), (2, 3)], 3, 0),  # a tree: nobody has an event by another way
        ([(0, 1), (1, 2), (2, 0)], 3, 1),  # the two that the publisher sends to
        # both neighbours of the publisher send to the last node, which sends to the second of them
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 4, 1),
    ],
)
def test_flooding_of_small_graphs(links: list[tuple[int, int]], used: int, twice: int) -> None:
    """gamma = 1 leaves nothing to chance, whoever publishes."""
    graph = GivenLinks(links).graph(1, 0)
    found = {tuple(use) for use in link_use(graph, Gossip(sigma=0, gamma=1), 20, 1, 0)}
    assert found == {(used, twice)}


def test_copies_are_the_simulators() -> None:
    """Copies are used links and those used twice: the mean of the kernel, at 99.9 %."""
    gossip, ours, kernels = Gossip(sigma=0.5, gamma=0.2), [], []
    for network in range(40):
        graph = Poisson(5, 300).graph(1, network)
        ours.append(np.mean([sum(use) for use in link_use(graph, gossip, 10, 1, network)]))
        kernels.append(simulate_network(graph, gossip, 10, 1, network).messages.mean())
    error = sqrt((np.var(ours) + np.var(kernels)) / 39)
    assert error < 30
    assert abs(np.mean(ours) - np.mean(kernels)) < 3.29 * error
