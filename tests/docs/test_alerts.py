"""The alert rules over time: which alerts fire in each fault of the matrix, and when they end.

The faults are those of `tests.library.laws.test_told_faults`, in the virtual network; each process
is scraped every 15 s, as `docs/operating.md` says. Which alerts fire is evaluated twice: here, and
by Prometheus's own promtool (in Debian's package `prometheus`), where it is installed. It also
parses every expression of the board.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from camcast.observe.condition_table import LOOK_SECONDS, TABLE
from tests.docs.test_monitoring_files import ROOT, ROWS, RULE
from tests.library.laws.test_told_faults import FAULTS, Site

PROMTOOL: Final = shutil.which("promtool")
promtool = pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool to ask")
ALERTS: Final = ROOT / "examples/deploy/alerts.yaml"
BOARD: Final = ROOT / "examples/deploy/grafana.json"
SCRAPE_SECONDS: Final = 15
WINDOW_SECONDS: Final = 120
HEALTHY, FAULTY, OVER = 4, 8, 14
"""So many scrapes before a fault, in it, and after it: two minutes and what was history by then."""
STALE: Final = "stale"
"""What Prometheus notes of a metric that a target gives no longer."""


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def alert_of(condition: str) -> str:
    return "Camcast" + "".join(map(str.capitalize, condition.split("_")))


class Scrapes:
    """What a Prometheus has of some processes: a value, or `STALE`, a series and scrape."""

    def __init__(self) -> None:
        self.count = 0
        self.series: dict[tuple[str, str, str], list[int | str]] = {}
        """By metric, instance and condition, which is empty for metrics without one."""

    def add(self, instance: str, answers: bool, lasting: dict[str, int]) -> None:
        """Add one target's answer to the scrape that is under way."""
        self._note("up", instance, "", int(answers))
        self._note("camcast_start_time_seconds", instance, "", 1 if answers else STALE)
        for row in TABLE:
            value = lasting.get(row.name, 0) if answers else STALE
            self._note("camcast_condition", instance, row.name, value)

    def end(self) -> None:
        self.count += 1

    def _note(self, metric: str, instance: str, condition: str, value: int | str) -> None:
        values = self.series.setdefault((metric, instance, condition), ["_"] * self.count)
        values.append(value)

    def input_series(self) -> list[dict[str, str]]:
        """Return them as promtool reads them."""
        made = []
        for (metric, instance, condition), values in self.series.items():
            labels = f'job="camcast", instance="{instance}"'
            labels += f', condition="{condition}"' * bool(condition)
            made.append({"series": f"{metric}{{{labels}}}", "values": " ".join(map(str, values))})
        return made

    def firing(self, scrape: int) -> dict[str, set[str]]:
        """Return the instances for which each alert fires at the time of a scrape."""
        fire: dict[str, set[str]] = defaultdict(set)
        window = range(max(0, scrape - WINDOW_SECONDS // SCRAPE_SECONDS), scrape + 1)
        lately: dict[str, set[str]] = defaultdict(set)
        for (metric, instance, condition), values in self.series.items():
            if metric == "camcast_condition":
                if any(isinstance(values[at], int) and values[at] for at in window):
                    lately[instance].add(condition)
            elif metric == "camcast_start_time_seconds":
                last = values[max(0, scrape - 4) : scrape + 1]  # for a minute
                if last == [STALE] * 5:
                    fire["CamcastNoAnswer"].add(instance)
        for rule in rules():
            if matched := RULE.fullmatch(rule["expr"]):
                name, causes = matched.groups()
                hidden = set((causes or "").split("|"))
                for instance, found in lately.items():
                    if name in found and not found & hidden:
                        fire[rule["alert"]].add(instance)
        return fire


def assert_promtool_agrees(scrapes: Scrapes, at: list[int], folder: Path) -> None:
    """Let promtool evaluate the rules, and compare at these scrapes."""
    expression = 'count by (alertname) (ALERTS{alertstate="firing"})'
    expected = [
        {
            "expr": expression,
            "eval_time": f"{scrape * SCRAPE_SECONDS}s",
            "exp_samples": [
                {"labels": f'{{alertname="{name}"}}', "value": len(instances)}
                for name, instances in scrapes.firing(scrape).items()
            ],
        }
        for scrape in at
    ]
    test = {
        "interval": f"{SCRAPE_SECONDS}s",
        "input_series": scrapes.input_series(),
        "promql_expr_test": expected,
    }
    file = folder / "test.yaml"
    whole = {"rule_files": [str(ALERTS)], "evaluation_interval": f"{SCRAPE_SECONDS}s"}
    file.write_text(yaml.safe_dump(whole | {"tests": [test]}))
    done = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def scrape(site: Site, scrapes: Scrapes) -> None:
    """Let a scrape's time pass, and ask every process that was ever there."""
    for _ in range(round(SCRAPE_SECONDS / LOOK_SECONDS)):
        found = site.look(LOOK_SECONDS)
    silent = {node.me.address for node in site.stopped}
    for address in sorted(site.watches):
        names = [one.name for one in found.get(address, ())]
        answers = address in site.world.alive and address not in silent
        scrapes.add(address, answers, {name: names.count(name) for name in names})
    scrapes.end()


@pytest.fixture(scope="module")
def site() -> Site:
    return Site()


@pytest.mark.slow  # 3 s each
@pytest.mark.parametrize("name", FAULTS)
def test_in_a_fault_its_alert_fires_and_no_misleading_one_and_all_end(
    name: str, site: Site, tmp_path: Path
) -> None:
    (begin, end), told, besides = FAULTS[name]
    scrapes = Scrapes()
    for _ in range(HEALTHY):
        scrape(site, scrapes)
    assert not scrapes.firing(scrapes.count - 1)
    begin(site)
    for _ in range(FAULTY):
        scrape(site, scrapes)
    fired = {one for at in range(HEALTHY, scrapes.count) for one in scrapes.firing(at)}
    end(site)
    for _ in range(OVER):
        scrape(site, scrapes)
    assert {alert_of(one) for one in told} <= fired
    gone = {"CamcastNoAnswer"} if "killed" in name or "stopped" in name else set[str]()
    assert gone <= fired <= {alert_of(one) for one in told | besides} | gone
    assert not scrapes.firing(scrapes.count - 1)
    if PROMTOOL is not None:
        assert_promtool_agrees(scrapes, [*range(scrapes.count)], tmp_path)


@promtool
def test_promtool_has_each_condition_by_itself_and_beside_each_cause(tmp_path: Path) -> None:
    """A cause hides what it explains, unless that is more severe: every pair of the table."""
    scrapes = Scrapes()
    for _ in range(2):
        for row in TABLE:
            scrapes.add(row.name, True, {row.name: 1})
            for other in row.explains:
                scrapes.add(f"{row.name} {other}", True, {row.name: 1, other: 2})
        scrapes.add("gone", False, {})
        scrapes.end()
    for _ in range(12):
        for instance in {instance for _, instance, _ in scrapes.series}:
            scrapes.add(instance, instance != "gone", {})
        scrapes.end()
    fire = scrapes.firing(1)
    assert {alert_of(name) for name in ROWS} == {*fire}
    assert all(name in fire[alert_of(name)] for name in ROWS)
    assert {*scrapes.firing(4)} - {*fire} == {"CamcastNoAnswer"}
    assert {*scrapes.firing(scrapes.count - 1)} == {"CamcastNoAnswer"}
    assert_promtool_agrees(scrapes, [0, 1, 3, 4, 9, 10, scrapes.count - 1], tmp_path)


@promtool
def test_promtool_parses_each_expression_of_the_board(tmp_path: Path) -> None:
    panels = json.loads(BOARD.read_text("utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert expressions
    filled = [re.sub(r"\$__rate_interval", "1m", one) for one in expressions]
    made = [{"record": f"of:{place}", "expr": one} for place, one in enumerate(filled)]
    file = tmp_path / "board.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": made}]}))
    command = [str(PROMTOOL), "check", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
