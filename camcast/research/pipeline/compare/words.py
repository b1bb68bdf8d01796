"""The findings of a comparison in sentences and short numbers: for the terminal and the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isinf
from typing import Final

from camcast.research.pipeline.compare.comparison import Row, Variant
from camcast.research.pipeline.compare.findings import community_name, place_name
from camcast.research.pipeline.compare.power import RUNS_MAX
from camcast.research.pipeline.compare.regressions import Change
from camcast.research.pipeline.compare.verdict import Duel, Verdict
from camcast.research.report.measures import Measure


def amount(value: float, measure: Measure) -> str:
    """Return a value of a measure with as many digits as are of interest."""
    if measure.is_share:
        return _percent(value)
    if abs(value) >= _MILLION:
        return f"{value / _MILLION:.4g} M"
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


def p_value(p: float | None) -> str:
    """Return a p-value as it is written."""
    if p is None:
        return "one run, untested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def metric_name(measure: Measure) -> str:
    """Return what a measure is called where its benchmark is not said."""
    return f"{measure.title}, {measure.benchmark}" if measure.benchmark else measure.title


def choice(verdicts: Sequence[Verdict]) -> str:
    """Say what to choose for what, in one or two sentences; empty where nothing was compared.

    Benchmarks are left out where there are runs: each has a sentence of its own.
    """
    of_runs = [verdict for verdict in verdicts if not verdict.measure.benchmark]
    asked = [verdict for verdict in of_runs or verdicts if verdict.tested and not verdict.equal]
    if not asked:
        return (
            "Nothing to choose by: there is no difference that could be tested." if verdicts else ""
        )
    for_what: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for verdict in asked:
        some = () if len(verdict.best) == len(verdict.ranked) else tuple(sorted(verdict.best))
        for_what[some].append(_at_end(verdict.question, verdict.where))
    nobody = for_what.pop((), [])
    sentences = []
    if for_what:
        chosen = (f"{' or '.join(some)} for {_listed(what)}" for some, what in for_what.items())
        sentences.append(f"Choose {'; '.join(chosen)}.")
    if nobody:
        sentences.append(f"No winner in {_listed(nobody)}.")
    return " ".join(sentences)


def sentence(verdict: Verdict) -> str:
    """Say who is best in one question, by how much, and what is not known."""
    asked = _at_end(verdict.question, verdict.where)
    return " ".join([f"{asked[:1].upper()}{asked[1:]}:", *_told(verdict)])


def _told(verdict: Verdict) -> Iterator[str]:
    measure, first = verdict.measure, verdict.ranked[0]
    means = {each.name: _with_unit(each.mean, measure) for each in verdict.ranked}
    if verdict.equal:
        yield f"{means[first.name]} in every run of all."
        return
    if not verdict.tested:
        listed = _listed([f"{name} {mean}" for name, mean in means.items()])
        yield f"{listed}, of a single run: it may be chance; three runs of each or more would tell."
        return
    over = f", mean over {len(verdict.p_sels)} p_sel" if len(verdict.p_sels) > 1 else ""
    beaten = _listed([_ahead(duel, measure) for duel in verdict.of_best if duel.told])
    if verdict.winner:
        yield f"{first.name} is best, {means[first.name]}{over}: {beaten}."
        return
    level = [f"{name} ({means[name]})" for name in verdict.best]
    untold = [d for d in verdict.duels if {d.better, d.worse} <= set(verdict.best)]
    ends = [abs(end) for d in untold for end in (d.least, d.most) if end is not None]
    alike = "are not told apart" if any(d.apart for d in untold) else "measured the same"
    bound = f"do not differ by more than {_apart(max(ends), measure)}" if ends else alike
    yield f"no winner; {_listed(level)} {bound}{over}."
    if beaten:
        yield f"{first.name} is {beaten}."
    if close := [duel for duel in verdict.of_best if not duel.told and duel.apart]:
        yield _needed(close, measure)


def _ahead(duel: Duel, measure: Measure) -> str:
    side = "above" if measure.better == "more" else "below"
    if duel.least is None or duel.most is None:
        return f"{_apart(duel.apart, measure)} {side} {duel.worse} in every run"
    least, most = (_apart(end, measure) for end in (duel.least, duel.most))
    unit = " points" if measure.is_share else f" {measure.unit}" if measure.unit else ""
    return f"{least.removesuffix(unit)} to {most} {side} {duel.worse}"


def _needed(duels: Sequence[Duel], measure: Measure) -> str:
    """Say how many more runs would tell the best from each of those that are close to it."""
    needed = []
    for duel in duels:
        runs = duel.more_runs
        more = f"{runs:,} more" if runs else f"more than {RUNS_MAX:,}"
        each = f" {'run' if runs == 1 else 'runs'} of each" if duel is duels[0] else ""
        needed.append((duel.worse, f"{more}{each}", _apart(duel.apart, measure)))
    (other, more, apart), *others = needed
    rest = "".join(f"; from {other} {more} ({apart})" for other, more, apart in others)
    return (
        f"To tell {duels[0].better} from {other} you need {more},"
        f" if they differ by {apart}, as it seems{rest}."
    )


def _at_end(question: str, where: str) -> str:
    return f"{question} at {where}" if where else question


def _listed(names: Sequence[str]) -> str:
    *before, last = names or [""]
    return f"{', '.join(before)} and {last}" if before else last


def _apart(difference: float, measure: Measure) -> str:
    """Return a difference; of shares in percentage points."""
    if measure.is_share:
        points = 100 * difference
        return f"{points:.2g} points" if points >= _POINTS_MIN else "less than 0.01 points"
    return _with_unit(float(f"{difference:.3g}"), measure)


def _with_unit(value: float, measure: Measure) -> str:
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
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(line(row), {})[names[row.variant]] = row
    table, before = [], ""
    for (first, second), found in lines.items():
        cells = [found.get(name) for name in columns]
        table.append((("" if first == before else first, second), cells))
        before = first
    return columns, table
