"""Verdicts: what agrees, what differs, and what chance may explain."""

from __future__ import annotations

import pytest

from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    VERDICTS,
    Evidence,
    between,
    counts,
    exact,
    exceeds,
    in_words,
    statement,
    told_apart,
    value,
)


def judged(published: float, ours: Interval, **given: object) -> Evidence:
    return value("000", "Table 1", "rounds", published, ours, "found", **given)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("published", "ours", "given", "expected"),
    [
        (1.0, Interval(1.1, 0.9, 1.3), {}, "agrees"),
        (1.0, Interval(1.1, 1.05, 1.15), {}, "differs"),
        (1.0, Interval(1.1, 1.05, 1.15), {"rounded": 0.06}, "agrees"),
        (1.0, Interval(1.1, 1.05, 1.15), {"error": 0.1}, "agrees"),
        (1.0, Interval(1.1, 1.05, 1.15), {"bound": "least"}, "agrees"),
        (1.0, Interval(1.1, 1.05, 1.15), {"bound": "most"}, "differs"),
        (1.0, Interval(0.9, 0.85, 0.95), {"bound": "least"}, "differs"),
        (1.0, Interval(1.1, None, None), {}, "cannot be judged"),
        (1.0, Interval(None, None, None), {}, "cannot be judged"),
        (0.0, Interval(0.0, None, None), {}, "agrees"),
        (2482, exact(2482), {}, "agrees"),
        (2482, exact(2483), {}, "differs"),
    ],
)
def test_a_number_agrees_within_chance_and_rounding(
    published: float, ours: Interval, given: dict[str, object], expected: str
) -> None:
    assert judged(published, ours, **given).verdict == expected


def test_z_is_two_at_the_edge_of_the_interval() -> None:
    assert judged(1.2, Interval(1.0, 0.8, 1.2)).z == pytest.approx(1.96)
    assert judged(0.8, Interval(1.0, 0.8, 1.2)).z == pytest.approx(-1.96)
    assert judged(1.0, exact(1.2)).z is None


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([True, True], "consistent"),
        ([True, None], "in part"),
        ([True, False], "in part"),
        ([False, False], "differs"),
        ([False, None], "differs"),
        ([None, None], "cannot be judged"),
        ([], "cannot be judged"),
    ],
)
def test_a_sentence_is_judged_by_its_parts(held: list[bool | None], expected: str) -> None:
    assert statement("000", "6.1", "better", held, "found").verdict == expected


def test_means_are_told_apart_by_both_intervals() -> None:
    low, high = Interval(1.0, 0.9, 1.1), Interval(1.2, 1.1, 1.3)
    assert exceeds(high, low)
    assert exceeds(low, high) is False
    assert exceeds(high, low, by=0.1) is None
    assert exceeds(high, low, by=0.4) is False
    assert exceeds(high, Interval(1.0, None, None)) is None
    assert exceeds(exact(1.0), exact(1.0)) is False
    assert told_apart(low, high)
    assert not told_apart(low, low)


def test_an_interval_is_in_a_range_outside_or_neither() -> None:
    of = Interval(1.0, 0.9, 1.1)
    assert between(of, 0.9, 1.1)
    assert between(of, 1.2) is False
    assert between(of, 1.0) is None
    assert between(Interval(1.0, None, None), 0.0) is None


def test_an_unknown_verdict_is_refused_and_all_are_counted() -> None:
    with pytest.raises(ValueError, match="unknown verdict 'yes'; there are agrees"):
        Evidence(paper="000", item="1", quote="", verdict="yes", found="")  # type: ignore[arg-type]  # on purpose
    rows = [statement("000", "1", "", [True], ""), statement("000", "2", "", [], "")]
    assert list(counts(rows)) == list(VERDICTS)
    assert in_words(rows) == (
        "2 statements: agrees 0, consistent 1, in part 0, differs 0, cannot be judged 1."
    )
