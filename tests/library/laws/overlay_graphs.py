"""The graph that the tables of a membership are: its links, degrees, clustering and distances."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import mean, stdev

from camcast.doors.membership import Membership
from camcast.engine.node import Node
from camcast.research.models.student import quantile
from camcast.testing.world import World
from camcast.vocabulary.topics import ROOT
from tests.library.laws.communities import Graph


def grown(membership: str, size: int, seed: int, **options: object) -> World:
    """Return a world of so many members of one community, who joined within seconds."""
    world = World(seed, membership=membership, options=options)
    for _ in range(size):
        world.join(ROOT, gap=0.02)
    return world


def membership_in(node: Node) -> Membership:
    """Return the node's membership of the community that is its only one."""
    (local_group,) = node.local_groups
    return local_group.membership


def graph_of(world: World) -> Graph:
    """Return whom each living member has in its table, the dead included, by address."""
    return {
        address: {contact.address for contact in local_group.membership.peers()}
        for address, node in world.alive.items()
        for local_group in node.local_groups
    }


def among_the_living(graph: Graph) -> Graph:
    """Return a graph without what points out of it."""
    return {node: table & graph.keys() for node, table in graph.items()}


def undirected(graph: Graph) -> Graph:
    """Return the graph with each link at both of its ends."""
    links: Graph = {node: set() for node in graph}
    for node, table in graph.items():
        for neighbour in table:
            links[node].add(neighbour)
            links[neighbour].add(node)
    return links


def clustering(graph: Graph) -> float:
    """Return the mean share of the pairs of somebody's neighbours that are linked themselves."""
    links, shares = undirected(graph), list[float]()
    for neighbours in links.values():
        if (degree := len(neighbours)) > 1:
            linked = sum(len(links[one] & neighbours) for one in neighbours)
            shares.append(linked / (degree * (degree - 1)))
    return mean(shares)


def path_length(graph: Graph) -> float:
    """Return the mean distance between two that reach each other, whichever way links point."""
    links, distances = undirected(graph), list[int]()
    for start in graph:
        found, frontier = {start: 0}, [start]
        for node in frontier:
            for neighbour in links[node]:
                if neighbour not in found:
                    found[neighbour] = found[node] + 1
                    frontier.append(neighbour)
        distances += [distance for node, distance in found.items() if node != start]
    return mean(distances)


def random_graph(rng: Random, size: int, degree: int) -> Graph:
    """Return a graph in which each of `size` nodes points at so many others, drawn uniformly."""
    names = [str(number) for number in range(size)]
    return {one: set(rng.sample([n for n in names if n != one], degree)) for one in names}


def assert_like(value: float, samples: list[float]) -> None:
    """Say that a value comes from the distribution of the samples, with 99.9 % confidence."""
    spread = stdev(samples) * sqrt(1 + 1 / len(samples))
    assert abs(value - mean(samples)) < quantile(0.999, len(samples) - 1) * spread


def crash(world: World, share: float, seed: int) -> None:
    """Kill a share of the living at once."""
    living = list(world.alive.values())
    for node in Random(seed).sample(living, round(share * len(living))):
        world.kill(node)


def share_reached(world: World, publisher: Node, seconds: float = 3.0) -> float:
    """Publish an event, and return which share of the living had it after so many seconds."""
    before = len(world.delivered)
    world.publish(publisher, ROOT, seconds=seconds)
    return (len(world.delivered) - before) / len(world.alive)
