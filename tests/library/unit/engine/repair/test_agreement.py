"""Tallies against all batches XORed by hand; agreement against a plain record of what is told."""

from __future__ import annotations

import hashlib
from functools import reduce
from operator import xor

from hypothesis import given
from hypothesis import strategies as st

from camcast.engine.repair.agreement import (
    APART_SECONDS,
    FULL_SECONDS,
    TOLD_MAX,
    Agreement,
    Tally,
)
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT

NOW = 1_800_000_000
STREAM = stream_id(PeerId(b"p" * 16), 7)


def batch(first: int, second: float) -> Batch:
    return make_batch(STREAM, first, [b"!"], ROOT, published=round(1000 * second))


def counted(*batches: Batch) -> int:
    """Return the tally of these batches, reckoned another way."""
    hashes = (hashlib.blake2b(one.body[:30], digest_size=8).digest() for one in batches)
    return reduce(xor, (int.from_bytes(one) for one in hashes), 0)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 200)), max_size=30))
def test_a_tally_is_that_of_what_was_published_before_a_second(
    arrivals: list[tuple[int, int]],
) -> None:
    """Whatever the order of coming, and with batches that come up to 40 seconds late."""
    tally, known = Tally(), []
    for number, (late, second) in enumerate(sorted(arrivals, key=sum), 1):
        known.append(batch(number, NOW + second))
        tally.add(known[-1], NOW + second + late)
        asked = NOW + second + late - 3
        before = [one for one in known if one.published < 1000 * asked]
        assert tally.until(asked) == counted(*before)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans()), max_size=12),
    st.integers(0, 9),
)
def test_two_differ_in_the_seconds_of_which_they_know_other_batches(
    batches: list[tuple[int, bool, bool]], member_since: int
) -> None:
    """But for those before one was a member, of which it knows nothing."""
    one, other = Tally(), Tally()
    seconds: dict[int, tuple[list[int], list[int]]] = {}
    for number, (second, in_one, in_other) in enumerate(batches, 1):
        known = seconds.setdefault(second, ([], []))
        for tally, has, numbers in zip((one, other), (in_one, in_other), known, strict=True):
            if has:
                tally.add(batch(number, NOW + second), NOW + second)
                numbers.append(number)
    differ = [
        second
        for second, (here, there) in seconds.items()
        if here != there and (here or second >= member_since)
    ]
    parts = other.parts(NOW, NOW + 10)
    assert bool(one.difference(parts, NOW, NOW + 10, NOW + member_since)) == bool(differ)


def test_batches_are_told_apart_by_stream_first_and_count() -> None:
    """So that no set of consecutive numbers cancels out, as it would with a CRC."""
    tally = Tally()
    for number in range(1, 9):
        tally.add(batch(number, NOW), NOW)
        assert tally.until(NOW + 1) != 0
    other = stream_id(PeerId(b"q" * 16), 7)
    assert counted(batch(1, NOW)) != counted(make_batch(other, 1, [b"!"], ROOT))


def test_a_publisher_whose_clock_is_wrong_counts_at_once() -> None:
    for wrong in (NOW + 10 * APART_SECONDS, 0, 2**63 // 1000):
        tally = Tally()
        tally.add(batch(1, NOW), NOW)
        tally.add(batch(2, wrong), NOW)
        assert tally.until(NOW - 3) == counted(batch(2, wrong))
        assert tally.until(NOW + 3) == counted(batch(1, NOW), batch(2, wrong))


def test_a_tally_of_long_ago_cannot_be_told_and_its_memory_is_bounded() -> None:
    tally = Tally()
    for second in range(10 * APART_SECONDS):
        tally.add(batch(second + 1, NOW + second), NOW + second)
    assert tally.until(NOW) is None
    assert tally.until(NOW + 9 * APART_SECONDS) is not None
    assert len(tally._recent) <= 3 * APART_SECONDS


class Neighbour:
    """Two neighbours' heartbeats, one a second, and when one is told all."""

    def __init__(self) -> None:
        self.agreement = Agreement()
        self.now = 0.0
        self.told: list[float] = []

    def hear(self, *differences: int) -> None:
        for difference in differences:
            if self.agreement.hear(difference, NOW + int(self.now), self.now):
                self.told.append(self.now)
                self.agreement.told_at = self.now
                self.agreement.tell(difference)
            self.now += 1.0


def test_a_difference_is_told_of_if_it_is_there_twice_running() -> None:
    neighbour = Neighbour()
    neighbour.hear(0, 0, 7, 0, 7, 0)
    assert not neighbour.told
    neighbour.hear(7, 9)
    assert neighbour.told == [7.0]


def test_a_new_neighbour_is_told_at_once() -> None:
    neighbour = Neighbour()
    neighbour.hear(7)
    assert neighbour.told == [0.0]


def test_two_beats_up_to_the_same_second_are_one() -> None:
    neighbour = Neighbour()
    neighbour.hear(0)
    for _ in range(3):
        assert not neighbour.agreement.hear(7, NOW + 5, 5.0)
    assert neighbour.agreement.hear(7, NOW + 6, 6.0)


def test_a_difference_that_remains_is_told_of_thrice_and_another_again() -> None:
    neighbour = Neighbour()
    neighbour.hear(*[7] * 100)
    assert len(neighbour.told) == TOLD_MAX
    assert neighbour.told[1] - neighbour.told[0] >= FULL_SECONDS
    neighbour.hear(7 ^ 32, 7, 7 ^ 32, 7)  # on its way, each time
    assert len(neighbour.told) == TOLD_MAX
    neighbour.hear(7 ^ 32, 7 ^ 32)
    assert len(neighbour.told) == TOLD_MAX + 1
    neighbour.hear(0, 7, 7)  # and when all came, the old one is news as well
    assert len(neighbour.told) == TOLD_MAX + 2


def test_first_what_came_since_the_agreement_is_told_and_then_all() -> None:
    neighbour = Neighbour()
    neighbour.hear(*[0] * 50, 7)
    assert 30.0 < neighbour.agreement.news_since() < 50.0
    neighbour.hear(7)
    assert 30.0 < neighbour.agreement.news_since() < 50.0
    neighbour.hear(*[7] * 10)
    assert neighbour.agreement.news_since() < 0.0
