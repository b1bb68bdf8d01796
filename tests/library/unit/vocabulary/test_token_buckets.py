"""How often something may happen, in the long run and at once, whatever the rhythm is."""

from __future__ import annotations

from math import inf
from random import Random

from camcast.vocabulary.token_buckets import Buckets, TokenBucket, each_second


def test_all_tokens_may_be_taken_at_once_and_come_back_at_their_rate() -> None:
    bucket = TokenBucket(2, 10)
    assert [bucket.take(0.0) for _ in range(11)] == [True] * 10 + [False]
    assert [bucket.take(1.0) for _ in range(3)] == [True, True, False]
    assert [bucket.take(1e6) for _ in range(11)] == [True] * 10 + [False]


def test_what_finds_too_few_tokens_takes_none_and_knows_when_there_are_as_many() -> None:
    bucket = TokenBucket(2, 10)
    assert bucket.take(0.0, 9)
    assert not bucket.take(0.0, 3)
    assert bucket.lacks(0.0, 3) == 1.0
    assert bucket.lacks(0.0, 11) == inf
    assert bucket.take(1.0, 3)


def test_a_clock_that_is_set_back_brings_no_tokens_and_loses_none() -> None:
    bucket = each_second(2)
    assert bucket.take(100.0, 2)
    assert not bucket.take(50.0)
    assert [bucket.take(51.0) for _ in range(3)] == [True, True, False]


def test_whoever_keeps_the_rate_is_refused_nothing_however_late_it_comes() -> None:
    """Exact, for any delays up to a bound (seed 1): the law of `camcast.vocabulary.token_buckets`.

    Events within 5 a second, and 10 at once, come late by up to 20 s, in any order.
    """
    rng, sender, now = Random(1), TokenBucket(5, 10), 0.0
    arrivals = list[float]()
    blocked = False
    for _ in range(3000):
        now += rng.expovariate(rng.choice([1, 5, 100]))
        if rng.random() < 0.02:
            blocked = not blocked
        if sender.take(now):
            # Behind a link that is down, all wait for as long as they may.
            late = 20 - now % 20 if blocked else rng.uniform(0, 20)
            arrivals.append(now + late)
    bucket, small = TokenBucket(5, 10 + 5 * 20), TokenBucket(5, 10)
    assert len(arrivals) > 1000
    assert all(bucket.take(when) for when in sorted(arrivals))
    assert not all(small.take(when) for when in sorted(arrivals))


def test_of_too_many_keys_the_one_used_longest_ago_begins_anew() -> None:
    buckets = Buckets[int, TokenBucket](3, lambda _: each_second(1))
    for key in (1, 2, 3, 1, 4):
        assert buckets[key].take(0.0) is (key != 1 or len(buckets) < 3)
        assert len(buckets) <= 3
    assert not buckets[1].take(0.0)
    assert buckets[2].take(0.0)
