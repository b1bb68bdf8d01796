"""Sweeps over the simulators: a TOML file and a grid become cells, and results become rows.

The file is a scenario of the virtual network (`camcast.research.scenarios.virtual`) or, if it has
`sizes`, a setting of section 6.1.1 on any of the three simulators::

    simulator = "population"     # or "chain", "virtual"
    sizes = [1000, 100, 10]
    success = 0.85
    crash = 0.3
    [parameters]
    c = 5

Repetition r of a scenario is that of the seed `seed` + r; that of a setting is its run r of the
seed. A cell depends on itself alone, and all points of a grid meet the same weather.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

import attrs
from attrs import field, frozen

from camcast.research.scenarios.toml_file import TomlError, TomlFile
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.sweeps.grid import Axis, GridError, Point, overridden, points
from camcast.research.sweeps.sweep import JSON, Cell
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.registry import CAMCAST, SYSTEMS, simulate_cell
from camcast.vocabulary.parameters import Parameters

VIRTUAL: Final = "virtual"
STATIC: Final = "static"  # the membership of a setting [CAMCAST 6.1.1]: static, uniform tables
CELLS_MAX: Final = 1_000_000  # chosen: a wrong number is found before it fills the memory
SEED_MAX: Final = 2**62  # chosen: that of each repetition fits 64 bits of the dataset
# Of a scenario, what is not of the cell's content: the seed is beside it, the others say nothing.
_APART: Final = ("name", "seed", "simulator")
_OF_THE_NETWORK: Final = (
    *(
        "joined",
        "never_joined",
        "reception_of_all",
        "records_sent",
        "bytes",
        "datagram_bytes",
        "lost_copies",
        "undeliverable",
    ),
    "unpublished",
)
"""The measures of a run besides its summary (`VirtualOutcome`)."""


@frozen(kw_only=True)
class SettingFile:
    """A setting as a TOML file has it: a chain of communities (`systems.camcast.setting`)."""

    simulator: Literal["population", "chain", "virtual"] = "population"
    sizes: tuple[int, ...]
    """Of the communities, the one that the event is published in first, the root last."""
    success: float = 0.85  # [CAMCAST 6.1.1]
    crash: float = 0.0
    weak: bool = False
    seed: int = 1
    parameters: Parameters = field(factory=Parameters)

    def __attrs_post_init__(self) -> None:
        self.setting()  # raises what is wrong with it

    def setting(self) -> Setting:
        """Return the setting; raises `SettingError` or `ValueError`."""
        return Setting(
            communities=chain(self.sizes, self.parameters),
            success=self.success,
            crash=self.crash,
            weak=self.weak,
        )


@frozen
class Row:
    """One measured value."""

    repetition: int
    seed: int
    """The seed with which `camcast simulate` gives the same; of a setting, that of all its runs."""
    community: str
    """A topic, or of a setting the number in the chain from 0; empty: of the whole run."""
    metric: str
    value: float


@frozen
class GridPoint:
    """A point of the grid, and its cells in the order of the repetitions."""

    values: Point
    simulator: str
    protocol: str
    membership: str
    repair: bool | None
    """Whether missed events are asked for (`BaseScenario.repaired`); None of a setting."""
    cells: tuple[Cell, ...]

    def rows(self, results: Sequence[JSON]) -> Iterator[Row]:
        """Read the results of its cells."""
        first = 0
        for cell, result in zip(self.cells, results, strict=True):
            given, found = cast(Any, cell), cast(Any, result)
            if "scenario" in given:
                for community, measures in found:
                    for metric, value in measures.items():
                        yield Row(first, given["seed"], community or "", metric, float(value))
                first += 1
            else:
                yield from _setting_rows(given, found)


def read_sweep(
    path: Path, axes: Sequence[Axis], repetitions: int, seed: int | None = None
) -> list[GridPoint]:
    """Read the file, and check every point of the grid; `seed` is in place of the file's.

    Raises `TomlError`, which names the file, the line and the key, `GridError`, which names the
    point, and `ImportError` if a simulator needs an extra.
    """
    file = TomlFile(path)
    if seed is not None:
        if any(axis.path == ("seed",) for axis in axes):
            raise GridError("--seed and --grid say both what seed is; give one of them")
        file.content["seed"] = seed
    if not axes:
        _check(file)
    grid, loaded, total = [], dict[str, None](), 0
    for values in points(axes):
        content = overridden(file.content, axes, values)
        given = TomlFile.given(content, path.parent)
        try:
            checked = _check(given)
            _load(checked, content, loaded)
            if abs(checked.seed) + repetitions > SEED_MAX:
                raise ValueError(f"seed: {checked.seed} is out of bounds; give one of 62 bits")
        except ValueError as error:
            raise _wrong_point(file, given, values, error) from None
        grid.append(_point(values, checked, content, path.parent, repetitions))
        total += len(grid[-1].cells)
        _check_number(total)
    if any(axis.path == ("seed",) for axis in axes):
        _check_seeds(grid)
    return grid


def simulate_sweep_cell(cell: Cell) -> JSON:
    """Compute a cell; its result is what `GridPoint.rows` reads."""
    given = cast(Any, cell)
    if "scenario" not in given:
        return simulate_cell(given)

    from camcast.research.simulation.scenario_run import run_scenario

    read = TomlFile.given(given["scenario"], Path(given["folder"])).read(VirtualScenario)
    outcome = run_scenario(attrs.evolve(read, seed=given["seed"]))
    whole: dict[str, Any] = attrs.asdict(outcome.summary)
    communities = whole.pop("communities")
    del whole["lines_torn"]  # of live runs
    whole |= {name: getattr(outcome, name) for name in _OF_THE_NETWORK}
    found = [[None, whole], *([community.pop("topic"), community] for community in communities)]
    return [
        [community, {name: value for name, value in measures.items() if value is not None}]
        for community, measures in found
    ]


# --- what is given -----------------------------------------------------------------------


def _check(file: TomlFile) -> VirtualScenario | SettingFile:
    if "sizes" in file.content:
        return file.read(SettingFile)
    simulator = file.content.pop("simulator", VIRTUAL)
    if simulator != VIRTUAL:
        raise TomlError(
            f"{file.path}: simulator: {simulator!r} simulates a setting; give its sizes, and no"
            " communities"
        )
    return file.read(VirtualScenario)


def _load(
    checked: VirtualScenario | SettingFile, content: Mapping[str, Any], loaded: dict[str, None]
) -> None:
    """Load what else may be wrong: the files it names, and what the simulator takes."""
    names = ("links", "workload", "churn", "communities", "duration_seconds")
    parts = [content.get(name) for name in names]
    if isinstance(checked, SettingFile):
        SYSTEMS[CAMCAST].cells(checked.simulator, checked.setting(), 0, checked.seed)
    elif (known := json.dumps(parts, default=str)) not in loaded:
        loaded[known] = None
        checked.links.climate()
        checked.publications()
        if checked.churn is not None:
            checked.churn.load()


def _wrong_point(file: TomlFile, given: TomlFile, values: Point, error: ValueError) -> ValueError:
    fault = str(error).removeprefix(f"{given.path}: ")
    if not values:
        return TomlError(f"{file.path}: {fault}")
    try:
        _check(file)
    except ValueError as of_the_file:
        if str(of_the_file).endswith(fault):
            return of_the_file  # with its line: the grid has no part in it
    point = " ".join(f"{key}={shown(value)}" for key, value in values.items())
    return GridError(f"--grid {point}: {fault}")


def _point(
    values: Point,
    checked: VirtualScenario | SettingFile,
    content: Mapping[str, Any],
    folder: Path,
    repetitions: int,
) -> GridPoint:
    if isinstance(checked, SettingFile):
        system = SYSTEMS[CAMCAST]
        cells = system.cells(checked.simulator, checked.setting(), repetitions, checked.seed)
        return GridPoint(values, checked.simulator, CAMCAST, STATIC, None, tuple(cells))
    _check_number(repetitions)  # before the cells are made
    same = {key: inner for key, inner in content.items() if key not in _APART}
    return GridPoint(
        values,
        VIRTUAL,
        checked.protocol,
        checked.membership,
        checked.repaired,
        tuple(
            {"scenario": same, "folder": str(folder.resolve()), "seed": checked.seed + repetition}
            for repetition in range(repetitions)
        ),
    )


def _check_seeds(grid: Sequence[GridPoint]) -> None:
    """Raise `GridError` for a run that would be there twice: its seed is that of two points."""
    seen = set[str]()
    for point in grid:
        for cell in point.cells:
            if (same := json.dumps(cell, sort_keys=True, default=str)) in seen:
                seed = cast(Any, cell)["seed"]
                raise GridError(
                    f"--grid and --repetitions run seed {seed} twice: repetition r of a point has"
                    f" its seed + r; give --repetitions 1, or seeds {len(point.cells)} apart"
                )
            seen.add(same)


def _check_number(cells: int) -> None:
    if cells > CELLS_MAX:
        raise GridError(
            f"the grid has more than {CELLS_MAX:,} cells; give fewer values or --repetitions"
        )


def shown(value: Any) -> str:
    """Write a value of the grid as it is given: a word bare, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


# --- what was found ----------------------------------------------------------------------


def _setting_rows(cell: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the measures of each run (`population.outcome`), none where there is none."""
    for run in range(cell["runs"]):
        repetition = cell["first_run"] + run
        for index in range(len(result["sizes"])):
            counts = {
                name: result[name][run][index]
                for name in ("alive", "delivered", "rounds", "messages", "upward_messages")
            }
            alive, delivered = counts["alive"], counts.pop("delivered")
            if not counts["rounds"]:  # the event never got there
                del counts["rounds"]
            if alive:
                counts |= {"reception": delivered / alive, "reliability": delivered == alive}
            counts |= {
                name: values[run][index]
                for name, values in result["loads"].items()
                if values[run][index] is not None
            }
            for metric, value in counts.items():
                yield Row(repetition, cell["seed"], str(index), metric, float(value))
