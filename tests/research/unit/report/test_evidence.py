"""Verdicts: what agrees, what differs, and what chance may explain."""

from __future__ import annotations

from typing import Literal

import pytest

from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    VERDICTS,
    Cause,
    Evidence,
    between,
    bounded,
    chi_square_tail,
    counts,
    exact,
    exceeds,
    in_words,
    jointly,
    statement,
    told_apart,
    unpublished,
    value,
)


def judged(published: float, ours: Interval, **given: object) -> Evidence:
    return value("000", "Table 1", "rounds", published, ours, "found", **given)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("published", "ours", "given", "expected"),
    [
        (1.0, Interval(1.01, 0.98, 1.04), {}, "agrees"),
        (1.0, Interval(1.1, 0.9, 1.3), {}, "cannot be judged"),  # nor is it known to be the same
        (1.0, Interval(1.1, 1.05, 1.15), {}, "differs"),
        (100.0, Interval(101.0, 98.0, 104.0), {}, "agrees"),
        (1.0, Interval(1.03, 1.01, 1.05), {"rounded": 0.02}, "agrees"),
        (1.0, Interval(1.02, 1.01, 1.03), {"error": 0.01}, "agrees"),
        (1.0, Interval(1.1, 1.05, 1.15), {"error": 0.1}, "cannot be judged"),
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
    ("ours", "side", "expected"),
    [
        (Interval(1.1, 1.05, 1.15), "least", "consistent"),
        (Interval(1.1, 1.05, 1.15), "most", "differs"),
        (Interval(0.9, 0.85, 0.95), "least", "differs"),
        (Interval(1.1, 0.9, 1.3), "least", "cannot be judged"),
        (exact(0.1), "most", "consistent"),
    ],
)
def test_a_bound_is_judged_as_a_bound(
    ours: Interval, side: Literal["least", "most"], expected: str
) -> None:
    row = bounded("000", "Equation 3", "at most", 1.0, ours, "Found.", side=side)
    assert row.verdict == expected
    assert row.z is None
    assert (ours.mean or 0.0) != 0.1 or row.found.startswith("Found. 0.9 below what is said")


@pytest.mark.parametrize(
    ("ours", "far"), [(12_345.0, "12,344"), (99_999.6, "99,999"), (2.5, "1.5")]
)
def test_how_far_a_number_is_from_a_bound_is_said_without_an_exponent(
    ours: float, far: str
) -> None:
    row = bounded("000", "Table 2", "at least", 1.0, exact(ours), "Found.", side="least")
    assert f" {far} above what is said" in row.found


def test_numbers_that_are_each_within_chance_may_differ_together() -> None:
    rows = [judged(1.015, Interval(1.0, 0.98, 1.02)) for _ in range(9)]
    assert {row.verdict for row in rows} == {"agrees"}
    assert jointly("000", "Table 1", "rounds", rows).verdict == "differs"
    assert jointly("000", "Table 1", "rounds", rows[:1]).verdict == "consistent"
    assert jointly("000", "Table 1", "rounds", []).verdict == "cannot be judged"


@pytest.mark.parametrize(
    ("square", "freedom", "tail"),
    # chosen: critical values of any table of chi-square
    [(3.841, 1, 0.05), (5.991, 2, 0.05), (7.815, 3, 0.05), (11.345, 3, 0.01), (18.307, 10, 0.05)],
)
def test_the_tail_of_chi_square_is_the_tables(square: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(square, freedom) == pytest.approx(tail, rel=1e-3)


def test_a_difference_has_a_cause_and_nothing_else_does() -> None:
    cause = Cause("the paper's", "With 2 in the place of 1 ours agrees.")
    differs = statement("000", "6.1", "better", [False], "found", cause)
    assert (differs.whose, differs.shown) == (cause.whose, cause.shown)
    assert statement("000", "6.1", "better", [False], "found").whose == "open"
    assert statement("000", "6.1", "better", [True, False], "found", cause).whose == cause.whose
    for held in ([True], [None], [True, None]):
        assert statement("000", "6.1", "better", held, "found").whose is None
    assert Cause.of_paper("Shown.", holds=True).whose == "the paper's"
    assert Cause.of_paper("Shown.", holds=False).whose == "open"  # the results do not show it
    judged_not = unpublished("000", "Table 1", "rounds", 1.0, exact(2.0), "Found.")
    assert (judged_not.verdict, judged_not.whose, judged_not.z) == ("cannot be judged", None, None)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([True, True], "consistent"),
        ([True, None], "in part"),
        ([True, False], "in part"),
        ([False, False], "differs"),
        ([False, None], "in part"),
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
