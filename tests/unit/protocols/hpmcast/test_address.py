"""Addresses in a hierarchy: their text, branches and distances (002, 4.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.protocols.hpmcast.address import (
    DIGITS_MAX,
    Address,
    AddressSpace,
    HierarchyAddressError,
    branch,
    distance,
    write,
)

IP = AddressSpace.regular(256, 4)
spaces = st.lists(st.integers(1, 300), min_size=1, max_size=6).map(lambda a: AddressSpace(tuple(a)))


@given(space=spaces, data=st.data())
def test_an_address_survives_its_text(space: AddressSpace, data: st.DataObject) -> None:
    digits = (st.integers(0, arity - 1) for arity in space.arities)
    address = tuple(data.draw(digit) for digit in digits)
    assert space.parse(write(address)) == space.check(address) == address


@given(st.text(max_size=40) | st.text("0123456789.", max_size=16))
def test_any_text_is_an_address_or_a_named_error(text: str) -> None:
    parts = text.split(".")
    good = len(parts) == 4 and all(p.isascii() and p.isdigit() and int(p) < 256 for p in parts)
    if good:
        assert IP.check(IP.parse(text)) == tuple(map(int, parts))
    else:
        with pytest.raises(HierarchyAddressError) as error:
            IP.parse(text)
        assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.25.3", r"x\(1\), at column 3, is 25; it goes from 0 to 21"),
        ("22.0.0", r"x\(2\), at column 1, is 22"),
        ("1.2.999999999999999999999999999", r"x\(0\), at column 5, is 9+; it goes from 0 to 21"),
        ("1.-2.3", r"x\(1\), at column 3, is '-2'; write a number"),
        ("1..3", r"x\(1\), at column 3, is ''"),
        ("1.٣.3", "write a number"),
        ("1.2", "2 digits; this hierarchy has 3 levels"),
        ("1.2.3.4", "4 digits"),
        ("", "1 digits"),
    ],
)
def test_a_wrong_address_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(HierarchyAddressError, match=message):
        AddressSpace.regular(22, 3).parse(text)


def test_a_number_with_noughts_before_it_is_a_number() -> None:
    assert AddressSpace.regular(22, 2).parse("007.21") == (7, 21)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ((1, 2, 22), r"x\(0\), at column 5"),
        ((1, -1, 0), r"x\(1\), at column 3"),
        ((1, 2), "2 digi"),
    ],
)
def test_an_address_is_checked(address: Address, message: str) -> None:
    with pytest.raises(HierarchyAddressError, match=message):
        AddressSpace.regular(22, 3).check(address)


def test_a_space_is_checked() -> None:
    with pytest.raises(ValueError, match=r"a\(1\) is 0"):
        AddressSpace((3, 0, 4))
    with pytest.raises(ValueError, match="depth 0"):
        AddressSpace(())
    with pytest.raises(ValueError, match=str(DIGITS_MAX)):
        AddressSpace.regular(2, DIGITS_MAX + 1)


def test_branches_and_distances() -> None:
    address = IP.parse("128.178.73.3")
    assert [write(branch(address, level)) for level in range(5)] == [
        *("128.178.73.3", "128.178.73", "128.178", "128", "")
    ]
    with pytest.raises(ValueError, match="level 5"):
        branch(address, 5)
    others = ("128.178.73.3", "128.178.73.4", "128.178.7.3", "128.1.73.3", "1.178.73.3")
    assert [distance(address, IP.parse(other)) for other in others] == [0, 1, 2, 3, 4]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=3, max_size=3))
def test_distance_is_an_ultrametric(addresses: list[Address]) -> None:
    one, two, three = addresses
    assert distance(one, two) == distance(two, one)
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, three) <= max(distance(one, two), distance(two, three))
    common = distance(one, two)
    assert branch(one, common) == branch(two, common)
