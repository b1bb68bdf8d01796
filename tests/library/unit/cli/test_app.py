"""What all commands have in common: each is there with its help."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.cli.extras import missing_extras
from tests.camcast_command import Capture, all_commands, camcast
from tests.python_process import python


def test_commands_of_research_are_imported_when_one_is_asked_for() -> None:
    script = (
        "import sys; from camcast.cli.app import app\n"
        "try: app([*sys.argv[1:], '--help'])\n"
        "except SystemExit: sys.exit('camcast.research.cli.commands' in sys.modules)"
    )
    codes = [python("-c", script, *words).returncode for words in (["publish"], ["run"], [])]
    assert codes == [0, 1, 1]


@pytest.mark.parametrize("command", [*all_commands()])
def test_help_has_an_example(command: str, capfd: Capture) -> None:
    assert camcast(*command.split(), "--help") == 0
    assert f"Example: camcast {command}" in " ".join(capfd.readouterr().out.split())


def test_the_version_is_told_and_a_missing_command_gets_help(capfd: Capture) -> None:
    assert camcast("--version") == 0
    assert capfd.readouterr().out.startswith("camcast 0.")
    camcast()
    assert "subscribe" in "".join(capfd.readouterr())
    assert camcast("shout") == 2
    assert "No such command" in capfd.readouterr().err


def test_the_help_says_which_extras_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_extras("sim,report,spark") == missing_extras("") == ""
    packages = {"sim": ("numpy", "no_such_package"), "report": ("altair",)}
    monkeypatch.setattr("camcast.cli.extras._PACKAGES", packages)
    assert missing_extras("sim,report") == "sim"


def test_a_package_whose_commands_cannot_be_imported_is_named_and_spoils_no_others(
    tmp_path: Path,
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[camcast.commands]\nbroken = absent_package:app\n")
    done = python("-m", "camcast", "--help", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert {"publish", "demo"} <= set(done.stdout.split())
    assert done.stderr == (
        "camcast: commands 'broken' needs the package 'absent_package', which is not installed\n"
    )
