"""A run that is not whole, or not itself, is named; what changes nothing is not."""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from camcast.research.pipeline.compare.local_engine import LocalEngine
from camcast.research.pipeline.ingest.run_to_read import read_run_folder
from camcast.research.pipeline.ingest.whole_runs import whole_runs
from tests.research.unit.pipeline.run_folders import CALM, finished, simulate

RUNS = 3
Change = Callable[[Path], object]  # of the folder of the runs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole")
    for seed in range(RUNS):
        simulate(place / str(seed), attrs.evolve(CALM, seed=seed))
    return place


def _edit(name: str, change: Callable[[bytes], bytes]) -> Change:
    def edited(place: Path) -> object:
        path = place / name
        return path.write_bytes(change(path.read_bytes()))

    return edited


def _said(name: str, **values: object) -> Change:
    def change(content: bytes) -> bytes:
        return json.dumps(json.loads(content) | values).encode()

    return _edit(name, change)


def _traces_alone(content: bytes) -> bytes:
    return json.dumps({"traces": json.loads(content)["traces"]}).encode()


def _swap(name: str) -> Change:
    def swapped(place: Path) -> object:
        first, second = (place / run / name for run in ("0", "1"))
        kept = first.read_bytes()
        first.write_bytes(second.read_bytes())
        return second.write_bytes(kept)

    return swapped


def _scaled(content: bytes) -> bytes:
    rows = [json.loads(line) for line in content.splitlines()]
    return b"".join(json.dumps(r | {"when": 2 * r["when"]}).encode() + b"\n" for r in rows)


def _double_line(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join([*lines, lines[5]])


def _copied_as(seed: int) -> Change:
    def copied(place: Path) -> object:
        file = shutil.copytree(place / "0", place / "copy") / "scenario.json"
        said = json.loads(file.read_bytes())
        said["scenario"]["seed"] = seed
        return file.write_text(json.dumps(said))

    return copied


TRACE = "0/trace-0.jsonl"
LEFT_OUT: dict[str, tuple[Change, str]] = {
    "killed": (lambda p: (p / "0/summary.json").unlink(), "is not over"),
    "half a summary": (_edit("0/summary.json", lambda c: c[:50]), "does not say that the run"),
    "a deep summary": (
        _edit("0/summary.json", lambda _: b"[" * 10_000),
        "does not say that the run",
    ),
    "fewer than none joined": (_said("0/summary.json", joined=-1), "does not say .*joined"),
    "more than all received": (
        _said("0/summary.json", summary={"communities": [{"reception_of_all": 1.5}]}),
        "does not say .*reception_of_all",
    ),
    "interrupted": (_said("0/summary.json", interrupted=True), "interrupted"),
    "disk full": (_said("0/summary.json", trace_failures=3), "3 records .* not be written"),
    "live disk full": (_said("0/summary.json", counters={"trace_failures": 3}), "3 records"),
    "cut": (_edit(TRACE, lambda c: c[: c.index(b"\n", len(c) // 2) + 1]), r"has .* of .* records"),
    "no trace": (lambda p: (p / TRACE).unlink(), "is missing"),
    "renamed": (lambda p: (p / TRACE).rename(p / "0/trace-1.jsonl"), "is missing"),
    "doubled": (_edit(TRACE, lambda c: c + c), "records twice"),
    "a line doubled": (_edit(TRACE, _double_line), "1 records twice"),
    "copied": (lambda p: shutil.copytree(p / "0", p / "copy"), "is the run of .* counts once"),
    "repeated": (lambda p: simulate(p / "copy", attrs.evolve(CALM, seed=0, name="other")), "once"),
    "copied under another seed": (_copied_as(99), "is the run of .* again, and counts once"),
}
READ: dict[str, tuple[Change, str]] = {
    "scaled": (_edit(TRACE, _scaled), "is not as it was"),
    "torn": (_edit(TRACE, lambda c: c[:-9]), "is not as it was"),
    "rubbish": (_edit(TRACE, lambda c: b"rubbish\n" + c), "is not as it was"),
    "machine changed": (_said("0/scenario.json", machine={}), r"scenario\.json is not as it was"),
    "counters changed": (_said("0/summary.json", joined=99), r"summary\.json is not as it was"),
    "a copy beside": (
        lambda p: shutil.copy(p / TRACE, p / "0/trace-0 (copy).jsonl"),
        "is no trace of the run",
    ),
}
HARMLESS: dict[str, Change] = {
    "nothing": lambda _place: None,
    "windows": _edit(TRACE, lambda c: c.replace(b"\n", b"\r\n")),
    "marked": _edit("0/scenario.json", lambda c: codecs.BOM_UTF8 + c.replace(b"\n", b"\r\n")),
    "summary marked": _edit("0/summary.json", lambda c: codecs.BOM_UTF8 + c),
    "times": lambda p: os.utime(p / TRACE, (1, 1)),
    "in another order": _edit("0/summary.json", lambda c: json.dumps(json.loads(c)).encode()),
    "name": lambda p: (p / "0").rename(p / "another name"),
    "a log": lambda p: (p / "0/notes.txt").write_text("a note"),
}


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", [*LEFT_OUT, *READ])
def test_what_is_not_whole_is_named(name: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "runs")
    change, why = (LEFT_OUT | READ)[name]
    change(place)
    folders = _folders(place)
    whole = whole_runs(folders)
    (problem,) = whole.problems
    assert len(whole.folders) == len(folders) - (name in LEFT_OUT)
    assert re.search(why, problem)


def test_what_was_swapped_is_named_for_both(made: Path, tmp_path: Path) -> None:
    for name in ("trace-0.jsonl", "summary.json", "scenario.json"):
        place = shutil.copytree(made, tmp_path / name)
        _swap(name)(place)
        problems = " ".join(whole_runs(_folders(place)).problems)
        assert all(str(place / run) in problems for run in "01"), name


def test_a_seed_that_is_repeated_is_named(made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "runs")
    shutil.copy(place / "1/scenario.json", place / "0/scenario.json")
    changed, again = whole_runs(_folders(place)).problems
    assert "scenario.json is not as it was" in changed
    assert re.search("is the run of .*its digest differs", again)


def test_versions_that_do_the_same_are_two(made: Path, tmp_path: Path) -> None:
    """Which is what a comparison of versions is to show."""
    place = shutil.copytree(made, tmp_path / "runs")
    file = shutil.copytree(place / "0", place / "new") / "scenario.json"
    said = json.loads(file.read_bytes())
    said["versions"]["camcast"] = "99"
    file.write_text(json.dumps(said))
    assert not any("again" in one for one in whole_runs(_folders(place)).problems)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_changes_nothing_is_not_named(name: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "runs")
    HARMLESS[name](place)
    whole = whole_runs(_folders(place)[::-1])
    assert (whole.problems, len(whole.folders)) == ([], RUNS)


def test_two_live_runs_of_one_scenario_are_two(made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "runs")
    said = json.loads((place / "0/scenario.json").read_bytes()) | {"world": "live"}
    for number, run in enumerate("01"):
        clock = {"unix": 1e9 + number, "trace": 0.0}
        (place / run / "scenario.json").write_text(json.dumps(said | {"clock": clock}))
        finished(place / run)
    assert whole_runs(_folders(place)).problems == []
    shutil.copytree(place / "0", place / "copy")
    assert len(whole_runs(_folders(place)).problems) == 1


@pytest.mark.parametrize(("outside", "judged"), [(1, False), (0, True)])
def test_who_never_joined_is_noted(outside: int, judged: bool, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "runs")
    _said("0/summary.json", joined=12, never_joined=outside, checksums={})(place)
    whole = whole_runs(_folders(place))
    assert (whole.problems, whole.judged, len(whole.notes)) == ([], judged, outside)


def test_a_copy_of_a_trace_beside_it_is_not_read(made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made / "0", tmp_path / "run")
    shutil.copy(place / "trace-0.jsonl", place / "trace-1.jsonl")
    assert [p.name for p in read_run_folder(place).traces["jsonl"]] == ["trace-0.jsonl"]


def test_who_never_joined_is_a_measure_of_the_run_and_its_communities(
    made: Path, tmp_path: Path
) -> None:
    """By the summary: flat as a live run's, or a virtual one's; an earlier version says nothing."""
    place = shutil.copytree(made, tmp_path / "runs")
    of_all = {"never_joined": 2, "reception_of_all": 0.75}
    inner = {"communities": [{"topic": ".d", **of_all}, {"topic": ".", "never_joined": 0}]}
    _said("0/summary.json", **of_all, summary=inner)(place)
    _said("1/summary.json", **of_all, **inner, summary={})(place)
    _edit("2/summary.json", _traces_alone)(place)
    read = LocalEngine().read(_folders(place))
    found: dict[str, dict[tuple[str, str], float | None]] = {}
    for one in read.measures:
        if one.metric in of_all:
            found.setdefault(Path(one.run).name, {})[one.community, one.metric] = one.value
    right: dict[tuple[str, str], float | None]
    right = {("", name): value for name, value in of_all.items()}
    right |= {(".d", name): value for name, value in of_all.items()}
    right |= {(".", "never_joined"): 0, (".", "reception_of_all"): None}
    assert found == {"0": right, "1": right, "2": dict.fromkeys(right)}


@pytest.mark.parametrize(
    ("said", "repair"),
    [
        ({}, True),
        ({"repair": False}, False),
        ({"repair": None}, False),  # left out: before there was any
        ({"protocol": "percolation"}, False),
        ({"protocol": "not installed here"}, True),
        ({"parameters": {"retention_seconds": 0.0}}, False),
    ],
)
def test_a_run_is_with_repair_or_without_as_it_was(
    said: dict[str, object], repair: bool, made: Path, tmp_path: Path
) -> None:
    place = shutil.copytree(made / "0", tmp_path / "run")
    content = json.loads((place / "scenario.json").read_bytes())
    scenario = content["scenario"] | said
    content["scenario"] = {name: one for name, one in scenario.items() if one is not None}
    (place / "scenario.json").write_text(json.dumps(content))
    run = read_run_folder(place)
    assert run.repair is repair
    assert run.parameters["repair"] == ("true" if repair else "false")
