"""``camcast compare``: what is wrong with its arguments is said before Spark is started."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from camcast.cli import compare
from camcast.cli.app import app


def test_paths_of_which_none_exists_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_carry_out", None)  # would be called beyond
    answer = CliRunner().invoke(app, ["compare", "no-run", "no-file.json"])
    assert answer.exit_code == 2
    assert answer.stderr == "camcast: no-run does not exist; no-file.json does not exist\n"
