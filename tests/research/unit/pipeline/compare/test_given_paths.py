"""What lies in the paths that were given is found, at any depth, or named."""

from __future__ import annotations

from pathlib import Path

from camcast.research.pipeline.compare.given_paths import given_in


def _made(place: Path, *names: str) -> None:
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")


def test_runs_and_benchmarks_are_found_wherever_they_lie(tmp_path: Path) -> None:
    _made(
        tmp_path,
        *("a/scenario.json", "a/summary.json", "a/trace-0.jsonl", "b/c/scenario.json"),
        *("broken/trace-0.jsonl", "bench.json", "s.toml", "notes.txt", ".git/config.json"),
        *(".benchmarks/Linux-CPython-3.12-64bit/0001_base.json",),
        *("compare-1/index.html", "compare-1/comparison.json", "compare-1/verdict.json"),
    )
    (tmp_path / "b/up").symlink_to(tmp_path)
    given = given_in([tmp_path])
    assert {str(folder.relative_to(tmp_path)) for folder in given.folders} == {"a", "b/c", "broken"}
    assert [file.name for file in given.files] == ["0001_base.json", "bench.json"]
    inner = given_in([tmp_path / ".benchmarks"])
    assert ([file.name for file in inner.files], inner.folders) == (["0001_base.json"], [])


def test_what_lies_in_a_run_or_is_hidden_is_found_if_it_is_an_input(tmp_path: Path) -> None:
    _made(
        tmp_path,
        *("a/scenario.json", "a/summary.json", "a/bench.json", "a/b/scenario.json"),
        *(".c/scenario.json", "trace-d/scenario.json", "._bench.json", "a/._x.json"),
        *(".git/config.json", "OLD.JSON"),
    )
    given = given_in([tmp_path])
    found = {str(path.relative_to(tmp_path)) for path in (*given.folders, *given.files)}
    assert found == {"a", "a/b", ".c", "trace-d", "a/bench.json", "OLD.JSON"}


def test_what_is_not_there_or_empty_is_left_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    given = given_in([tmp_path / "absent", tmp_path / "empty"])
    assert given.folders == [tmp_path / "empty"]
    (problem,) = given.problems
    assert "absent does not exist" in problem
