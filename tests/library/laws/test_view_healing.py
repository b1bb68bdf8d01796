"""Cyclon and HyParView after cuts, without a gateway, and where packets get lost."""

from __future__ import annotations

from statistics import mean

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.network import address_of
from camcast.vocabulary.topics import ROOT
from tests.library.laws.communities import in_degrees, strongly_connected
from tests.library.laws.overlay_graphs import among_the_living, graph_of, share_reached

MEMBERSHIPS = ("cyclon", "hyparview")
# Long enough that each half has forgotten the other: Cyclon's views of 20 are tried one by one.
CUT_SECONDS = 50.0
HEALED_SECONDS = 40.0


def behind_a_gateway(membership: str, size: int) -> tuple[World, list[Node]]:
    """Return a world, its gateway, and members that know nobody else."""
    world = World(1)
    gateway = world.add(backend=membership)
    members = []
    for _ in range(size):
        members.append(world.add((gateway.me.address,), backend=membership))
        world.do(members[-1], lambda node, now: node.join(ROOT, now))
        world.run(0.2)
    world.run(10.0)
    world.kill(gateway)
    return world, members


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_halves_of_a_partition_become_one_without_a_gateway(membership: str) -> None:
    world, members = behind_a_gateway(membership, 16)
    side = {address_of(number): number % 2 for number in range(17)}
    world.cut(lambda source, target: side[source] == side[target])
    world.run(CUT_SECONDS)
    graph = graph_of(world)
    assert all(side[peer] == side[one] for one, view in graph.items() for peer in view)
    world.heal()
    world.run(HEALED_SECONDS)
    graph = among_the_living(graph_of(world))
    assert strongly_connected(graph)
    assert [share_reached(world, member) for member in members[:2]] == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_a_process_that_was_cut_off_comes_back_without_a_gateway(membership: str) -> None:
    world, members = behind_a_gateway(membership, 10)
    alone = members[3].me.address
    world.cut(lambda source, target: alone not in (source, target))
    world.run(CUT_SECONDS)
    assert not any(alone in view for view in graph_of(world).values())
    world.heal()
    world.run(HEALED_SECONDS)
    assert share_reached(world, members[3]) == 1.0
    assert share_reached(world, members[0]) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_at_30_percent_loss_nobody_is_forgotten(membership: str) -> None:
    world = World(1, membership=membership, loss=0.3)
    for _ in range(60):
        world.join(ROOT)
    for _ in range(12):
        world.run(10.0)
        graph = graph_of(world)
        assert strongly_connected(graph)
        assert min(in_degrees(graph)) >= 1
    full = 20 if membership == "cyclon" else 5
    assert mean(len(view) for view in graph.values()) > 0.8 * full
