"""The size estimate: exact while small, its bias and error when large, and garbage."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.size_estimate import (
    AGE_MAX,
    SAMPLE,
    SAMPLE_PACE,
    SIZE_MAX,
    SizeEstimate,
)


class Crowd:
    """Estimators that gossip in pairs: each tells one other in every heartbeat of a second."""

    def __init__(self, size: int, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        self.estimates = [self.newcomer() for _ in range(size)]

    def newcomer(self) -> SizeEstimate:
        return SizeEstimate(self.rng.randbytes(16), heartbeat_seconds=1.0)

    def gossip(self, heartbeats: int) -> None:
        for _ in range(heartbeats):
            self.now += 1.0
            for teller in self.estimates:
                hearer = self.rng.choice(self.estimates)
                if hearer is not teller:
                    hearer.merge(teller.encode(self.now), self.now)
                    teller.merge(hearer.encode(self.now), self.now)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 40, SAMPLE - 1])
def test_it_is_exact_below_64(size: int) -> None:
    crowd = Crowd(size, seed=size)
    crowd.gossip(15)
    assert {estimate.size for estimate in crowd.estimates} == {float(size)}


def test_everybody_agrees_after_a_rumours_time() -> None:
    crowd = Crowd(300, seed=1)
    crowd.gossip(15)
    assert len({estimate.size for estimate in crowd.estimates}) == 1


@pytest.mark.parametrize("size", [100, 1_000, 10_000])
def test_bias_and_error_in_a_large_community(size: int) -> None:
    """(k-1)/x has no bias and the relative error 1/sqrt(k-2) = 12.7 %, over 400 communities.

    The mean of 400 lies within 3.3 standard errors of 1 (99.9 %), and their spread within
    15 % of the theory (some 4 standard errors of a standard deviation); N = 100 has less
    spread by sqrt(1 - k/N), for the sample is a large part of all.
    """
    rng, runs = Random(size), 400
    ratios = []
    for _ in range(runs):
        one = SizeEstimate(rng.randbytes(16), 1.0)
        for _ in range(size - 1):
            one.note(rng.randbytes(16), 0.0)
        one.refresh(0.0)
        ratios.append(one.size / size)
    error = sqrt((1 - SAMPLE / size) / (SAMPLE - 2))
    mean = fmean(ratios)
    spread = sqrt(fmean((ratio - mean) ** 2 for ratio in ratios))
    assert abs(mean - 1) < 3.3 * error / sqrt(runs)
    assert spread == pytest.approx(error, rel=0.15)


def test_gossip_finds_the_estimate_of_one_who_heard_everybody() -> None:
    crowd = Crowd(1_000, seed=5)
    crowd.gossip(16)
    one = crowd.estimates[0].size
    assert {estimate.size for estimate in crowd.estimates} == {one}
    assert one == pytest.approx(1_000, rel=4 * 0.127)  # 4 standard errors


@pytest.mark.parametrize(("size", "left"), [(40, 20), (400, 40)])
def test_a_crash_is_followed_after_age_max(size: int, left: int) -> None:
    """Gossip renews nobody's age: AGE_MAX heartbeats after the crash the dead are forgotten."""
    crowd = Crowd(size, seed=3)
    crowd.gossip(16)
    crowd.estimates = crowd.estimates[:left]
    crowd.gossip(int(AGE_MAX) - 16)
    assert max(estimate.size for estimate in crowd.estimates) > left
    crowd.gossip(16 + 16)  # until all the dead are too old, and the living are heard of again
    assert {estimate.size for estimate in crowd.estimates} == {float(left)}


def test_newcomers_are_counted_and_an_old_owner_stays() -> None:
    crowd = Crowd(10, seed=4)
    crowd.gossip(50)
    crowd.estimates += [crowd.newcomer() for _ in range(5)]
    crowd.gossip(15)
    assert {estimate.size for estimate in crowd.estimates} == {15.0}


def test_a_pause_of_the_process_ages_nobody() -> None:
    crowd = Crowd(20, seed=6)
    crowd.gossip(15)
    one = crowd.estimates[0]
    after = crowd.now + 1_000.0
    one.note(b"heard of just now", after)
    one.forgive(1_000.0, after)
    one.refresh(after)
    assert one.size == 21.0
    one.refresh(after + AGE_MAX + 0.1)  # nothing was dated into the future
    assert one.size == 1.0


def test_the_sample_is_bounded() -> None:
    one = SizeEstimate(b"me", 1.0)
    for number in range(1_000):
        one.note(number.to_bytes(4, "big"), 0.0)
    assert len(one.encode(0.0)) == SAMPLE * 10


@given(st.binary(max_size=700).filter(lambda garbage: len(garbage) % 10 or len(garbage) > 640))
def test_what_is_no_sample_is_ignored(garbage: bytes) -> None:
    one = SizeEstimate(b"me", 1.0)
    one.note(b"another", 0.0)
    one.refresh(0.0)
    before = one.encode(1.0)
    one.merge(garbage, 1.0)
    assert one.encode(1.0) == before
    assert one.size == 2.0


@given(st.lists(st.binary(min_size=10, max_size=10), max_size=64).map(b"".join))
def test_forged_numbers_keep_the_estimate_in_its_range(forged: bytes) -> None:
    one = SizeEstimate(b"me", 1.0)
    one.merge(forged, 100.0)
    one.merge(bytes(640), 100.0)
    one.refresh(100.0)
    assert 1.0 <= one.size <= SIZE_MAX


def test_forged_smallest_numbers_are_clamped() -> None:
    one = SizeEstimate(b"me", 1.0)
    one.merge(b"".join(number.to_bytes(8, "big") + b"\0\0" for number in range(64)), 0.0)
    assert one.size == SIZE_MAX


@pytest.mark.parametrize("size", [10, 200])
def test_a_forged_sample_makes_of_an_estimate_eight_times_as_much_at_the_most(size: int) -> None:
    """It made 200 of 200 processes believe in 10^9: 720 bytes stopped all upward traffic."""
    crowd = Crowd(size, seed=6)
    crowd.gossip(40)
    forged = b"".join(number.to_bytes(8) + b"\0\0" for number in range(64))
    before = max(estimate.size for estimate in crowd.estimates)
    crowd.estimates[0].merge(forged, crowd.now)
    most = 0.0
    for _ in range(60):
        crowd.gossip(1)
        most = max(most, *(estimate.size for estimate in crowd.estimates))
    assert before < most <= 8.5 * before
    assert {round(estimate.size) for estimate in crowd.estimates} == {round(before)}


@pytest.mark.parametrize("size", [10, 200])
def test_who_goes_on_forging_is_not_believed_more_and_more(size: int) -> None:
    """Ten minutes of forged samples: they made a thousand million; and nobody passes them on."""
    crowd = Crowd(size, seed=7)
    crowd.gossip(40)
    forged = [
        b"".join((number + 64 * each).to_bytes(8) + b"\0\0" for number in range(64))
        for each in range(3)
    ]
    before, victims = max(estimate.size for estimate in crowd.estimates), crowd.estimates[:3]
    for heartbeat in range(300 if size == 10 else 15):
        for victim in victims:
            victim.merge(forged[heartbeat % 3], crowd.now)
        crowd.gossip(1)
    assert max(estimate.size for estimate in crowd.estimates) <= 10 * before
    if size > SAMPLE:  # those that are plausible fill a sample, and the estimate stands
        assert max(estimate.size for estimate in crowd.estimates) <= 1.5 * before
    newcomer = crowd.newcomer()
    crowd.estimates.append(newcomer)
    crowd.gossip(5)
    assert newcomer.size <= 10 * before


def test_a_crowd_is_counted_up_to_eight_times_those_who_were_there() -> None:
    crowd = Crowd(10, seed=8)
    crowd.gossip(40)
    crowd.estimates += [crowd.newcomer() for _ in range(50)]
    crowd.gossip(15)
    assert {estimate.size for estimate in crowd.estimates} == {60.0}
    crowd.estimates += [crowd.newcomer() for _ in range(340)]
    crowd.gossip(12)
    sizes = sorted(estimate.size for estimate in crowd.estimates)
    assert sizes[0] > 60
    assert sizes[100] == pytest.approx(400, rel=0.4)


def test_who_is_heard_directly_needs_no_sample() -> None:
    """Vouched for with the time of its last sign of life, a peer counts as long as it gives one."""
    one = SizeEstimate(bytes(16), heartbeat_seconds=1.0)
    peers = [bytes([number]) * 16 for number in range(1, 10)]
    for now in range(100):
        one.vouch((peer, float(now) if peer != peers[0] else min(now, 50.0)) for peer in peers)
        one.refresh(float(now))
        assert one.size == (10 if now <= 50 + AGE_MAX else 9)


@pytest.mark.parametrize(("size", "known"), [(10, 9), (20, 14), (1_000, 40), (10**6, 80)])
def test_a_rumour_is_everywhere_before_its_age_runs_out(size: int, known: int) -> None:
    """Each exchange informs both, so those who have heard of it triple: log3 of all for each."""
    exchanges = 3  # the last stragglers
    while known < size:
        known, exchanges = 3 * known, exchanges + 1
    assert SAMPLE_PACE * exchanges <= AGE_MAX
