"""Means, intervals and differences against a plain-Python twin, and what may not be averaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import exp, nan
from random import Random
from statistics import mean, stdev
from typing import Any

import pytest

from camcast.research.models.student import quantile
from camcast.research.pipeline.compare.comparison import TwoValuesError, pairs_of, rows_of, varying
from camcast.research.pipeline.compare.regressions import changes_of
from camcast.research.pipeline.measured import Measured
from camcast.research.pipeline.measures.metrics import METRICS
from camcast.research.report.measures import Better, measure_of
from tests.research.unit.pipeline.compare.rows import measure, row, rows


def campaign(rng: Random) -> Iterator[Measured]:
    """Three backends, up to six runs, some of which had nothing to measure."""
    for backend, run in product(("scamp", "hybrid", "dht"), range(6)):
        for community, p_sel in product((".", ".d"), (None, 0.1, 1.0)):
            for metric in ("reception", "latency_ms_p50"):
                value = rng.choice([None, nan, rng.random(), rng.random(), 1.0])
                name = f"{backend}-{run}"
                where = {"backend": backend, "community": community, "p_sel": p_sel}
                yield measure(name, metric, value, **where)


def test_the_main_table_is_that_of_its_twin() -> None:
    measures = list(campaign(Random(5)))
    groups: defaultdict[tuple[Any, ...], list[float]] = defaultdict(list)
    for one in measures:
        if one.value is not None and one.value == one.value:
            groups[one.backend, one.community, one.p_sel, one.metric].append(one.value)
    found = rows(measures)
    assert len(found) == len(groups)
    for line in found:
        values = groups[line.variant.backend, line.community, line.p_sel, line.metric]
        printed = line.as_json()
        assert list(printed) == [
            *("backend", "protocol", "repair", "community", "p_sel", "runs"),
            *("metric", "mean", "low", "high"),
        ]
        assert printed["runs"] == len(values)
        assert printed["mean"] == pytest.approx(mean(values))
        if len(set(values)) == 1:  # a single run, or equal ones
            assert (printed["low"], printed["high"]) == (None, None)
            continue
        middle, error = mean(values), quantile(0.95, len(values) - 1) * stdev(values)
        error /= len(values) ** 0.5
        if line.metric == "reception":  # on the scale of odds, within 0 and 1
            factor = exp(error / (middle * (1 - middle)))
            odds = middle / (1 - middle)
            ends = [1 / (1 + 1 / each) for each in (odds / factor, odds * factor)]
        else:  # of logarithms, above 0
            ends = [middle / exp(error / middle), middle * exp(error / middle)]
        assert [printed["low"], printed["high"]] == pytest.approx(ends)


def test_runs_that_agree_have_no_scatter_whatever_their_number() -> None:
    """Ten times 0.1, divided by ten, is not 0.1; that is no difference between backends."""
    measures = [measure(f"a{i}", "hops_mean", 0.1, backend="a") for i in range(10)]
    measures += [measure(f"b{i}", "hops_mean", 0.1, backend="b") for i in range(3)]
    pair = pairs_of(rows(measures))[0]
    assert (pair.found.difference, pair.found.p, pair.adjusted_p) == (0.0, 1.0, 1.0)


def test_unlike_runs_are_not_averaged() -> None:
    """c differs among the runs of scamp; z differs between backends only, n nowhere."""
    measures = [
        measure(f"{backend}{c}{i}", "hops_mean", float(c), backend=backend, parameters=parameters)
        for backend, z in (("scamp", 3), ("dht", 4))
        for c in ((2, 5) if backend == "scamp" else (5,))
        for i in range(2)
        for parameters in [{"c": str(c), "z": str(z), "n": "1", "p_sel": str(i)}]
    ]
    found = rows(measures)
    assert {(row.variant.backend, row.variant.setting, row.sample.mean) for row in found} == {
        ("scamp", "c=2", 2.0),
        ("scamp", "c=5", 5.0),
        ("dht", "c=5", 5.0),
    }
    assert {row.as_json()["setting"] for row in found} == {"c=2", "c=5"}
    assert {(str(p.first.variant), str(p.second.variant)) for p in pairs_of(found)} == {
        ("dht camcast (c=5)", "scamp camcast (c=5)"),
        ("scamp camcast (c=2)", "scamp camcast (c=5)"),  # not dht's: two things differ there
    }


def test_a_parameter_that_only_some_runs_have_differs() -> None:
    measures = [
        measure("a", "hops_mean", 1.0, parameters={"c": "2"}),
        measure("b", "hops_mean", 2.0, parameters={}),
    ]
    assert {(r.variant.setting, r.sample.mean) for r in rows(measures)} == {("c=2", 1.0), ("", 2.0)}


def test_what_only_one_world_has_is_named_if_it_differs_there() -> None:
    """Links are virtual: with one loss the world says all, with two they split as ever."""

    def named(*losses: str) -> set[str]:
        worlds = [{"world": "live"}, *({"world": "virtual", "links.loss": one} for one in losses)]
        measures = [
            measure(f"{number}", "hops_mean", 1.0, parameters=parameters)
            for number, parameters in enumerate(worlds)
        ]
        return {row.variant.setting for row in rows(measures)}

    assert named("0") == {"world=live", "world=virtual"}
    assert named("0", "0.1") == {
        "world=live",
        "links.loss=0, world=virtual",
        "links.loss=0.1, world=virtual",
    }


def test_versions_are_told_apart_unless_they_are_the_question() -> None:
    measures = [measure(f"{i}", "hops_mean", 1.0 * i, version=f"{i}") for i in (1, 2)]
    assert {row.variant.setting for row in rows(measures)} == {"camcast=1", "camcast=2"}
    assert varying(measures[1:], measures[:1], versions=False) == {"": []}


def test_a_new_parameter_does_not_keep_versions_from_being_compared() -> None:
    """The old version does not know tau; c differs between the sides, and splits them."""
    old = measure("old", "hops_mean", 1.0, parameters={"z": "3", "c": "2"})
    new = measure("new", "hops_mean", 1.0, parameters={"z": "3", "c": "5", "tau": "2"})
    assert varying([new], [old], versions=False) == {"": ["c"]}


def test_what_varies_in_one_benchmark_tells_nothing_apart_in_another() -> None:
    """Runs vary in c; a benchmark that happens to record its c does not, nor what it measures."""
    runs = [
        measure(f"{c}{i}", "hops_mean", float(c), parameters={"c": str(c)})
        for c in (2, 5)
        for i in range(2)
    ]
    benches = [
        measure(f"b{i}", "live.fast.missed", 1.0, community="", protocol="", parameters={"c": "7"})
        for i in range(2)
    ]
    found = rows([*runs, *benches])
    assert {str(row.variant) for row in found} == {
        *("scamp camcast (c=2)", "scamp camcast (c=5)"),
        "scamp camcast",  # of the only protocol there is, though the benchmark does not say so
    }


def test_measures_are_in_reading_order() -> None:
    names = ["x.f(nodes=100).missed", "x.f(nodes=50).missed", "hops_mean", "reception"]
    found = rows([measure("a", name, 1.0) for name in names])
    assert [row.metric for row in found] == names[::-1]


LOW, HIGH = [1.0, 1.01, 0.99, 1.0], [1.2, 1.21, 1.19, 1.2]


def test_pairs_differ_in_one_thing_and_metrics_are_families_of_their_own() -> None:
    everything = [
        row(metric, values, backend=backend, protocol=protocol)
        for metric in ("hops_mean", "reception")
        for backend, values in (("scamp", LOW), ("dht", HIGH))
        for protocol in ("camcast", "tree")
    ]
    pairs = pairs_of(everything)
    assert len(pairs) == 2 * 4  # of 6, two differ in both
    for pair in pairs:
        same_backend = pair.first.variant.backend == pair.second.variant.backend
        assert same_backend != (pair.first.variant.protocol == pair.second.variant.protocol)
        assert pair.found.p is not None
        if same_backend:
            assert pair.adjusted_p == 1.0
        else:
            assert pair.adjusted_p == pytest.approx(4 * pair.found.p)  # the first of 4, by Holm


@pytest.mark.parametrize(
    ("metric", "before", "now", "verdict"),
    [
        ("latency_ms_p50", LOW, HIGH, "regressed"),
        ("latency_ms_p50", HIGH, LOW, "improved"),
        ("reception", HIGH, LOW, "regressed"),
        ("reception", LOW, HIGH, "improved"),
        ("view_mean", LOW, HIGH, "changed"),
        ("latency_ms_p50", LOW, LOW, "same"),
        ("latency_ms_p50", [1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "same"),  # it may be chance
        ("latency_ms_p50", LOW, [1.04, 1.05, 1.03, 1.04], "same"),  # it is not, but is small
        ("latency_ms_p50", [1.0], [9.0, 9.0], "untested"),
        ("parasites", [0.0] * 5, [3.0] * 5, "regressed"),  # from nothing
        ("live.fast(nodes=50).deliveries_per_second", HIGH, LOW, "regressed"),
        ("live.fast(nodes=50).cpu_seconds_per_1000_deliveries", LOW, HIGH, "regressed"),
        ("live.fast(nodes=50).ratio_to_raw", HIGH, LOW, "regressed"),
    ],
)
def test_a_regression_is_worse_by_more_than_the_threshold_and_not_by_chance(
    metric: str, before: list[float], now: list[float], verdict: str
) -> None:
    change = changes_of([row(metric, now)], [row(metric, before)], threshold=0.05)[0]
    assert change.verdict == verdict
    assert change.as_json()["verdict"] == verdict


def test_the_threshold_is_a_share_of_the_baseline() -> None:
    now, before = [row("latency_ms_p50", HIGH)], [row("latency_ms_p50", LOW)]
    assert changes_of(now, before, 0.19)[0].verdict == "regressed"
    assert changes_of(now, before, 0.21)[0].verdict == "same"
    assert changes_of(now, before)[0].relative == pytest.approx(0.2)


def test_chance_has_as_many_tries_as_there_are_measures() -> None:
    """p = 0.024 is significant by itself, and is not among a hundred."""
    before, now = [1.0, 1.2, 1.4, 1.6], [1.55, 1.75, 1.95, 2.15]
    alone = changes_of([row("hops_mean", now)], [row("hops_mean", before)])[0]
    assert alone.adjusted_p == pytest.approx(0.024, abs=0.001)  # t = 3.01 of 6 degrees
    assert alone.verdict == "regressed"
    many = [row("hops_mean", now, community=f".{i}") for i in range(100)]
    base = [row("hops_mean", before, community=f".{i}") for i in range(100)]
    assert {change.verdict for change in changes_of(many, base)} == {"same"}


def test_of_members_no_change_is_judged_where_many_never_became_one() -> None:
    """What counts those is judged, and so is a benchmark."""
    metrics = ("reception", "view_mean", "never_joined", "reception_of_all", "live.a.ratio_to_raw")
    now, before = ([row(metric, of) for metric in metrics] for of in (HIGH, LOW))
    found = {change.now.metric: change.verdict for change in changes_of(now, before, judged=False)}
    assert found == {
        "reception": "cannot be judged",
        "view_mean": "cannot be judged",
        "never_joined": "regressed",
        "reception_of_all": "improved",
        "live.a.ratio_to_raw": "improved",
    }
    assert "cannot be judged" not in {change.verdict for change in changes_of(now, before)}


def test_what_the_baseline_did_not_measure_is_no_change() -> None:
    assert changes_of([row("hops_mean", LOW)], [row("hops_mean", LOW, community=".d")]) == []


def test_every_measure_of_runs_is_known() -> None:
    for metric in METRICS:
        assert not measure_of(metric).benchmark
    shares = {metric for metric in METRICS if measure_of(metric).is_share}
    reach = {metric for metric in METRICS if metric.startswith("reach")}
    assert shares == {"reception", "reliability", "efficiency", "reception_of_all"} | reach


def test_a_number_whose_direction_nobody_said_neither_regresses_nor_improves() -> None:
    before = [measure(f"b{n}", "api.get.wall", 1.0 + n / 100) for n in range(5)]
    now = [measure(f"n{n}", "api.get.wall", 9.0 + n / 100) for n in range(5)]
    verdicts: dict[tuple[Better, ...], str] = {}
    said: list[dict[str, Better]] = [{}, {"wall": "less"}, {"api.get.wall": "more"}]
    for better in said:
        sides = [rows_of(side, varying(side, versions=False), better) for side in (now, before)]
        (change,) = changes_of(sides[0], sides[1])
        verdicts[tuple(better.values())] = change.verdict
    assert verdicts == {
        (): "direction unknown",
        ("less",): "regressed",
        ("more",): "improved",
    }


def test_two_values_of_one_run_in_one_place_are_refused() -> None:
    """They are no two repetitions; of two runs they are, and so are those of two communities."""
    one, other = measure("r", "api.get.wall", 1.0), measure("r", "api.get.wall", 100.0)
    assert len(rows([one, other._replace(run="s")])) == 1
    assert len(rows([one, other._replace(community=".a")])) == 2
    with pytest.raises(TwoValuesError, match=r"r has two values of api\.get\.wall"):
        rows([one, other])
