"""The systems that can be simulated, predicted and compared, one record each.

A *system* is a protocol with the parts that experiments need: the class of settings that describes
it (`camcast.research.systems`), its simulators (`camcast.research.population`,
`camcast.research.simulation`), its model (`camcast.research.models`), and the papers that are about
it. A record names these parts as ``module:object``, and a part is imported when it is used: numpy
and numba are optional.

A protocol needs no record to run, live or in the virtual network. To add a system, write the
protocol, a setting (or use one that there is), a simulator and a model, and add a record here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import field, frozen

from camcast.doors.plugs import find_protocol
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:  # numpy is an extra
    from camcast.doors.protocol import Protocol
    from camcast.research.population.outcome import Outcome
    from camcast.research.systems.camcast.setting import Setting

CAMCAST: Final = "camcast"
CELL_RUNS_MAX: Final = 5_000  # chosen: about 1 MB of results of a cell
CELLS_MAX: Final = 100_000  # chosen: 200 MB; a wrong number of runs is found before it fills memory


@frozen
class Simulator:
    """A simulator of a system's events."""

    simulate: str
    """(setting, runs, seed, first run) -> `Outcome`; run r depends on the setting, the seed and r.

    Raises `SettingError` for too many processes.
    """
    cell_processes: int
    """How many processes are a cell of a sweep: some seconds of work, so that a kill loses little.

    All numbers of processes are chosen, on a 2.5 GHz core.
    """


Kinds = Mapping[tuple[Topic, ...], int]
"""How many processes are interested in exactly these topics."""
HomeSize = Callable[[Topic], float]
"""Returns how many processes are in the home group of a process with this interest."""


def home_members(protocol: Protocol, kinds: Kinds) -> HomeSize:
    """Return how many processes are in the home group of a process with an interest.

    The groups are those of `Protocol.groups` for one identity, so topics alone must determine them.
    """
    somebody = PeerId(bytes(PEER_ID_BYTES))
    topics = tuple(dict.fromkeys(topic for kind in kinds for topic in kind))
    groups = {topic: protocol.groups(topic, topics, somebody) for topic in topics}
    members: Counter[Topic] = Counter()
    for kind, count in kinds.items():
        for group in dict.fromkeys(group.topic for topic in kind for group in groups[topic]):
            members[group] += count
    return lambda interest: members[protocol.groups(interest, topics, somebody)[0].topic]


def _cluster_members(protocol: Any, kinds: Kinds) -> HomeSize:
    """Return a cluster's share of all processes, as identities divide them."""
    share = sum(kinds.values()) / float(protocol.clusters)
    return lambda _interest: share


@frozen(kw_only=True)
class System:
    """A protocol, and the parts that experiments need."""

    protocol: str
    """The name of the protocol (`camcast.doors.plugs`), and of the system."""
    papers: tuple[str, ...] = ()
    """The papers with tables or figures of it (`research.papers`); the first describes it."""
    setting: str = ""
    """The class of settings, with `of(protocol, chain of communities, options)`, `of_json` for what
    `attrs.asdict` makes of a setting and, for one group, `in_words`."""
    simulators: Mapping[str, Simulator] = field(factory=dict)
    """The simulators by name: `population`; CAMCAST has others."""
    model: str = ""
    """setting -> prediction; raises `SettingError` for a setting that is too large."""
    parameters: tuple[str, ...] = ()
    """The parameters of a community that the system goes by (`camcast.vocabulary.parameters`)."""
    one_table: bool = True
    """Whether a process keeps a table of one group only, which the membership's law is about."""
    home_size: Callable[[Protocol, Kinds], HomeSize] = home_members
    """How many processes the home group of a process has, on average; see `home_members`."""

    def setting_of(self, chain: Setting, given: Mapping[str, object]) -> Any:
        """Describe the system on a chain of communities, with the options that a person chose.

        Raises `SettingError`, and `OptionError` for an option that there is not, or a value out
        of range.
        """
        return resolve_name(self.setting).of(find_protocol(self.protocol), chain, given)

    def predict(self, setting: Any) -> Any:
        """Return what the model says; raises `SettingError` for a setting that is too large."""
        return resolve_name(self.model)(setting)

    def cells(self, simulator: str, setting: Any, runs: int, seed: int) -> list[dict[str, Any]]:
        """Return the runs as cells of a sweep, for `simulate_cell`.

        Raises what is wrong with the setting, and `ImportError` if an extra is missing.
        """
        resolve_name(self.simulators[simulator].simulate)(setting, 0, seed, 0)
        most = self.simulators[simulator].cell_processes // setting.processes
        shared = {
            "protocol": self.protocol,
            "simulator": simulator,
            "setting": attrs.asdict(setting),
        }
        return runs_in_cells(shared, runs, seed, min(most, CELL_RUNS_MAX))


def runs_in_cells(
    shared: Mapping[str, Any], runs: int, seed: int, most: int
) -> list[dict[str, Any]]:
    """Split runs into cells of at most `most`, and at least one; they have `shared` in common.

    Raises `SettingError` for more than `CELLS_MAX` cells.
    """
    size = max(1, most)
    if runs > size * CELLS_MAX:
        raise SettingError(f"{runs:,} runs are too many; give {size * CELLS_MAX:,} or fewer")
    return [
        {**shared, "runs": min(size, runs - first), "seed": seed, "first_run": first}
        for first in range(0, runs, size)
    ]


def simulate_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Compute a cell of `System.cells`; `outcome_of` reads the results. The task of a sweep."""
    system = find_system(cell["protocol"])
    setting = resolve_name(system.setting).of_json(cell["setting"])
    simulate = resolve_name(system.simulators[cell["simulator"]].simulate)
    outcome: Outcome = simulate(setting, cell["runs"], cell["seed"], cell["first_run"])
    return outcome.counts()


def outcome_of(results: Sequence[Any]) -> Outcome:
    """Put the results of cells of one setting together, in the order given."""
    from camcast.research.population.outcome import joined

    return joined(results)


def _baseline(protocol: str, *papers: str, **more: Any) -> System:
    return System(
        protocol=protocol,
        papers=("camcast", *papers),  # [CAMCAST 4.2]
        setting="camcast.research.systems.baselines.setting:Baseline",
        simulators={
            "population": Simulator(
                "camcast.research.systems.baselines.population:simulate", 5_000_000
            )
        },
        model="camcast.research.systems.baselines.model:predict_baseline",
        parameters=("c",),
        **more,
    )


def _flat(protocol: str, **more: Any) -> System:
    return System(
        protocol=protocol,
        setting="camcast.research.systems.flat.setting:FlatSetting",
        simulators={
            "population": Simulator("camcast.research.systems.flat.population:simulate", 2_000_000)
        },
        model="camcast.research.systems.flat.model:predict_flat",
        **more,
    )


SYSTEMS: Final[dict[str, System]] = {
    system.protocol: system
    for system in (
        System(
            protocol=CAMCAST,
            papers=("camcast", "memberships", "damulticast"),
            setting="camcast.research.systems.camcast.setting:Setting",
            # Every process by itself; only how many have the event; the code that ships. They
            # agree in distribution (tests/research/laws/test_simulators_agree.py).
            simulators={
                "population": Simulator(
                    "camcast.research.systems.camcast.population:simulate", 100_000_000
                ),
                "chain": Simulator(
                    "camcast.research.systems.camcast.count_chain:simulate", 1_000_000
                ),
                "virtual": Simulator("camcast.research.simulation.static_network:simulate", 20_000),
            },
            model="camcast.research.systems.camcast.model:predict",
            parameters=("c", "g", "a", "z", "p_sel"),
        ),
        _baseline("broadcast", "damulticast"),  # [daMulticast Tables 1, 2: (2)]
        _baseline("multicast", one_table=False),
        _baseline("hierarchical", one_table=False, home_size=_cluster_members),
        _flat(
            "rfpbcast",
            papers=("hpmcast",),  # [hpmcast 2.1]
        ),
        _flat(
            "pmcast",
            # [hpmcast 2.2; CAMCAST Tables 1, 2: (3) PMcast]
            papers=("hpmcast", "camcast", "damulticast"),
        ),
        System(
            protocol="hpmcast",
            # [hpmcast 5; CAMCAST Tables 1, 2: (3) PMcast]
            papers=("hpmcast", "camcast", "damulticast"),
            setting="camcast.research.systems.hpmcast.setting:AddressedSetting",
            simulators={
                "population": Simulator(
                    "camcast.research.systems.hpmcast.population:simulate", 5_000_000
                )
            },
            model="camcast.research.systems.hpmcast.model:predict_addressed",
        ),
        System(
            protocol="percolation",
            papers=("percolation",),
            setting="camcast.research.systems.percolation.setting:ScampOverlay",
            simulators={
                "population": Simulator(
                    "camcast.research.systems.percolation.population:simulate", 500_000
                )
            },
            model="camcast.research.systems.percolation.model:predict_on_scamp",
        ),
    )
}
"""The systems by the name of their protocol."""


def find_system(name: str) -> System:
    """Return the system of a protocol; for one without a record, a system without these parts.

    Raises `UnknownPlugError` if no protocol has the name.
    """
    find_protocol(name)
    return SYSTEMS.get(name) or System(protocol=name)
