"""``camcast dashboard``: what is wrong with its arguments is said before a page is served."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from camcast.cli import dashboard
from camcast.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.sock", "."], "gone.sock does not exist; processes that run with --control have "),
        (["gone.jsonl", "--output", "page.html"], "gone.jsonl does not exist"),
        ([".", "--output", "page.html"], "--output goes with one recording"),
        ([".", "moments.jsonl"], "moments.jsonl is no control socket; a recording is given alone"),
    ],
)
def test_sources_that_can_be_none_are_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "run_until_signalled", None)  # would be called beyond
    monkeypatch.chdir(tmp_path)
    Path("moments.jsonl").touch()
    answer = CliRunner().invoke(app, ["dashboard", *arguments])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"camcast: {said}")
