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

import tomllib
from pathlib import Path
from typing import Any, Final

import attrs

from camcast.doors import build_options
from camcast.experiment.scenario import Scenario, ScenarioError
from camcast.experiment.workload import Workload
from camcast.parameters import Parameters
from camcast.topics import Topic, TopicError

_TABLES: Final = ("communities", "workload", "parameters", "options")
_KINDS: Final[dict[Any, tuple[Any, str]]] = {
    int: (int, "a whole number"),
    int | None: (int, "a whole number"),
    float: (int | float, "a number"),
    float | None: (int | float, "a number"),
    str: (str, "text"),
    Path | None: (str, "the name of a file"),
}


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; `ScenarioError` names the file, the key and what is wrong."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}; name a scenario file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not TOML: {error}") from None
    try:
        return _scenario(content, path)
    except (ValueError, TypeError, LookupError) as error:
        raise ScenarioError(f"{path}: {error}") from None


def _scenario(content: dict[str, Any], path: Path) -> Scenario:
    _check_types(Scenario, content, "")
    if "communities" not in content:
        raise ScenarioError("the table [communities] is missing; give topics and their sizes")
    for name in _TABLES:
        if not isinstance(content.get(name, {}), dict):
            raise ScenarioError(f"{name!r} is a table, written as [{name}]")
    workload = dict(content.get("workload", {}))
    _check_types(Workload, workload, "workload.")
    if "topic" in workload:
        workload["topic"] = _topic("workload.topic", workload["topic"])
    if "file" in workload:  # next to the scenario, wherever that is run from
        workload["file"] = path.parent / workload["file"]
    parameters = content.get("parameters", {})
    _check_types(Parameters, parameters, "parameters.")
    communities = content["communities"]
    plain = {
        "name": path.stem,
        **{key: value for key, value in content.items() if key not in _TABLES},
        "communities": {
            _topic(f"communities.{name}", name): size for name, size in communities.items()
        },
        "workload": build_options(Workload, workload, "[workload]"),
        "parameters": build_options(Parameters, parameters, "[parameters]"),
        "options": content.get("options", {}),
    }
    scenario: Scenario = build_options(Scenario, plain, "the scenario")
    return scenario


def _topic(key: str, name: object) -> Topic:
    try:
        return Topic.parse(str(name))
    except TopicError as error:
        raise ScenarioError(f"key {key!r}: {error}") from None


def _check_types(cls: type[Any], given: dict[str, Any], prefix: str) -> None:
    """Name the key that the class does not know, or whose value is of the wrong type."""
    fields = attrs.fields_dict(attrs.resolve_types(cls))
    for key, value in given.items():
        if key not in fields:
            raise ScenarioError(f"unknown key {prefix + key!r}; known are {', '.join(fields)}")
        accepted, wanted = _KINDS.get(fields[key].type, (object, ""))
        if not isinstance(value, accepted) or (isinstance(value, bool) and wanted):
            raise ScenarioError(f"key {prefix + key!r} takes {wanted}, not {value!r}")
