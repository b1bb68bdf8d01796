"""Scenario files: a `Scenario` as TOML.

The keys are the fields of `Scenario`, those of the tables the fields of `Workload` and
`Parameters`, the membership's options, and topics with their sizes::

    seed = 1
    processes = 2
    [communities]
    "." = 7
    ".soccer" = 30
    [workload]
    topic = ".soccer"
    events = 200
    rate = 50
    [parameters]
    p_sel = 0.5
    [options]
    c = 2
"""

from __future__ import annotations

from pathlib import Path

import attrs

from camcast.scenarios.communities import ScenarioError
from camcast.scenarios.live import Scenario
from camcast.scenarios.toml_file import TomlError, TomlFile


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; `ScenarioError` names the file, the line, the key, what is wrong."""
    try:
        file = TomlFile(path)
        scenario = file.read(Scenario)
    except TomlError as error:
        raise ScenarioError(str(error)) from None
    return scenario if "name" in file.content else attrs.evolve(scenario, name=path.stem)
