"""How the links of an overlay carry events of percolation gossip: in one direction or in both.

Paper 003 concludes: "no duplicate transmissions occur on a link" (VI). A node does not send an
event back over the link that it came by (Algorithm 2, line 7). But two neighbours that both have
the event by other ways each send it to the other: then one link carries it twice.

The spread is that of `camcast.research.systems.percolation.graph_population`, whose kernel counts
copies and not links. Here all copies of a step are drawn at once, as arrays, and those of one step
arrive in the order of their senders, the first of which the receiver has the event from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.systems.percolation.graph_population import Gossip
from camcast.research.systems.percolation.graphs import Graph
from camcast.vocabulary.streams import stream


class LinkUse(NamedTuple):
    """How many links carried an event."""

    used: int
    """Links with a copy in one direction or in both."""
    twice: int
    """Those with a copy in each direction."""


def link_use(graph: Graph, gossip: Gossip, events: int, seed: int, network: int) -> list[LinkUse]:
    """Return how the links of a network carry each of so many events; its number names the streams.

    Subscribers are drawn once for all events. A TTL is not taken into account.
    """
    rng = Generator(PCG64(stream(seed, "workload", "link use", network).getrandbits(128)))
    subscribes = rng.random(graph.nodes) < gossip.sigma
    chances = np.where(subscribes, 1.0, gossip.gamma)
    return [_spread(graph, chances, rng) for _ in range(events)]


def _spread(graph: Graph, chances: NDArray[np.float64], rng: Generator) -> LinkUse:
    """Spread one event, whose publisher is chosen at random, over the links of a graph."""
    nodes, degrees = graph.nodes, np.diff(graph.first)
    source = np.full(nodes, -1)  # the node that each node has the event from
    front = rng.integers(nodes, size=1)
    known = np.zeros(nodes, np.bool_)
    known[front] = True
    arcs: list[NDArray[np.int64]] = []
    while len(front):
        senders = np.repeat(front, degrees[front])
        offsets = np.arange(len(senders)) - np.repeat(
            np.cumsum(degrees[front]) - degrees[front], degrees[front]
        )
        receivers = graph.neighbours[graph.first[senders] + offsets].astype(np.int64)
        sent = (receivers != source[senders]) & (rng.random(len(senders)) < chances[receivers])
        senders, receivers = senders[sent], receivers[sent]
        arcs.append(senders * nodes + receivers)
        fresh = ~known[receivers]
        front, first = np.unique(receivers[fresh], return_index=True)
        source[front] = senders[fresh][first]
        known[front] = True
        front = front[np.argsort(first)]
    carried = np.concatenate(arcs)
    backward = carried % nodes * nodes + carried // nodes
    twice = int(np.count_nonzero(np.isin(carried, backward))) // 2
    return LinkUse(len(carried) - twice, twice)
