"""The size estimate: exact while small, its bias and error when large, and garbage."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.size_estimate import (
    AGE_MAX,
    LONE_MAX,
    SAMPLE,
    SAMPLE_PACE,
    SIZE_MAX,
    SizeEstimate,
)

TELLER = Contact(PeerId(b"t" * 16), "tcp://127.0.0.1:1")
FORGED = b"".join(number.to_bytes(8) + b"\0\0" for number in range(SAMPLE))
"""As many as can be, of the smallest numbers."""


class Crowd:
    """Estimators that gossip in pairs: each tells one other in every heartbeat of a second."""

    def __init__(self, size: int, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        self.contacts: dict[SizeEstimate, Contact] = {}
        self.estimates = [self.newcomer() for _ in range(size)]

    def newcomer(self) -> SizeEstimate:
        peer = PeerId(self.rng.randbytes(16))
        estimate = SizeEstimate(peer, heartbeat_seconds=1.0)
        self.contacts[estimate] = Contact(peer, "tcp://127.0.0.1:1")
        return estimate

    def gossip(self, heartbeats: int) -> None:
        for _ in range(heartbeats):
            self.now += 1.0
            for teller in self.estimates:
                hearer = self.rng.choice(self.estimates)
                if hearer is not teller:
                    hearer.merge(teller.encode(self.now), self.contacts[teller], self.now)
                    teller.merge(hearer.encode(self.now), self.contacts[hearer], self.now)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 40, SAMPLE - 1])
def test_it_is_exact_below_64(size: int) -> None:
    crowd = Crowd(size, seed=size)
    crowd.gossip(15)
    assert {estimate.size for estimate in crowd.estimates} == {float(size)}


def test_everybody_agrees_after_a_rumours_time() -> None:
    crowd = Crowd(300, seed=1)
    crowd.gossip(15)
    assert len({estimate.size for estimate in crowd.estimates}) == 1


@pytest.mark.parametrize(
    "size", [100, *(pytest.param(one, marks=pytest.mark.slow) for one in (1_000, 10_000))]
)
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
        one.vouch((rng.randbytes(16), 0.0) for _ in range(size - 1))
        one.refresh(0.0)
        ratios.append(one.size / size)
    error = sqrt((1 - SAMPLE / size) / (SAMPLE - 2))
    mean = fmean(ratios)
    spread = sqrt(fmean((ratio - mean) ** 2 for ratio in ratios))
    assert abs(mean - 1) < 3.3 * error / sqrt(runs)
    assert spread == pytest.approx(error, rel=0.15)


@pytest.mark.slow
def test_gossip_finds_the_estimate_of_one_who_heard_everybody() -> None:
    crowd = Crowd(1_000, seed=5)
    crowd.gossip(16)
    one = crowd.estimates[0].size
    assert {estimate.size for estimate in crowd.estimates} == {one}
    assert one == pytest.approx(1_000, rel=4 * 0.127)  # 4 standard errors


@pytest.mark.parametrize(
    ("size", "left"), [(40, 20), pytest.param(400, 40, marks=pytest.mark.slow)]
)
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
    one.vouch((number.to_bytes(4, "big"), 0.0) for number in range(1_000))
    assert len(one.encode(0.0)) == SAMPLE * 10


@given(st.binary(max_size=700).filter(lambda garbage: len(garbage) % 10 or len(garbage) > 640))
def test_what_is_no_sample_is_ignored(garbage: bytes) -> None:
    one = SizeEstimate(b"me", 1.0)
    one.note(b"another", 0.0)
    one.refresh(0.0)
    before = one.encode(1.0)
    one.merge(garbage, TELLER, 1.0)
    assert one.encode(1.0) == before
    assert one.size == 2.0


@given(st.lists(st.binary(min_size=10, max_size=10), max_size=64).map(b"".join))
def test_forged_numbers_keep_the_estimate_in_its_range(forged: bytes) -> None:
    one = SizeEstimate(b"me", 1.0)
    one.merge(forged, TELLER, 100.0)
    one.merge(bytes(640), TELLER, 100.0)
    one.refresh(100.0)
    assert 1.0 <= one.size <= SIZE_MAX


def test_a_lone_teller_is_believed_as_far_as_a_newcomer_can_afford() -> None:
    """It was believed to the end of the range, 10^9."""
    one = SizeEstimate(b"me", 1.0)
    one.merge(FORGED, TELLER, 0.0)
    assert one.size == 8 * LONE_MAX


@pytest.mark.parametrize("size", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_forged_sample_makes_of_an_estimate_eight_times_as_much_at_the_most(size: int) -> None:
    """It made 200 of 200 processes believe in 10^9: 720 bytes stopped all upward traffic."""
    crowd = Crowd(size, seed=6)
    crowd.gossip(40)
    before = max(estimate.size for estimate in crowd.estimates)
    crowd.estimates[0].merge(FORGED, TELLER, crowd.now)
    most = 0.0
    for _ in range(60):
        crowd.gossip(1)
        most = max(most, *(estimate.size for estimate in crowd.estimates))
    assert before < most <= 8.5 * before
    assert {round(estimate.size) for estimate in crowd.estimates} == {round(before)}


@pytest.mark.parametrize("size", [10, pytest.param(200, marks=pytest.mark.slow)])
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
            victim.merge(forged[heartbeat % 3], TELLER, crowd.now)
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


@pytest.mark.parametrize("size", [8, 60])
def test_of_eight_tellers_one_that_lies_moves_no_newcomer_far(size: int) -> None:
    """Each newcomer believed the first lie it was told: in 10^9, as long as that went on."""
    crowd = Crowd(size, seed=9)
    crowd.gossip(20)
    newcomer = crowd.newcomer()
    honest = crowd.estimates[:7]
    before, most = max(estimate.size for estimate in honest), 0.0
    for _ in range(2 * int(AGE_MAX)):  # also when it is none any more
        crowd.gossip(1)
        for teller in honest:
            newcomer.merge(teller.encode(crowd.now), crowd.contacts[teller], crowd.now)
        newcomer.merge(FORGED, TELLER, crowd.now)
        most = max(most, newcomer.size)
    assert before < most <= 8 * (before + 2)


def test_a_newcomer_forgets_what_the_only_teller_said_when_others_speak() -> None:
    crowd = Crowd(100, seed=10)
    crowd.gossip(20)
    newcomer = crowd.newcomer()
    newcomer.merge(FORGED, TELLER, crowd.now)
    assert newcomer.size == 8 * LONE_MAX  # there is nothing to compare it with
    for teller in crowd.estimates[:2]:
        newcomer.merge(teller.encode(crowd.now), crowd.contacts[teller], crowd.now)
    assert newcomer.size <= 8 * 150


class Register:
    """Knows some processes, as if by certified records, and who was asked for others."""

    def __init__(self) -> None:
        self.known: dict[int, None] = {}
        self.asked: list[tuple[Contact, list[int]]] = []

    def counts(self, number: int) -> bool:
        return number in self.known

    def ask(self, teller: Contact, numbers: Iterable[int]) -> None:
        self.asked.append((teller, [number for number in numbers if number not in self.known]))


def test_only_certified_members_count_and_the_teller_is_asked_for_the_others() -> None:
    register, crowd = Register(), Crowd(40, seed=11)
    crowd.gossip(15)
    one = SizeEstimate(b"me", 1.0, register)
    for now in range(100):
        one.merge(FORGED, TELLER, crowd.now + now)
        one.refresh(crowd.now + now)
        assert one.size == 1.0
        assert len(one.encode(crowd.now + now)) == 10  # nor is any of it passed on
    assert register.asked[-1] == (TELLER, list(range(SAMPLE)))
    teller = crowd.estimates[0]
    one.merge(teller.encode(crowd.now), crowd.contacts[teller], crowd.now)
    assert one.size == 1.0
    register.known = dict.fromkeys(register.asked[-1][1])
    one.refresh(crowd.now)  # their records have come
    assert one.size == 41.0
    assert not one.is_stranger(teller.encode(crowd.now))
    del register.known[register.asked[-1][1][0]]  # its record has expired, or it is revoked
    one.refresh(crowd.now)
    assert one.size == 40.0


def test_a_goodbye_counts_at_once_and_samples_of_others_do_not_bring_the_number_back() -> None:
    """Some members heard of the leaver a moment before it left, and have not been told."""
    crowd = Crowd(10, seed=1)
    crowd.gossip(15)
    leaver = crowd.estimates.pop()
    hearer = crowd.estimates[0]
    gone = crowd.contacts[leaver].peer
    for other in crowd.estimates:
        other.note(gone, crowd.now)
    hearer.forget(gone, crowd.now)
    assert hearer.size == 9.0
    others = crowd.estimates[1:]
    for pace in range(1, 40):
        now = crowd.now + pace / 2
        teller = others[pace % len(others)]
        teller.merge(others[pace % 3].encode(now), crowd.contacts[others[pace % 3]], now)
        hearer.merge(teller.encode(now), crowd.contacts[teller], now)
        assert hearer.size == 9.0


@pytest.mark.parametrize("told", [True, False])
def test_who_comes_back_counts_again(told: bool) -> None:
    """Whether its own message arrives, or the news of it by another's sample."""
    crowd = Crowd(3, seed=2)
    crowd.gossip(10)
    hearer, teller, leaver = crowd.estimates
    hearer.forget(crowd.contacts[leaver].peer, crowd.now)
    now = crowd.now + 5.0
    (hearer if told else teller).note(crowd.contacts[leaver].peer, now)
    hearer.merge(teller.encode(now), crowd.contacts[teller], now)
    assert hearer.size == 3.0


def test_goodbyes_are_remembered_only_so_far() -> None:
    estimate = SizeEstimate(b"me", heartbeat_seconds=1.0)
    for number in range(10 * SAMPLE):
        estimate.forget(number.to_bytes(16), 0.0)
    assert len(estimate._gone) <= 2 * SAMPLE
