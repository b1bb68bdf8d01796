"""Scenario files of the virtual network: a `VirtualScenario` as TOML, key by key.

The keys are the fields of `camcast.scenarios.virtual.VirtualScenario`, those of its tables
the fields of the classes there, and the membership's options::

    seed = 7
    duration_seconds = 120
    [communities]
    "." = 10
    ".d" = 100
    [links]
    latency = "matrix"
    file = "planetlab.csv"
    loss = 0.01
    [workload]
    topic = ".d"
    events = 100
    rate = 2
    [[crashes]]
    at_seconds = 30
    share = 0.3
    restart_seconds = 20
    [[cuts]]
    from_seconds = 60
    until_seconds = 80
    share = 0.5
"""

from __future__ import annotations

from pathlib import Path

import attrs

from camcast.scenarios.toml_file import TomlFile
from camcast.scenarios.virtual import VirtualScenario


def read_virtual_scenario(path: Path) -> VirtualScenario:
    """Read a scenario file; raises `TomlError`, which names the file, the line and the key."""
    file = TomlFile(path)
    scenario = file.read(VirtualScenario)
    return scenario if "name" in file.content else attrs.evolve(scenario, name=path.stem)
