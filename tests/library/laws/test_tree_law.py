"""Along a tree each process gets one copy of what a busy publisher says, and all get all of it.

J. Leitão, J. Pereira, L. Rodrigues, "Epidemic broadcast trees", SRDS 2007; shipped code in the
virtual network, with repair.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from attrs import frozen

from camcast.doors.contained import plug_of
from camcast.engine.node import Node
from camcast.protocols.tree import CHILDREN_FIRST, Tree
from camcast.testing.world import World
from camcast.vocabulary.events import EventId
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.laws.overlay_graphs import graph_of

A = Topic.parse(".a")
AUTO = CommunitySettings(c=2)  # of which busy streams go along trees
NODES = 30
RATE = 20.0  # events a second and publisher: busy, and quick to simulate
SETTLED = 15.0  # in which tables have filled, and after which repair has had its say


@frozen
class Outcome:
    """What became of events that were published one after the other."""

    copies: float
    """Sent, for each first copy."""
    missed: int
    twice: int

    @property
    def all_got_one_copy(self) -> bool:
        """Whether all is there, at one copy each, but for a few while a tree changes its shape."""
        return (self.missed, self.twice) == (0, 0) and 1.0 <= self.copies <= 1.02


def community(
    nodes: int = NODES, parameters: Parameters = AUTO, membership: str = "scamp", loss: float = 0.0
) -> World:
    world = World(membership=membership, parameters=parameters, topics=(A,), repair=True, loss=loss)
    for _ in range(nodes):
        world.join(A, gap=0.05)
    world.run(SETTLED)
    return world


def publish(
    world: World, publishers: list[Node], seconds: float, together: int = 1, wait: float = 5.0
) -> Outcome:
    """Publish at `RATE`, each time so many events, and wait for what is still to come."""
    living = [node for node in world.nodes if node.me.address in world.alive]
    sent = sum(node.counters.event_copies_sent for node in living)
    before = len(world.delivered)
    events: list[EventId] = []
    for _ in range(round(seconds * RATE)):
        for node in publishers:
            events += world.do(node, partial(_publish, together))
        world.run(1.0 / RATE)
    world.run(wait)
    sent = sum(node.counters.event_copies_sent for node in living) - sent
    got = Counter(
        (node, delivery.event.id)
        for node, delivery in world.delivered[before:]
        if node.me.address in world.alive
    )
    wanted = [(node, event) for node in living for event in events]
    return Outcome(
        copies=sent / (len(wanted) - len(events)),
        missed=sum(one not in got for one in wanted),
        twice=sum(count - 1 for count in got.values()),
    )


def _publish(events: int, node: Node, now: float) -> list[EventId]:
    receipts = [node.publish(A, b"!", now) for _ in range(events)]
    node.flush(now)
    return [receipt.id for receipt in receipts]


@pytest.mark.parametrize(
    "membership",
    ["scamp", *(pytest.param(one, marks=pytest.mark.slow) for one in ("hybrid", "dht"))],
)
def test_after_a_while_a_process_gets_one_copy(membership: str) -> None:
    world = community(membership=membership)
    one, ten = world.nodes[4:5], world.nodes[4:14]
    publish(world, one, 1.0)
    assert publish(world, one, 3.0).all_got_one_copy
    publish(world, ten, 1.0)
    assert publish(world, ten, 2.0).all_got_one_copy


@pytest.mark.slow
def test_infect_and_die_sends_six() -> None:
    """What the tree is compared with: its events take ceil(ln 30 + 2) copies."""
    world = community(parameters=CommunitySettings(c=2, spread="infect"))
    publish(world, world.nodes[:1], 1.0)
    assert publish(world, world.nodes[:1], 1.0).copies == pytest.approx(6.0, rel=0.1)


def test_lone_events_infect_and_die() -> None:
    world = community()
    assert publish(world, world.nodes[:1], 0.2).copies == pytest.approx(6.0, rel=0.1)


@pytest.mark.slow  # 2 s
def test_a_cold_burst_does_not_flood() -> None:
    """All of it is under way before the first copy has arrived anywhere."""
    world = community()
    outcome = publish(world, world.nodes[:1], 1.0 / RATE, together=5000)
    assert outcome.copies <= CHILDREN_FIRST * NODES / (NODES - 1)
    assert (outcome.missed, outcome.twice) == (0, 0)


@pytest.mark.slow  # the law of repair has loss in every run
def test_with_loss_nothing_is_missed() -> None:
    world = community(loss=0.02)
    for seconds in (1.0, 5.0):
        outcome = publish(world, world.nodes[:1], seconds, wait=SETTLED)
        assert (outcome.missed, outcome.twice) == (0, 0)
    assert outcome.copies <= 1.5


def test_the_living_miss_nothing_when_others_are_killed() -> None:
    """A fifth dies at once, in the midst of a stream; the tree heals, and costs no more after."""
    world = community()
    publisher = world.nodes[:1]
    publish(world, publisher, 2.0, wait=0.0)
    for node in world.nodes[5:11]:
        world.kill(node)
    hit = publish(world, publisher, 5.0)
    assert (hit.missed, hit.twice) == (0, 0)
    world.run(SETTLED)
    publish(world, publisher, 1.0)
    assert publish(world, publisher, 2.0).all_got_one_copy


def test_when_a_branch_leaves_nobody_waits_for_a_timer() -> None:
    """Those behind it were told by their liveness service, or by nobody: the slowest delivery after
    such a departure took 1.35 s. Now it is 0.3 s: four hops, and once the way of a question."""
    world = community()
    publisher = world.nodes[0]
    publish(world, [publisher], 2.0, wait=0.0)
    branches = [node for node in world.nodes[1:] if _behind(node)]
    assert len(branches) >= 3
    latest = 0.0
    published: dict[EventId, float] = {}
    for branch in branches[:3]:
        behind = _behind(branch)
        world.leave(branch, A)
        for _ in range(20):
            seen = len(world.delivered)
            published |= dict.fromkeys(world.do(publisher, partial(_publish, 1)), world.now)
            world.run(1.0 / RATE)
            for node, delivery in world.delivered[seen:]:
                if node.me.peer in behind:
                    latest = max(latest, world.now - published[delivery.event.id])
    assert latest <= 0.5


def _behind(node: Node) -> list[bytes]:
    """Return the children of a process in the trees of others."""
    (local_group,) = node.local_groups
    tree: Tree = plug_of(local_group.dissemination)._spread
    return [peer for one in tree._trees.values() if one.parent for peer in one.children]


def test_a_newcomer_grows_onto_the_tree() -> None:
    world = community()
    publish(world, world.nodes[:1], 1.0)
    late = world.join(A)
    publish(world, world.nodes[:1], 3.0)
    assert publish(world, world.nodes[:1], 2.0).all_got_one_copy
    assert late.counters.event_copies_sent == 0 or late.counters.repaired > 0


@pytest.mark.slow  # 4 s; leases are renewed in other laws of every run
def test_the_tree_outlives_the_arcs() -> None:
    """In the prototype, whose tree was made of arcs, each renewal broke it: 1.4 to 2.2 copies."""
    world = World(parameters=AUTO, topics=(A,), repair=True, options={"lease_seconds": 3.0})
    for _ in range(NODES):
        world.join(A, gap=0.05)
    world.run(SETTLED)
    publish(world, world.nodes[:1], 1.0)
    tables = graph_of(world)
    outcome = publish(world, world.nodes[:1], 30.0)
    changed = sum(table != tables[address] for address, table in graph_of(world).items())
    assert changed > NODES / 2, "the arcs were renewed"
    assert outcome.copies <= 1.005, "1.02 if a link goes with its arc"
    assert (outcome.missed, outcome.twice) == (0, 0)


def test_above_what_climbs_goes_along_a_tree_and_nothing_is_missed() -> None:
    world = World(parameters=AUTO, topics=(A, ROOT), repair=True)
    for topic in (ROOT,) * 8 + (A,) * 8:
        world.join(topic)
    world.run(SETTLED)
    publish(world, world.nodes[-1:], 1.0)
    before = Counter(node for node, _ in world.delivered)
    publish(world, world.nodes[-1:], 2.0, wait=SETTLED)
    got = Counter(node for node, _ in world.delivered) - before
    assert [got[node] for node in world.nodes] == [2 * RATE] * 16
