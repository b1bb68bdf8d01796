"""Communities of real nodes on a virtual network: grow them, look at their view graph."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from membership.scamp.scamp import Scamp

TOPIC = Topic.parse(".community")

Graph = dict[str, set[str]]


def grow(
    net: World,
    size: int,
    *,
    topic: Topic = TOPIC,
    gap: float = 0.1,
    contacts: int = 1,
    gateways: tuple[str, ...] = (),
    options: dict[str, Any] | None = None,
    parameters: Parameters | None = None,
) -> list[Node]:
    """Let `size` nodes join a community one after the other, `gap` seconds apart.

    With one contact all join through the first; else each through random earlier members.
    """
    rng = Random(size)
    nodes: list[Node] = []
    for _ in range(size):
        earlier = rng.sample(nodes, min(contacts, len(nodes))) if contacts > 1 else nodes[:1]
        known = gateways or tuple(node.me.address for node in earlier)
        node = net.add(known, options, parameters)
        net.do(node, lambda n, now: n.join(topic, now))
        net.run(gap if nodes else 0.1)
        nodes.append(node)
    return nodes


def scamp(node: Node, topic: Topic = TOPIC) -> Scamp:
    """Return the node's membership in the community."""
    local_group = node.local_group(topic)
    assert local_group is not None
    assert isinstance(local_group.membership, Scamp)
    return local_group.membership


def view_graph(nodes: Iterable[Node], topic: Topic = TOPIC) -> Graph:
    """Return who holds arcs to whom, by address."""
    return {
        node.me.address: {contact.address for contact in scamp(node, topic).peers()}
        for node in nodes
    }


def _reached(graph: Graph, start: str) -> set[str]:
    reached, frontier = {start}, [start]
    while frontier:
        for neighbour in graph[frontier.pop()]:
            if neighbour in graph and neighbour not in reached:
                reached.add(neighbour)
                frontier.append(neighbour)
    return reached


def strongly_connected(graph: Graph) -> bool:
    """Say whether everybody reaches everybody; arcs that leave the graph do not count."""
    back: Graph = {node: set() for node in graph}
    for node, view in graph.items():
        for neighbour in view & graph.keys():
            back[neighbour].add(node)
    start = next(iter(graph))
    return len(_reached(graph, start)) == len(_reached(back, start)) == len(graph)


def in_degrees(graph: Graph) -> list[int]:
    """Return how many views each node is in, counted in the views themselves."""
    degrees = dict.fromkeys(graph, 0)
    for view in graph.values():
        for neighbour in view:
            degrees[neighbour] += 1
    return list(degrees.values())
