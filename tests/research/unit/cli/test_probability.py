"""A probability is 0.3 or 30%, and nothing else."""

import re

import pytest
from typer import BadParameter

from camcast.research.cli.system_options import _probability
from tests.camcast_command import Capture, camcast


@pytest.mark.parametrize(
    ("given", "value"), [("0.3", 0.3), ("30%", 0.3), (" 30 %", 0.3), ("0", 0), ("100%", 1), (1, 1)]
)
def test_a_share_or_a_percentage(given: str | float, value: float) -> None:
    assert _probability(given) == pytest.approx(value)


@pytest.mark.parametrize("wrong", ["", "x", "1.1", "-0.1", "101%", "nan", "inf", "3 0", "%"])
def test_anything_else_is_refused(wrong: str) -> None:
    with pytest.raises(BadParameter, match=r"is no probability; write 0\.3 or 30%"):
        _probability(wrong)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["run"], ["--kill", "--p-sel"]),
        (["model"], ["--success", "--crash", "--p-sel"]),
        (["plan"], ["--success", "--crash"]),
        (["simulate", "chain"], ["--success", "--crash"]),
        (["simulate", "population"], ["--success", "--crash"]),
        (["simulate", "hpmcast"], ["--interested", "--loss", "--crash"]),
        (["simulate", "percolation"], ["--sigma", "--gamma"]),
        (["compare-protocols"], ["--reliability", "--loss"]),
    ],
)
def test_every_command_names_the_option(
    command: list[str], options: list[str], capfd: Capture
) -> None:
    for option in options:
        for wrong in ("1.5", "-0.1", "nan"):
            assert camcast(*command, option, wrong) == 2
            said = re.sub(r" \(env var: '\w+'\)", "", capfd.readouterr().err)
            expected = f"Invalid value for '{option}': '{wrong}' is no probability; write 0.3"
            assert expected in said
