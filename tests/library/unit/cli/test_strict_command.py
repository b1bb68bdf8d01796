"""Values that mean nothing: no option takes nan, inf only for a time, and an empty text no path."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.testing import CliRunner

from camcast.cli.app import app
from camcast.cli.strict_command import Command
from tests.camcast_command import all_commands


def test_every_command_checks_its_numbers() -> None:
    single = {name: it for name, it in all_commands().items() if not isinstance(it, TyperGroup)}
    assert [name for name, it in single.items() if not isinstance(it, Command)] == []


@pytest.mark.parametrize("given", ["inf", "-inf", "nan"])
@pytest.mark.parametrize(
    "command",
    [
        "run --scenario paper --g",
        "run --rate",
        "model --sizes 10 --a",
        "simulate population --sizes 10 --c",
        "compare . --threshold",
        "dashboard . --every",
        "certify --with root.key --for ada.pub --topic .soccer --may join --days",
        "revoke --with root.key --hours",
    ],
)
def test_a_number_without_a_value_is_wrong_input(command: str, given: str) -> None:
    *words, option = command.split()
    answer = CliRunner().invoke(app, [*words, f"{option}={given}"])
    assert answer.exit_code == 2
    # or the option's own minimum, in the words of old and new releases of typer
    refused = ("no finite number", "greater than or equal", "is not in the range")
    assert any(words in " ".join(answer.stderr.split()) for words in refused)
    assert f"'{option}'" in answer.stderr


def test_what_may_last_for_ever_takes_inf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("camcast.cli.publish._publish", lambda *_args, **_options: None)
    monkeypatch.setattr("camcast.cli.publish.run_until_signalled", lambda _work: True)
    for given, code in (("inf", 0), ("nan", 2)):
        answer = CliRunner().invoke(app, ["publish", ".a", "x", "--wait", given])
        assert answer.exit_code == code, answer.stderr


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize(
    "command",
    [
        "doctor PATH",
        "status PATH",
        "history PATH",
        "keys show PATH",
        "dashboard elsewhere PATH",
        "subscribe .a --control PATH",
        "subscribe .a --trust root.pub --trust PATH",
        "gateway --config PATH",
        "certify --with PATH --for ada.pub --topic .a --may join",
        "system show --in PATH",
        "run --output PATH",
    ],
)
def test_an_empty_text_is_not_the_folder_at_hand(command: str, empty: str) -> None:
    words = [empty if word == "PATH" else word for word in command.split()]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 2
    assert "an empty text names no file" in " ".join(answer.stderr.split())


def test_an_empty_text_in_a_file_of_options_is_not_the_folder_of_that_file(tmp_path: Path) -> None:
    file = tmp_path / "camcast.toml"
    file.write_text("control = ''")
    answer = CliRunner().invoke(app, ["gateway", "--config", str(file)])
    assert answer.exit_code == 2
    assert "control: an empty text names no file" in answer.stderr
