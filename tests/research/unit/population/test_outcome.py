"""Intervals against the tables of the statisticians, and against repeated sampling."""

from __future__ import annotations

import json
from math import nan

import numpy as np
import pytest
from attrs import evolve

from camcast.research.models.distributions import load_of
from camcast.research.population.load_counts import LoadColumns, enter_copies, enter_load
from camcast.research.population.outcome import (
    Interval,
    Outcome,
    clustered_interval,
    joined,
    mean_interval,
    quantile_interval,
    share_interval,
)
from tests.intervals import bounds


def test_wilson_of_a_worked_example() -> None:
    """Wilson's interval for 15 of 50 (Agresti and Coull 1998, by hand): 0.191 to 0.438."""
    interval = share_interval(15, 50)
    assert interval.mean == 0.3
    assert interval.low == pytest.approx(0.1910, abs=1e-4)
    assert interval.high == pytest.approx(0.4375, abs=1e-4)


def test_a_share_s_interval_holds_it_and_is_of_shares() -> None:
    for runs in range(1, 200):
        for hits in (0, runs // 2, runs):
            mean, low, high = bounds(share_interval(hits, runs))
            assert 0 <= low <= mean <= high <= 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_nothing_is_certain(share: float) -> None:
    """Wilson for 0 of 100 ends at 0.037; nobody may say 0 +- 0."""
    values = np.full(100, share)
    _, low, high = bounds(mean_interval(values, 0.0, 1.0))
    assert high - low == pytest.approx(0.0370, abs=1e-4)


def test_intervals_cover_what_they_claim() -> None:
    """Of 4,000 intervals of ten normal values each, 95 % hold the mean: +- 1 % at 99.6 %."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(4000):
        _, low, high = bounds(mean_interval(rng.normal(3.0, 2.0, 10)))
        held += low <= 3.0 <= high
    assert held / 4000 == pytest.approx(0.95, abs=0.01)


def test_a_quantile_s_interval_covers_what_it_claims() -> None:
    """Of 4,000 samples of 200 uniform numbers: at least 95 %; up to 99 %, since ranks are whole."""
    samples = np.sort(np.random.default_rng(2).random((4000, 200)), axis=1)
    for share in (0.05, 0.5):
        found = [bounds(quantile_interval(sample, share)) for sample in samples]
        assert all(low <= mean <= high for mean, low, high in found)
        assert 0.94 < sum(low <= share <= high for _, low, high in found) / 4000 < 0.99


def test_a_quantile_of_a_few_shares_may_be_anywhere() -> None:
    assert quantile_interval(np.array([0.1, 0.2, 0.3]), 0.5) == Interval(0.2, 0, 1)
    assert quantile_interval(np.array([]), 0.5) == Interval(None, None, None)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    assert mean_interval(np.array([3.0])) == Interval(3.0, None, None)
    assert mean_interval(np.array([])) == Interval(None, None, None)
    assert share_interval(0, 0) == Interval(None, None, None)


def spread(received: list[list[int]]) -> Outcome:
    counts = np.array(received, dtype=np.int64)
    alive = np.array([[4, 2], [4, 2], [4, 0]], dtype=np.int64)[: len(counts)]
    rounds = np.array([[2, 3], [2, 0], [3, 0]], dtype=np.int64)[: len(counts)]
    return Outcome((5, 2), alive, counts, rounds, 3 * counts, 0 * counts)


def test_a_community_that_nobody_is_alive_in_says_nothing() -> None:
    root = spread([[4, 2], [2, 0], [4, 0]]).communities[1]
    assert root.reception.mean == 0.5  # of the two runs in which somebody was alive
    assert root.reliability.mean == 0.5
    assert root.measures()["rounds"].mean == 3  # of the one run in which the event got there
    bottom = spread([[4, 2], [2, 0], [4, 0]]).communities[0]
    assert bottom.reception.mean == pytest.approx((1 + 0.5 + 1) / 3)
    assert bottom.reliability.mean == pytest.approx(2 / 3)


def test_rounds_until_nobody_has_anything_left_to_send() -> None:
    assert spread([[4, 2], [2, 0], [4, 0]]).rounds_to_reach_all.mean == pytest.approx(8 / 3)


def test_reach_is_distributed_over_the_runs_in_which_somebody_lives() -> None:
    reach = spread([[4, 2], [2, 0], [4, 0]]).communities[0].reach
    shares = {name: interval.mean for name, interval in reach.items()}
    assert shares["reaches_50"] == 1  # 100, 50 and 100 %: half of them is half of them
    assert shares["reaches_75"] == shares["reaches_99"] == pytest.approx(2 / 3)
    assert (shares["reach_p5"], shares["reach_p50"]) == (0.5, 1)
    root = spread([[4, 2], [2, 0], [4, 0]]).communities[1].reach
    assert root["reaches_10"].mean == 0.5


def test_joined_runs_are_as_if_done_at_once() -> None:
    whole = spread([[4, 2], [2, 0]])
    together = joined([part.counts() for part in (spread([[4, 2]]), spread([[4, 2], [2, 0]]))])
    assert together.runs == 3
    assert together.delivered[1:].tolist() == whole.delivered.tolist()


def test_loads_are_kept_as_json_run_by_run_and_none_are_not_in_the_mean() -> None:
    columns = LoadColumns(2, 2)
    enter_load(columns.sent[0, 0], np.array([0, 1, 0, 3]))
    enter_load(columns.sent[0, 1], np.array([4]))  # nobody sends: no mean to compare a peak with
    part = evolve(spread([[4, 2], [2, 0]]), loads=columns.by_name())
    whole = joined([json.loads(json.dumps(part.counts())) for _ in range(2)])
    below, root = (community.measures() for community in whole.communities)
    assert below["load_sent_p50"].mean == 3  # of the two runs in which somebody is counted
    assert below["load_sent_peak"].mean == 3 * 4 / 10
    assert (root["load_sent_p99"].mean, root["load_sent_peak"].mean) == (0, None)
    assert "load_received_p50" not in root


def test_a_load_is_what_a_summary_of_the_same_processes_says() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(1, 300))
        copies = rng.negative_binomial(1, 0.2, n) * (rng.random(n) < rng.random())
        columns = LoadColumns(1)
        enter_copies(columns.received[0], copies, n)
        found = {name: values[0] for name, values in columns.by_name().items()}
        law = load_of("load_received", copies.tolist())
        assert {name: found[name] for name in law} == pytest.approx(
            {name: nan if value is None else value for name, value in law.items()}, nan_ok=True
        )


@pytest.mark.parametrize("between_runs", [0.0, 0.1])
def test_a_bootstrap_over_runs_and_events_holds_the_mean(between_runs: float) -> None:
    """Of three runs of 60 events, seed fixed; the bounds are four deviations below 95 and 93 %.

    Student's interval of the runs' means, which forgets the events, is mostly wider.
    """
    rng, share, held, narrower = np.random.default_rng(3), 0.5, 0, 0
    for _ in range(200):
        shares = rng.normal(share, between_runs, 3).clip(0, 1)
        runs = [[(rng.random(60) < of_run).astype(float)] for of_run in shares]
        found = clustered_interval(runs)
        student = mean_interval(np.array([run[0].mean() for run in runs]), 0.0, 1.0)
        assert None not in (found.low, found.high, student.low, student.high)
        held += (found.low or 0) <= share <= (found.high or 0)
        narrower += (found.high or 0) - (found.low or 0) < (student.high or 0) - (student.low or 0)
    assert held >= (178 if between_runs == 0 else 168)
    assert narrower > 100


def test_events_that_are_all_alike_have_the_interval_of_their_number() -> None:
    runs = [[np.ones(60)] for _ in range(3)]
    assert clustered_interval(runs) == share_interval(180, 180)
    assert clustered_interval(runs[:1]) == Interval(1.0, None, None)
    assert clustered_interval([]) == Interval(None, None, None)
