"""Hierarchies: addresses of identities, and options out of range."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.doors.options import OptionError
from camcast.doors.plugs import find_protocol
from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.vocabulary.identity import PeerId

peers = st.binary(min_size=16, max_size=16).map(PeerId)
hierarchies = st.builds(
    Hierarchy,
    arity=st.integers(2, 12),
    depth=st.integers(1, 8),
    redundancy=st.integers(1, 5),
)


@given(hierarchy=hierarchies, one=peers, other=peers)
def test_every_identity_has_an_address_of_its_own(
    hierarchy: Hierarchy, one: PeerId, other: PeerId
) -> None:
    address = hierarchy.address_of(one)
    *digits, last = address
    assert len(address) == hierarchy.depth
    assert all(0 <= digit < hierarchy.arity for digit in digits)
    assert 0 <= last <= 2**128 // hierarchy.arity ** len(digits)
    assert (address == hierarchy.address_of(other)) == (one == other)


def test_identities_spread_over_the_groups_alike() -> None:
    """Chi-square with 24 degrees of freedom: below 51.2 with probability 0.999."""
    hierarchy, rng = Hierarchy(arity=5, depth=3), Random(1)
    counts: dict[Address, int] = {}
    for _ in range(5000):
        group = hierarchy.address_of(PeerId(rng.randbytes(16)))[:-1]
        counts[group] = counts.get(group, 0) + 1
    assert len(counts) == 25
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 51.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arity": "1"}, "'arity' must be >= 2"),
        ({"depth": 0}, "'depth' must be >= 1"),
        ({"redundancy": 65}, "'redundancy' must be <= 64"),
        ({"fan_out": 0}, "'fan_out' must be >= 1"),
        ({"arity": 100, "depth": 12}, "more than 2\\^64 groups"),
        ({"levels": 3}, "has no option 'levels'"),
    ],
)
def test_an_option_out_of_range_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        find_protocol("hpmcast", options)
