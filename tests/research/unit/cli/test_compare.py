"""``camcast compare``: what is wrong with its arguments is said before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from camcast.cli.app import app
from camcast.research.cli import compare
from camcast.research.pipeline.compare.compare import Question
from camcast.research.pipeline.spark import session
from tests.research.unit.pipeline.run_folders import finished, write_run


def test_paths_of_which_none_exists_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_carry_out", None)  # would be called beyond
    answer = CliRunner().invoke(app, ["compare", "no-run", "no-file.json"])
    assert answer.exit_code == 2
    assert answer.stderr == "camcast: no-run does not exist; no-file.json does not exist\n"


def test_where_there_is_nothing_to_compare_spark_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "open_spark", None)  # would be called beyond
    run, empty, text = tmp_path / "run", tmp_path / "empty", tmp_path / "notes.txt"
    empty.mkdir()
    text.write_text("no benchmark")
    finished(write_run(run, []))
    nothing = f"{empty} has no trace; is it the output folder of a run?"
    for arguments, said in (
        ([empty], nothing),
        ([tmp_path / "no-run", empty], f"{tmp_path}/no-run does not exist; {nothing}"),
        ([text], f"{text}: "),
        ([run, "--against", empty], nothing),
    ):
        answer = CliRunner().invoke(app, ["compare", *map(str, arguments), "--json"])
        assert answer.exit_code == 2
        assert said in answer.stderr


def test_better_takes_two_words_and_may_be_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Question] = []

    def carry_out(question: Question, *_: object, keep: bool) -> NoReturn:
        assert not keep
        asked.append(question)
        raise ValueError("asked")

    monkeypatch.setattr(compare, "_carry_out", carry_out)
    (tmp_path / "b.json").touch()
    said = ["--better", "lower", "wall", "--better", "higher", "api.get.rate"]
    answer = CliRunner().invoke(app, ["compare", *said, str(tmp_path / "b.json"), "--json"])
    assert answer.stderr == "camcast: asked\n"
    assert asked[0].better == {"wall": "less", "api.get.rate": "more"}
    assert asked[0].paths == (tmp_path / "b.json",)


@pytest.mark.parametrize(
    "said",
    [
        ["--better", "smaller", "wall"],
        ["--better", "lower"],
        ["--better", "lower", "wall", "--better", "higher", "wall"],
    ],
)
def test_a_direction_that_is_none_is_refused(said: list[str], tmp_path: Path) -> None:
    (tmp_path / "b.json").touch()
    answer = CliRunner().invoke(app, ["compare", str(tmp_path / "b.json"), *said])
    assert answer.exit_code == 2
    assert "--better" in answer.stderr
