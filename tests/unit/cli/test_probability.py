"""A probability is 0.3 or 30%, and nothing else."""

import pytest
from typer import BadParameter

from camcast.cli.probability import _probability


@pytest.mark.parametrize(
    ("given", "value"), [("0.3", 0.3), ("30%", 0.3), (" 30 %", 0.3), ("0", 0), ("100%", 1), (1, 1)]
)
def test_a_share_or_a_percentage(given: str | float, value: float) -> None:
    assert _probability(given) == pytest.approx(value)


@pytest.mark.parametrize("wrong", ["", "x", "1.1", "-0.1", "101%", "nan", "inf", "3 0", "%"])
def test_anything_else_is_refused(wrong: str) -> None:
    with pytest.raises(BadParameter, match=r"is no probability; write 0\.3 or 30%"):
        _probability(wrong)
