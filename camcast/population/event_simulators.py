"""The population simulators of the systems that CAMCAST is compared with, by protocol.

Each plays single events, every process by itself, and a run depends on the setting, the seed and
its number alone. Settings and counts are plain JSON between the processes of a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from attrs import frozen

from camcast.population import baselines, hpmcast_addressed, percolation_scamp
from camcast.population import flat as pmcast
from camcast.population.baselines import BaselineSpread
from camcast.population.event_spread import EventSpread, KnownSpread
from camcast.population.flat import FlatSetting
from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.settings.addressed import AddressedSetting
from camcast.settings.baselines import PROTOCOLS as BASELINES
from camcast.settings.baselines import Baseline
from camcast.settings.scamp_graph import ScampOverlay


@frozen
class EventSimulator:
    """How the events of a system are simulated."""

    simulate: Callable[[Any, int, int, int], EventSpread]
    """(setting, runs, seed, first run) -> counts. Raises `SettingError` for too many processes."""
    setting: Callable[..., Any]
    """Makes the setting from its fields, as JSON gives them back."""
    spread: type[EventSpread]
    cell_processes: int
    """How many processes are some seconds of work."""


def _flat(setting: FlatSetting, runs: int, seed: int, first_run: int) -> EventSpread:
    return pmcast.simulate(setting, runs, seed, first_run).events


def _addressed(hierarchy: Mapping[str, int], **fields: Any) -> AddressedSetting:
    return AddressedSetting(hierarchy=Hierarchy(**hierarchy), **fields)


_FLAT: Final = EventSimulator(_flat, FlatSetting, EventSpread, 2_000_000)

# chosen: processes of a cell; on a 2.5 GHz core three to ten seconds
SIMULATORS: Final[Mapping[str, EventSimulator]] = {
    **dict.fromkeys(
        BASELINES, EventSimulator(baselines.simulate, Baseline, BaselineSpread, 5_000_000)
    ),
    "rfpbcast": _FLAT,
    "pmcast": _FLAT,
    "hpmcast": EventSimulator(hpmcast_addressed.simulate, _addressed, KnownSpread, 5_000_000),
    "percolation": EventSimulator(percolation_scamp.simulate, ScampOverlay, KnownSpread, 500_000),
}


def cells(protocol: str, setting: Any, runs: int, seed: int) -> list[dict[str, Any]]:
    """Return the runs of a setting as cells of a sweep, which `simulate_cell` computes."""
    size = max(1, SIMULATORS[protocol].cell_processes // setting.processes)
    return [
        {
            "protocol": protocol,
            "setting": attrs.asdict(setting),
            "runs": min(size, runs - first),
            "seed": seed,
            "first_run": first,
        }
        for first in range(0, runs, size)
    ]


def simulate_cell(given: Mapping[str, Any]) -> dict[str, list[float]]:
    """Compute a cell; the results are what `joined` puts together."""
    simulator = SIMULATORS[given["protocol"]]
    setting = simulator.setting(**given["setting"])
    return simulator.simulate(setting, given["runs"], given["seed"], given["first_run"]).counts()


def joined(protocol: str, results: Sequence[Mapping[str, Any]]) -> EventSpread:
    """Put the results of cells together, in the order given."""
    return SIMULATORS[protocol].spread.joined(results)
