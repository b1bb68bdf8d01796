"""Addresses in a hierarchy: branches and distances (002, 4.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.systems.hpmcast.address import Address, branch, distance


def test_branches_and_distances() -> None:
    address = (128, 178, 73, 3)
    assert [branch(address, level) for level in range(5)] == [
        address[: 4 - level] for level in range(5)
    ]
    with pytest.raises(ValueError, match="level 5"):
        branch(address, 5)
    others = ((128, 178, 73, 4), (128, 178, 7, 3), (128, 1, 73, 3), (1, 178, 73, 3))
    assert [distance(address, other) for other in (address, *others)] == [0, 1, 2, 3, 4]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=3, max_size=3))
def test_distance_is_an_ultrametric(addresses: list[Address]) -> None:
    one, two, three = addresses
    assert distance(one, two) == distance(two, one)
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, three) <= max(distance(one, two), distance(two, three))
    common = distance(one, two)
    assert branch(one, common) == branch(two, common)
