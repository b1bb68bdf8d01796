"""How the options of an experiment change a scenario."""

from camcast.research.cli.experiment import ExperimentOptions
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.topics import ROOT


def test_the_processes_and_the_share_that_is_killed_change_together() -> None:
    scenario = Scenario(communities={ROOT: 4}, workload=Workload(topic=ROOT), workers=1)
    killing = ExperimentOptions(processes=4).over(scenario, kill=0.5)
    assert (killing.workers, killing.victims) == (4, 2)
    assert ExperimentOptions(processes=1).over(killing, kill=0.0).victims == 0
