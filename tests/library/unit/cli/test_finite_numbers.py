"""Numbers without a value: no option takes nan, and inf only where something may last for ever."""

from __future__ import annotations

import pytest
from typer.core import TyperGroup
from typer.testing import CliRunner

from camcast.cli.app import app
from camcast.cli.finite_numbers import Command
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
