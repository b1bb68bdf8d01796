"""Whatever happens to a folder of six runs, a comparison is right, or says what is wrong.

Accidents are drawn by seed: what happens, to which file, and where in it. A comparison that says
nothing must have the means of the runs and benchmark files that are as they were, each once, by
a computation of its own. What matters to nobody must go without a word.

Benchmark files have no checksum. What a change of one number in them alone may do is found where
another number contradicts it: not in ``extra_info``, and not where the least time becomes less.
Both are no accidents here.
"""

from __future__ import annotations

import codecs
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

from tests.camcast_command import Capture, camcast
from tests.research.unit.pipeline.run_folders import Tale, finished, write_run
from tests.research.unit.pipeline.twin import Twin

SIDES = ("scamp", "dht")
SEEDS = (1, 2, 3)
SCENARIO = """
seed = {seed}
duration_seconds = 4
settle_seconds = 4
drain_seconds = 4
membership = "{membership}"
discovery = "census"
repair = false
[communities]
"." = 3
".d" = 6
[parameters]
p_sel = 0.5
[links]
loss = 0.2
[workload]
topic = ".d"
events = 4
rate = 2
"""
Place = tuple[str, str, str]  # backend, community and measure
Means = dict[Place, tuple[int, float]]  # over how many, and the mean
Accident = Callable[[Path, Random], str]
"""Changes something in the folder; returns part of the name of what it is to be named by."""


class Original:
    """The folder as it was, and what each run and each benchmark file says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for side in SIDES:
            for seed in SEEDS:
                file = folder.parent / f"{side}{seed}.toml"
                file.write_text(SCENARIO.format(seed=seed, membership=side))
                form = "parquet" if (side, seed) == ("dht", 3) else "jsonl"
                output = ("--output", folder / f"{side}-{seed}", "--trace-format", form)
                assert camcast("simulate", "virtual", file, *output, "--json") == 0
        draw = Random(1)
        (folder / "benches").mkdir()
        for seed in SEEDS:
            _write_benches(folder / f"benches/{seed}.json", draw)
        self.values = {
            **{_content(run): _of_run(run) for run in _runs(folder)},
            **{_content(file): _of_benches(file) for file in folder.glob("benches/*.json")},
        }

    def means(self, folder: Path) -> Means:
        """Return the means over what is as it was, wherever it lies now, each once."""
        runs = [path for path in folder.rglob("*") if path.is_dir()]
        files = [path for path in folder.rglob("[!.]*.json") if path.is_file()]
        there = {_content(path) for path in (*runs, *files)} & self.values.keys()
        every: defaultdict[Place, list[float]] = defaultdict(list)
        for content in there:
            for place, value in self.values[content].items():
                every[place].append(value)
        return {place: (len(values), mean(values)) for place, values in every.items()}


def _write_benches(path: Path, draw: Random) -> None:
    """Write what `pytest benchmarks --benchmark-json=…` writes."""
    benchmarks = []
    for side in SIDES:
        times = sorted(draw.uniform(1.0, 1.1) for _ in range(5))
        stats = {"min": times[0], "max": times[4], "mean": mean(times), "median": times[2]}
        stats |= {"q1": times[1], "q3": times[3], "rounds": 5, "total": sum(times)}
        stats |= {"ops": 5 / sum(times)}
        test = f"test_fast[{side}]"
        benchmarks.append(
            {
                "name": test,
                "fullname": f"benchmarks/test_live_multicast.py::{test}",
                "params": {"membership": side},
                "extra_info": {"protocol": "camcast", "deliveries_per_second": draw.gauss(99, 2)},
                "stats": stats,
            }
        )
    machine = {"system": "Linux", "machine": "x86_64", "python_version": "3.12.1"}
    content = {"machine_info": machine, "commit_info": {"id": "a" * 40, "dirty": False}}
    path.write_text(json.dumps(content | {"benchmarks": benchmarks}, indent=4))


def _runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/scenario.json"))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _content(path: Path) -> tuple[tuple[str, bytes], ...]:
    if path.is_dir():
        files = [path / "scenario.json", path / "summary.json", *path.glob("trace-*")]
        return tuple(sorted((file.name, file.read_bytes()) for file in files if file.is_file()))
    return (("", path.read_bytes()),)


def _of_run(run: Path) -> dict[Place, float]:
    backend = json.loads((run / "scenario.json").read_bytes())["scenario"]["membership"]
    values = Twin(run).values.items()
    return {(backend, *place): value for place, value in values if value is not None}


def _of_benches(file: Path) -> dict[Place, float]:
    values = {}
    for one in json.loads(file.read_bytes())["benchmarks"]:
        said = {f"seconds_{name}": one["stats"][name] for name in ("min", "median", "mean")}
        said["deliveries_per_second"] = one["extra_info"]["deliveries_per_second"]
        for name, value in said.items():
            values[one["params"]["membership"], "", f"live_multicast.fast.{name}"] = value
    return values


# -- accidents -----------------------------------------------------------------------------------


def _drawn(folder: Path, draw: Random, pattern: str = "*") -> Path:
    return draw.choice([path for path in _files(folder) if path.match(pattern)])


def _two_of_one_name(folder: Path, draw: Random) -> tuple[Path, Path]:
    """Draw two files that have one name, of two runs."""
    first = _drawn(folder, draw, "*-*/*")
    others = [path for path in _files(folder) if path.name == first.name and path != first]
    return (first, draw.choice(others)) if others else _two_of_one_name(folder, draw)


def _in_json(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content, indent=2))


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container and key of what is no container."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        if isinstance(value[key], dict | list):
            yield from _leaves(value[key])
        else:
            yield value, key


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return 1 if value is None else f"{value}x"


def file_removed(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    path.unlink()
    return path.parent.name


def run_removed(folder: Path, draw: Random) -> str:
    run = draw.choice(_runs(folder))
    shutil.rmtree(run)
    return run.name


def file_copied(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    name = draw.choice((f"{path.stem} (copy){path.suffix}", f"{path.stem}-2{path.suffix}"))
    shutil.copy(path, path.with_name(name))
    return path.parent.name


def run_copied(folder: Path, draw: Random) -> str:
    run = draw.choice(_runs(folder))
    shutil.copytree(run, run.with_name(f"{run.name} - Copy"))
    return f"{run.name} - Copy"


def benchmarks_copied(folder: Path, draw: Random) -> str:
    """And looked at since: an editor has written them anew, or a tool their head."""
    path = _drawn(folder, draw, "benches/*")
    again = Path(shutil.copy(path, folder / "old.json"))
    what = draw.choice(("machine_info", "datetime", ""))
    _in_json(again, lambda content: content.update({what: {}}) if what else None)
    return path.stem


def copied_under_another_seed(folder: Path, draw: Random) -> str:
    run = draw.choice(_runs(folder))
    again = shutil.copytree(run, folder / "another")
    _in_json(again / "scenario.json", lambda content: content["scenario"].update(seed=99))
    return "another"


def cut(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    content = path.read_bytes()
    path.write_bytes(content[: draw.randrange(len(content) - 2)])
    return path.parent.name


def cut_at_a_line(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "trace-*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: draw.randrange(len(lines))]))
    return path.parent.name


def lines_lost(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "trace-*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    first = draw.randrange(len(lines))
    path.write_bytes(b"".join(lines[:first] + lines[first + draw.randint(1, 20) :]))
    return path.parent.name


def doubled(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    path.write_bytes(path.read_bytes() * 2)
    return path.parent.name


def swapped(folder: Path, draw: Random) -> str:
    first, second = _two_of_one_name(folder, draw)
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    return first.parent.name


def overwritten(folder: Path, draw: Random) -> str:
    first, second = _two_of_one_name(folder, draw)
    shutil.copy(first, second)
    return second.parent.name


def moved_to_another_run(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    to = draw.choice([run for run in _runs(folder) if run != path.parent])
    path.rename(to / path.name)
    return path.parent.name


def moved_up(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "*-*/*")
    path.rename(folder / path.name)
    return path.parent.name


def file_renamed(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    name = draw.choice(("old-{}", "{}~", "{}.bak", ".{}", "{}.gz"))
    path.rename(path.with_name(name.format(path.name)))
    return path.parent.name


def run_renamed(folder: Path, draw: Random) -> str:
    """To a name that means something."""
    run = draw.choice(_runs(folder))
    run.rename(run.with_name(draw.choice((".hidden", "trace-0", "trace-1.jsonl", "run.json"))))
    return run.name


def run_within_a_run(folder: Path, draw: Random) -> str:
    run, other = draw.sample(_runs(folder), 2)
    run.rename(other / run.name)
    return run.name


def column_scaled(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "trace-*.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    name = draw.choice(("when", "sequence", "hops", "size"))
    scale = draw.choice((2, 1000, 0.001))
    for row in rows:
        if name in row:
            row[name] = type(row[name])(row[name] * scale)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.parent.name


def times_scaled(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "benches/*")
    scales = {"min": (2, 1000), "median": (2, 1000, 0.001), "mean": (2, 1000, 0.001)}
    name = draw.choice(list(scales))
    scale = draw.choice(scales[name])

    def change(content: Any) -> None:
        for one in content["benchmarks"]:
            one["stats"][name] *= scale

    _in_json(path, change)
    return path.name


def number_impossible(folder: Path, draw: Random) -> str:
    """Of a run, or of a benchmark file, which has no checksum."""
    value = draw.choice((-1.0, -1e300, float("nan"), float("inf")))
    if draw.random() < 0.5:
        path = _drawn(folder, draw, "trace-*.jsonl")
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        draw.choice(rows)[draw.choice(("when", "sequence", "hops", "size"))] = value
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path.parent.name
    path = _drawn(folder, draw, "benches/*")
    place, names = draw.choice(
        (("stats", ("min", "median", "mean")), ("extra_info", ("deliveries_per_second",)))
    )

    def change(content: Any) -> None:
        draw.choice(content["benchmarks"])[place][draw.choice(names)] = value

    _in_json(path, change)
    return path.name


def seed_repeated(folder: Path, draw: Random) -> str:
    run, other = draw.sample(_runs(folder), 2)
    seed = json.loads((other / "scenario.json").read_bytes())["scenario"]["seed"]
    _in_json(run / "scenario.json", lambda content: content["scenario"].update(seed=seed))
    return run.name


def machine_changed(folder: Path, draw: Random) -> str:
    path = draw.choice([_drawn(folder, draw, "benches/*"), _drawn(folder, draw, "scenario.json")])
    which = "machine" if path.name == "scenario.json" else "machine_info"
    _in_json(path, lambda content: content[which].update(system="Darwin"))
    return path.parent.name


def header_edited(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, draw.choice(("scenario.json", "summary.json")))

    def change(content: Any) -> None:
        owner, key = draw.choice(list(_leaves(content)))
        owner[key] = _other(owner[key])

    _in_json(path, change)
    return path.parent.name


def bit_flipped(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "*-*/*")
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    return path.parent.name


def block_of_zeros(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    content = path.read_bytes()
    start = draw.randrange(len(content))
    end = min(start + 64, len(content))
    path.write_bytes(content[:start] + bytes(end - start) + content[end:])
    return path.parent.name


def emptied(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw)
    path.write_bytes(b"")
    return path.parent.name


def benchmarks_merged(folder: Path, draw: Random) -> str:
    """Into a file of their own, beside theirs."""
    first, second = draw.sample(sorted(folder.glob("benches/*.json")), 2)
    every = json.loads(second.read_bytes())["benchmarks"][:1]
    _in_json(first, lambda content: content.update(benchmarks=content["benchmarks"][1:] + every))
    return second.name


ACCIDENTS: tuple[Accident, ...] = (
    *(file_removed, run_removed, file_copied, run_copied, benchmarks_copied),
    *(copied_under_another_seed, cut, cut_at_a_line, lines_lost, doubled, swapped, overwritten),
    *(moved_to_another_run, moved_up, file_renamed, run_renamed, run_within_a_run),
    *(
        column_scaled,
        times_scaled,
        number_impossible,
        seed_repeated,
        machine_changed,
        header_edited,
        bit_flipped,
    ),
    *(block_of_zeros, emptied, benchmarks_merged),
)


# -- what matters to nobody ------------------------------------------------------------------------


def nothing(folder: Path, draw: Random) -> str:
    return ""


def times_of_files(folder: Path, draw: Random) -> str:
    for path in _files(folder):
        os.utime(path, (draw.randrange(10**9),) * 2)
    return ""


def folder_named_otherwise(folder: Path, draw: Random) -> str:
    run = draw.choice(_runs(folder))
    run.rename(run.with_name(draw.choice(("a b", "0", "run-\N{GREEK SMALL LETTER GAMMA}", "x.y"))))
    return ""


def benchmarks_named_otherwise(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "benches/*")
    path.rename(path.with_name(draw.choice(("a b.json", "0001_base.json", "X.JSON"))))
    return ""


def folder_deeper(folder: Path, draw: Random) -> str:
    inner = folder / "2026/august"
    inner.mkdir(parents=True)
    for run in draw.sample(_runs(folder), 2):
        run.rename(inner / run.name)
    return ""


def file_beside(folder: Path, draw: Random) -> str:
    """Of the desktop, of an editor, or of a person."""
    names = (".DS_Store", "Thumbs.db", "desktop.ini", "notes.txt", ".gitignore", ".x.json")
    place = draw.choice([folder, folder / "benches", *_runs(folder)])
    (place / draw.choice(names)).write_bytes(b"\0\1 not JSON")
    return ""


def shadow_of_macos(folder: Path, draw: Random) -> str:
    """As an archive that was packed there has them."""
    path = _drawn(folder, draw)
    path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7")
    return ""


def hidden_folder(folder: Path, draw: Random) -> str:
    place = draw.choice([folder, *_runs(folder)]) / draw.choice((".git", ".ipynb_checkpoints"))
    place.mkdir()
    (place / "config.json").write_text("{}")
    return ""


def empty_folder(folder: Path, draw: Random) -> str:
    (draw.choice([folder, *_runs(folder)]) / "empty").mkdir()
    return ""


def line_ends_of_windows(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, draw.choice(("*.json", "*.jsonl")))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return ""


def mark_of_windows(folder: Path, draw: Random) -> str:
    path = _drawn(folder, draw, "*.json")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    return ""


def formatted(folder: Path, draw: Random) -> str:
    path, indent = _drawn(folder, draw, "*.json"), draw.choice((None, 1, 8))
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps(content, indent=indent, sort_keys=draw.random() < 0.5))
    return ""


def link_to_a_folder(folder: Path, draw: Random) -> str:
    (folder / "latest").symlink_to(draw.choice(_runs(folder)))
    return ""


HARMLESS: tuple[Accident, ...] = (
    *(nothing, times_of_files, folder_named_otherwise, benchmarks_named_otherwise, folder_deeper),
    *(file_beside, shadow_of_macos, hidden_folder, empty_folder, line_ends_of_windows),
    *(mark_of_windows, formatted, link_to_a_folder),
)


# -- the tests -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return Original(tmp_path_factory.mktemp("six") / "runs")


def _compared(given: list[Path], capfd: Capture) -> tuple[Means, str]:
    """Return the means, and what is said."""
    capfd.readouterr()
    code = camcast("compare", *given, "--json")
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err
    assert (code == 0) == (printed.err == "")
    means = {
        (row["backend"], row["community"], row["metric"]): (row["runs"], row["mean"])
        for row in json.loads(printed.out or "[]")
        if "setting" not in row
    }
    return means, printed.err


def _alike(one: Means, other: Means) -> bool:
    return one.keys() == other.keys() and all(
        runs == other[place][0] and value == pytest.approx(other[place][1], rel=1e-12, abs=1e-12)
        for place, (runs, value) in one.items()
    )


QUICK = 4  # chosen: each costs a fifth of a second of CPU


def _seeds(number: int) -> list[Any]:
    slow = (pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, number))
    return [*range(QUICK), *slow]


@pytest.mark.parametrize("seed", _seeds(40))
def test_no_number_changes_in_silence(
    seed: int, original: Original, tmp_path: Path, capfd: Capture
) -> None:
    draw = Random(seed)
    folder = shutil.copytree(original.folder, tmp_path / "runs")
    accident = draw.choice(ACCIDENTS)
    name = accident(folder, draw)
    means, said = _compared([folder], capfd)
    if name not in said:
        assert said == "", f"{accident.__name__} of {name}"
        right = (original.means(folder), original.means(original.folder))
        assert any(_alike(means, one) for one in right), f"{accident.__name__} of {name}"


@pytest.mark.parametrize("seed", _seeds(20))
def test_what_matters_to_nobody_goes_without_a_word(
    seed: int, original: Original, tmp_path: Path, capfd: Capture
) -> None:
    draw = Random(seed)
    folder = shutil.copytree(original.folder, tmp_path / "runs")
    change = draw.choice(HARMLESS)
    change(folder, draw)
    given = [path for path in folder.iterdir() if any(path.rglob("*.[jJ][sS]*"))]
    given = [path for path in given if not (path.name.startswith(".") or path.is_symlink())]
    draw.shuffle(given)
    means, said = _compared(draw.choice(([folder], given)), capfd)
    assert said == "", change.__name__
    assert _alike(means, original.means(original.folder)), change.__name__


@pytest.mark.parametrize("ahead", [0.0, 2.0], ids=["one clock", "two clocks"])
def test_clocks_that_differ_are_named(ahead: float, tmp_path: Path) -> None:
    """An event of a publisher whose clock is ahead comes before its publication, it seems."""
    pytest.importorskip("pyarrow", reason="the extra spark is not installed")
    from camcast.research.pipeline.compare.inputs import read_inputs
    from camcast.research.pipeline.compare.local_engine import LocalEngine

    tale = Tale()
    for node in range(4):
        tale.add(1.0, "join", node, ".a")
    tale.add(5.0 + ahead, "publish", 0, topic=".a", event="e-1-1")
    for node in range(4):
        tale.add(5.1, "deliver", node, ".a", topic=".a", event="e-1-1", hops=1)
    run = finished(write_run(tmp_path / "run", tale.records))
    found = read_inputs(LocalEngine(), [run]).problems
    sentence = "latency, median is -1900.0 ms, below zero: the clocks of its processes differ"
    assert [sentence in problem for problem in found] == [True] * bool(ahead), found


# -- what a run was made on ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "made_on"),
    [
        ('{"machine": {"system": "Linux", "cores": 2}, "versions": {"python": "3.12.1"}}',
         ("Linux, 2 cores", "3.12.1")),
        ('{"machine": {"cores": null, "{}": "{0}"}, "versions": {"python": [3]}}',
         ("None cores, {0}", "[3]")),
        ('{"scenario": {}}', ("", "")),
        *((text, ("", "")) for text in ("", "{", "[]", '{"machine": 3}', '{"machine": null}',
          '{"versions": "3.12"}', "[" * 10_000, "\udcff")),
    ],
)  # fmt: skip
def test_a_machine_that_is_not_told_is_unknown(
    scenario: str, made_on: tuple[str, str], tmp_path: Path
) -> None:
    from camcast.research.pipeline.compare.inputs import _made_on

    (tmp_path / "scenario.json").write_text(scenario, "utf-8", "surrogateescape")
    assert _made_on(tmp_path) == made_on
