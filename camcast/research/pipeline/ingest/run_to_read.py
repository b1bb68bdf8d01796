"""The description of a run in its folder: its traces, and the settings that made them.

The folder is `camcast.research.runs.run_folder.OutputFolder`'s, of a live run or a virtual one.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from attrs import frozen
from msgspec import UNSET

from camcast.doors.options import OptionError
from camcast.doors.plugs import find_protocol
from camcast.observe.trace import SCHEMA_VERSION
from camcast.observe.trace_reading import RunEntryError, check_entries
from camcast.research.pipeline.measured import Seed
from camcast.research.runs.run_folder import (
    SCENARIO_FILE,
    SUMMARY_FILE,
    Count,
    read_json,
    traces_listed,
)
from camcast.research.scenarios.base import is_batched
from camcast.research.scenarios.super_topics import SuperTopics
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.hierarchy import HierarchyError
from camcast.vocabulary.topics import Topic, TopicError

FORMS: Final = ("jsonl", "parquet")
_TABLES: Final = ("workload", "links")
_WEATHER: Final = ("kill", "stillborn", "crashes", "cuts", "churn", "discovery")
"""Further parameters of a scenario; a live one has other keys than a virtual one."""
KNOWN_VERSIONS: Final = (1, 2, SCHEMA_VERSION)
"""Version 1 is version 2 without `control` (`camcast.observe.trace`)."""


class RunFolderError(CamcastError, ValueError):
    """A run's folder cannot be read; the message names it, and says why."""


class NoTraceError(RunFolderError):
    """A folder holds no trace."""


class ScenarioFileError(RunFolderError):
    """A folder's ``scenario.json`` is absent, or is none."""


class SchemaVersionError(RunFolderError):
    """A trace is of a schema version that this camcast does not know."""


_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Processes(msgspec.Struct, frozen=True):
    topics: list[str]
    count: Count


class _Topic(msgspec.Struct, frozen=True, omit_defaults=True):
    below: list[str] | None = None
    c: float | None = None
    g: float | None = None
    a: float | None = None
    z: int | None = None
    tau: int | None = None
    p_sel: float | None = None
    as_printed: bool | None = None
    success: float | None = None
    success_up: float | None = None


class _Scenario(msgspec.Struct, frozen=True):
    communities: dict[str, Count]
    membership: str
    parameters: dict[str, Any]
    seed: Seed
    processes: list[_Processes] = []
    topics: dict[str, _Topic] = {}
    protocol: str = "camcast"  # the only one when it was not yet written down
    protocol_options: dict[str, Any] = {}
    options: dict[str, Any] = {}
    upward_probabilities: list[float] = []
    workload: dict[str, Any] = {}
    links: dict[str, Any] = {}
    kill: Any = UNSET
    stillborn: Any = UNSET
    crashes: Any = UNSET
    cuts: Any = UNSET
    churn: Any = UNSET
    discovery: Any = UNSET
    liars: list[Any] = []
    profile: str = "open"
    repair: bool = False  # there was none when it was not yet written down


class _OfAll(msgspec.Struct, frozen=True):
    """Measures of a summary that count who never joined; None in one of earlier versions."""

    topic: str = ""
    never_joined: Count | None = None
    reception_of_all: _Share | None = None


class _Communities(msgspec.Struct, frozen=True):
    communities: list[_OfAll] = []


class SummaryOfAll(_OfAll, frozen=True):
    """A live run's summary, or a virtual one's, which has its communities one level down."""

    communities: list[_OfAll] = []
    summary: _Communities = _Communities()


class _Versions(msgspec.Struct, frozen=True):
    camcast: str
    trace: int


class _Determined(msgspec.Struct, frozen=True):
    """The contents of ``scenario.json``; the defaults are for the folders of version 1."""

    scenario: _Scenario
    versions: _Versions
    world: str = "live"
    started: str = ""


@frozen
class RunFolder:
    """One run.

    `traces` are its files by form; `parameters` are written as text, among them the options of
    the membership and of the protocol, as ``membership.<name>``, ``protocol.<name>``, what was
    published, as ``workload.<name>``, and the weather: ``links.<name>``, ``kill``, ``crashes``, ….
    """

    run: str
    """The folder, as it was named."""
    path: Path
    traces: dict[str, list[Path]]
    world: str
    backend: str
    protocol: str
    p_sel: float | None
    """None: p_sel = g/N_t, or a value for each event."""
    parameters: dict[str, str]
    communities: dict[str, int]
    """The number of members of each community; a node counts in each that it is in."""
    super_topics: SuperTopics
    version: str
    trace_version: int
    seed: int
    started: str
    repair: bool
    """Whether missed events were asked for (`BaseScenario.repaired`)."""
    of_all: dict[tuple[str, str], float]
    """By community ("" for the whole run) and metric, what the summary says of those who never
    joined; no trace has a record of them."""


def read_run_folder(path: Path) -> RunFolder:
    """Read what a folder says of its run; raises `RunFolderError`."""
    if not path.is_dir():
        raise RunFolderError(f"{path} is no folder; name the output folder of a run")
    try:
        check_entries(path)
    except RunEntryError as error:
        raise RunFolderError(str(error)) from None
    listed = traces_listed(path)
    traces = {
        form: sorted(
            trace
            for trace in path.glob(f"trace-*.{form}")
            if listed is None or trace.name in listed  # a copy beside it is none of the run's
        )
        for form in FORMS
    }
    file = path / SCENARIO_FILE
    try:
        determined = read_json(file, _Determined)
    except OSError as error:
        if not any(traces.values()):
            raise NoTraceError(f"{path} has no trace; is it the output folder of a run?") from None
        raise ScenarioFileError(
            f"cannot read {file}, which says what was run: {error.strerror}"
        ) from None
    except msgspec.MsgspecError as error:
        raise ScenarioFileError(f"{file} does not say what was run: {error}") from None
    version = determined.versions.trace
    if version not in KNOWN_VERSIONS:
        known = " and ".join(map(str, KNOWN_VERSIONS))
        raise SchemaVersionError(
            f"the traces of {path} are of schema version {version}; this camcast reads {known}"
        )
    if not any(traces.values()):
        raise NoTraceError(f"{path} has no trace (trace-*.jsonl or trace-*.parquet)")
    scenario = determined.scenario
    return RunFolder(
        run=str(path),
        path=path,
        traces=traces,
        world=determined.world,
        backend=scenario.membership,
        protocol=scenario.protocol,
        p_sel=None if scenario.upward_probabilities else _p_sel(scenario, file),
        parameters=_parameters(scenario),
        communities=_sizes(scenario),
        super_topics=_super_topics(scenario, file),
        version=determined.versions.camcast,
        trace_version=version,
        seed=scenario.seed,
        started=determined.started,
        repair=_is_repaired(scenario),
        of_all=_of_all(path / SUMMARY_FILE),
    )


def _p_sel(scenario: _Scenario, file: Path) -> float | None:
    try:
        return msgspec.convert(scenario.parameters.get("p_sel"), _Share | None)
    except msgspec.ValidationError as error:
        raise ScenarioFileError(f"{file} does not say what was run: p_sel: {error}") from None


def _sizes(scenario: _Scenario) -> dict[str, int]:
    sizes = Counter(scenario.communities)
    for kind in scenario.processes:
        for topic in kind.topics:
            sizes[topic] += kind.count
    return dict(sizes)


def _is_repaired(scenario: _Scenario) -> bool:
    """Return whether missed events were asked for, and the protocol allowed it.

    What a protocol that is not installed here allows is taken on trust.
    """
    if not scenario.repair or scenario.parameters.get("retention_seconds") == 0:
        return False
    try:
        return is_batched(find_protocol(scenario.protocol, scenario.protocol_options))
    except (LookupError, OptionError):
        return True


def _of_all(summary: Path) -> dict[tuple[str, str], float]:
    try:
        said = read_json(summary, SummaryOfAll)
    except (OSError, msgspec.MsgspecError):
        return {}  # the run is not over, or `whole_runs` names what is wrong
    return {
        (one.topic, name): value
        for one in (said, *said.communities, *said.summary.communities)
        for name in ("never_joined", "reception_of_all")
        if (value := getattr(one, name)) is not None
    }


def _super_topics(scenario: _Scenario, file: Path) -> SuperTopics:
    try:
        return SuperTopics(
            {
                Topic.parse(name): tuple(map(Topic.parse, topic.below))
                for name, topic in scenario.topics.items()
                if topic.below is not None
            }
        )
    except (TopicError, HierarchyError) as error:
        raise ScenarioFileError(f"{file} does not say what was run: {error}") from None


def _parameters(scenario: _Scenario) -> dict[str, str]:
    given = {name: value for name, value in scenario.parameters.items() if value is not None}
    for plug, options in (
        ("membership", scenario.options),
        ("protocol", scenario.protocol_options),
        *((table, getattr(scenario, table)) for table in _TABLES),
    ):
        given |= {f"{plug}.{name}": value for name, value in options.items()}
    weather = {name: getattr(scenario, name) for name in _WEATHER}
    given |= {name: value for name, value in weather.items() if value is not UNSET}
    given["repair"] = _is_repaired(scenario)
    if scenario.liars:  # nobody lied, and nobody signed, when neither was written down
        given["liars"] = scenario.liars
    if scenario.profile != "open":
        given["profile"] = scenario.profile
    if scenario.processes:
        given["processes"] = scenario.processes
    if scenario.topics:
        given["topics"] = scenario.topics
    if scenario.upward_probabilities:
        given["p_sel"] = ",".join(map(_text, scenario.upward_probabilities))
    return {name: _text(value) for name, value in sorted(given.items())}


def _text(value: object) -> str:
    """Write a parameter: a whole number without a fraction, whichever type it had."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
