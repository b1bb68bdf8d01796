"""Percolation gossip on an overlay, event by event (paper 003, Algorithm 2).

Theory of operation
-------------------
*The algorithm.* A node that gets an event for the first time sends it to all its neighbours that
subscribe to it, and to each other neighbour with probability gamma, but not to the node that it
came from. A later copy is a duplicate. An event that arrives with a TTL of 0 is received and not
sent on; the publisher takes one off the TTL before it sends, so that the event travels TTL hops at
most.

*Time.* All copies take one step. A node gets its first copy at its distance in the graph of copies
sent. If several nodes send to it in the same step, the copy of the one that got the event first is
first, as in a queue of messages.

*Corpora* (5.2). Several networks of an overlay; in each, every node subscribes with probability
sigma, once for all events, "during the initialization phase"; each event is published by a node
chosen at random, whether it subscribes or not. Events of one network have the network and the
subscribers in common, so that only the means of different networks are independent.

*Random numbers.* The network, the subscribers of a network, and each event have a stream of their
own, named by the seed and their numbers: the outcome of event 7 in network 3 depends neither on the
number of other events and networks nor on the process that simulates them. With one seed the
networks are the same for all sigma and gamma, and a larger sigma adds subscribers to those of a
smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
from attrs import field, frozen, validators
from numba import njit
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.models.distributions import REACH, REACH_QUANTILES, REACHES
from camcast.research.population.load_counts import (
    LoadColumns,
    enter_processes,
    enter_role,
    hubs,
)
from camcast.research.population.outcome import (
    Counts,
    Interval,
    joined_loads,
    loads_as_json,
    mean_interval,
)
from camcast.research.population.xoshiro import State, next_bits, seeded
from camcast.research.systems.percolation.graphs import Graph, Overlay
from camcast.vocabulary.arguments import PROBABILITY
from camcast.vocabulary.streams import stream

TTL_MAX: Final = 2**31 - 1  # chosen: longer than any path; section 4 leaves the TTL out

_RECEIVERS, _SUBSCRIBERS, _MESSAGES, _PARASITES, _HOPS = range(5)
MEASURES: Final = ("receivers", "subscribers", "messages", "parasites", "hops")
_COUNTED: Final = ("subscribed", *MEASURES)
OF_NODES: Final = ("receivers", "subscribers", "missed", "parasites")
"""The measures that count nodes, which are at most all nodes of the network."""

# Numba takes an expression of a signed and an unsigned integer for a float: all are unsigned.
_11: Final = np.uint64(11)
_STEPS: Final = 2**53  # of 53 random bits, as many as a float between 0.5 and 1 has


@frozen(kw_only=True)
class Gossip:
    """The parameters of the spread on a given network. Raises `ValueError` out of range."""

    sigma: float = field(validator=PROBABILITY)
    """Probability that a node subscribes to the event (paper: sigma)."""
    gamma: float = field(validator=PROBABILITY)
    """Probability that an event is sent to a neighbour that does not subscribe (paper: gamma)."""
    ttl: int = field(default=TTL_MAX, validator=[validators.ge(0), validators.le(TTL_MAX)])
    """How many hops an event gets from its publisher at most."""
    publisher_floods: bool = False
    """Whether the publisher sends to all its neighbours. Algorithm 2 has no such rule, but the
    numbers that the paper prints for Figure 8 come out with it."""


@frozen(eq=False)
class Corpus:
    """Counts by network (rows) and event (columns)."""

    nodes: int
    """How many nodes each network has."""
    subscribed: Counts
    """By network: how many nodes subscribe."""
    receivers: Counts
    """Nodes that have the event in the end, the publisher included, as in ⟨r⟩ of 4.3."""
    subscribers: Counts
    """Receivers that subscribe, as in ⟨s⟩ of 4.3."""
    messages: Counts
    """Copies sent."""
    parasites: Counts
    """Nodes that received a copy without a subscription; the publisher received none."""
    hops: Counts
    """The distance from the publisher of the last node to get its first copy."""
    loads: Mapping[str, NDArray[np.float64]] = field(kw_only=True)
    """The measures of the load of a node by an event (`population.load_counts`); NaN for none."""

    @property
    def duplicates(self) -> Counts:
        """Copies to nodes that already had the event."""
        return self.messages - (self.receivers - 1)

    @property
    def missed(self) -> Counts:
        """Subscribers that do not get the event."""
        return self.subscribed[:, None] - self.subscribers

    def interval(self, measure: str) -> Interval:
        """Return the mean of a measure with its 95 % interval.

        The interval is computed from the networks' means, which are independent of each other, as
        events of one network are not. With a single network it is computed from the events, and
        holds for that network and its subscribers only.
        """
        if measure in self.loads:
            values = self.loads[measure]
            each = [one[~np.isnan(one)] for one in values]
            means = [one.mean() for one in each if len(one)]
            return mean_interval(each[0] if len(each) == 1 else np.array(means), 0.0)
        counts: NDArray[Any] = self._reach(measure) if measure in REACH else getattr(self, measure)
        most = self.nodes if measure in OF_NODES else 1.0 if measure in REACH else np.inf
        return mean_interval(counts[0] if len(counts) == 1 else counts.mean(axis=1), 0.0, most)

    def _reach(self, measure: str) -> NDArray[Any]:
        """Return of each event whether it reaches so many, or of each network the quantile."""
        some = self.subscribed > 0
        reach = self.subscribers[some] / self.subscribed[some, None]
        if measure in REACHES:
            return reach >= REACHES[measure]
        share = REACH_QUANTILES[measure]
        nearest_rank: NDArray[Any] = np.quantile(reach, share, axis=1, method="inverted_cdf")
        return nearest_rank[:, None]

    def as_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object, which `corpus_of` reads."""
        counts = {name: getattr(self, name).tolist() for name in _COUNTED}
        return {"nodes": self.nodes, "loads": loads_as_json(self.loads), **counts}


def corpus_of(found: Any) -> Corpus:
    """Return the corpus that `Corpus.as_json` wrote."""
    counts = (np.array(found[name], np.int64) for name in _COUNTED)
    return Corpus(found["nodes"], *counts, loads=joined_loads([found["loads"]]))


def join(parts: Sequence[Corpus]) -> Corpus:
    """Put the networks of several corpora together, in the order given."""
    counts = (np.concatenate([getattr(part, name) for part in parts]) for name in _COUNTED)
    loads = {name: np.concatenate([part.loads[name] for part in parts]) for name in parts[0].loads}
    return Corpus(parts[0].nodes, *counts, loads=loads)


def simulate(
    overlay: Overlay, gossip: Gossip, networks: int, events: int, seed: int, first_network: int = 0
) -> Corpus:
    """Simulate `events` events on each of the networks from `first_network` on."""
    found = []
    for network in range(first_network, first_network + networks):
        graph = overlay.graph(seed, network)
        found.append(simulate_network(graph, gossip, events, seed, network))
    return join(found)


def simulate_network(graph: Graph, gossip: Gossip, events: int, seed: int, network: int) -> Corpus:
    """Simulate events on the given network; its number names the random streams."""
    rng = Generator(PCG64(stream(seed, "workload", "subscribers", network).getrandbits(128)))
    subscribes = rng.random(graph.nodes) < gossip.sigma
    counts = np.zeros((events, len(MEASURES)), np.int64)
    loads = LoadColumns(1, events, roles=("publishers", "hubs"))
    percolation = Percolation(graph, subscribes, gossip)
    for event in range(events):
        chances = stream(seed, "protocol", "percolation", network, event)
        counts[event] = percolation.spread(chances.randrange(graph.nodes), chances)
        percolation.enter_loads(loads.sent[0, event], loads.received[0, event])
    subscribed = np.array([np.count_nonzero(subscribes)], np.int64)
    return Corpus(graph.nodes, subscribed, *counts.T[:, None, :], loads=loads.by_name())


class Percolation:
    """The spread of one event after another on a network whose subscribers are known."""

    def __init__(self, graph: Graph, subscribes: NDArray[np.bool_], gossip: Gossip) -> None:
        self._network = graph.first, graph.neighbours, subscribes
        below = np.uint64(round(gossip.gamma * _STEPS))
        at_first = np.uint64(_STEPS) if gossip.publisher_floods else below
        self._chances = below, at_first, gossip.ttl
        self._events = 0
        # one place more than nodes: the kernel writes each neighbour here, and counts new ones
        order, senders = (np.zeros(graph.nodes + 1, np.int32) for _ in range(2))
        sent, arrived = (np.zeros(graph.nodes, np.int32) for _ in range(2))
        self._scratch = np.zeros(graph.nodes, np.int64), order, senders, sent, arrived
        self._hubs = hubs(graph.first)

    def spread(self, publisher: int, chances: Random) -> Counts:
        """Publish an event, and return its counts in the order of `MEASURES`."""
        counts = np.zeros(len(MEASURES), np.int64)
        self._events += 1
        _spread(
            *(*self._network, *self._chances, publisher, seeded(chances)),
            *(self._events, *self._scratch, counts),
        )
        return counts

    def enter_loads(self, of_sent: NDArray[np.float64], of_received: NDArray[np.float64]) -> None:
        """Fill in the load of a node by the last event (`population.load_counts`)."""
        _, order, _, sent, arrived = self._scratch
        enter_processes(of_sent, of_received, sent, arrived, len(sent), int(order[0]))
        enter_role(of_sent, sent, self._hubs, len(sent))


@njit(cache=True, nogil=True)
def _spread(
    first: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    subscribes: NDArray[np.bool_],
    below: np.uint64,
    at_first: np.uint64,
    ttl: int,
    publisher: int,
    state: State,
    event: int,
    heard: NDArray[np.int64],
    order: NDArray[np.int32],
    senders: NDArray[np.int32],
    sent_by: NDArray[np.int32],
    arrived: NDArray[np.int32],
    counts: Counts,
) -> None:
    """Publish one event, and count its copies and receivers.

    A copy goes to a node that does not subscribe if 53 random bits are less than `below`, and than
    `at_first` if the publisher sends it. `heard`
    has the number of the last event that each node got; `order` and `senders` are scratch arrays of
    the receivers and of the nodes that they got the event from, in the order of first copies;
    `sent_by` and `arrived` get the copies of each node. The innermost loop has no branch, as no
    processor could predict it: that saves a quarter of the time.
    """
    sent_by[:] = 0
    arrived[:] = 0
    order[0], senders[0] = publisher, -1
    heard[publisher] = event
    messages, subscribers, hops = 0, np.int64(subscribes[publisher]), 0
    begin, reached = 0, 1
    while begin < reached and hops < ttl:
        end = reached
        for at in range(begin, end):
            node, sender = order[at], senders[at]
            chance = below if at else at_first
            before = messages
            for place in range(first[node], first[node + 1]):
                neighbour = neighbours[place]
                bits, state = next_bits(state)
                sent = (subscribes[neighbour] | (bits >> _11 < chance)) & (neighbour != sender)
                new = sent & (heard[neighbour] != event)
                messages += sent
                arrived[neighbour] += sent
                subscribers += new & subscribes[neighbour]
                order[reached], senders[reached] = neighbour, node
                heard[neighbour] = event if new else heard[neighbour]
                reached += new
            sent_by[node] = messages - before
        begin = end
        hops += reached > end
    counts[_RECEIVERS] = reached
    counts[_SUBSCRIBERS] = subscribers
    counts[_MESSAGES] = messages
    counts[_PARASITES] = reached - subscribers - (not subscribes[publisher])
    counts[_HOPS] = hops
