"""Signals, threads, collections, forks and limits, interleaved at random, lose nothing."""

from pathlib import Path
from typing import Final

import pytest

from tests.python_process import output_of

SCRIPT: Final = Path(__file__).with_name("blocking_interleavings.py")


def events_read(seed: int, count: int, seconds: float) -> int:
    """Run so many interleavings in a process, which a hang ends in 20 s; return what it judged."""
    return int(output_of(SCRIPT, seed, count, seconds=seconds))


def test_a_few_dozen_interleavings_lose_nothing_and_hang_nowhere() -> None:
    assert events_read(seed=1, count=40, seconds=120.0) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_ten_thousand_interleavings_lose_nothing_and_hang_nowhere(seed: int) -> None:
    assert events_read(seed, count=500, seconds=3600.0) > 100
