"""The world of the tests of repair."""

from __future__ import annotations

import pytest

from tests.library.unit.engine.repair.repair_world import RepairWorld


@pytest.fixture
def world() -> RepairWorld:
    return RepairWorld()
