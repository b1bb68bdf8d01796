"""The state machine that gossips level by level (002, 5), and its rounds and audiences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.systems.hpmcast.address import (
    Address,
    distance,
)
from camcast.research.systems.hpmcast.rounds import (
    ENDED_MAX,
    Audience,
    LevelGossip,
    audience,
    rounds,
)
from camcast.research.systems.hpmcast.view import processes_of, tables

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
