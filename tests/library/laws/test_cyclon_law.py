"""The properties that the paper of Cyclon claims, held by the real engine on virtual time.

Voulgaris, Gavidia, van Steen 2005, as `membership.cyclon` has it. Oracles: a dumb twin
in synchronous cycles (`cyclon_twin`), random graphs, and closed forms. One period is one second.
What the paper claims of views is true of views without lasting entries (`drawn_share=0`).
"""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import mean, stdev

import pytest

from camcast.vocabulary.topics import ROOT
from membership.cyclon import CyclonOptions
from tests.library.laws.communities import Graph, in_degrees, strongly_connected
from tests.library.laws.cyclon_twin import shuffled_views
from tests.library.laws.overlay_graphs import (
    among_the_living,
    assert_like,
    clustering,
    crash,
    graph_of,
    grown,
    membership_in,
    path_length,
    random_graph,
    share_reached,
    undirected,
)

Z_999 = 3.29  # two-sided 99.9 %
SIZE, VIEW, PERIODS = 120, 10, 20
TWINS = 8


@pytest.fixture(scope="module")
def early_and_late() -> tuple[Graph, Graph]:
    """One community after `PERIODS`, and after as many again."""
    world = grown("cyclon", SIZE, seed=1, view=VIEW, drawn_share=0.0)
    world.run(float(PERIODS))
    early = graph_of(world)
    world.run(float(PERIODS))
    return early, graph_of(world)


def twin(seed: int) -> Graph:
    views = shuffled_views(Random(seed), SIZE, VIEW, CyclonOptions().shuffle, 2 * PERIODS)
    return {str(me): {str(peer) for peer, _ in view} for me, view in enumerate(views)}


@pytest.mark.slow  # 4 s; newcomers and survivors of crashes are looked at in every run
def test_views_are_full_and_in_degrees_as_narrow_as_the_twins(
    early_and_late: tuple[Graph, Graph],
) -> None:
    """The mean is the size of the view; nobody is a hub or forgotten."""
    graph = early_and_late[1]
    assert {len(view) for view in graph.values()} == {VIEW}
    degrees = in_degrees(graph)
    twins = [in_degrees(twin(seed)) for seed in range(TWINS)]
    assert_like(stdev(degrees), [stdev(one) for one in twins])
    assert_like(min(degrees), [float(min(one)) for one in twins])
    assert_like(max(degrees), [float(max(one)) for one in twins])


@pytest.mark.slow  # 3 s
def test_clustering_and_distances_are_those_of_a_random_graph(
    early_and_late: tuple[Graph, Graph],
) -> None:
    """Both come to the values of a random graph, from whatever the joins have left."""
    graph = early_and_late[1]
    randoms = [random_graph(Random(seed), SIZE, VIEW) for seed in range(TWINS)]
    # Both partners of a shuffle hold some of the same for a while, so not better than 10 %.
    assert clustering(graph) == pytest.approx(mean(map(clustering, randoms)), rel=0.1)
    assert path_length(graph) == pytest.approx(mean(map(path_length, randoms[:3])), rel=0.03)


@pytest.mark.slow
def test_after_a_few_periods_a_view_is_another_draw(early_and_late: tuple[Graph, Graph]) -> None:
    """What a view shares with its former self is hypergeometric: view^2 / (N - 1) in the mean."""
    early, late = early_and_late
    shared = mean(len(early[node] & late[node]) for node in late)
    share = VIEW / (SIZE - 1)
    variance = VIEW * share * (1 - share) * (SIZE - 1 - VIEW) / (SIZE - 2)
    assert abs(shared - VIEW * share) < Z_999 * sqrt(variance / SIZE)


def test_a_newcomer_is_held_like_all_others_at_once() -> None:
    """As many walks as a view has entries, and nobody else's in-degree changes.

    Walks of 5 steps that end at one process twice are lost: some view^2 / 2N of them.
    """
    world = grown("cyclon", SIZE, seed=2, view=VIEW, drawn_share=0.0)
    world.run(10.0)
    held = [
        sum(newcomer.me.address in view for view in graph_of(world).values())
        for newcomer in (world.join(ROOT, gap=0.2) for _ in range(20))
    ]
    assert mean(held) == pytest.approx(VIEW, rel=0.15)
    assert {len(view) for view in graph_of(world).values()} <= {VIEW - 3, VIEW - 2, VIEW - 1, VIEW}


@pytest.mark.parametrize(
    ("share", "size"), [(0.7, 80), pytest.param(0.3, 200, marks=pytest.mark.slow)]
)
def test_survivors_stay_connected_and_forget_the_dead(share: float, size: int) -> None:
    """Views of 20 stand the loss of more than two thirds.

    A survivor has 2 * 20 * (1 - share) links to survivors in the mean, 12 at the least: that one
    of 24 has none has probability 24 e^-12. The dead are tried one a period, 20 of them at most,
    and come back by shuffles until others have tried them, too: 2.5 times as many periods.
    """
    world = grown("cyclon", size, seed=3)
    world.run(25.0)
    crash(world, share, seed=3)
    assert strongly_connected(undirected(among_the_living(graph_of(world))))
    world.run(50.0)
    graph = graph_of(world)
    assert among_the_living(graph) == graph
    assert {len(view) for view in graph.values()} == {min(20, len(graph) - 1)}
    assert strongly_connected(graph)
    publishers = list(world.alive.values())[:5]
    assert [share_reached(world, publisher) for publisher in publishers] == [1.0] * 5
    sizes = [membership_in(node).size() for node in world.alive.values()]
    assert mean(sizes) == pytest.approx(len(graph), rel=0.4)  # 13 %, three times


@pytest.mark.parametrize("seed", [3, 8, 10])
def test_who_gave_up_a_dead_process_does_not_take_it_again_from_others(seed: int) -> None:
    """Where ages were counted in whole periods, these three did, of 60 seeds 15."""
    world = grown("cyclon", (6, 10, 30)[seed % 3], seed, view=(8, 20)[seed % 2])
    world.run(5.0)
    node = world.nodes[0]
    membership = membership_in(node)
    dead = next(iter(membership.peers()))
    world.kill(next(other for other in world.nodes if other.me == dead))
    world.do(node, lambda _, now: membership.peer_silent(dead, now))
    assert not world.run(40.0, lambda: dead.peer in membership.peers())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_after_90_percent_have_crashed_the_discovery_helps(seed: int) -> None:
    """Of 20 entries two live: parts of the overlay, or whole processes, have lost the others."""
    world = grown("cyclon", 200, seed)
    world.run(25.0)
    crash(world, 0.9, seed)
    world.run(120.0)
    graph = graph_of(world)
    assert among_the_living(graph) == graph
    assert strongly_connected(graph)


@pytest.mark.slow
def test_in_degrees_are_narrower_than_a_random_graphs() -> None:
    """Where views are small beside the community, as in the paper.

    The twin has 0.61 of the standard deviation of a random graph's among 1,000.
    """
    size, view = 300, 12
    world = grown("cyclon", size, seed=4, view=view, drawn_share=0.0)
    world.run(60.0)
    degrees = in_degrees(graph_of(world))
    assert mean(degrees) == view
    assert stdev(degrees) < 0.75 * sqrt(view * (1 - view / (size - 1)))


@pytest.mark.slow  # 20 s
def test_with_lasting_entries_in_degrees_are_about_those_of_a_random_graph() -> None:
    """By default: a process whom few hold is named first, or in-degrees would spread ever more.

    The standard deviation was 1.06 and 1.19 times a random graph's over two seeds, and 1.5 times
    with another order of naming, which also left a process without any holder.
    """
    size, view = 300, 12
    world = grown("cyclon", size, seed=4, view=view)
    world.run(60.0)
    degrees = in_degrees(graph_of(world))
    assert mean(degrees) == view
    assert min(degrees) > 0
    assert stdev(degrees) < 1.3 * sqrt(view * (1 - view / (size - 1)))
