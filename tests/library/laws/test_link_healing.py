"""Super-topic links come back without a gateway, with every membership.

Eight processes are in the root community and four in `.x`, as in the study that found that links
never came back. The gateway that all have joined through dies in every test.
"""

from __future__ import annotations

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic

X = Topic.parse(".x")
BACKENDS = ("scamp", pytest.param("hybrid", marks=pytest.mark.slow), "dht")
EVERYBODY_CLIMBS = Parameters(p_sel=1.0, a=3.0, z=3)
CHECK_SECONDS_MAX = 7.5  # the longest pause between two checks: 1.5 times `check_seconds`


class Levels:
    """The two communities; the gateway is dead by the time that they have settled."""

    def __init__(self, backend: str) -> None:
        self.world = World(1)
        gateway = self.world.add(backend=backend)
        self.world.run(3.0)
        self.above = [self._join(gateway, backend, ROOT) for _ in range(8)]
        self.below = [self._join(gateway, backend, X) for _ in range(4)]
        self.world.run(60.0)
        self.world.kill(gateway)

    def _join(self, gateway: Node, backend: str, topic: Topic) -> Node:
        node = self.world.add((gateway.me.address,), parameters=EVERYBODY_CLIMBS, backend=backend)
        self.world.run(1.0)
        self.world.do(node, lambda node, now: node.join(topic, now))
        self.world.run(1.0)
        return node

    def links(self, node: Node) -> set[str]:
        """Return the addresses of a process's super-processes."""
        local_group = node.local_group(X)
        assert local_group is not None
        return {contact.address for contact in local_group.links[0].nearest()[1]}

    def all_linked(self) -> bool:
        """Say whether every process below has a super-process that lives."""
        return all(self.links(node) & self.world.alive.keys() for node in self.below)

    def assert_climbs(self) -> None:
        """One event from each process below reaches everybody who is alive above."""
        alive = [node for node in self.above if node.me.address in self.world.alive]
        for node in self.below:
            event = self.world.publish(node, X)
            got = [to for to, delivery in self.world.delivered if delivery.event.id == event]
            assert {*alive} <= {*got}


@pytest.mark.parametrize("backend", BACKENDS)
def test_links_come_back_after_all_in_the_tables_have_died(backend: str) -> None:
    levels = Levels(backend)
    held = set().union(*map(levels.links, levels.below))
    victims = [node for node in levels.above if node.me.address in held]
    assert len(victims) < len(levels.above)
    for node in victims:
        levels.world.kill(node)
    assert levels.world.run(60.0, until=levels.all_linked)
    levels.world.run(60.0)
    levels.assert_climbs()


@pytest.mark.parametrize(
    "backend", ["scamp", *(pytest.param(one, marks=pytest.mark.slow) for one in ("hybrid", "dht"))]
)
# Of leases the longest has 60, of refreshes 120.
@pytest.mark.parametrize("seconds", [pytest.param(25.0, marks=pytest.mark.slow), 400.0])
def test_climbs_come_back_after_a_cut_between_two_levels(backend: str, seconds: float) -> None:
    levels = Levels(backend)
    below = {node.me.address for node in levels.below}
    levels.world.cut(lambda source, target: (source in below) == (target in below))
    levels.world.run(seconds)
    assert not any(map(levels.links, levels.below))
    levels.world.heal()
    assert levels.world.run(CHECK_SECONDS_MAX + 1.0, until=levels.all_linked)
    levels.assert_climbs()
