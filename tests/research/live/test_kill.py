"""Kill -9 of two processes out of five: the others go on."""

import asyncio

import pytest

from camcast.research.experiment.run import Outcome, run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic

pytestmark = (
    pytest.mark.slow
)  # 11 s; half of a live system is killed in every run of tests/library/chaos

LOW = Topic.parse(".low")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    scenario = Scenario(
        communities={ROOT: 15, LOW: 40},
        workload=Workload(topic=LOW, events=440, rate=20),  # 11 s before and 11 s after
        parameters=Parameters(c=5, g=40, a=3, z=3),
        workers=5,
        kill=0.4,
    )
    folder = OutputFolder(tmp_path_factory.mktemp("kill") / "out")
    return asyncio.run(run_experiment(scenario, folder, lambda _progress: None))


def test_two_of_five_died(outcome: Outcome) -> None:
    assert outcome.kill is not None
    assert outcome.kill["processes_killed"] == 2
    assert outcome.kill["nodes_killed"] == outcome.summary.crashed == 22
    assert outcome.parasites == 0


def test_the_others_keep_receiving(outcome: Outcome) -> None:
    assert outcome.kill is not None
    at_once, later = outcome.kill["reception_after"], outcome.kill["reception_after_tables"]
    # half of 440; one at the very moment may come before or after it
    assert outcome.kill["events_after"] == pytest.approx(220, abs=2)
    # 40 % of each table is dead at first: what that costs, repair brings
    assert set(at_once.values()) == set(later.values()) == {1.0}


def test_tables_drop_the_dead_and_return_to_the_law(outcome: Outcome) -> None:
    assert outcome.kill is not None
    views = outcome.kill["views"]
    assert sum(row["dead_entries"] for row in views["1 s after"]) > 0
    assert outcome.kill["dead_entries"] == 0
    for community in outcome.summary.communities:
        assert community.view_mean is not None
        assert community.view_law is not None
        assert abs(community.view_mean / community.view_law - 1) < 0.35  # SCAMP's own slack is 0.25


def test_newcomers_join(outcome: Outcome) -> None:
    assert outcome.kill is not None
    newcomers = outcome.kill["newcomers"]
    assert len(newcomers) == 4
    assert all(newcomer["join_seconds"] is not None for newcomer in newcomers)
