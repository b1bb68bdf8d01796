"""Scenarios on the shipped code: what goes wrong, who still receives, and what is said of it.

Every run is held to the invariants (`camcast.research.simulation.invariants`); a breach fails it.
Where a bound is no certainty, its test says what 100 seeds gave; the seed here is fixed.
"""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

import attrs
import pytest

from camcast.engine.errands import PROBE_UNITS
from camcast.engine.liveness import SILENCE_UNITS
from camcast.observe.trace import JsonLinesSink, ListSink, TraceRecord
from camcast.observe.trace_reading import Reading, read_traces, take
from camcast.research.runs.summary import CommunitySummary, summarise
from camcast.research.scenarios.base import Processes
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.virtual import (
    Churn,
    Crashes,
    Links,
    Partition,
    Pauses,
    VirtualScenario,
)
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation import scenario_run
from camcast.research.simulation.invariants import InvariantError
from camcast.research.simulation.run_record import VirtualOutcome
from camcast.research.simulation.scenario_run import _Run, run_scenario
from camcast.research.workloads import Publication
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic
from membership.scamp.scamp import Scamp
from tests.library.laws.communities import Graph, strongly_connected

Z_999 = NormalDist().inv_cdf(0.9995)
A = Topic.parse(".a")
SURE = Parameters(p_sel=1.0, a=3.0, z=3)  # every process sends every event upward
# Suspect and confirmed, at a heartbeat a second; as in tests/library/laws/test_dht_law.py.
VERDICT = SILENCE_UNITS + PROBE_UNITS + 4 * 1.1
PROBE = 10.0  # seconds


def scenario(**changes: Any) -> VirtualScenario:
    """Make a small calm scenario of two communities without repair, or with what is to differ."""
    fields: dict[str, Any] = {
        "communities": {ROOT: 6, A: 24},
        "discovery": "census",
        "parameters": SURE,
        "repair": False,
        "workload": Workload(topic=A, events=20, rate=2),
        "settle_seconds": 6.0,
        "drain_seconds": 6.0,
        "duration_seconds": 20.0,
    }
    return VirtualScenario(**(fields | changes))


def of(outcome: VirtualOutcome, topic: Topic) -> CommunitySummary:
    (found,) = [c for c in outcome.summary.communities if c.topic == topic.name]
    return found


def assert_all_received(outcome: VirtualOutcome) -> None:
    for community in outcome.summary.communities:
        assert (community.reception, community.reliability) == (1.0, 1.0)
        assert (community.lost, community.parasites) == (0, 0)


# -- calm --------------------------------------------------------------------------------------


def test_calm() -> None:
    """Certain with sponsors and p_sel = 1: nobody is missed, and every number adds up."""
    outcome = run_scenario(scenario())
    assert_all_received(outcome)
    assert (outcome.joined, outcome.unpublished, outcome.summary.crashed) == (30, 0, 0)
    assert (outcome.lost_copies, outcome.undeliverable, outcome.summary.dead_entries) == (0, 0, 0)
    assert outcome.summary.events == 20
    assert outcome.summary.deliveries == 20 * (30 - 1)
    assert [community.processes for community in outcome.summary.communities] == [6, 24]
    assert outcome.virtual_seconds == pytest.approx(30 * 0.02 + 6 + 20)
    assert of(outcome, A).upward_messages > 0
    assert of(outcome, ROOT).upward_messages == 0
    assert outcome.as_json()["summary"]["events"] == 20


def test_who_is_in_several_communities_counts_in_each() -> None:
    """A topic with two super-topics, and processes in both of two levels: by all the records."""
    left, right, both = map(Topic.parse, (".l", ".r", ".x"))
    several = scenario(
        communities={ROOT: 4, left: 5, right: 5, both: 6},
        processes=(
            Processes(topics=(left, both), count=3),
            Processes(topics=(ROOT, right), count=2),
        ),
        topics={both: DeclaredTopic(below=(left, right))},
        workload=Workload(topic=both, events=10, rate=2),
    )
    sink = ListSink()
    outcome = run_scenario(several, sink)
    assert_all_received(outcome)
    assert outcome.joined == 4 + 5 + 5 + 6 + 3 + 2
    assert [community.processes for community in outcome.summary.communities] == [6, 8, 7, 9]
    assert of(outcome, both).upward_messages > 0
    assert of(outcome, both).predicted is None  # the model is one of chains
    reading = Reading(includes=several.super_topics.includes)
    for record in sink.records:
        take(record, reading)
    reading.table_changes.sort(key=lambda change: change[0])
    assert summarise(reading, several) == outcome.summary
    assert run_scenario(several) == outcome  # also without a trace


@pytest.mark.parametrize("protocol", ["multicast", "percolation"])
def test_protocols_that_share_groups_count_by_community_as_well(protocol: str) -> None:
    left, right = map(Topic.parse, (".l", ".r"))
    several = scenario(
        communities={ROOT: 3, left: 4, right: 4},
        processes=(Processes(topics=(left, right), count=3),),
        workload=Workload(topic=right, events=5, rate=2),
        protocol=protocol,
    )
    sink = ListSink()
    outcome = run_scenario(several, sink)
    found = [(c.topic, c.processes, c.reception) for c in outcome.summary.communities]
    assert found == [(".", 3, 1.0), (".l", 7, None), (".r", 7, 1.0)]
    reading = Reading()
    for record in sink.records:
        take(record, reading)
    again = summarise(reading, several).communities
    assert [(c.topic, c.processes, c.reception) for c in again] == found


@pytest.mark.slow
def test_reception_above_is_what_the_model_predicts() -> None:
    """By default an event may go no further than its community: the root gets it with the
    predicted probability, at 99.9 % (200 events). The SCAMP tables deviate by less than that."""
    workload = Workload(topic=A, events=200, rate=20)
    # the model is of infect and die alone
    first_try = scenario(parameters=Parameters(g=2.0), workload=workload, repair=False)
    outcome = run_scenario(first_try)
    root, own = of(outcome, ROOT), of(outcome, A)
    assert own.reception == 1.0
    predicted = root.predicted or 0.0
    assert 0.7 < predicted < 0.8
    error = Z_999 * sqrt(predicted * (1 - predicted) / 200)
    assert abs((root.reliability or 0) - predicted) <= error


def test_a_prediction_is_made_only_where_the_model_applies() -> None:
    short: dict[str, Any] = {"duration_seconds": 1.0, "workload": Workload(topic=A, events=2)}
    assert of(run_scenario(scenario(**short)), A).predicted is not None
    lossy = scenario(**short, links=Links(loss=0.01))
    assert of(run_scenario(lossy), A).predicted is None


@pytest.mark.parametrize("calm", [True, False])
def test_a_trace_says_the_same_as_the_run_itself(calm: bool, tmp_path: Path) -> None:
    """The trace is read as that of a live run, and summarised by the same measures."""
    crash = Crashes(at_seconds=4, share=0.5, restart_seconds=3)
    ran = scenario() if calm else scenario(crashes=(crash,), links=Links(loss=0.05))
    with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
        outcome = run_scenario(ran, sink)
    read = summarise(read_traces([tmp_path / "trace.jsonl"]), ran, predicted=calm)
    assert read == outcome.summary
    assert run_scenario(ran) == outcome  # also without a trace


# What happens at the end: an event, a crash, a return, a cut.
LAST: list[dict[str, Any]] = [
    {"workload": Workload(topic=A, events=17, rate=2)},
    {"crashes": (Crashes(at_seconds=8, share=0.3),)},
    {"crashes": (Crashes(at_seconds=2, share=0.3, restart_seconds=6),)},
    {"cuts": (Partition(from_seconds=4, until_seconds=8, share=0.5),), "repair": True},
]


@pytest.mark.parametrize("last", LAST, ids=["event", "crash", "return", "cut"])
def test_what_happens_last_is_settled_when_the_run_ends(last: dict[str, Any]) -> None:
    few = {"workload": Workload(topic=A, events=16, rate=2)}
    ran = scenario(**{**few, **last}, duration_seconds=8.0, drain_seconds=12.0)
    outcome = run_scenario(ran)
    assert outcome.summary.lost == outcome.summary.dead_entries == outcome.unpublished == 0
    assert outcome.summary.events == len(ran.publications())
    assert outcome.virtual_seconds == pytest.approx(30 * 0.02 + 6 + 8 + 12)


# What begins within the duration of 8 s, and is over at 14 s.
BEYOND: list[dict[str, Any]] = [
    {"pauses": (Pauses(at_seconds=5, seconds=9, share=0.3),)},
    {"cuts": (Partition(from_seconds=5, until_seconds=14, share=0.5),)},
]


@pytest.mark.parametrize("beyond", BEYOND, ids=["pause", "cut"])
def test_what_ends_after_the_duration_is_settled_too(beyond: dict[str, Any]) -> None:
    """Else what it kept from arriving would be lost in a network that loses nothing."""
    few = Workload(topic=A, events=16, rate=2)
    timed = {"duration_seconds": 8.0, "drain_seconds": 12.0}
    outcome = run_scenario(scenario(**beyond, **timed, workload=few, repair=True))
    assert (outcome.summary.events, outcome.summary.lost, outcome.unpublished) == (16, 0, 0)
    assert outcome.virtual_seconds == pytest.approx(30 * 0.02 + 6 + 14 + 12)


@pytest.mark.slow
def test_who_would_return_after_the_window_does_not() -> None:
    crash = Crashes(at_seconds=19, share=0.5, restart_seconds=2)
    outcome = run_scenario(scenario(crashes=(crash,)))
    assert outcome.joined == 30


def test_who_never_joins_is_counted_and_missed(tmp_path: Path) -> None:
    """A matrix in microseconds: round trips of a minute, and most are not members in time."""
    (tmp_path / "king.csv").write_text("0,90000\n90000,0\n")
    links = Links(latency="matrix", file=tmp_path / "king.csv")
    few = Workload(topic=A, events=2, rate=2)
    ran = scenario(communities={ROOT: 3, A: 6}, discovery="own", links=links, workload=few)
    outcome = run_scenario(ran)
    assert outcome.joined + outcome.never_joined == 9
    assert outcome.never_joined > 0
    whole = outcome.summary.deliveries + outcome.summary.lost
    assert (outcome.reception_of_all or 0) < outcome.summary.deliveries / max(1, whole) or not whole
    for community, size in ((of(outcome, ROOT), 3), (of(outcome, A), 6)):
        assert community.processes + community.never_joined == size
        assert community.lost_outside == outcome.summary.events * community.never_joined
    everybody = run_scenario(scenario(workload=few))
    assert (everybody.never_joined, everybody.reception_of_all) == (0, 1.0)


def test_a_run_that_is_settled_before_its_end_goes_on_for_no_longer() -> None:
    few = Workload(topic=A, events=5, rate=2)
    outcome = run_scenario(scenario(workload=few))
    assert outcome.virtual_seconds == pytest.approx(30 * 0.02 + 6 + 20)


def test_progress_is_told_of() -> None:
    told: list[tuple[float, float]] = []
    outcome = run_scenario(
        scenario(duration_seconds=10.0), on_progress=lambda now, end: told.append((now, end))
    )
    assert [now for now, _ in told] == sorted(now for now, _ in told)
    assert len(told) > 100
    assert {end for _, end in told} == {told[-1][0]} == {outcome.virtual_seconds}


def test_events_without_anybody_to_publish_them_are_counted() -> None:
    outcome = run_scenario(scenario(crashes=(Crashes(at_seconds=5.2, share=1.0, community=A),)))
    assert outcome.summary.events == 11  # at 0, 0.5, … 5 s
    assert outcome.unpublished == 9
    assert of(outcome, A).processes == 0
    assert of(outcome, ROOT).processes == 6


def published_by(**changes: Any) -> dict[str, list[str]]:
    """Run a workload of two named publishers, and return which nodes published for each."""

    def load(_workload: Workload) -> list[Publication]:
        return [
            Publication(number / 2, (A,), name.encode(), name)
            for number in range(20)
            for name in ("jan", "ann")
        ]

    by: defaultdict[str, list[str]] = defaultdict(list)
    sink = ListSink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workload, "load", load)
        run_scenario(scenario(**changes), sink)
    for number, record in enumerate(r for r in sink.records if r.kind == "publish"):
        by["jan" if number % 2 == 0 else "ann"].append(record.node)
    return by


@pytest.mark.slow
def test_a_named_publisher_is_the_same_process_as_long_as_it_lives() -> None:
    by = published_by()
    assert [len(set(nodes)) for nodes in by.values()] == [1, 1]
    by = published_by(crashes=(Crashes(at_seconds=4.75, share=0.9, community=A),))
    assert len(by["jan"]) == len(by["ann"]) == 20
    for nodes in by.values():
        assert len(set(nodes[:10])) == len(set(nodes[10:])) == 1
    assert any(nodes[9] != nodes[10] for nodes in by.values())


@pytest.mark.slow
def test_without_a_name_anybody_of_the_community_publishes() -> None:
    sink = ListSink()
    run_scenario(scenario(workload=Workload(topic=A, events=50, rate=10)), sink)
    nodes = [record.node for record in sink.records if record.kind == "publish"]
    members = {r.node for r in sink.records if r.kind == "join" and r.community == A.name}
    assert set(nodes) <= members
    assert len(set(nodes)) > 12  # of 24; fewer is one seed in 10^9


# -- crashes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "at_least"),
    [
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.3, 0.99), (0.5, 0.94))),
        (0.8, 0.6),
    ],
)
def test_crashes(share: float, at_least: float) -> None:
    """G4 without recovery: survivors miss some events until the tables mend.

    Over seeds 0 to 99 the reception was 1.000, 0.998 and 0.825 in the mean; with the last share it
    was below 0.6 in 4 of them (0.836 and 1 of 100 when SCAMP sent heartbeats of its own).
    """
    outcome = run_scenario(
        scenario(communities={A: 30}, crashes=(Crashes(at_seconds=5, share=share),), seed=3)
    )
    survivors = 30 - round(30 * share)
    assert outcome.summary.crashed == 30 - survivors
    assert (of(outcome, A).processes, outcome.joined, outcome.unpublished) == (survivors, 30, 0)
    assert outcome.summary.dead_entries == 0
    assert outcome.undeliverable > 0
    assert (of(outcome, A).reception or 0) >= at_least
    assert of(outcome, A).parasites == 0


def test_a_table_names_the_dead_until_silence_tells_of_them() -> None:
    """And the summary counts those entries."""
    crash = Crashes(at_seconds=5, share=0.5)
    few = Workload(topic=A, events=5, rate=1)
    early = run_scenario(
        scenario(crashes=(crash,), duration_seconds=6.0, drain_seconds=1.0, workload=few)
    )
    late = run_scenario(scenario(crashes=(crash,), duration_seconds=5 + VERDICT, workload=few))
    assert early.summary.dead_entries > 30  # half of the 15 survivors' tables of some 8 to 14
    assert late.summary.dead_entries == 0


def test_the_census_names_the_living_and_the_stillborn() -> None:
    """Nobody is sent to those who crashed; that others are sent to the stillborn is their use."""
    crashed = _Run(scenario(crashes=(Crashes(at_seconds=1, share=0.5),)), None)
    crashed.run(None)
    known = crashed._directory.draw(A, 99) + crashed._directory.draw(ROOT, 99)
    assert {c.peer for c in known} == {process.me.peer for process in crashed._network}
    stillborn = _Run(scenario(stillborn=0.5), None)
    stillborn.run(None)
    assert len(stillborn._directory.draw(A, 99)) == 24
    assert len(stillborn._network.processes) < 24


@pytest.mark.slow
@pytest.mark.parametrize("identity", ["same", "new"])
def test_restarts(identity: Literal["same", "new"]) -> None:
    """All are members again, no table names a former life, and late events reach everybody."""
    sink = ListSink()
    crash = Crashes(at_seconds=3, share=0.4, restart_seconds=2, identity=identity)
    outcome = run_scenario(scenario(crashes=(crash,)), sink)
    assert [c.processes for c in outcome.summary.communities] == [6, 24]
    assert (outcome.summary.crashed, outcome.joined) == (12, 42)
    assert outcome.summary.dead_entries == 0
    nodes = {record.node for record in sink.records if record.kind == "join"}
    assert len(nodes) == (30 if identity == "same" else 42)
    late = [r.event for r in sink.records if r.kind == "publish" and r.when > 6.6 + 5 + 3]
    assert len(late) >= 2
    for event in late:
        assert sum(r.kind == "deliver" and r.event == event for r in sink.records) == 30
    delivered = [(r.node, r.event) for r in sink.records if r.kind == "deliver"]
    assert len(delivered) == len(set(delivered))


@pytest.mark.slow  # restarts are looked at in every run
def test_a_restart_may_be_immediate() -> None:
    crash = Crashes(at_seconds=3, share=1.0, restart_seconds=0, identity="same")
    outcome = run_scenario(scenario(crashes=(crash,)))
    assert (outcome.summary.crashed, outcome.joined) == (30, 60)
    assert [c.processes for c in outcome.summary.communities] == [6, 24]


@pytest.mark.slow  # 1 s; restarts are looked at in every run
def test_rolling_restarts() -> None:
    """Every two seconds a fifth is taken down for a second; who is up goes on receiving."""
    rolling = tuple(Crashes(at_seconds=at, share=0.2, restart_seconds=1) for at in range(1, 12, 2))
    # a verdict on the last of the dead takes ten seconds
    outcome = run_scenario(scenario(crashes=rolling, duration_seconds=22.0))
    assert outcome.summary.crashed == outcome.joined - 30 == 36
    assert [c.processes for c in outcome.summary.communities] == [6, 24]
    assert outcome.summary.dead_entries == 0


@pytest.mark.parametrize(
    "seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, *range(3, 15)))]
)
def test_the_stillborn(seed: int) -> None:
    """They are announced, so that others are sent to them; all others become members.

    With seeds 2 to 4 the founder of a community is stillborn. Of seeds 1 to 150 none loses events.
    With six seconds to settle, 8 did: whose contacts are all dead has nobody to ask about them, and
    learns it after 15 seconds.
    """
    outcome = run_scenario(scenario(stillborn=0.4, seed=seed, settle_seconds=25.0))
    living = sum(community.processes for community in outcome.summary.communities)
    assert abs(living - 18) <= Z_999 * sqrt(30 * 0.4 * 0.6)
    assert outcome.joined == living + outcome.summary.crashed
    assert outcome.summary.crashed <= 2  # a founder is a member at once, and then dies
    assert outcome.undeliverable > 0
    assert outcome.unpublished == 0
    assert of(outcome, A).reception == 1.0


def test_all_are_stillborn() -> None:
    outcome = run_scenario(scenario(stillborn=1.0))
    assert [c.processes for c in outcome.summary.communities] == [0, 0]
    assert (outcome.unpublished, outcome.summary.events) == (20, 0)


# -- pauses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("repair", [pytest.param(False, marks=pytest.mark.slow), True])
def test_pauses(repair: bool) -> None:
    """Who stands still gets what was sent to it meanwhile, and what was not, by repair."""
    outcome = run_scenario(
        scenario(
            pauses=(Pauses(at_seconds=2, seconds=15, share=0.5, community=A),),
            workload=Workload(topic=A, events=30, rate=2),
            duration_seconds=30.0,
            repair=repair,
        )
    )
    assert (outcome.summary.events, outcome.summary.crashed) == (30, 0)
    assert of(outcome, ROOT).lost == 0 or not repair
    assert (of(outcome, A).lost == 0) is repair
    assert (outcome.latency_ms_p99 or 0) > 1000  # what waited


def test_who_dies_while_it_stands_still_does_no_more() -> None:
    outcome = run_scenario(
        scenario(
            pauses=(Pauses(at_seconds=2, seconds=3, share=1.0, community=A),),
            crashes=(Crashes(at_seconds=4.75, share=1.0, community=A),),
        )
    )
    assert outcome.summary.crashed == 24
    assert outcome.summary.events == 4  # before the pause; nobody is there to publish the others
    assert of(outcome, ROOT).processes == 6


# -- what can no longer be had -----------------------------------------------------------------


def test_what_can_no_longer_be_had_is_told() -> None:
    """A cut longer than the retention: all that was published in it is told, or it is there."""
    sink = ListSink()
    outcome = run_scenario(
        scenario(
            communities={A: 12},
            workload=Workload(topic=A, events=60, rate=2),
            parameters=CommunitySettings(retention_seconds=10),
            cuts=(Partition(from_seconds=5, until_seconds=25, share=0.25),),
            duration_seconds=60.0,
            repair=True,
        ),
        sink,
    )
    summary = outcome.summary
    assert summary.lost == summary.lost_told > 0
    told = [record for record in sink.records if record.kind == "missed"]
    assert sum(record.size for record in told) == summary.told_missed >= summary.lost_told
    reading = Reading()
    for record in sink.records:
        take(record, reading)
    again = summarise(reading, scenario(communities={A: 12}))
    assert (again.lost, again.lost_told) == (summary.lost, summary.lost_told)
    assert again.told_missed == summary.told_missed


# -- cuts --------------------------------------------------------------------------------------


@pytest.mark.slow  # the law of repair has such cuts in every run
def test_a_cut_may_be_there_from_the_start() -> None:
    """Two communities are founded, and merge when it is healed."""
    begins = scenario(
        communities={A: 20},
        discovery="gateways",
        cuts=(Partition(from_seconds=-100, until_seconds=3, share=0.5),),
        workload=Workload(topic=A, events=10, rate=0.5),
        duration_seconds=40.0,
    )
    outcome = run_scenario(begins)
    assert outcome.lost_copies > 0
    assert outcome.joined == 20
    assert of(outcome, A).processes == 20


@pytest.mark.slow  # 1 s; cuts of halves are looked at in every run
def test_who_is_on_neither_side_of_a_cut_reaches_both() -> None:
    cut = Partition(from_seconds=0, until_seconds=20, share=0.3, other_share=0.3)
    halves = attrs.evolve(cut, other_share=None)
    apart, cut_through = run_scenario(scenario(cuts=(cut,))), run_scenario(scenario(cuts=(halves,)))
    assert of(apart, A).lost == 0
    assert of(cut_through, A).lost > 0


@pytest.mark.parametrize("gateway", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_gateway_may_crash_as_well(gateway: bool) -> None:
    crash = Crashes(at_seconds=3, share=0.2, gateway=gateway)
    run = _Run(scenario(discovery="gateways", crashes=(crash,)), None)
    run.run(None)
    assert run._gateway is not None
    assert run._gateway.alive is not gateway


def graph_at(records: list[TraceRecord], when: float) -> Graph:
    """Return who held whom at a time, from the trace."""
    graph: Graph = {}
    for record in records:
        if record.when > when:
            break
        view = graph.setdefault(record.node, set())
        if record.kind == "learn":
            view.add(record.peer)
        elif record.kind == "forget":
            view.discard(record.peer)
        elif record.kind == "crash":
            del graph[record.node]
    return graph


def test_a_partition_of_halves_heals() -> None:
    """G6: one component within two probe periods of the healing; events before and after it
    reach all. While it lasts, the halves know nothing of each other."""
    sink = ListSink()
    begins, ends = 5.0, 5.0 + VERDICT + 4.0
    outcome = run_scenario(
        scenario(
            communities={A: 30},
            workload=Workload(topic=A, events=2, rate=1 / 36),
            duration_seconds=40.0,
            cuts=(Partition(from_seconds=begins, until_seconds=ends, share=0.5),),
        ),
        sink,
    )
    start = 30 * 0.02 + 6
    assert strongly_connected(graph_at(sink.records, start + begins))
    halves = graph_at(sink.records, start + ends)
    assert not strongly_connected(halves)
    one = {*halves[min(halves)], min(halves)}
    for _ in range(4):
        one |= {peer for node in one for peer in halves[node]}
    assert len(one) == 15
    assert strongly_connected({node: halves[node] for node in one})
    assert strongly_connected(graph_at(sink.records, start + ends + 2 * PROBE))
    assert outcome.lost_copies > 0
    assert_all_received(outcome)


@pytest.mark.slow  # halves are looked at in every run
def test_while_a_partition_lasts_events_stay_on_their_side() -> None:
    """None crosses, and with this seed none is missed on its side.

    It begins while processes still join, and sponsors may be on the other side: with 3 of the
    seeds 0 to 19 one or two deliveries are missed.
    """
    outcome = run_scenario(
        scenario(
            communities={A: 30},
            seed=1,
            cuts=(Partition(from_seconds=0.25, until_seconds=30, share=0.5),),
        )
    )
    assert of(outcome, A).reception == pytest.approx((29 + 19 * 14) / (20 * 29))
    assert of(outcome, A).reliability == 1 / 20


def test_a_community_set_apart() -> None:
    """The root is cut off: nothing climbs to it, and everything again as soon as it is healed.

    Without repair, which brings what did not climb.
    """
    cut = Partition(from_seconds=0.25, until_seconds=4.75, communities=(ROOT,))
    outcome = run_scenario(scenario(cuts=(cut,), repair=False))
    assert of(outcome, A).reliability == 1.0
    assert of(outcome, ROOT).reception == 11 / 20


@pytest.mark.slow  # 1 s; loss both ways is looked at in every run
def test_one_way_loss() -> None:
    """From half of the processes 30 % is lost, to them nothing: redundancy makes up for it.

    Over seeds 0 to 99 all but one had a reception of 1, and that one 0.95.
    """
    cut = Partition(from_seconds=0, until_seconds=20, share=0.5, one_way=True, loss=0.3)
    outcome = run_scenario(scenario(communities={A: 30}, cuts=(cut,)))
    two_way = attrs.evolve(cut, one_way=False)
    both = run_scenario(scenario(communities={A: 30}, cuts=(two_way,)))
    assert outcome.lost_copies > 1000
    assert both.lost_copies > 1.5 * outcome.lost_copies
    assert (of(outcome, A).reception or 0) >= 0.94


@pytest.mark.parametrize(
    ("loss", "at_least"),
    [
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.01, 1.0), (0.1, 0.998))),
        (0.3, 0.92),
    ],
)
def test_loss_everywhere(loss: float, at_least: float) -> None:
    """As much is lost as was asked for, at 99.9 %; over seeds 0 to 99 the reception never was
    below 1, 0.998 and 0.925 (in the mean 1.000, 1.000 and 0.988)."""
    outcome = run_scenario(scenario(communities={A: 30}, links=Links(loss=loss)))
    expected = loss * outcome.records_sent
    assert abs(outcome.lost_copies - expected) <= Z_999 * sqrt(expected * (1 - loss))
    assert (of(outcome, A).reception or 0) >= at_least


# -- links -------------------------------------------------------------------------------------


@pytest.mark.slow  # one that crashes is looked at in every run
def test_through_gateways() -> None:
    """One process more, which is in no community and delivers nothing."""
    sink = ListSink()
    outcome = run_scenario(scenario(discovery="gateways"), sink)
    assert_all_received(outcome)
    assert outcome.joined == 30
    assert len({record.node for record in sink.records if record.kind == "deliver"}) == 30


@pytest.mark.slow  # 1 s; restarts are looked at in every run
def test_through_gateways_all_come_back() -> None:
    crash = Crashes(at_seconds=3, share=0.5, restart_seconds=1)
    outcome = run_scenario(scenario(discovery="gateways", crashes=(crash,)))
    assert [c.processes for c in outcome.summary.communities] == [6, 24]
    assert outcome.summary.dead_entries == 0


def test_constant_latency_is_seen_in_the_deliveries() -> None:
    outcome = run_scenario(scenario(links=Links(seconds=0.1)))
    own = of(outcome, A)
    assert own.latency_ms_p50 in (pytest.approx(100), pytest.approx(200))
    assert 1 <= (own.hops_mean or 0) <= 3


@pytest.mark.slow  # the sums of a matrix are looked at in every run
def test_lognormal_latency() -> None:
    outcome = run_scenario(scenario(links=Links(latency="lognormal")))
    assert_all_received(outcome)
    own = of(outcome, A)
    assert 30 < (own.latency_ms_p50 or 0) < 2 * 67.5 < (own.latency_ms_p99 or 0)


def test_matrix_latency(tmp_path: Path) -> None:
    """Two sites, 10 ms apart one way, 1 ms within: every latency is a sum of such hops."""
    (tmp_path / "m.csv").write_text("2,20\n20,2\n", "utf-8")
    links = Links(latency="matrix", file=tmp_path / "m.csv")
    outcome = run_scenario(scenario(links=links))
    assert_all_received(outcome)
    p50 = of(outcome, A).latency_ms_p50 or 0
    sums = [10 * across + within for across in range(4) for within in range(10)]
    assert min(abs(p50 - each) for each in sums) < 1e-5  # the matrix has single precision


def test_duplicates_and_reordering() -> None:
    """Delivered once all the same; the network carries copies that nobody sent, a Binomial."""
    links = Links(duplication=0.05, reordering=0.2)
    doubled = run_scenario(scenario(communities={A: 16}, links=links))
    plain = run_scenario(scenario(communities={A: 16}))
    assert_all_received(doubled)
    assert doubled.summary.deliveries == plain.summary.deliveries == 20 * 15
    unsent = [of(o, A).duplicates + o.summary.deliveries - o.event_copies for o in (plain, doubled)]
    expected = 0.05 * doubled.event_copies
    assert unsent[0] == 0
    assert abs(unsent[1] - expected) <= Z_999 * sqrt(expected * 0.95)


# -- churn -------------------------------------------------------------------------------------

SESSIONS = [  # node, up and down in minutes; None: before the trace, or after it
    *((f"always{n}", None, None) for n in range(10)),
    ("leaves", 0, 2),
    ("comes", 2, None),
    ("returns", 0, 2),
    ("returns", 3, 4),
    ("returns", 4, 5),  # down and up in one moment
    ("early", 0, 1),  # before the window
    ("late", 9, None),  # after it
    ("end", 9, 10),
]


def window(file: Path, **more: Any) -> Churn:
    """The trace from a minute on."""
    return Churn(file=file, from_seconds=60.0, **more)


def churn_csv(path: Path) -> Path:
    file = path / "up.csv"
    rows = [f"{n},{'' if u is None else u},{'' if d is None else d}" for n, u, d in SESSIONS]
    file.write_text("\n".join(["node,up_minute,down_minute", *rows, ""]), "utf-8")
    return file


def churned(churn: Churn, **changes: Any) -> VirtualScenario:
    workload = Workload(topic=A, events=60, rate=0.2)
    fields = {"communities": {A: 20}, "workload": workload, "duration_seconds": 300.0}
    return scenario(churn=churn, **(fields | changes))


@pytest.mark.slow
def test_churn(tmp_path: Path) -> None:
    """At 60 s of the trace 12 are up; 1 comes, 1 leaves, 1 returns twice and goes at the end."""
    sink = ListSink()
    outcome = run_scenario(churned(window(churn_csv(tmp_path))), sink)
    start = 12 * 0.02 + 6.0
    crashes = [r.when - start for r in sink.records if r.kind == "crash"]
    joins = [r.when - start for r in sink.records if r.kind == "join"]
    assert crashes == pytest.approx([60, 60, 180, 240])
    assert sum(join < 0 for join in joins) == 12
    assert [join for join in joins if join > 0] == pytest.approx([60, 120, 180], abs=2.0)
    assert (outcome.joined, outcome.summary.crashed, outcome.unpublished) == (15, 4, 0)
    assert of(outcome, A).processes == 11
    assert of(outcome, A).reception == 1.0
    assert outcome.summary.dead_entries == 0
    assert len({record.node for record in sink.records if record.kind == "join"}) == 15


@pytest.mark.slow  # 2 s; churn is looked at in every run
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_jitter_keeps_the_order_of_each_node(seed: int, tmp_path: Path) -> None:
    """Whatever the jitter, who is down at the end of the trace is down, and who is up is up; who
    returns with the same identity is not another node."""
    churn = window(churn_csv(tmp_path), jitter_seconds=30.0, identity="same")
    sink = ListSink()
    outcome = run_scenario(churned(churn, seed=seed), sink)
    assert (of(outcome, A).processes, outcome.joined) == (11, 15)
    assert len({record.node for record in sink.records if record.kind == "join"}) == 13
    start = 12 * 0.02 + 6.0
    crashes = [r.when - start for r in sink.records if r.kind == "crash"]
    assert len(crashes) == 4
    assert all(
        at <= crash <= at + 30 for crash, at in zip(crashes, [60, 60, 180, 240], strict=True)
    )
    assert crashes[0] != crashes[1]


def test_churn_takes_as_many_nodes_as_there_are_processes(tmp_path: Path) -> None:
    churn = window(churn_csv(tmp_path))
    outcome = run_scenario(churned(churn, communities={ROOT: 2, A: 3}))
    assert sum(c.processes for c in outcome.summary.communities) <= 5


@pytest.mark.slow
def test_churn_spreads_nodes_over_the_communities_by_their_sizes(tmp_path: Path) -> None:
    """40 nodes, a quarter of them at the root: binomial, at 99.9 %."""
    rows = "\n".join(f"n{n},," for n in range(39))
    (tmp_path / "many.csv").write_text(f"node,up_minute,down_minute\n{rows}\nn39,0,10\n", "utf-8")
    churn = Churn(file=tmp_path / "many.csv")
    few = Workload(topic=A, events=2, rate=1)
    sizes = {ROOT: 10, A: 30}
    outcome = run_scenario(churned(churn, communities=sizes, duration_seconds=10.0, workload=few))
    assert abs(of(outcome, ROOT).processes - 10) <= Z_999 * sqrt(40 * 0.25 * 0.75)
    assert sum(c.processes for c in outcome.summary.communities) == 40


@pytest.mark.slow  # 1 s; churn is looked at in every run
@pytest.mark.parametrize("restart_seconds", [pytest.param(1.0, marks=pytest.mark.slow), 100.0])
def test_crashes_upon_churn(tmp_path: Path, restart_seconds: float) -> None:
    """All crash, and start again before or after the trace has some of them come and go."""
    crash = Crashes(at_seconds=50, share=1.0, restart_seconds=restart_seconds)
    churn = window(churn_csv(tmp_path))
    outcome = run_scenario(churned(churn, crashes=(crash,)))
    assert outcome.summary.crashed >= 12
    # "leaves" crashed at 50 s, departed in the trace at 60 s, and is started again in 150 s
    assert of(outcome, A).processes == (11 if restart_seconds == 1.0 else 12)


# -- invariants --------------------------------------------------------------------------------


def test_a_breach_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A membership with a bug: who is held does not know of it."""
    monkeypatch.setattr(Scamp, "in_view", lambda _scamp: [])
    with pytest.raises(InvariantError, match="does not know of it"):
        run_scenario(scenario(communities={A: 5}, symmetry_seconds=10.0))


def test_symmetry_is_not_asked_for_where_copies_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scamp, "in_view", lambda _scamp: [])
    run_scenario(scenario(communities={A: 5}, links=Links(loss=1e-9)))
    run_scenario(scenario(communities={A: 5}, symmetry_seconds=21.0))  # nor without the time


def test_parasites_and_repetitions_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    networks: list[VirtualNetwork] = []

    class Spied(VirtualNetwork):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            networks.append(self)

    monkeypatch.setattr(scenario_run, "VirtualNetwork", Spied)

    def twice(_now: float, _end: float) -> None:
        process = next(iter(networks[0]), None)
        if process is not None:
            process.node.counters.parasites += 1

    with pytest.raises(InvariantError, match="not part of"):
        run_scenario(scenario(), on_progress=twice)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "seed"), [(0.3, 0), (0.8, 1)])
def test_crashes_of_one_hundred(share: float, seed: int) -> None:
    """Survivors are one component again, and after two probe periods receive everything."""
    sink = ListSink()
    outcome = run_scenario(
        scenario(
            seed=seed,
            communities={A: 100},
            workload=Workload(topic=A, events=3, rate=1 / 24),
            duration_seconds=50.0,
            crashes=(Crashes(at_seconds=5, share=share),),
        ),
        sink,
    )
    assert outcome.summary.dead_entries == 0
    assert strongly_connected(graph_at(sink.records, outcome.virtual_seconds))
    assert of(outcome, A).reception == 1.0


def strangers_found(
    membership: str, sink: ListSink | None = None, **changes: Any
) -> VirtualOutcome:
    return run_scenario(
        VirtualScenario(
            communities={ROOT: 3, A: 9},
            membership=membership,
            workload=Workload(topic=A, events=5, rate=2),
            settle_seconds=3.0,
            duration_seconds=4.0,
            **changes,
        ),
        sink,
    )


def test_each_membership_finds_strangers_as_it_does_live() -> None:
    """Datagrams of Kademlia flow for hybrid, frames to the gateway for scamp."""
    hybrid, scamp = strangers_found("hybrid"), strangers_found("scamp")
    assert hybrid.digest == strangers_found("hybrid", discovery="own").digest != scamp.digest
    assert (scamp.datagrams, scamp.datagram_bytes) == (0, 0)
    # Each process makes a call and answers one to be known to 11 others, of 60 bytes and more.
    assert hybrid.datagrams > 12 * 2
    assert hybrid.datagram_bytes > hybrid.datagrams * 60
    assert (hybrid.joined, hybrid.summary.worst_reception) == (12, 1.0)


def test_with_an_ideal_directory_hybrid_is_scamp() -> None:
    """Their frames differ in the byte that says which membership they are of, and in no other."""
    sinks = ListSink(), ListSink()
    hybrid, scamp = (
        strangers_found(name, sink, discovery="census")
        for name, sink in zip(("hybrid", "scamp"), sinks, strict=True)
    )
    assert sinks[0].records == sinks[1].records
    assert attrs.evolve(hybrid, digest=scamp.digest) == scamp
    assert hybrid.datagrams == 0


@pytest.mark.slow  # the laws of repair and the replay have the package in the virtual network, too
@pytest.mark.parametrize("membership", ["dht", "hybrid"])
def test_kademlia_in_the_virtual_network(membership: str) -> None:
    """The package as it is, on virtual time: 25 processes, 2 % loss, a fifth crash and return;
    every event comes to all of its community who were alive throughout, what a newcomer published
    before it knew anybody included: repair brings that."""
    scenario = VirtualScenario(
        communities={ROOT: 5, Topic.parse(".d"): 20},
        membership=membership,
        discovery="kademlia",
        join_gap_seconds=0.2,
        settle_seconds=15.0,
        duration_seconds=30.0,
        parameters=Parameters(g=10, a=3),
        repair=True,
        links=Links(latency="lognormal", loss=0.02),
        workload=Workload(topic=Topic.parse(".d"), events=20, rate=1.0),
        crashes=(Crashes(at_seconds=5.0, share=0.2, restart_seconds=5.0),),
    )
    outcome = run_scenario(scenario)
    assert outcome.joined == 25 + 5
    assert outcome.summary.parasites == 0
    for community in outcome.summary.communities:
        assert (community.reception, community.lost) == (1.0, 0)
    assert run_scenario(scenario).digest == outcome.digest
