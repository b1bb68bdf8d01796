"""Tables drawn from the overlay: their size, their uniformity, and how they follow changes.

The real node in the virtual network; strangers are found through the census, an ideal
directory, so that what is seen is the tables' own doing.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from random import Random
from statistics import mean

import pytest

from camcast.engine.errands import PROBE_UNITS
from camcast.engine.liveness import SILENCE_UNITS
from camcast.engine.node import Node
from camcast.engine.questions import QUESTION_SECONDS
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from membership.dht import PATIENCE, DhtOptions
from tests.library.laws.communities import Graph, in_degrees
from tests.library.laws.overlay_graphs import graph_of, membership_in

TOPIC = Topic.parse(".community")
DEFAULTS = DhtOptions()
# Suspect and confirmed, in units of the liveness service. Four units more, each up to a tenth late:
# one until the silence is noticed, and one for each dead helper that is replaced by another dead
# one: of the 500 entries of survivors, 0.3^3 of those whose helpers died need the third.
UNIT = PATIENCE * DEFAULTS.check_seconds / SILENCE_UNITS
VERDICT = (SILENCE_UNITS + PROBE_UNITS + 4 * 1.1) * UNIT


class DhtWorld(World):
    """Members of one community whose tables are drawn from the overlay; latency is 0.05 s."""

    def __init__(self, seed: int, loss: float = 0.0, c: float = 5.0) -> None:
        network = VirtualNetwork(seed, Climate(latency=Constant(0.05), loss=loss))
        super().__init__(
            seed, virtual=network, membership="dht", options={"c": c}, parameters=Parameters(c=c)
        )

    def grow(self, size: int, gap: float = 0.02) -> list[Node]:
        return [self.join(TOPIC, gap=gap) for _ in range(size)]


@pytest.fixture(
    scope="module", params=[(60, 60.0), pytest.param((150, 150.0), marks=pytest.mark.slow)]
)
def large(request: pytest.FixtureRequest) -> Graph:
    """The tables of many members at c = 5: after a minute, and once refreshes have come."""
    return settled_tables(request.param[0], 5.0, request.param[1])


def settled_tables(size: int, c: float, seconds: float = 150.0) -> Graph:
    world = DhtWorld(2, c=c)
    world.grow(size)
    world.run(seconds)
    return graph_of(world)


def assert_sizes(tables: Graph, c: float) -> None:
    sizes = [len(entries) for entries in tables.values()]
    assert sizes == [ceil(log(len(tables)) + c)] * len(tables)
    if c:  # else rounding up alone is more
        assert mean(sizes) == pytest.approx(log(len(tables)) + c, rel=0.1)


def test_tables_have_ln_n_plus_c_entries(large: Graph) -> None:
    """5.2.3: "those have all the same size of ln Nt + ct", rounded up; all of them, exactly."""
    assert_sizes(large, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "c"), [(30, 0.0), (50, 2.0)])
def test_small_tables_have_ln_n_plus_c_entries(size: int, c: float) -> None:
    assert_sizes(settled_tables(size, c), c)


def test_in_degrees_are_those_of_uniform_random_tables(large: Graph) -> None:
    """5.2.3: "dynamic and uniform random membership tables": each of N-1 others is in a table
    with probability k/(N-1), so in-degrees are binomial. Index of dispersion over N
    processes: chi-square with N-1 degrees, at 99 % within +- 2.58 standard deviations."""
    degrees = in_degrees(large)
    n = len(large)
    k = ceil(log(n) + 5)
    expected, p = float(k), k / (n - 1)
    chi2 = sum((degree - expected) ** 2 for degree in degrees) / (expected * (1 - p))
    deviations = (chi2 - (n - 1)) / sqrt(2 * (n - 1))
    print(f"in-degree {min(degrees)} to {max(degrees)}, {deviations:+.2f} deviations")
    assert abs(deviations) <= 2.58


def test_a_newcomer_is_in_tables_at_once() -> None:
    """It greets its table, and whoever is greeted takes it in: a latency after joining.

    Those who see many changes then draw their tables anew, and not all of them draw it again.
    """
    world = DhtWorld(3)
    world.grow(60)
    world.run(30.0)
    (newcomer,) = world.grow(1, gap=0.06)
    assert len(membership_in(newcomer).peers()) >= ceil(log(60) + 5)
    holders = sum(newcomer.me.address in entries for entries in graph_of(world).values())
    assert holders >= ceil(log(60) + 5)


def test_who_leaves_politely_is_forgotten_at_once() -> None:
    world = DhtWorld(4)
    leaver = world.grow(40)[7]
    world.run(30.0)
    world.leave(leaver, TOPIC)
    world.run(0.2 + QUESTION_SECONDS)  # in which it is asked
    tables = graph_of(world)
    assert leaver.me.address not in tables
    assert all(leaver.me.address not in entries for entries in tables.values())


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_crashes_are_noticed_and_tables_filled_again(share: float) -> None:
    """The dead are gone when helpers have confirmed their silence, and tables full again."""
    world = DhtWorld(5)
    nodes = world.grow(100)
    world.run(30.0)
    victims = Random(5).sample(nodes, int(share * 100))
    for victim in victims:
        world.kill(victim)
    world.run(VERDICT)
    dead = {victim.me.address for victim in victims}
    assert not any(dead & set(entries) for entries in graph_of(world).values())
    world.run(3 * DEFAULTS.check_seconds)
    wanted = ceil(log(100 * (1 - share)) + 5)
    assert min(len(entries) for entries in graph_of(world).values()) >= wanted - 1


@pytest.mark.slow  # 8 s; crashes above show that refreshes come
def test_refreshes_follow_the_rate_of_change() -> None:
    """5.2.3: "at a time interval that is correlated to the subscription change frequency":
    counted as the table entries learned in half a minute, calm against one join a second."""
    learned = []
    for joins in (False, True):
        world = DhtWorld(6)
        nodes = world.grow(60)
        world.run(145.0)  # just after the refreshes that come without any change
        before = {p.me.address: graph_of(world)[p.me.address] for p in nodes}
        if joins:
            world.grow(30, gap=1.0)
        else:
            world.run(30.0)
        after = graph_of(world)
        newcomers = set(world.alive) - set(before)
        learned.append(
            sum(len(set(after[a]) - before[a] - newcomers) for a in before) / len(before)
        )
    calm, busy = learned
    assert busy > 2 * calm


@pytest.mark.slow  # 4 s; the contract has loss, too
def test_with_loss_nobody_is_lost_for_long() -> None:
    """At 10 % loss each way a check fails falsely once in 28: tables stay at nine tenths."""
    world = DhtWorld(7, loss=0.1)
    world.grow(60)
    world.run(120.0)
    sizes = [len(entries) for entries in graph_of(world).values()]
    assert mean(sizes) >= 0.9 * ceil(log(60) + 5)
    assert min(in_degrees(graph_of(world))) >= 1


def test_a_paused_process_expels_nobody() -> None:
    """A process that wakes up refutes its suspicion, and expels nobody."""
    world = DhtWorld(8)
    nodes = world.grow(40)
    world.run(20.0)
    keeper = membership_in(nodes[3])
    before = len(keeper.peers())
    for entry in nodes[3].liveness.entries.values():
        entry.heard -= 60.0
    nodes[3].on_standstill(60.0, world.now)
    world.run(1.1 * DEFAULTS.check_seconds)
    assert len(keeper.peers()) >= before - 1
