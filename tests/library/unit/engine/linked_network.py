"""A network of processes that know one gateway, and links between their communities."""

from __future__ import annotations

from typing import Any

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic


def join(network: World, node: Node, topic: Topic, **more: Any) -> None:
    network.do(node, lambda n, now: n.join(topic, now, **more))


def network_of(
    *topics: Topic, parameters: Parameters | None = None, settle_seconds: float = 0.0
) -> tuple[World, list[Node]]:
    """Start a gateway that takes part in nothing, and one process for each of the topics."""
    network = World(1)
    gateway = network.add()
    nodes = [network.add((gateway.me.address,), parameters=parameters) for _ in topics]
    for node, topic in zip(nodes, topics, strict=True):
        join(network, node, topic)
        network.run(1.0)
    network.run(settle_seconds)
    return network, nodes
