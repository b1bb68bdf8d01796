"""How the options of an experiment change a scenario."""

from camcast.research.cli.experiment import ExperimentOptions
from camcast.research.cli.system_options import ParameterOptions
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.topics import ROOT
from tests.camcast_command import Capture, camcast


def test_the_processes_and_the_share_that_is_killed_change_together() -> None:
    scenario = Scenario(communities={ROOT: 4}, workload=Workload(topic=ROOT), workers=1)
    killing = ExperimentOptions(processes=4).over(scenario, kill=0.5)
    assert (killing.workers, killing.victims) == (4, 2)
    assert ExperimentOptions(processes=1).over(killing, kill=0.0).victims == 0


def test_repair_is_no_part_of_the_preset_paper(capfd: Capture) -> None:
    given = ("--sizes", "2,1", "--preset", "paper")
    assert camcast("run", *given, "--repair") == 2
    assert "--preset paper is without repair" in capfd.readouterr().err
    scenario = Scenario(communities={ROOT: 4}, workload=Workload(topic=ROOT))
    assert scenario.repaired
    assert not ParameterOptions(preset="paper").with_preset(scenario).repair
