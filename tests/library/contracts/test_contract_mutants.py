"""The contracts find the mistakes of plugs: mutants of the examples, drawn by a seed.

A mutant that no test can find is not counted: it behaves as the original does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from camcast.testing.mutants import draw
from tests.library.contracts.contract_mutants import survivors
from tests.library.example_packages import EXAMPLES

CAUGHT_MIN: Final = 0.85
EQUIVALENT: Final = {
    "newscast": (
        "51 for 5: 5",  # more peers are watched
        "1.0 for 0.0: 0.0",  # a partner counts as a second older
        "left out: fresh.pop(self._me.peer, None)",  # the base never holds the process itself
    ),
    "shared_directory": (
        "False for True: True",  # the folder is there
        "no bound: :FILES_MAX",  # 10,000 files cost memory only
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", EQUIVALENT)
def test_mutants_of_an_example_do_not_keep_its_contract(package: str, tmp_path: Path) -> None:
    drawn = draw((EXAMPLES / package / f"{package}.py").read_text(), 40, seed=1)
    counted = [one.mistake for one in drawn if one.mistake not in EQUIVALENT[package]]
    passed: Sequence[str] = [one.mistake for one in survivors(package, tmp_path)]
    missed = [mistake for mistake in passed if mistake in counted]
    assert 1 - len(missed) / len(counted) >= CAUGHT_MIN, missed
