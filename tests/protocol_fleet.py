"""Processes of one protocol in the virtual network, each interested in a topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from camcast.doors.plugs import find_protocol, membership_for
from camcast.engine.node import Node, Settings
from camcast.simulation.census import Census
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic
from tests.memory_network import MemoryNetwork

A, AB, X = (Topic.parse(name) for name in (".a", ".a.b", ".x"))
TOPICS = (ROOT, A, AB, X)

# All of a few tens of processes get every event: infect and die sends to everybody in a table,
# a link is there for certain and sends to all it knows, and rounds go on beyond the last.
CERTAIN = Parameters(c=8, p_sel=1.0, a=3.0, z=3, search_seconds=0.2, check_seconds=1.0)
CERTAIN_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "rfpbcast": {"fan_out": 4, "constant": 8.0},
    "pmcast": {"fan_out": 30},
    "hpmcast": {"fan_out": 30, "arity": 3},
    "percolation": {"gamma": 1.0},
}


def join(topic: Topic, node: Node, now: float) -> None:
    """Let a node join, as `MemoryNetwork.do` takes it."""
    node.join(topic, now)


class Fleet:
    """Nodes of one protocol; the census tells each of the others."""

    def __init__(
        self,
        protocol: str,
        topics: Iterable[Topic] = (),
        *,
        seed: int = 1,
        loss: float = 0.0,
        options: Mapping[str, object] | None = None,
        parameters: Parameters = CERTAIN,
        settle_seconds: float = 12.0,
    ) -> None:
        chosen = CERTAIN_OPTIONS.get(protocol) if options is None else options
        self.protocol = find_protocol(protocol, chosen)
        self.net = MemoryNetwork(seed, loss=loss)
        self.nodes: list[Node] = []
        backend, backend_options = membership_for(self.protocol, "scamp")
        self._settings = Settings(
            backend=backend,
            options=backend_options,
            discovery=Census(stream(seed, "churn", "census")).discovery,
            parameters=parameters,
            protocol=self.protocol,
            topics=TOPICS,
        )
        for topic in topics:
            self.join(topic)
        self.net.run(settle_seconds)

    def join(self, *topics: Topic) -> Node:
        """Start a process that is interested in these topics."""
        node = self.net.start(self._settings)
        for topic in topics:
            self.net.do(node, partial(join, topic))
        self.nodes.append(node)
        self.net.run(0.1)
        return node

    def leave(self, node: Node, topic: Topic) -> None:
        """Let a process lose its interest in a topic."""
        self.net.do(node, lambda node, now: node.leave(topic, now))

    def publish(
        self, node: Node, topic: Topic, payload: bytes = b"!", seconds: float = 3.0
    ) -> None:
        """Publish, and let so much time pass."""
        self.net.do(node, lambda node, now: node.publish(topic, payload, now))
        self.net.run(seconds)

    def delivered(self, node: Node) -> Counter[tuple[Topic, bytes]]:
        """Return how often a process was given which payload for which of its subscriptions."""
        names = {topic.group: topic for topic in TOPICS}
        return Counter(
            (names[delivery.group], delivery.event.payload)
            for who, delivery in self.net.delivered
            if who is node
        )

    @property
    def parasites(self) -> int:
        """First copies at processes that are not interested."""
        return sum(node.counters.parasites for node in self.nodes)
