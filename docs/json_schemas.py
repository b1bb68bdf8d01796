"""The JSON Schemas of what commands print with ``--json``, made from the classes behind it.

``python docs/json_schemas.py`` writes them into `docs/schemas` again; a test holds that they are up
to date, and tests of the commands hold that what is printed follows them.
"""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import msgspec

from camcast.cli import printed
from camcast.live.archive.reading import CommunityHistory
from camcast.observe.event_trace import Explanation
from camcast.observe.stats import PeerStats, Stats
from camcast.ops.checkup import Finding
from camcast.research.papers.protocol_comparison import Cost
from camcast.research.population.outcome import Interval
from camcast.research.report.measures import MEASURES
from camcast.research.runs.summary import Summary
from camcast.research.simulation.run_record import VirtualOutcome

Measured = dict[str, float | None]
"""The mean of a measure, and the ``low`` and ``high`` end of its 95 % interval."""


class RunOutcome(TypedDict):
    """What a live run has beside the summary."""

    parasites: int
    repair: bool
    joined: int
    never_joined: int
    reception_of_all: float | None
    unpublished: int
    workers_lost: list[str]
    interrupted: bool
    seconds: dict[str, float]
    subscribers_got: int
    counters: dict[str, int]
    kill: dict[str, Any] | None
    scenario: str
    output: str | None


class VirtualScenarioGiven(TypedDict):
    """What determined a run in the virtual network."""

    scenario: dict[str, Any]


class Simulated(TypedDict):
    """What was simulated, and how often."""

    simulator: str
    setting: dict[str, Any]
    runs: int
    not_counted: str | None
    """What of the load of a process is not counted, and why; null where all of it is."""


class SimulatedCommunities(Simulated):
    """CAMCAST: its communities, and the rounds until all that ever get the event have it."""

    communities: list[dict[str, Measured | int]]
    rounds: Measured


class SimulatedProtocol(Simulated):
    """Another protocol, with its measures beside these keys."""

    protocol: str
    model: dict[str, Any] | None


class SimulatedHpmcast(TypedDict):
    """hpmcast, with its measures beside these keys."""

    setting: dict[str, Any]
    processes: int
    view: int
    model: dict[str, Any] | None


class SimulatedPercolation(TypedDict):
    """Percolation gossip, with its measures beside these keys."""

    setting: dict[str, Any]
    nodes: int
    model: dict[str, Any]


class Alternative(TypedDict):
    """CAMCAST or an alternative of the paper's section 4, by the paper's formulas."""

    protocol: str
    messages: float
    memory: float
    reliability: float
    latency: float


class PredictedCommunities(TypedDict):
    """What models say of CAMCAST: each community, and the alternatives of section 4."""

    setting: dict[str, Any]
    communities: list[dict[str, float | None]]
    alternatives: list[Alternative]


class PredictedProtocol(TypedDict):
    """What a model says of a protocol other than CAMCAST."""

    protocol: str
    setting: dict[str, Any]
    model: dict[str, Any]


class CarriersPlanned(TypedDict):
    """Those that carry a community of which nobody can dial some, and what each of them pays."""

    carriers: int
    from_above: bool
    undialable: int
    links: float
    copies: float
    event_bytes: float


class PlannedCommunity(TypedDict):
    """A community, and the parameters that reach its target.

    `measured` is there with ``--check``, and `unreachable` with ``--unreachable``.
    """

    topic: str
    size: int
    target: float
    parameters: dict[str, float]
    predicted: dict[str, float | None]
    measured: NotRequired[dict[str, Measured | int]]
    unreachable: NotRequired[CarriersPlanned]


class Planned(TypedDict):
    """Parameters that reach the targets; `holds` is there with ``--check``."""

    communities: list[PlannedCommunity]
    messages: float
    holds: NotRequired[bool]


class SweepPoint(TypedDict):
    """One point of a sweep."""

    grid: dict[str, Any]
    simulator: str
    protocol: str
    membership: str
    repair: bool | None
    cells: int


class Swept(TypedDict):
    """Where a sweep's rows are, and of what."""

    output: str
    rows: int
    points: list[SweepPoint]


class Watched(TypedDict):
    """What is known of a run by now, by community."""

    run: str
    records: int
    quarantined: int
    finished: bool
    repair: bool
    communities: list[dict[str, str | float | None]]


class CompareRow(TypedDict):
    """The mean of a measure over the runs of a group."""

    backend: str
    protocol: str
    repair: bool | None
    community: str
    p_sel: float | None
    runs: int
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    setting: NotRequired[str]


class Reproduced(TypedDict):
    """What was computed of a paper, or of all; of one with its tables and figures beside this."""

    command: NotRequired[str]
    evidence: list[dict[str, Any]]
    output: str


FOLDER: Final = Path(__file__).parent / "schemas"
VOCABULARY: Final = "https://json-schema.org/draft/2020-12/schema"  # msgspec's

Object = tuple[type, ...]
"""An object with the keys of all these classes."""

MORE: Final = {
    "simulate/1": Interval,
    "simulate-hpmcast/1": Interval,
    "simulate-percolation/1": Interval,
    "reproduce/1": Any,
}
"""What is under further keys: names of measures, or of the tables and figures of a paper."""

MEASURED: Final = ("run/1", "simulate-scenario/1", "model/1", "plan/1", "compare-protocols/1")
"""What has measures of runs and models as its keys."""

SCHEMAS: Final[dict[str, list[Object]]] = {
    "run/1": [(Summary, RunOutcome)],
    "simulate-scenario/1": [(VirtualOutcome, VirtualScenarioGiven)],
    "simulate/1": [(SimulatedCommunities,), (SimulatedProtocol,)],
    "simulate-hpmcast/1": [(SimulatedHpmcast,)],
    "simulate-percolation/1": [(SimulatedPercolation,)],
    "model/1": [(PredictedCommunities,), (PredictedProtocol,)],
    "plan/1": [(Planned,)],
    "reproduce/1": [(Reproduced,)],
    "compare/1": [(CompareRow,)],
    "compare-protocols/1": [(Cost,)],
    "sweep/1": [(Swept,)],
    "watch/1": [(Watched,)],
    "subscribe/1": [
        (printed.Joined,),
        (printed.TextEvent,),
        (printed.BytesEvent,),
        (printed.TypedEvent,),
        (printed.MissedEvents,),
        (printed.GoneEvents,),
        (printed.PastReach,),
    ],
    "latest/1": [(printed.TextEvent,), (printed.BytesEvent,), (printed.TypedEvent,)],
    "publish/1": [(printed.PublishReceipt,)],
    "gateway/1": [(printed.GatewayAddress,)],
    "keys-new/1": [(printed.NewKey,)],
    "keys-show/1": [(printed.ShownKey,)],
    "keys-public/1": [(printed.PublicFile,)],
    "certify/1": [(printed.Certified,)],
    "revoke/1": [(printed.Revoked,)],
    "system-init/1": [(printed.SystemFolder,)],
    "system-admit/1": [(printed.MemberRow,)],
    "system-renew/1": [(printed.MemberRow,)],
    "system-revoke/1": [(printed.MemberRow,)],
    "system-show/1": [(printed.MemberRow,)],
    "status/1": [(Stats, printed.WithAnnounced)],
    "ping/1": [(printed.PingRow,)],
    "events/1": [(printed.HappeningRow,)],
    "top/1": [(printed.TopRow,)],
    "peers/1": [(PeerStats,)],
    "topics/1": [(printed.TopicRow,)],
    "plugs/1": [(printed.PlugRow,)],
    "tune/1": [(printed.TunedCommunity,)],
    "doctor/1": [(Finding,)],
    "trace/1": [(Explanation,)],
    "history/1": [(CommunityHistory,)],
    "history-verify/1": [(printed.VerifiedHistory,)],
    "history-repair/1": [(printed.RepairedArchive,)],
}


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the objects whose key ``schema`` is this, after ``camcast.``."""
    alternatives = SCHEMAS[name]
    classes = list(dict.fromkeys(cls for parts in alternatives for cls in parts))
    classes += [MORE[name]] if name in MORE else []
    references, definitions = msgspec.json.schema_components(classes, ref_template="#/$defs/{name}")
    of = dict(zip(classes, references, strict=True))
    head = {"schema": {"const": f"camcast.{name}"}}
    objects = []
    for parts in alternatives:
        whole: dict[str, Any] = {"type": "object", "properties": dict(head), "required": ["schema"]}
        for part in parts:
            found = definitions[of[part]["$ref"].rpartition("/")[2]]
            whole["properties"] |= found["properties"]
            required = found.get("required", [])
            whole["required"] += [key for key in required if key not in whole["required"]]
            said = _cleaned(found).get("description", "")
            said = said.partition("\n\nExample:")[0]  # of Python
            whole.setdefault("description", said)
        if name in MORE:
            whole["additionalProperties"] = of[MORE[name]]
        objects.append(whole)
    top = objects[0] if len(objects) == 1 else {"anyOf": objects}
    used = {n: _cleaned(d) for n, d in definitions.items() if n in _used(top, definitions)}
    if name in MEASURED:
        for one in (*objects, *used.values()):
            _describe(one.get("properties", {}))
    return {"$schema": VOCABULARY, "title": f"camcast.{name}"} | top | {"$defs": used}


def _describe(properties: dict[str, Any]) -> None:
    """Add to the keys that are measures what the table of measures says of them."""
    for key in properties.keys() & MEASURES.keys():
        measure = MEASURES[key]
        per = f", per {measure.per}" if measure.per else ""
        said = f"{measure.meaning} ({measure.unit_name}{per}); better: {measure.better}"
        properties[key] = properties[key] | {"description": said}


def _cleaned(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its docstring as it is from Python 3.13 on, without indentation."""
    said = {"description": cleandoc(schema["description"])} if "description" in schema else {}
    return schema | said


def _used(value: Any, definitions: dict[str, Any]) -> set[str]:
    """Return the names of all definitions that a schema refers to, directly or not."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if (name := one.get("$ref", "").rpartition("/")[2]) and name not in found:
                found.add(name)
                waiting.append(definitions[name])
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found


def file_of(name: str) -> Path:
    """Return where the schema of this name is kept."""
    return FOLDER / f"camcast.{name.replace('/', '-')}.json"


def text_of(name: str) -> str:
    """Return the schema of this name as it stands in its file."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name in SCHEMAS:
        file_of(name).write_text(text_of(name))
