"""What a peer or a file said stays within its line of the log."""

import json
import logging
import re

import pytest

from camcast.cli.failure import complain, remark
from camcast.cli.logs import LogForm, complaints, set_up_logs
from tests.camcast_command import Capture, camcast

HOSTILE = "x\x1b[2J\x9b\u202e\ncamcast: all is well"


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """A root logger of the test's own, so that nothing stays set up."""
    root = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", root)
    monkeypatch.setattr(complaints, "form", LogForm.TEXT)
    return root


def test_a_line_of_text_is_one_printable_line(
    root: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    root.handlers.clear()  # pytest's
    set_up_logs(0, LogForm.TEXT)
    root.warning("%s spoke", HOSTILE)
    complain(HOSTILE)
    written = capfd.readouterr().err
    shown = "x\\x1b[2J\\x9b\\u202e\\ncamcast: all is well"
    logged, complaint, _ = written.split("\n")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING (.*)", logged)
    assert logged.endswith(f" WARNING {shown} spoke")
    assert complaint == f"camcast: {shown}"


def test_a_traceback_keeps_its_lines_and_nothing_else(
    root: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    root.handlers.clear()  # pytest's
    set_up_logs(0, LogForm.TEXT)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        root.exception("a callback failed")
    lines = capfd.readouterr().err.splitlines()
    assert lines[1] == "Traceback (most recent call last):"
    assert all(line.isprintable() for line in lines)


def test_json_lines_are_printable_and_mean_the_same(
    root: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    root.handlers.clear()  # pytest's
    set_up_logs(0, LogForm.JSON)
    root.warning("%s", HOSTILE)
    complain(HOSTILE)
    lines = capfd.readouterr().err.splitlines()
    assert all(line.isprintable() for line in lines)
    assert [json.loads(line)["message"] for line in lines] == [HOSTILE, HOSTILE]


def test_a_collector_that_keeps_errors_keeps_why_a_command_ended(capfd: Capture) -> None:
    """Be it CAMCAST's sentence or that of the parser; what only goes on is of the level info."""
    for arguments in (("publish", ".a", "hi", "--wait", 0), ("subscribe",), ("no-such-command",)):
        assert camcast("--log", "json", *arguments) in (1, 2)
        (line,) = capfd.readouterr().err.splitlines()
        assert json.loads(line)["level"] == "error"
    remark("joined .a")
    assert json.loads(capfd.readouterr().err)["level"] == "info"
    assert camcast("subscribe") == 2
    assert capfd.readouterr().err.startswith("Usage: ")
