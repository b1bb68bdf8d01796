"""The findings of a comparison in sentences and short numbers: for the terminal and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import Final

from camcast.research.pipeline.compare.comparison import Row, Variant
from camcast.research.pipeline.compare.findings import community_name, place_name
from camcast.research.pipeline.compare.regressions import Change
from camcast.research.report.measures import Measure


def amount(value: float, measure: Measure) -> str:
    """Return a value of a measure with as many digits as are of interest."""
    if measure.is_share:
        return _percent(value)
    if abs(value) >= _MILLION:
        millions = value / _MILLION
        return f"{millions:,.0f} M" if abs(millions) >= 1000 else f"{millions:.4g} M"
    if abs(value) >= 1000 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3g}"


def _percent(share: float) -> str:
    """Return a share; what is not all of it does not read 100 %."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    text = f"{share:.2%}"
    return ">99.99%" if text == "100.00%" else "<0.01%" if text == "0.00%" else text


def reach(row: Row) -> str:
    """Return the 95 % interval of a mean, without the mean; or why there is none."""
    low, high = row.interval
    if low is None or high is None:
        return "1 run" if row.sample.runs == 1 else f"{row.sample.runs} equal runs"
    measure = row.measure
    return f"[{amount(low, measure)}, {amount(high, measure)}]"


def reach_and_over(row: Row, over: str) -> str:
    """Return `reach`, and how many processes or joins the mean is taken over, if that is said."""
    return f"{reach(row)} over {over}" if over else reach(row)


def p_value(p: float | None) -> str:
    """Return a p-value as it is written."""
    if p is None:
        return "one run, untested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def metric_name(measure: Measure) -> str:
    """Return what a measure is called where its benchmark is not said."""
    return f"{measure.title}, {measure.benchmark}" if measure.benchmark else measure.title


def apart(difference: float, measure: Measure) -> str:
    """Return a difference; of shares in percentage points."""
    if measure.is_share:
        points = 100 * difference
        if points < _POINTS_MIN:
            return "less than 0.01 points"
        return f"{points:.0f} points" if points >= 10 else f"{points:.2g} points"
    return with_unit(float(f"{difference:.3g}"), measure)


def with_unit(value: float, measure: Measure) -> str:
    """Return a value of a measure with its unit."""
    return amount(value, measure) + (f" {measure.unit}" if measure.unit else "")


def change_in_words(change: Change) -> str:
    """Say what became of a measure since the baseline."""
    measure = change.now.measure
    grew = "from nothing" if isinf(change.relative) else f"{change.relative:+.1%}"
    return (
        f"{change.now.variant}: {metric_name(measure)} in {place_name(change.now)}:"
        f" {amount(change.before.sample.mean, measure)} became"
        f" {amount(change.now.sample.mean, measure)} ({grew}, {p_value(change.adjusted_p)})"
    )


_MILLION: Final = 1_000_000
_POINTS_MIN: Final = 0.01  # chosen: as `_percent`
_ARROWS: Final = {
    "more": " \N{UPWARDS ARROW}",
    "less": " \N{DOWNWARDS ARROW}",
    "neither": "",
    "unknown": "",
}


def at_a_glance(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return what matters most: of runs as a whole, and of benchmarks.

    Of many p_sel these are the lowest, the middle and the highest.
    """
    matter = [row for row in rows if row.measure.headline]
    runs = [row for row in matter if not row.measure.benchmark and not row.community]
    values = sorted({row.p_sel for row in runs if row.p_sel is not None})
    kept = {None, *values[:1], *values[len(values) // 2 :][:1], *values[-1:]}
    benchmarks = [row for row in matter if row.measure.benchmark]
    return [row for row in runs if row.p_sel in kept], benchmarks


def line_of_measure(row: Row) -> tuple[str, str]:
    """Return what a line is called in a table of several measures; an arrow: where it is better."""
    measure = row.measure
    at = ", ".join(filter(None, (measure.benchmark, _at(row))))
    return f"{measure.title_and_unit}{_ARROWS[measure.better]}", at


def line_of_place(row: Row) -> tuple[str, str]:
    """Return what a line is called in a table of one measure."""
    return community_name(row.community), _at(row)


def _at(row: Row) -> str:
    return "" if row.p_sel is None else f"p_sel = {row.p_sel:g}"


def pivot(
    rows: Sequence[Row],
    names: Mapping[Variant, str],
    line: Callable[[Row], tuple[str, str]],
) -> tuple[list[str], list[tuple[tuple[str, str], list[Row | None]]]]:
    """Return the columns, and a line for each of what `line` calls the rows, with its cells.

    A line is called in two words, the first of which is left out where it is repeated.
    """
    present = {names[row.variant] for row in rows}
    columns = [name for name in dict.fromkeys(names.values()) if name in present]
    lines: dict[tuple[str, str, str], dict[str, Row]] = {}  # of two measures with one title, two
    for row in rows:
        lines.setdefault((*line(row), row.measure.number), {})[names[row.variant]] = row
    table, before = [], ""
    for (first, second, _), found in lines.items():
        cells = [found.get(name) for name in columns]
        table.append((("" if first == before else first, second), cells))
        before = first
    return columns, table
