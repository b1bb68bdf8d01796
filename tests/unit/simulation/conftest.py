"""What tests of this folder are given by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import new_loop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    """A loop on virtual time; its end is part of the test, as it fails on what was lost."""
    with new_loop() as loop:
        yield loop
