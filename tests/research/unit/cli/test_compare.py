"""``camcast compare``: what is wrong with its arguments is said before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from camcast.cli.app import app
from camcast.research.cli import compare
from camcast.research.pipeline.spark import session
from tests.research.unit.pipeline.run_folders import write_run


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
    write_run(run, [])
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
