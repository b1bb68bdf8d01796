"""The law of SCAMP, (c+1) ln N, held by the real engine on virtual time.

Three oracles: the closed form; the exact recursion of the join process; and a dumb twin
(`scamp_twin`). The join process alone (no heartbeats, no draws, uniform contacts) must be the
twin's in distribution. With everything on, the mean view must be within 10 % of the law: the
recursion itself lies 0.42 (c+1) below (c+1) ln N (Euler's constant less 1), 3 to 6 % at these
sizes.
"""

from __future__ import annotations

from functools import partial
from math import ceil, log, sqrt
from random import Random
from statistics import mean, stdev

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Finding
from membership.scamp import scamp as scamp_module
from tests.library.laws import scamp_twin
from tests.library.laws.communities import (
    TOPIC,
    Graph,
    grow,
    in_degrees,
    scamp,
    strongly_connected,
    view_graph,
)

Z_999 = 3.29  # two-sided 99.9 %


def law(size: float, c: int) -> float:
    return (c + 1) * log(size)


def views(graph: Graph) -> list[int]:
    return [len(view) for view in graph.values()]


def assert_lawful(graph: Graph, c: int) -> None:
    """Mean within 10 % of the law; nobody is a hub or out of reach."""
    expected = law(len(graph), c)
    assert abs(mean(views(graph)) - expected) <= 0.1 * expected
    assert_no_hub_and_nobody_out_of_reach(graph, c)


def assert_no_hub_and_nobody_out_of_reach(graph: Graph, c: int) -> None:
    """In-degrees of a random graph are Poisson: beyond mean + 6 sqrt(mean) lies one in 10^7."""
    size, sizes, holders = len(graph), views(graph), in_degrees(graph)
    assert max(sizes) <= ceil(3 * law(max(size, 64), c) * 1.05)  # the cap; 5 %: N is an estimate
    assert max(holders) <= mean(holders) + 6 * sqrt(mean(holders))
    assert min(sizes) >= 1
    assert min(holders) >= 1
    assert strongly_connected(graph)


def tell(contacts: list[Contact], node: Node, now: float) -> None:
    node.contacts_found(Finding(TOPIC, tuple(contacts)), now)


def grow_plainly(seed: int, size: int, c: int) -> list[Node]:
    """The join process alone: no heartbeats, no draws, no walk to the contact, contacts uniform."""
    net, rng, nodes = World(seed), Random(seed), list[Node]()
    for _ in range(size):
        # A gateway that never answers: the contact is given by hand instead.
        node = net.add(
            ("tcp://127.0.0.1:65000",), {"c": c, "heartbeat_seconds": 1e6, "drawn_share": 0.0}
        )
        net.do(node, lambda n, now: n.join(TOPIC, now))
        contacts: list[Contact] = [rng.choice(nodes).me] if nodes else []
        net.do(node, partial(tell, contacts))
        net.run(2.0)
        nodes.append(node)
    return nodes


@pytest.mark.slow  # 3 s; the twin's recursion is looked at in every run
@pytest.mark.parametrize("c", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_join_process_is_the_twins(c: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean view, and the spreads of out- and in-degrees, over 6 runs of the engine and 200 of
    the twin, N = 50: equal at 99.9 % each (two-sample z test), fixed seeds.
    """
    monkeypatch.setattr(scamp_module, "INDIRECTION_MAX", 0)
    engine = [view_graph(grow_plainly(seed, 50, c)) for seed in range(6)]
    twins = [scamp_twin.grow(50, c, Random(seed)) for seed in range(200)]
    ours = [(mean(views(g)), stdev(views(g)), stdev(in_degrees(g))) for g in engine]
    theirs = [
        (
            scamp_twin.mean_view(t),
            stdev(len(view) for view in t.values()),
            stdev(scamp_twin.in_degrees(t)),
        )
        for t in twins
    ]
    for mine, its in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True):
        error = sqrt(stdev(mine) ** 2 / len(mine) + stdev(its) ** 2 / len(its))
        assert abs(mean(mine) - mean(its)) < Z_999 * error


@pytest.mark.parametrize("c", [1, 2])
def test_the_twin_follows_the_recursion(c: int) -> None:
    """From 40 processes to 160, over 60 runs: increments equal at 99.9 % (one-sample z test).
    (A smaller group is saturated: it cannot hold the arcs that the recursion counts.)
    """
    gaps = []
    for seed in range(60):
        rng = Random(seed)
        twin = scamp_twin.grow(40, c, rng)
        expected = scamp_twin.recursion(40, scamp_twin.mean_view(twin), 160, c)
        while len(twin) < 160:
            scamp_twin.join(twin, rng.randrange(len(twin)), c, rng)
        gaps.append(scamp_twin.mean_view(twin) - expected)
    assert abs(mean(gaps)) < Z_999 * stdev(gaps) / sqrt(len(gaps))


def test_the_recursion_tends_to_the_law() -> None:
    for c in (0, 1, 2, 5):
        at = scamp_twin.recursion(1, 0.0, 10**6, c)
        assert at == pytest.approx((c + 1) * (log(10**6) + 0.5772156649 - 1), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("c", "contacts"),
    [(1, 1), (1, 3), (2, 1), (2, 3)],
)
def test_fifty(c: int, contacts: int) -> None:
    """Through one gateway (indirection must keep it from becoming a hub) and through three.

    The mean of four runs is within 10 % of the law. Measured over 15 seeds with c = 2: 11.09 with a
    standard deviation of 0.31 a run, where the law has 11.74; so one run in 25 is further off.
    """
    graphs = [
        view_graph(grow(World(seed), 50, gap=0.3, contacts=contacts, options={"c": c}))
        for seed in range(1, 5)
    ]
    assert mean(mean(views(graph)) for graph in graphs) == pytest.approx(law(50, c), rel=0.1)
    twins = [scamp_twin.grow(50, c, Random(seed)) for seed in range(20)]
    bare = mean(stdev(scamp_twin.in_degrees(twin)) for twin in twins)
    for graph in graphs:
        assert_no_hub_and_nobody_out_of_reach(graph, c)
        # The in-view control makes in-degrees narrower than the bare process, never wider.
        assert stdev(in_degrees(graph)) < bare


@pytest.mark.slow  # 4 s; fifty are looked at in every run
@pytest.mark.parametrize("c", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_two_hundred_through_one_gateway(c: int) -> None:
    net = World(3)
    nodes = grow(net, 200, gap=0.1, options={"c": c})
    net.run(1.0)
    assert_lawful(view_graph(nodes), c)


def test_both_ends_know_every_arc() -> None:
    net = World(4)
    nodes = grow(net, 50)
    net.run(1.0)
    held = {node.me.address: {c.address for c in scamp(node).in_view()} for node in nodes}
    for address, view in view_graph(nodes).items():
        assert all(address in held[neighbour] for neighbour in view)


@pytest.mark.slow  # 3 s; fifty at an even pace are looked at in every run
@pytest.mark.parametrize("seed", [1])
def test_a_burst_of_joins_settles_to_the_law(seed: int) -> None:
    """Whatever the order: a hundred join within a second, through one gateway."""
    net = World(seed)
    nodes = grow(net, 100, gap=0.01)
    net.run(15.0)
    assert all(scamp(node).joined for node in nodes)
    assert_lawful(view_graph(nodes), c=2)


def renewed_law(size: float, c: int, lease: float) -> float:
    """The law, and both generations of renewed arcs for the two heartbeats that a renewal takes.

    Leases are uniform in [lease/2, lease], so that share of the time is 2 / (0.75 lease):
    53 % at 5 s, but 4 % at the default of 60 s.
    """
    return law(size, c) * (1 + scamp_module.RENEWED * 2.0 / (0.75 * lease))


def means_over_leases(
    seed: int, size: int, c: int, lease: float, leases: int = 12
) -> tuple[list[float], float]:
    """Return the mean view after each of the leases, and the size that the processes believe in.

    Renewals follow that size. Its own error, 13 % from 64 processes on, is the same in the whole
    community, and moves the views of 200 by 3 %; test_size_estimate holds it.
    """
    net = World(seed)
    nodes = grow(net, size, options={"c": c, "lease_seconds": lease})
    means = []
    for _ in range(leases):
        net.run(lease)
        means.append(mean(views(view_graph(nodes))))
    assert strongly_connected(view_graph(nodes))
    return means, mean(scamp(node).size() for node in nodes)


@pytest.mark.slow  # 4 s
def test_twelve_leases_add_no_arcs() -> None:
    """A renewal that makes c copies again would grow 16.8 -> 78.4."""
    means, believed = means_over_leases(5, 50, c=1, lease=5.0)
    assert believed == 50
    expected = renewed_law(50, 1, 5.0)
    assert abs(mean(means) - expected) <= 0.1 * expected
    assert abs(mean(means[6:]) - mean(means[:6])) <= 0.1 * expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "c", "contacts"),
    [
        *((50, c, contacts) for c in (1, 2) for contacts in (1, 3)),
        *((200, 1, 3), (200, 2, 1)),
        (300, 2, 1),
    ],
)
def test_table_of_the_law(size: int, c: int, contacts: int) -> None:
    """Three seeds of fifty processes, and one of more. Print the figures with ``-s``."""
    for seed in (1, 2, 3)[: 3 if size == 50 else 1]:
        net = World(seed)
        nodes = grow(
            net, size, gap=0.1 if size == 300 else 0.3, contacts=contacts, options={"c": c}
        )
        net.run(1.0)
        graph = view_graph(nodes)
        sizes, holders = views(graph), in_degrees(graph)
        estimates = [scamp(node).size() / size - 1 for node in nodes]
        print(
            f"\nN={size:5} c={c} contacts={contacts} seed={seed} law={law(size, c):6.2f}"
            f" recursion={scamp_twin.recursion(1, 0.0, size, c):6.2f} mean={mean(sizes):6.2f}"
            f" sd_out={stdev(sizes):5.2f} max_out={max(sizes):3} sd_in={stdev(holders):5.2f}"
            f" max_in={max(holders):3} size_error={mean(estimates):+.3f}"
            f" lost_copies={sum(scamp(n).lost_copies for n in nodes)} records={net.records}"
        )
        assert_lawful(graph, c)


@pytest.mark.slow
@pytest.mark.parametrize(("lease", "c"), [(60.0, 2), (10.0, 1)])
def test_leases_of_a_hundred(lease: float, c: int) -> None:
    """At the default lease the mean itself stays within 10 % of the law, 6 leases long."""
    means, believed = means_over_leases(6, 100, c, lease, leases=6)
    assert 50 < believed < 200  # 13 % of standard error, five times over
    expected = renewed_law(believed, c, lease)
    print(f"\nN=100 c={c} lease={lease} expected={expected:.2f} means={means}")
    assert all(abs(m - expected) <= 0.1 * expected for m in means[1:])
    assert abs(mean(means[3:]) - mean(means[:3])) <= 0.05 * expected
