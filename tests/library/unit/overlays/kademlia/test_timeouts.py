"""The estimator against its closed form, and what it is for: no collapse when all are slow."""

from __future__ import annotations

from random import Random

import pytest

from camcast.virtual.climate import Constant
from camcast.vocabulary.topics import Topic
from overlays.kademlia.timeouts import ATTEMPTS, SECONDS_MAX, SECONDS_MIN, Patience
from tests.library.unit.overlays.kademlia.kademlia_world import Overlays

A = Topic.parse(".a")


def test_before_the_first_answer_the_shortest_time_is_waited() -> None:
    assert [Patience().seconds(n) for n in range(3)] == [n * SECONDS_MIN for n in ATTEMPTS]


def test_the_first_round_trip_counts_three_times() -> None:
    patience = Patience()
    patience.learn(0.5)
    assert patience.seconds(0) == pytest.approx(0.5 + 4 * 0.25)  # RFC 6298, 2.2


def test_mean_and_deviation_are_those_of_the_rfc() -> None:
    rng, patience = Random(1), Patience()
    mean = deviation = 0.0
    for number, sample in enumerate(rng.uniform(0.2, 1.5) for _ in range(200)):
        if number:  # RFC 6298, 2.3: the deviation first, with the old mean
            deviation = 3 / 4 * deviation + 1 / 4 * abs(mean - sample)
            mean = 7 / 8 * mean + 1 / 8 * sample
        else:
            mean, deviation = sample, sample / 2
        patience.learn(sample)
    assert patience.seconds(0) == pytest.approx(mean + 4 * deviation)


def test_it_stays_between_its_bounds() -> None:
    fast, slow = Patience(), Patience()
    for _ in range(100):
        fast.learn(0.001)
        slow.learn(60.0)
    assert fast.seconds(0) == SECONDS_MIN
    assert slow.seconds(0) == SECONDS_MAX


def test_answers_that_come_after_the_call_was_given_up_are_learned_from() -> None:
    # Every answer takes 2.8 s, longer than a call is waited for at first (2.1 s). The four answers
    # in a row that a find needs come before its limit of 12 s.
    world = Overlays(latency=Constant(1.4))
    world.populate([A] * 25, settle=120)
    founds = world.find_all(range(1, 26), A, wanted=5)
    assert all(len(found.contacts) == 5 for found in founds)
    timeouts = sum(overlay.counters.timeouts for overlay in world.overlays.values())
    calls = sum(overlay.counters.calls for overlay in world.overlays.values())
    assert timeouts < calls / 10
