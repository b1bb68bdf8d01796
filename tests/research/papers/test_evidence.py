"""The evidence has a row for every figure and every table of the four papers.

The lists are written by hand from the papers: what is printed there with a number and a caption,
with data or without.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from camcast.research.papers.all_papers import PAPERS
from camcast.research.report.evidence import Evidence

PRINTED: Mapping[str, tuple[str, ...]] = {
    "000": (*(f"Figure {number}" for number in range(1, 29)), "Table 1", "Table 2"),
    "001": (*(f"Figure {number}" for number in range(1, 6)), "Table 1", "Table 2"),
    "002": tuple(f"Figure {number}" for number in range(1, 14)),
    "003": (
        *(f"Figure {number}" for number in range(1, 19)),
        *("Algorithm 1", "Algorithm 2", "Table I"),
    ),
}
TABLE_1 = {  # [000 Table 1]
    *(8.91, 8.83, 13.08),
    *(4.63, 4.39, 4.31),
    *(6.61, 5.44, 5.89),
}
TABLE_2 = [0, 0, 0, 11216, 1699, 3739, 453, 369, 615]  # [000 Table 2]


@pytest.fixture(scope="module")
def evidence() -> list[Evidence]:
    """All rows, of results that are made up."""
    return [
        row
        for paper in PAPERS.values()
        for row in paper.together(paper.results(paper.plan())).evidence
    ]


@pytest.mark.parametrize("paper", PRINTED)
def test_every_figure_and_table_has_its_row(paper: str, evidence: list[Evidence]) -> None:
    begun = [
        re.match(r"(Figure|Table|Algorithm) \w+", row.item)
        for row in evidence
        if row.paper == paper
    ]
    assert {match[0] for match in begun if match} == set(PRINTED[paper])


@pytest.mark.parametrize("paper", ["000", "001"])
def test_every_number_of_the_tables_has_its_row(paper: str, evidence: list[Evidence]) -> None:
    found = [row for row in evidence if row.paper == paper]
    first = [
        row.published
        for row in found
        if row.item.startswith("Table 1") and "jointly" not in row.item
    ]
    assert len(first) == 9
    assert set(first) == TABLE_1
    second = [row.published for row in found if row.item.startswith("Table 2")]
    assert sorted(map(float, filter(None, second))) == sorted(map(float, filter(None, TABLE_2)))
    assert len(second) == len(TABLE_2)
    unpublished = [row for row in found if "equations that it does not give" in row.found]
    assert len(unpublished) == 9
    assert {row.verdict for row in unpublished} == {"cannot be judged"}


def test_a_quote_of_a_table_is_its_own_paper_s_caption(evidence: list[Evidence]) -> None:
    quotes = {
        (row.paper, row.item[:7]): row.quote for row in evidence if row.item.startswith("Table ")
    }
    assert quotes == {
        ("000", "Table 1"): "Average number of rounds to disseminate an event in all communities",
        ("000", "Table 2"): "Total number of parasite events",
        ("001", "Table 1"): "Average number of rounds.",
        ("001", "Table 2"): "Total number of parasite messages.",
        ("003", "Table I"): "Notation",
    }


def test_every_difference_says_whose_it_is(evidence: list[Evidence]) -> None:
    """And a claim is counted once, wherever a paper repeats it."""
    for row in evidence:
        assert (row.whose is None) == (row.shown is None)
        assert row.whose is not None or row.verdict != "differs"
    assert len([row for row in evidence if "only involving 7%" in row.quote]) == 1
    assert len([row for row in evidence if "degraded by only 5%" in row.quote]) == 1
