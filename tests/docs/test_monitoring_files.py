"""Alert rules and a board: every condition has an alert, and every metric that is named exists.

The expressions of the rules are evaluated over what the collector exports of a snapshot that has
the conditions, as Prometheus would (``unless ignoring (condition)``, `max_over_time` of one value).
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
import pytest
import yaml
from prometheus_client import CollectorRegistry

from camcast.app import blocking
from camcast.observe.condition_table import TABLE, Row
from camcast.observe.stats import (
    CertificateStats,
    ConditionStats,
    FirstContactStats,
    RevocationStats,
    Stats,
    SubscriptionStats,
)
from camcast.ops.metrics import Collector
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic
from tests.snapshots import stats_of

ROOT: Final = Path(__file__).parents[2]
SELECTOR: Final = r'max_over_time\(camcast_condition\{condition=~?"([\w|]+)"\}\[2m\]\) > 0'
RULE: Final = re.compile(f"{SELECTOR}(?: unless ignoring \\(condition\\) {SELECTOR})?")
ROWS: Final = {row.name: row for row in TABLE}
OF_OTHERS: Final = {  # of Prometheus itself, and of its client's ProcessCollector
    "up": {"job", "instance"},
    "process_cpu_seconds_total": set[str](),
    "process_resident_memory_bytes": set[str](),
}
OF_SCRAPES: Final = {"job", "instance", "node"}  # labels of every metric; `node` of runs


@pytest.fixture(scope="module")
def made() -> ModuleType:
    path = ROOT / "docs/monitoring_files.py"
    spec = importlib.util.spec_from_file_location("monitoring_files", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rules() -> list[dict[str, Any]]:
    text = (ROOT / "examples/deploy/alerts.yaml").read_text("utf-8")
    (group,) = yaml.safe_load(text)["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


@pytest.fixture(scope="module")
def panels() -> list[dict[str, Any]]:
    board = json.loads((ROOT / "examples/deploy/grafana.json").read_text("utf-8"))
    found: list[dict[str, Any]] = board["panels"]
    return found


@pytest.fixture(scope="module")
def stats() -> Stats:
    """A member with everything that has metrics: a link, a gateway, keys and a subscription."""
    world = World(repair=True)
    member, _ = (world.join(Topic.parse(topic)) for topic in (".a", "."))
    assert world.run(60.0, until=lambda: all(one.live_links() for one in member.local_groups))
    stats = stats_of(member, world.now)
    queue = SubscriptionStats(
        where=None,
        queued_events=1,
        queued_events_max=2,
        queued_bytes=1,
        queued_bytes_max=2,
        missed=0,
        errors=0,
    )
    gateway = FirstContactStats(address="tcp://10.0.0.9:7000", answers=True, seconds=0.0)
    return attrs.evolve(
        stats,
        certificates=(CertificateStats(topic=".a", serial="1", begins=0.0, ends=1.0),),
        revocations=(RevocationStats(issuer="key", signed=0.0, due=1.0),),
        discovery=attrs.evolve(stats.discovery, first_contacts=(gateway,)),
        communities=tuple(attrs.evolve(one, subscriptions=(queue,)) for one in stats.communities),
    )


def samples_of(stats: Stats) -> list[Any]:
    """Return what the collector exports of a snapshot."""

    class Fake(blocking.CommunityManager):
        def stats(self) -> Stats:
            return stats

    registry = CollectorRegistry()
    registry.register(Collector(Fake()))
    return [sample for family in registry.collect() for sample in family.samples]


def told(rules: Iterable[Mapping[str, Any]], stats: Stats, *lasting: str) -> list[str]:
    """Return the conditions whose alerts fire while these last."""
    conditions = tuple(
        ConditionStats(
            name=name, about="", stage="lasting", ok=ROWS[name].ok, says="", do="",
            because=None, since=0.0, seen=0.0, unready=False,
        )
        for name in lasting
    )  # fmt: skip
    found = {
        sample.labels["condition"]
        for sample in samples_of(attrs.evolve(stats, conditions=conditions))
        if sample.name == "camcast_condition" and sample.value > 0
    }
    fire = []
    for rule in rules:
        if matched := RULE.fullmatch(rule["expr"]):
            name, causes = matched.groups()
            if name in found and not found & set((causes or "").split("|")):
                fire.append(name)
    return fire


def test_the_files_are_those_of_the_table(made: ModuleType) -> None:
    """If not: ``python docs/monitoring_files.py``."""
    assert made.ALERTS.read_text("utf-8") == made.alerts()
    assert made.BOARD.read_text("utf-8") == made.board()


def test_each_condition_has_an_alert_of_its_name(rules: list[dict[str, Any]], stats: Stats) -> None:
    """The rule beside them is of a process that has no metrics, and so no conditions."""
    first, *others = rules
    assert first["alert"] == "CamcastNoAnswer"
    names = ["Camcast" + "".join(map(str.capitalize, one.split("_"))) for one in ROWS]
    assert [rule["alert"] for rule in others] == names
    for name in ROWS:
        assert told(rules, stats, name) == [name]
    assert told(rules, stats) == []


def test_a_cause_is_told_in_place_of_what_it_explains_unless_that_is_more_severe(
    rules: list[dict[str, Any]], stats: Stats
) -> None:
    for cause, other in itertools.combinations(TABLE, 2):
        is_hidden = other.name in cause.explains and weight(cause) >= weight(other)
        expected = [cause.name] if is_hidden else [cause.name, other.name]
        assert told(rules, stats, cause.name, other.name) == expected


def weight(row: Row) -> int:
    """Return 2 of what makes a process unready, 0 of what need not be wrong, 1 of the others."""
    return 2 if row.unready else int(row.ok is False)


def test_alerts_and_board_name_metrics_and_labels_that_exist(
    rules: list[dict[str, Any]], panels: list[dict[str, Any]], stats: Stats
) -> None:
    exported = {**OF_OTHERS}
    for sample in samples_of(stats):
        exported.setdefault(sample.name, set()).update(sample.labels)
    shown = [(rule["expr"], rule["annotations"]["summary"]) for rule in rules]
    shown += [(t["expr"], t["legendFormat"]) for panel in panels for t in panel["targets"]]
    for expression, legend in shown:
        names = set(re.findall(r"\b(?:camcast|process)_\w+|\bup\b", expression))
        assert names <= exported.keys(), expression
        (*kept,) = re.findall(r"\bby \(([\w, ]+)\)", expression)
        labels = set.union(*(exported[name] for name in names)) | OF_SCRAPES
        for by in kept:
            labels &= set(by.split(", "))
        of = set(re.findall(r"\{\{(?: \$labels\.)?(\w+) ?\}\}", legend))
        assert of <= labels, (expression, legend)


def test_panels_of_the_board_do_not_overlap(panels: list[dict[str, Any]]) -> None:
    places = [
        (x, y)
        for grid in (panel["gridPos"] for panel in panels)
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24


@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no promtool to ask")
def test_promtool_accepts_the_rules() -> None:
    command = ["promtool", "check", "rules", str(ROOT / "examples/deploy/alerts.yaml")]
    subprocess.run(command, check=True, capture_output=True)
