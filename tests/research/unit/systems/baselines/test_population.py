"""The baselines' kernel against a dumb twin, exact laws, and the simulator of CAMCAST.

What is compared is whole distributions, by chi-square at fixed seeds, as in
tests/research/laws/test_simulators_agree.py: a test fails beyond `DEVIATIONS` standard deviations,
which chance exceeds once in 30,000 comparisons; there are some 70 here.

These tests can fail. Nineteen errors were made on purpose, one at a time, and each was noticed, by
this many deviations where that was first: a sender among its own targets 9; its own cluster among
the others 19; the last process never sent to from afar 6; all copies between clusters arrive 4;
`between` ignored 29; dead processes send 37; interests drawn with replacement 41; parasites counted
at the dead 19, or at all 44; the larger clusters' fan-out ignored 9, or their last member by its
neighbours 22; clusters overlap, which gives impossible values; a target drawn twice stays 5; all
interested that are left are taken for alive 20; the dead deliver 37; a round is missing 27; one
more is interested 31; the publisher is always in the first cluster 23; the untouched are not
counted down 36.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from camcast.research.models.distributions import REACH, load_of, role_load
from camcast.research.population.outcome import Outcome
from camcast.research.systems.baselines.population import PROCESSES_MAX, simulate
from camcast.research.systems.baselines.setting import (
    PROTOCOLS,
    Baseline,
    baseline,
    multicast_tables,
)
from camcast.research.systems.camcast import population
from camcast.research.systems.camcast.reliability import final_size
from camcast.research.systems.camcast.setting import Community, Setting, chain, interested_in
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.parameters import Parameters
from tests.research.laws.test_simulators_agree import DEVIATIONS, apart, from_law

MEASURES = ("alive", "delivered", "rounds", "messages", "between", "parasite_copies")
PAPER = Setting(communities=chain((1000, 100, 10)))  # [CAMCAST 6.1.1]


# -- the twin ----------------------------------------------------------------------------------


def publish_once(given: Baseline, dice: Random) -> dict[str, float | None]:
    """One event, with tables that are dealt to everybody beforehand, as a reader would write it."""
    everybody = list(range(given.processes))
    dice.shuffle(everybody)
    clusters = [set(everybody[at :: given.clusters]) for at in range(given.clusters)]
    home = {one: at for at, cluster in enumerate(clusters) for one in cluster}
    publisher = 0
    interested = {publisher, *dice.sample(range(1, given.processes), given.interested - 1)}
    alive = {p for p in everybody if p == publisher or dice.random() >= given.stillborn}
    near, far = {}, {}
    for one in everybody:
        others = sorted(clusters[home[one]] - {one})
        near[one] = set(dice.sample(others, given.fan_out(len(others) + 1)))
        far[one] = set(
            dice.sample(sorted(home.keys() - clusters[home[one]]), given.fan_out_between)
        )
    has, senders = {publisher}, {publisher}
    counts, sent, arrived = dict.fromkeys(MEASURES, 0), Counter[int](), Counter[int]()
    while senders:
        counts["rounds"] += 1
        fresh = set()
        for one in senders:
            abroad = [to for to in sorted(far[one]) if dice.random() < given.between]
            counts["messages"] += len(near[one]) + len(abroad)
            counts["between"] += len(abroad)
            sent[one] = len(near[one]) + len(abroad)
            for to in [*sorted(near[one]), *abroad]:
                if dice.random() < given.arrival and to in alive:
                    counts["parasite_copies"] += to not in interested
                    arrived[to] += 1
                    if to not in has:
                        fresh.add(to)
        has |= fresh
        senders = fresh
    counts["alive"] = len(alive & interested)
    counts["delivered"] = len(has & interested)
    loads = load_of("load_sent", [sent[one] for one in alive])
    loads |= load_of("load_received", [arrived[one] for one in alive])
    loads["load_sent_publishers"] = role_load([sent[publisher]], [sent[one] for one in alive])
    return counts | loads


def one(processes: int, interested: int, clusters: int = 1, **settings: Any) -> Baseline:
    return Baseline(
        protocol="hierarchical" if clusters > 1 else "broadcast",
        processes=processes,
        interested=interested,
        clusters=clusters,
        tables=(),
        **settings,
    )


SETTINGS = {
    "broadcast": one(30, 12, c=0.0),
    "broadcast, stillborn": one(30, 12, c=0.0, crash=0.4),
    "broadcast, weak": one(30, 12, c=0.0, crash=0.4, weak=True),
    "all interested": one(25, 25, c=-1.0),
    "one interested": one(25, 1, c=0.0),
    "clusters": one(30, 12, 6, c=0.0, c2=-1.0),
    "uneven clusters, stillborn": one(28, 12, 6, c=0.0, c2=-1.0, crash=0.3),
    "fan-outs of two sizes": one(41, 25, 2, c=-0.996, c2=0.0),  # 2 to 20 others, 3 to 21
    "few between": one(30, 12, 6, c=2.0, c2=1.0, between=0.15),
    "clusters, weak": one(30, 30, 8, c=0.0, c2=0.0, crash=0.4, weak=True, between=0.6),
    "pairs and singles": one(18, 8, 12, c=0.0, c2=-2.0),
    "threes and a pair": one(17, 12, 6, c=-1.0, c2=5.0),
    "single processes": one(12, 5, 12, c=0.0, c2=-1.0),
}


QUICK = (
    "broadcast, weak",
    "uneven clusters, stillborn",
    "fan-outs of two sizes",
    "few between",
    "single processes",
)


@pytest.mark.parametrize(
    ("name", "twins"),
    [
        *((name, 200) for name in QUICK),
        *(pytest.param(name, 1000, marks=pytest.mark.slow) for name in SETTINGS),
    ],
)
def test_the_kernel_agrees_with_the_twin(name: str, twins: int) -> None:
    given = SETTINGS[name]
    spread = simulate(given, 8 * twins, 7)
    dice = Random(1)
    runs = [publish_once(given, dice) for _ in range(twins)]
    for measure in MEASURES:
        twin = np.array([run[measure] for run in runs])
        assert apart(getattr(spread, measure), twin) < DEVIATIONS, measure
    for measure, values in spread.loads.items():
        twin = np.array([-1 if run[measure] is None else run[measure] for run in runs]).round(9)
        assert apart(np.nan_to_num(values, nan=-1).round(9), twin) < DEVIATIONS, measure
    # not the margins alone: an event that reaches more takes longer
    both = np.array([100 * (run["delivered"] or 0) + (run["rounds"] or 0) for run in runs])
    assert apart(100 * spread.delivered + spread.rounds, both) < DEVIATIONS


def test_fan_outs_differ_where_the_setting_says_so() -> None:
    given = SETTINGS["fan-outs of two sizes"]
    assert (given.fan_out(20), given.fan_out(21)) == (2, 3)
    assert (given.cluster_size, given.larger_clusters) == (20, 1)


# -- laws --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "c", "success"), [(12, 0.0, 1.0), (30, -1.0, 0.85)])
def test_who_has_it_in_the_end_follows_the_exact_chain(size: int, c: float, success: float) -> None:
    given = one(size, size, c=c, success=success)
    missed = final_size(1, size, given.fan_out(size), success)
    law = {size - few: float(p) for few, p in enumerate(missed)}
    assert from_law(simulate(given, 6000, 3).delivered, law) < DEVIATIONS


@pytest.mark.parametrize("crash", [0.0, 0.4])
@pytest.mark.parametrize("weak", [False, True])
def test_a_broadcast_is_camcast_in_one_community(crash: float, weak: bool) -> None:
    """4.2 (a): everybody is in one group; parasites are counted besides."""
    setting = Setting(communities=chain((300,), Parameters(c=0)), crash=crash, weak=weak)
    ours = simulate(baseline("broadcast", setting), 1500, 1)
    theirs = population.simulate(setting, 1500, 1)
    pairs = {"alive": "alive", "delivered": "delivered", "rounds": "rounds", "messages": "messages"}
    for mine, other in pairs.items():
        assert apart(getattr(ours, mine), getattr(theirs, other)[:, 0]) < DEVIATIONS
    assert not ours.parasite_copies.any()


def test_a_multicast_is_a_broadcast_to_the_interested() -> None:
    """4.2 (b): nobody else is in the publisher's group, whatever else there is."""
    setting = Setting(communities=chain((300, 100, 20)))
    group = baseline("multicast", setting, published_in=1)
    assert (group.processes, group.interested, group.clusters) == (120, 120, 1)
    alone = baseline("broadcast", Setting(communities=chain((120,))))
    ours, theirs = simulate(group, 2000, 1), simulate(alone, 2000, 1)
    for measure in MEASURES:
        assert apart(getattr(ours, measure), getattr(theirs, measure)) < DEVIATIONS


def test_every_process_sends_to_both_tables() -> None:
    """Equation 5's sum, with whole fan-outs: where all have it, n (k1 + k2) messages."""
    given = baseline("hierarchical", PAPER, clusters=30)
    assert (given.cluster_size, given.fan_out(37), given.fan_out_between) == (37, 9, 9)
    spread = simulate(attrs.evolve(given, success=1.0), 50, 1)
    assert (spread.messages == 1110 * 18).all()
    assert (spread.between == 1110 * 9).all()
    # of each cluster all know one another, so that Floyd's sampling is put to the test
    small = attrs.evolve(given, success=1.0, clusters=300, c=100.0)
    spread = simulate(small, 20, 1)
    in_each = [(small.cluster_size + 1, small.larger_clusters)]
    in_each.append((small.cluster_size, 300 - small.larger_clusters))
    near = sum(size * (size - 1) * count for size, count in in_each)
    assert (spread.messages - spread.between == near).all()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_with_whole_tables_everybody_gets_everything(protocol: Any) -> None:
    """Fan-outs of all others: the first round reaches all, the second sends n - 1 copies each.

    So without loss each uninterested one gets a copy of all others."""
    setting = Setting(communities=chain((6, 3), Parameters(c=100)), success=1.0)
    given = baseline(
        protocol, setting, published_in=1, clusters=3 if protocol == "hierarchical" else None
    )
    spread = simulate(given, 20, 1)
    assert (spread.delivered == 3).all()
    assert (spread.alive == 3).all()
    if protocol == "broadcast":
        assert (spread.messages == 9 * 8).all()
        assert (spread.parasite_copies == 6 * 8).all()
        assert (spread.rounds == 2).all()
    elif protocol == "multicast":
        assert (spread.messages == 3 * 2).all()
        assert not spread.parasite_copies.any()
    else:
        assert (spread.messages == 9 * (2 + 6)).all()
        assert (spread.between == 9 * 6).all()
        assert (spread.parasite_copies == 6 * 8).all()


def test_the_publisher_may_be_in_any_cluster() -> None:
    """Of three processes in two clusters, it has somebody beside it with probability 2/3."""
    given = one(3, 1, 2, success=0.0)
    spread = simulate(given, 3000, 1)
    assert from_law(spread.messages - spread.between, {0: 1 / 3, 1: 2 / 3}) < DEVIATIONS
    assert (spread.between == 1).all()


@pytest.mark.parametrize(("processes", "clusters"), [(5, 2), (11, 4), (9, 3)])
def test_what_is_not_sent_to_other_clusters_stays_in_one(processes: int, clusters: int) -> None:
    """Whole tables, no loss: all of the publisher's cluster have it, and nobody else; larger
    clusters have it the more often for having more processes."""
    given = one(processes, processes, clusters, c=100.0, between=0.0, success=1.0)
    m, larger = given.cluster_size, given.larger_clusters
    share = larger * (m + 1) / processes
    law = {m: 1 - share, m + 1: share} if larger else {m: 1.0}
    spread = simulate(given, 2000, 1)
    assert from_law(spread.delivered, law) < DEVIATIONS
    assert (spread.messages == spread.delivered * (spread.delivered - 1)).all()
    assert not spread.between.any()


def test_of_the_dead_nobody_delivers_or_counts_parasites() -> None:
    for protocol in PROTOCOLS:
        setting = Setting(communities=chain((50, 20)), crash=1.0)
        spread = simulate(baseline(protocol, setting, published_in=1), 20, 1)
        assert (spread.alive == 1).all()
        assert (spread.delivered == 1).all()
        assert not spread.parasite_copies.any()
        assert (spread.rounds == 1).all()


def test_a_lone_process_has_nobody_to_send_to() -> None:
    for protocol in PROTOCOLS:
        spread = simulate(baseline(protocol, Setting(communities=chain((1,)))), 3, 1)
        assert spread.messages.tolist() == [0, 0, 0]
        assert spread.rounds.tolist() == [1, 1, 1]


# -- settings ----------------------------------------------------------------------------------


def test_who_is_interested_are_the_communities_above() -> None:
    """Two ways up that meet again (3.6): every community once."""
    supers = ((1, 2), (3,), (3,), (), ())
    communities = tuple(Community(size=10**at, supers=above) for at, above in enumerate(supers))
    assert interested_in(communities, 0) == [0, 1, 2, 3]
    assert interested_in(communities, 2) == [2, 3]
    assert interested_in(communities, 4) == [4]
    given = baseline("multicast", Setting(communities=communities), published_in=2)
    assert given.processes == given.interested == 1100
    everybody = baseline("broadcast", Setting(communities=communities), published_in=2)
    assert (everybody.processes, everybody.interested) == (11_111, 1100)


def test_tables_of_the_papers_setting() -> None:
    """4.4.2, whole: (a) ceil(ln 1110 + 5); (b) a table for each topic from a process's own down;
    (c) ceil(ln 34 + 5) + ceil(ln 33 + 5), in the larger of 33 clusters."""
    assert baseline("broadcast", PAPER).tables == (13, 13, 13)
    assert multicast_tables(PAPER.communities) == [13, 13 + 10, 13 + 10 + 8]
    assert baseline("multicast", PAPER).tables == (13, 23, 31)
    divided = baseline("hierarchical", PAPER)
    assert (divided.clusters, divided.cluster_size, divided.larger_clusters) == (33, 33, 21)
    assert divided.tables == (18, 18, 18)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"protocol": "broadcast", "published_in": 3}, "community 3; there are 3"),
        ({"protocol": "broadcast", "clusters": 4}, "clusters, c2 and between are for hier"),
        ({"protocol": "multicast", "c2": 1.0}, "clusters, c2 and between are for hier"),
        ({"protocol": "hierarchical", "clusters": 2000}, "do not fill 2000 clusters"),
        ({"protocol": "hierarchical", "clusters": 0}, "do not fill 0 clusters"),
        ({"protocol": "hierarchical", "between": 1.5}, "between"),
        ({"protocol": "flooding"}, "unknown protocol 'flooding'; known: broadcast, multicast"),
    ],
)
def test_what_does_not_fit_is_named(arguments: dict[str, Any], told: str) -> None:
    protocol = arguments.pop("protocol")
    with pytest.raises(ValueError, match=told):
        baseline(protocol, PAPER, **arguments)


def test_too_many_processes_or_interested_are_refused() -> None:
    with pytest.raises(SettingError, match="too many to simulate"):
        simulate(one(PROCESSES_MAX + 1, 1), 1, 0)
    with pytest.raises(SettingError, match="7 of 5 processes are interested"):
        one(5, 7)


def test_figures_are_json_with_intervals() -> None:
    spread = simulate(baseline("broadcast", PAPER, published_in=2), 30, 1)
    figures = spread.as_json()
    assert set(figures) == {*MEASURES, *REACH, "reception", "reliability", *spread.loads}
    assert {"load_sent_publishers", "load_received_p99"} < set(figures)
    for figure in figures.values():
        assert figure["low"] <= figure["mean"] <= figure["high"] < inf
    assert isinstance(spread, Outcome)
    assert figures["parasite_copies"]["mean"] == pytest.approx(spread.parasite_copies.mean())
