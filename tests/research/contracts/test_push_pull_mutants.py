"""The contract of protocols finds the mistakes of one: mutants of examples/push_pull."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.contracts.contract_mutants import assert_found


@pytest.mark.slow
def test_mutants_of_the_example_do_not_keep_its_contract(tmp_path: Path) -> None:
    assert_found("push_pull", tmp_path)
