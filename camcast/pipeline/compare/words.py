"""What a comparison found, in sentences and short numbers: for the terminal and for the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import isinf
from statistics import median
from typing import Final

from camcast.measures import Measure, measure_of
from camcast.pipeline.compare.comparison import Pair, Row, Variant
from camcast.pipeline.compare.differences import SIGNIFICANT, effect_in_words
from camcast.pipeline.compare.findings import community_name, place_name
from camcast.pipeline.compare.regressions import Change


def amount(value: float, measure: Measure) -> str:
    """Return a value of a measure with as many digits as are of interest."""
    if measure.is_share:
        return _percent(value)
    if abs(value) >= 1000 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3g}"


def _percent(share: float) -> str:
    """Return a share; what is not all of it does not read 100 %."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    text = f"{share:.2%}"
    return ">99.99%" if text == "100.00%" else "<0.01%" if text == "0.00%" else text


def interval(row: Row) -> str:
    """Return a mean, and how far its 95 % interval reaches; its ends where they are cut."""
    measure = measure_of(row.metric)
    return " ".join(filter(None, (amount(row.sample.mean, measure), reach(row))))


def reach(row: Row) -> str:
    """Return the interval of a mean, without the mean; empty for a single run."""
    low, high = row.interval
    if low is None or high is None:
        return ""
    measure = measure_of(row.metric)
    return f"[{amount(low, measure)}, {amount(high, measure)}]"


def p_value(p: float | None) -> str:
    """Return a p-value as it is written."""
    if p is None:
        return "one run, untested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def metric_name(metric: str) -> str:
    """Return what a measure is called where its benchmark is not said."""
    measure = measure_of(metric)
    return f"{measure.title}, {measure.benchmark}" if measure.benchmark else measure.title


def differences_in_words(
    pairs: Sequence[Pair], names: Mapping[Variant, str]
) -> dict[str, list[str]]:
    """Return sentences for each measure that matters, by the measure's name.

    Of runs they are of the communities, if there are any; benchmarks of the same name are one.
    """
    communities = any(pair.first.community for pair in pairs)
    measures: defaultdict[str, defaultdict[tuple[Variant, Variant], list[Pair]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for pair in pairs:
        measure = measure_of(pair.first.metric)
        if measure.headline and (pair.first.community or measure.benchmark or not communities):
            title = f"benchmarks: {measure.title}" if measure.benchmark else measure.title
            measures[title][pair.first.variant, pair.second.variant].append(pair)
    return {title: _sentences(by_two, names) for title, by_two in measures.items()}


def _sentences(
    by_two: Mapping[tuple[Variant, Variant], Sequence[Pair]], names: Mapping[Variant, str]
) -> list[str]:
    told, untold, untested = [], [], []
    for (first, second), pairs in by_two.items():
        one, other = names[first], names[second]
        tested = [pair for pair in pairs if pair.adjusted_p is not None]
        differing = [p for p in tested if p.adjusted_p is not None and p.adjusted_p < SIGNIFICANT]
        if differing:
            told.append(_apart_in_words(differing, one, other, len(tested)))
        elif tested:
            least = min(pair.adjusted_p or 0.0 for pair in tested)
            untold.append(f"{one} and {other} ({p_value(least)} at best)")
        else:
            untested.append(f"{one} and {other}")
    if untold:
        told.append(f"Not told apart: {', '.join(untold)}.")
    if untested:
        told.append(f"A single run says nothing of chance; give more of {', '.join(untested)}.")
    return told


def _apart_in_words(pairs: Sequence[Pair], one: str, other: str, tested: int) -> str:
    higher = [pair for pair in pairs if pair.found.difference > 0]
    lower = [pair for pair in pairs if pair.found.difference < 0]
    parts = [
        _half(some, more, less, tested)
        for some, more, less in ((higher, one, other), (lower, other, one))
        if some
    ]
    return "; ".join(parts) + "."


def _half(pairs: Sequence[Pair], more: str, less: str, tested: int) -> str:
    """Say where one is above the other, and by how much."""
    measure = measure_of(pairs[0].first.metric)
    best = {"more": f" ({more} is better)", "less": f" ({less} is better)", "neither": ""}
    apart = sorted(abs(pair.found.difference) for pair in pairs)
    largest = max(pairs, key=lambda pair: abs(pair.found.difference))
    where = measure.benchmark or place_name(largest.first)
    if tested == 1:
        return (
            f"{more} is above {less} by {_ends(largest, measure)} in {where}"
            f"{best[measure.better]}{_effect(largest)}"
        )
    places = "everywhere" if len(pairs) == tested else f"in {len(pairs)} of {tested} places"
    return (
        f"{more} is above {less} {places}{best[measure.better]}, by"
        f" {_apart(median(apart), measure)} in the median; most in {where}: by"
        f" {_ends(largest, measure)}{_effect(largest)}"
    )


def _ends(pair: Pair, measure: Measure) -> str:
    """Return a difference without its sign, with its interval."""
    ends = sorted(abs(end) for end in (pair.found.low or 0.0, pair.found.high or 0.0))
    apart = _apart(abs(pair.found.difference), measure)
    return f"{apart} [{_apart(ends[0], measure)}, {_apart(ends[1], measure)}]"


def _apart(difference: float, measure: Measure) -> str:
    """Return a difference; of shares in percentage points."""
    if measure.is_share:
        points = 100 * difference
        return f"{points:.3g} points" if points >= _POINTS_MIN else "less than 0.01 points"
    return amount(difference, measure) + (f" {measure.unit}" if measure.unit else "")


def _effect(pair: Pair) -> str:
    p = p_value(pair.adjusted_p)
    if pair.found.effect is None:
        return f", {p}"
    word, g = effect_in_words(pair.found.effect), abs(pair.found.effect)
    return f", a {word} effect (g = {g:.2g}, {p})"


def change_in_words(change: Change) -> str:
    """Say what became of a measure since the baseline."""
    measure = measure_of(change.now.metric)
    grew = "from nothing" if isinf(change.relative) else f"{change.relative:+.1%}"
    return (
        f"{change.now.variant}: {metric_name(change.now.metric)} in {place_name(change.now)}:"
        f" {amount(change.before.sample.mean, measure)} became"
        f" {amount(change.now.sample.mean, measure)} ({grew}, {p_value(change.adjusted_p)})"
    )


_POINTS_MIN: Final = 0.01  # chosen: as `_percent`
_ARROWS: Final = {"more": " \N{UPWARDS ARROW}", "less": " \N{DOWNWARDS ARROW}", "neither": ""}


def at_a_glance(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return what matters most: of runs as a whole, and of benchmarks.

    Of many p_sel these are the lowest, the middle and the highest.
    """
    matter = [row for row in rows if measure_of(row.metric).headline]
    runs = [row for row in matter if not measure_of(row.metric).benchmark and not row.community]
    values = sorted({row.p_sel for row in runs if row.p_sel is not None})
    kept = {None, *values[:1], *values[len(values) // 2 :][:1], *values[-1:]}
    benchmarks = [row for row in matter if measure_of(row.metric).benchmark]
    return [row for row in runs if row.p_sel in kept], benchmarks


def line_of_measure(row: Row) -> tuple[str, str]:
    """Return what a line is called in a table of several measures; an arrow: where it is better."""
    measure = measure_of(row.metric)
    at = ", ".join(filter(None, (measure.benchmark, _at(row))))
    return f"{measure.title_and_unit}{_ARROWS[measure.better]}", at


def line_of_place(row: Row) -> tuple[str, str]:
    """Return what a line is called in a table of one measure."""
    return community_name(row.community), _at(row)


def _at(row: Row) -> str:
    return "" if row.p_sel is None else f"p_sel = {row.p_sel:g}"


def pivot(
    rows: Sequence[Row],
    variants: Sequence[Variant],
    line: Callable[[Row], tuple[str, str]],
    cell: Callable[[Row], str],
) -> list[tuple[tuple[str, str], list[str]]]:
    """Return a line for each of what `line` calls the rows, with a cell for each variant.

    A line is called in two words, the first of which is left out where it is repeated.
    """
    lines: dict[tuple[str, str], dict[Variant, Row]] = {}
    for row in rows:
        lines.setdefault(line(row), {})[row.variant] = row
    table, before = [], ""
    for (first, second), found in lines.items():
        cells = [cell(found[v]) if v in found else "" for v in variants]
        table.append((("" if first == before else first, second), cells))
        before = first
    return table
