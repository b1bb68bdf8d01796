"""What is known of streams: against a set that remembers everything, and against floods."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.engine import known_streams as streams
from camcast.engine.known_streams import (
    IDLE_SECONDS,
    JUMP,
    JUMPS_MAX,
    RANGES_MAX,
    KnownRanges,
    KnownStreams,
)
from camcast.vocabulary.events import SEQUENCE_MAX


class RemembersEverything:
    """The semantic, event by event."""

    def __init__(self) -> None:
        self.events: set[int] = set()

    def missing(self, first: int, count: int) -> list[int]:
        return [number for number in range(first, first + count) if number not in self.events]

    def add(self, first: int, count: int) -> None:
        self.events |= set(range(first, first + count))


def arrive(known: KnownRanges, first: int, count: int) -> list[int]:
    """Let a batch arrive as the intake does; return what of it is new."""
    if known.knows(first, count):
        return []
    missing = known.missing(first, count)
    if known.add(first, count) is None:
        return []
    return [number for start, stop in missing for number in range(start, stop)]


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 8)), max_size=80))
@settings(max_examples=500)
def test_it_says_what_a_twin_with_perfect_memory_says(arrivals: list[tuple[int, int]]) -> None:
    """Overlaps, gaps and any order, in fewer ranges than there is room for."""
    known, twin = KnownRanges(0.0, b""), RemembersEverything()
    for first, count in arrivals:
        assert known.knows(first, count) is (twin.missing(first, count) == [])
        assert arrive(known, first, count) == twin.missing(first, count)
        twin.add(first, count)
        bounds = [known.low, *known.bounds]
        assert all(low < high for low, high in pairwise(bounds))


@given(
    st.lists(
        st.tuples(st.integers(1, 500) | st.integers(1, SEQUENCE_MAX - 300), st.integers(1, 256)),
        max_size=300,
    )
)
@settings(max_examples=300)
def test_nothing_is_new_twice_whatever_comes_and_memory_is_bounded(
    arrivals: list[tuple[int, int]],
) -> None:
    known, twin = KnownRanges(0.0, b""), RemembersEverything()
    for first, count in arrivals:
        new = arrive(known, first, count)
        assert not set(new) - set(twin.missing(first, count))
        twin.add(first, count)
        assert len(known.bounds) <= 2 * RANGES_MAX


def test_a_burst_in_any_order_of_as_many_holes_as_fit_is_new_once_each() -> None:
    known = KnownRanges(0.0, b"")
    odd, even = range(2 * RANGES_MAX, 1, -2), range(1, 2 * RANGES_MAX, 2)
    assert all(arrive(known, number, 1) == [number] for number in (*odd, *even))
    assert not any(arrive(known, number, 1) for number in (*odd, *even))
    assert (known.low, known.bounds) == (2 * RANGES_MAX + 1, [])


def test_when_no_range_is_left_the_lowest_hole_is_given_up() -> None:
    known = KnownRanges(0.0, b"")
    for number in range(RANGES_MAX):
        assert known.add(3 + 2 * number, 1) == 0
    assert known.add(3 + 2 * RANGES_MAX, 1) == 2  # events 1 and 2
    assert known.low == 4
    assert arrive(known, 1, 1) == []
    assert arrive(known, 4, 1) == [4]


def test_where_repair_asks_no_hole_is_given_up_and_all_comes_in_the_end() -> None:
    """After a cut of ten seconds 200 events came in any order, and nine were given up in silence:
    lost, and not told as missed."""
    known = KnownRanges(0.0, b"", repaired=True)
    missing, rng = list(range(2, 1000)), Random(1)
    for _ in range(RANGES_MAX):
        rng.shuffle(missing)
        assert all(known.add(number, 1) in (0, None) for number in missing)
        assert len(known.bounds) <= 2 * RANGES_MAX
        missing = [number for number in missing if not known.knows(number, 1)]
    known.add(1, 1)
    for number in missing:  # repair asks from the lowest on
        assert known.add(number, 1) == 0
    assert (known.low, known.bounds) == (1000, [])


def test_a_hole_that_repair_has_given_up_makes_room() -> None:
    known = KnownRanges(0.0, b"", repaired=True)
    for number in range(2, 2 + 2 * RANGES_MAX, 2):
        assert known.add(number, 1) == 0
    assert known.add(1000, 1) is None
    known.floor = 4
    assert known.add(1000, 1) == 1
    assert known.low == 3


def test_a_forged_jump_silences_nobody() -> None:
    known = KnownRanges(0.0, b"")
    for number in range(1, 10):
        assert arrive(known, number, 1) == [number]
    for forged in range(SEQUENCE_MAX, SEQUENCE_MAX - 2 * 10**7, -(10**5)):
        known.add(forged, 1)
    for number in range(10, 5_000):
        assert arrive(known, number, 1) == [number]


def test_holes_behind_a_forged_jump_are_given_up_before_the_jump() -> None:
    known = KnownRanges(0.0, b"")
    assert arrive(known, 1, 9) == list(range(1, 10))
    given_up = [known.add(10 * JUMP + 2 * number, 1) for number in range(RANGES_MAX + 40)]
    assert given_up == [0] * RANGES_MAX + [1] * 40  # the event between two ranges, each time
    assert len(known.bounds) == 2 * RANGES_MAX
    for number in range(10, 5_000):
        assert arrive(known, number, 1) == [number]


def test_forged_jumps_leave_room_for_what_comes_out_of_order() -> None:
    known = KnownRanges(0.0, b"")
    refused = [known.add(2 * JUMP * number, 1) is None for number in range(1, 100)]
    assert refused == [False] * JUMPS_MAX + [True] * (99 - JUMPS_MAX)
    pairs = [number for pair in range(2, 2_000, 2) for number in (pair, pair - 1)]
    assert all(arrive(known, number, 1) == [number] for number in pairs)


def test_a_flood_of_streams_from_one_peer_keeps_nobody_out() -> None:
    known = KnownStreams()
    honest = known.introduce(b"honest", b"friend", 0.0)
    assert honest is not None
    for number in range(streams.STREAMS_MAX):
        known.introduce(b"%d" % number, b"flooder", 0.0)
    assert len(known.known) == streams.SHARE + 1
    assert known.known[b"honest"] is honest
    assert known.introduce(b"another", b"friend", 0.0) is not None


def test_streams_are_bounded_whoever_tells_of_them() -> None:
    known = KnownStreams()
    told = [known.introduce(b"%d" % n, b"%d" % n, 0.0) for n in range(streams.STREAMS_MAX + 100)]
    assert len(known.known) == streams.STREAMS_MAX
    assert told[-1] is None


def test_strangers_who_fill_all_places_keep_no_stream_of_this_process_out() -> None:
    """Nor one that it accepts from another of its groups: nobody but itself introduces these."""
    known = KnownStreams()
    for number in range(streams.STREAMS_MAX):
        known.introduce(b"%d" % number, b"%d" % (number % 7), 0.0)
    assert known.introduce(b"stranger's", b"8", 0.0) is None
    assert known.introduce(b"own", b"", 0.0) is not None


def test_what_is_idle_for_long_makes_room_and_nothing_else_does() -> None:
    known = KnownStreams()
    for number in range(streams.SHARE):
        known.introduce(b"%d" % number, b"peer", 0.0)
    assert known.introduce(b"new", b"peer", IDLE_SECONDS) is None
    known.known[b"0"].heard = IDLE_SECONDS
    assert known.introduce(b"new", b"peer", 2 + IDLE_SECONDS) is not None
    assert list(known.known) == [b"0", b"new"]
