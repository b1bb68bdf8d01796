"""Addresses, views and the state machine of hpmcast (002, sections 4 and 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from random import Random

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
from camcast.protocols.hpmcast.rounds import ENDED_MAX, Audience, LevelGossip, audience, rounds
from camcast.protocols.hpmcast.view import condense, elect, process_line, processes_of, tables

IP = AddressSpace.regular(256, 4)
spaces = st.lists(st.integers(1, 300), min_size=1, max_size=6).map(lambda a: AddressSpace(tuple(a)))


# --- addresses ----------------------------------------------------------------------------------


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


# --- views --------------------------------------------------------------------------------------

members = st.dictionaries(
    st.tuples(*[st.integers(0, 3)] * 3), st.sets(st.sampled_from("ABCD")), min_size=1
)


def together(interests: Sequence[set[str]]) -> set[str]:
    return set().union(*interests)


@given(members=members, redundancy=st.integers(1, 5), data=st.data())
def test_a_table_is_what_its_definition_says(
    members: dict[Address, set[str]], redundancy: int, data: st.DataObject
) -> None:
    owner = data.draw(st.sampled_from(sorted(members)))
    for level, table in tables(owner, members, redundancy, together).items():
        prefix = branch(owner, level)
        digits = sorted({x[3 - level] for x in members if x[: 3 - level] == prefix})
        assert [line.branch for line in table] == [(*prefix, digit) for digit in digits]
        for line in table:
            below = sorted(x for x in members if x[: 4 - level] == line.branch)
            assert line.delegates == tuple(below[:redundancy])
            assert line.processes == len(below)
            assert line.interest == together([members[x] for x in below])


def test_delegates_need_no_list_of_all() -> None:
    """The smallest of the lines' smallest are the smallest of all."""
    lines = [process_line((0, digit), {"A"}) for digit in (5, 3, 9)]
    assert condense(lines, 2, together).delegates == ((0, 3), (0, 5))
    assert elect([(2,), (1,), (2,), (3,)], 2) == ((1,), (2,))
    with pytest.raises(ValueError, match="without lines"):
        condense([], 2, together)
    with pytest.raises(ValueError, match="redundancy"):
        tables((0, 3), {(0, 3): {"A"}}, 0, together)


# --- the state machine --------------------------------------------------------------------------

PROCESSES = ("a", "b", "c", "d")


def gossiping(
    levels: int = 2,
    view: Callable[[int, str], Audience[str]] | None = None,
    fan_out: int = 2,
    redundancy: int = 1,
) -> LevelGossip[str, str]:
    everybody = audience(4, PROCESSES, [True] * 4)
    return LevelGossip("a", levels, redundancy, fan_out, view or (lambda *_: everybody), Random(1))


def test_an_event_goes_down_and_ends() -> None:
    """log 4 (1/2 + 1/log 3) is 1.95: two rounds a level, the next in the same period."""
    assert rounds(4, 1.0, 2) == pytest.approx(1.955, abs=0.001)
    gossip = gossiping()
    gossip.publish("e")
    sent = [gossip.gossip() for _ in range(5)]
    assert [[(c.level, c.rounds, c.share) for c in copies] for copies in sent] == [
        *([(2, 1, 1.0)] * 2, [(2, 2, 1.0)] * 2, [(1, 1, 1.0)] * 2, [(1, 2, 1.0)] * 2, [])
    ]
    assert all(len({c.to for c in copies}) == 2 for copies in sent[:4])  # distinct
    assert all(c.to != "a" for copies in sent for c in copies)
    assert gossip.idle
    assert gossip.knows("e")
    assert not gossip.receive("e", 1.0, 0, 2)  # a late copy
    gossip.publish("e")
    assert gossip.idle


def test_a_received_event_goes_on_where_it_was() -> None:
    gossip = gossiping()
    assert gossip.receive("e", 1.0, 1, 2)
    assert not gossip.receive("e", 1.0, 0, 1)  # known, in another level
    assert [(c.level, c.rounds) for c in gossip.gossip()] == [(2, 2), (2, 2)]
    assert [c.level for c in gossip.gossip()] == [1, 1]


@pytest.mark.parametrize(
    "numbers", [(1.5, 0, 1), (-0.1, 0, 1), (0.5, -1, 1), (0.5, 0, 3), (1, 0, 0)]
)
def test_a_copy_with_numbers_that_nobody_sends(numbers: tuple[float, int, int]) -> None:
    share, count, level = numbers
    with pytest.raises(ValueError, match="a copy of level"):
        gossiping().receive("e", share, count, level)
    with pytest.raises(ValueError, match="a copy of level"):
        gossiping().receive("e", float("nan"), 0, 1)


def test_only_the_interested_are_sent_copies() -> None:
    view = audience(4, PROCESSES, [False, True, False, False])
    gossip = gossiping(1, lambda *_: view, fan_out=3, redundancy=3)
    gossip.publish("e")
    copies = gossip.gossip()
    assert [(c.to, c.share) for c in copies] == [("b", 0.25)]


def test_a_view_of_nobody_ends_at_once() -> None:
    gossip = gossiping(3, lambda *_: audience(0, [], []))
    gossip.publish("e")
    assert gossip.gossip() == []
    assert gossip.idle


def test_what_has_ended_is_remembered_within_bounds() -> None:
    gossip = gossiping(1, lambda *_: audience(0, [], []))
    for event in range(ENDED_MAX + 1):
        gossip.publish(str(event))
        gossip.gossip()
    assert not gossip.knows("0")
    assert gossip.knows("1")


def test_the_view_is_asked_every_time() -> None:
    """Who joined meanwhile is sent copies."""
    views = iter([audience(1, ["b"], [True]), *[audience(2, ["b", "c"], [True] * 2)] * 9])
    gossip = gossiping(1, lambda *_: next(views), fan_out=5, redundancy=9)
    gossip.publish("e")
    assert sorted(c.to for c in gossip.gossip()) == ["b", "c"]


@given(
    interested=st.lists(st.booleans(), max_size=12),
    threshold=st.integers(0, 14),
    expected=st.none() | st.floats(0, 1),
)
def test_the_audience_threshold(
    interested: list[bool], threshold: int, expected: float | None
) -> None:
    size = len(interested)
    found = audience(size, range(size), interested, threshold, expected)
    hits = sum(interested)
    few = hits < threshold if expected is None else size * expected < threshold
    for at, (before, after) in enumerate(zip(interested, found.wanted, strict=True)):
        assert after == (before or (few and hits > 0 and at < threshold))
    assert 0 <= found.share <= 1
    if expected is None and size:
        assert found.share == sum(found.wanted) / size
    elif expected is not None and size and not (few and hits):
        assert found.share == pytest.approx(expected)


def test_rounds_are_bounded_whatever_share_is_sent() -> None:
    """A stranger's share cannot keep an event for ever: where rounds are long, it is 0."""
    longest = max(rounds(66, share / 10_000, 2) for share in range(10_001))
    assert longest < 60
    assert rounds(66, 1e-300, 2) == 0


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32))
def test_all_copies_go_to_the_level_s_view(levels: int, fan_out: int, seed: int) -> None:
    everybody = dict.fromkeys(product(range(2), repeat=levels), True)
    me = (0,) * levels
    known = tables(me, everybody, 2, any)

    def view(level: int, event: str) -> Audience[Address]:
        processes = processes_of(known[level])
        return audience(len(known[level]), processes, [True] * len(processes))

    gossip = LevelGossip[str, Address](me, levels, 2, fan_out, view, Random(seed))
    gossip.publish("e")
    while not gossip.idle:
        for copy in gossip.gossip():
            assert copy.to in processes_of(known[copy.level])
            assert distance(me, copy.to) <= copy.level
            assert copy.to != me
