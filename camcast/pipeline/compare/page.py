"""The page of a comparison: tables, figures and sentences in one file that needs no network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from camcast.measures import Measure, measure_of
from camcast.pipeline.compare.comparison import Place, Row, Variant
from camcast.pipeline.compare.differences import SIGNIFICANT, effect_in_words
from camcast.pipeline.compare.figures import Figure
from camcast.pipeline.compare.findings import Findings, Source, names_of, place_name
from camcast.pipeline.compare.words import (
    amount,
    at_a_glance,
    change_in_words,
    differences_in_words,
    line_of_measure,
    line_of_place,
    metric_name,
    p_value,
    pivot,
    reach,
)
from camcast.report.drawing import Drawing
from camcast.report.page import NOTHING, document, grid, notes_list, picture, versions

_TITLE: Final = "Backends and protocols, compared"
_LISTED_MAX: Final = 50  # chosen: files or changes, on a page; the CSV files have all
_SEEDS_MAX: Final = 5  # chosen: of more, the first and the last
_STYLE: Final = """
body { max-width: 70rem; }
.alert { border: 1px solid; border-left-width: .4rem; border-radius: 4px; padding: .6rem 1rem;
  margin: 1rem 0; max-width: 46rem; }
.alert p { margin: .2rem 0; }
.bad { border-color: #D55E00; }
.good { border-color: #009E73; }
nav { margin: 1rem 0; font-size: .95rem; }
nav a { margin-right: 1.1rem; white-space: nowrap; }
a { color: LinkText; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
details { margin: .35rem 0; }
summary { cursor: pointer; color: var(--quiet); }
summary:hover { color: CanvasText; }
td:first-child { white-space: nowrap; }
td.best { font-weight: 600; }
.figures { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.figures figure { flex: 1 1 28rem; min-width: 0; max-width: 34rem; }
.figures .wide { flex: 1 1 100%; min-width: 0; }
.figures .wide figure { max-width: none; }
"""


def html(findings: Findings, figures: Sequence[Figure], drawings: Mapping[str, Drawing]) -> str:
    """Return the page; `drawings` by the figures' names."""
    names = names_of(findings.variants)
    parts = [
        _introduction(findings, names),
        _contents(findings),
        _regressions(findings),
        *_tables(findings, names),
    ]
    parts += ['<h2 id="figures">Figures</h2>', _figures(figures, drawings)]
    parts += [_differences(findings, names), _sources(findings), _quarantine(findings)]
    parts.append(_how(findings))
    return document(_TITLE, parts, drawings, _STYLE)


# -- above ----------------------------------------------------------------------------------------


def _introduction(findings: Findings, names: Mapping[Variant, str]) -> str:
    given = [source for source in findings.sources if not source.baseline]
    kinds = Counter[str](source.kind for source in given)
    counted = [
        _several(kinds[kind], what)
        for kind, what in (("run", "run"), ("benchmarks", "benchmark file"))
        if kinds[kind]
    ]
    who = ", ".join(escape(name) for variant, name in names.items() if variant.backend)
    of = f" of {who}" if who else ""
    text = f"<p>{' and '.join(counted)}{of}. Intervals are of 95 %, over runs."
    if findings.baseline:
        text += f" Compared against {escape(findings.baseline)}."
    text += "</p>"
    if findings.problems:
        text += (
            '<div class="alert bad" role="alert"><p><strong>Not everything could be read:</strong>'
            f" {_several(len(findings.problems), 'problem')},"
            f' {_several(findings.quarantined, "record")} in <a href="#quarantine">quarantine</a>.'
            " Everything below is of the rest.</p></div>"
        )
    return text


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _contents(findings: Findings) -> str:
    chapters = {
        **({"regressions": "Since the baseline"} if findings.changes is not None else {}),
        "means": "Means",
        "figures": "Figures",
        "differences": "Differences",
        "sources": "What was compared",
        "quarantine": "Quarantine",
        "how": "How this was made",
    }
    links = (f'<a href="#{name}">{escape(title)}</a>' for name, title in chapters.items())
    return f"<nav>{''.join(links)}</nav>"


def _regressions(findings: Findings) -> str:
    if findings.changes is None:
        return ""
    verdicts = Counter(change.verdict for change in findings.changes)
    worse = findings.regressions
    told = (
        f"<strong>{_several(len(worse), 'measure')} regressed</strong> since"
        if worse
        else "<strong>Nothing regressed</strong> since"
    )
    others = ", ".join(
        f"{verdicts[name]} {words}"
        for name, words in (
            ("improved", "improved"),
            ("changed", "changed without being better or worse"),
            ("same", "as before"),
            ("untested", "untested, for want of a second run"),
        )
        if verdicts[name]
    )
    listed = "".join(f"<p>{escape(change_in_words(change))}</p>" for change in worse[:_LISTED_MAX])
    more = len(worse) - _LISTED_MAX
    kind = "bad" if worse else "good"
    return (
        f'<h2 id="regressions">Since the baseline</h2><div class="alert {kind}">'
        f"<p>{told} {escape(findings.baseline)}; {others or 'nothing else to compare'}.</p>"
        f"{listed}{f'<p>and {more} more</p>' if more > 0 else ''}</div>"
        f'<p class="notes">A regression is a change for the worse of more than'
        f" {findings.threshold:.3g} of the baseline, significant at 5 %"
        " (Welch, Holm over all measures). All changes: regressions.csv.</p>"
    )


# -- tables ---------------------------------------------------------------------------------------


def _tables(findings: Findings, names: Mapping[Variant, str]) -> Iterator[str]:
    """Yield the tables: runs as a whole, benchmarks, and folded up, everything."""
    yield (
        '<h2 id="means">Means</h2><p>The mean over the runs, and its 95 % interval. Bold: better'
        " than every other, significantly.</p>"
    )
    best = _best(findings)
    runs = [row for row in findings.rows if not measure_of(row.metric).benchmark]
    benches = [row for row in findings.rows if measure_of(row.metric).benchmark]
    whole, measures = at_a_glance(findings.rows)
    if whole:
        yield "<h3>Whole runs</h3>" + _table(whole, names, best, line_of_measure)
    if measures:
        yield "<h3>Benchmarks</h3>" + _table(measures, names, best, line_of_measure)
    if len(whole) < len(runs):
        yield "<h3>By community</h3>" + "".join(_folded(runs, names, best))
    if len(measures) < len(benches):
        others = _table(benches, names, best, line_of_measure)
        yield (f"<details><summary>Everything that benchmarks measured</summary>{others}</details>")


def _folded(
    rows: Sequence[Row], names: Mapping[Variant, str], best: Collection[Place]
) -> Iterator[str]:
    by_metric: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_metric[row.metric].append(row)
    for metric, here in by_metric.items():
        title = escape(_capital(metric_name(metric)))
        table = _table(here, names, best, line_of_place)
        yield f"<details><summary>{title}</summary>{table}</details>"


def _table(
    rows: Sequence[Row],
    names: Mapping[Variant, str],
    best: Collection[Place],
    line: Callable[[Row], tuple[str, str]],
) -> str:
    """Return a table with a line for each of what `line` calls the rows, a column a variant."""
    present = {row.variant for row in rows}
    variants = [variant for variant in names if variant in present]

    def cell(row: Row) -> str:
        kind = ' class="best"' if row.place in best else ""
        return f"<td{kind}>{_cell(row)}</td>"

    body = [
        f"<tr><td>{escape(first)}</td>"
        f"<td class='how'>{escape(second)}</td>"
        + "".join(text or f"<td>{NOTHING}</td>" for text in cells)
        + "</tr>"
        for (first, second), cells in pivot(rows, variants, line, cell)
    ]
    return grid(["", "", *(names[variant] for variant in variants)], body)


def _cell(row: Row) -> str:
    below = escape(reach(row)) if row.sample.runs > 1 else "one run"
    return f"{amount(row.sample.mean, measure_of(row.metric))}<small>{below}</small>"


def _best(findings: Findings) -> set[Place]:
    """Return what is significantly better than everything that it is compared with."""
    won: Counter[Place] = Counter()
    met: Counter[Place] = Counter()
    for pair in findings.pairs:
        better = measure_of(pair.first.metric).better
        ends = [pair.first.place, pair.second.place]
        met.update(ends)
        if better == "neither" or pair.adjusted_p is None or pair.adjusted_p >= SIGNIFICANT:
            continue
        won[ends[0] if (pair.found.difference > 0) == (better == "more") else ends[1]] += 1
    return {place for place, wins in won.items() if wins == met[place]}


# -- figures and differences ----------------------------------------------------------------------


def _figures(figures: Sequence[Figure], drawings: Mapping[str, Drawing]) -> str:
    drawn = []
    for figure in figures:
        part = picture(figure.name, figure.title, figure.notes, drawings[figure.name])
        drawn.append(f'<div class="wide">{part}</div>' if "facet" in figure.spec else part)
    return '<div class="figures">' + "".join(drawn) + "</div>"


def _differences(findings: Findings, names: Mapping[Variant, str]) -> str:
    text = '<h2 id="differences">Differences</h2>'
    if not findings.pairs:
        return text + "<p>There is nobody to compare: give runs of several backends.</p>"
    for title, told in differences_in_words(findings.pairs, names).items():
        text += f"<h3>{escape(_capital(title))}</h3>" + _list(told)
    return (
        text
        + _pairs_table(findings, names)
        + notes_list(
            (
                "Two backends are told apart if p < 0.05: Welch's t-test, adjusted by Holm for the"
                " number of comparisons of the measure. Brackets: the 95 % interval of the"
                " difference.",
                "Effect: Hedges' g, the difference in standard deviations of a run; 0.2 is small,"
                " 0.5 medium, 0.8 large (Cohen).",
                "Not being told apart is no proof of being equal: the interval of the difference"
                " says what may be.",
            )
        )
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _pairs_table(findings: Findings, names: Mapping[Variant, str]) -> str:
    rows = []
    for pair in findings.pairs:
        measure = measure_of(pair.first.metric)
        if not measure.headline:
            continue
        found = pair.found
        ends = (
            NOTHING
            if found.low is None or found.high is None
            else f"[{_signed(found.low, measure)}, {_signed(found.high, measure)}]"
        )
        effect = (
            NOTHING
            if found.effect is None
            else f"{found.effect:+.2f}<small>{effect_in_words(found.effect)}</small>"
        )
        rows.append(
            f"<tr><td>{escape(metric_name(pair.first.metric))}</td>"
            f"<td class='how'>{escape(place_name(pair.first))}</td>"
            f"<td class='how'>{escape(names[pair.first.variant])} &minus;"
            f" {escape(names[pair.second.variant])}</td>"
            f"<td>{_signed(found.difference, measure)}<small>{ends}</small></td>"
            f"<td>{effect}</td><td>{escape(p_value(pair.adjusted_p))}</td></tr>"
        )
    heads = ["measure", "where", "who", "difference", "g", "significance"]
    return (
        f"<details><summary>All {len(rows):,} comparisons</summary>"
        + grid(heads, rows)
        + "</details>"
    )


def _signed(value: float, measure: Measure) -> str:
    return ("+" if value > 0 else "") + amount(value, measure)


# -- below ----------------------------------------------------------------------------------------


def _sources(findings: Findings) -> str:
    groups: defaultdict[tuple[object, ...], list[Source]] = defaultdict(list)
    for s in findings.sources:
        groups[s.baseline, s.kind, s.backend, s.protocol, s.version, s.machine, s.python].append(s)
    rows = []
    for (baseline, kind, *rest), here in groups.items():
        seeds = sorted({source.seed for source in here if source.seed}, key=lambda s: (len(s), s))
        said = [*(str(part) or NOTHING for part in rest), _shortened(seeds)]
        what = f"{kind}{', baseline' if baseline else ''}"
        rows.append(
            f"<tr><td>{escape(what)}</td><td>{len(here)}</td>"
            + "".join(f"<td class='how'>{escape(part)}</td>" for part in said)
            + "</tr>"
        )
    heads = ["what", "how many", "backend", "protocol", "version", "machine", "Python", "seeds"]
    paths = [source.path for source in findings.sources]
    more = len(paths) - _LISTED_MAX
    return (
        '<h2 id="sources">What was compared</h2>'
        + grid(heads, rows, "words")
        + f"<details><summary>{_several(len(paths), 'path')}</summary><ul>"
        + "".join(f"<li><code>{escape(path)}</code></li>" for path in paths[:_LISTED_MAX])
        + (f"<li>and {more} more</li>" if more > 0 else "")
        + "</ul></details>"
    )


def _shortened(seeds: Sequence[str]) -> str:
    if not seeds:
        return NOTHING
    return (
        ", ".join(seeds)
        if len(seeds) <= _SEEDS_MAX
        else f"{seeds[0]} to {seeds[-1]}, {len(seeds)} in all"
    )


def _quarantine(findings: Findings) -> str:
    text = '<h2 id="quarantine">Quarantine</h2>'
    if not findings.problems and not findings.quarantine:
        return text + "<p>Empty: everything that was given could be read.</p>"
    text += _list(findings.problems)
    if not findings.quarantine:
        return text
    rows = [
        f"<tr><td><code>{escape(part.file)}</code></td><td class='how'>{escape(part.reason)}</td>"
        f"<td>{part.records:,}</td>"
        f"<td>{NOTHING if part.first_line is None else f'{part.first_line:,}'}</td></tr>"
        for part in findings.quarantine[:_LISTED_MAX]
    ]
    more = len(findings.quarantine) - _LISTED_MAX
    return (
        text
        + grid(["file", "why", "records", "first line"], rows)
        + (f"<p>and {more} more files or reasons</p>" if more > 0 else "")
        + '<p class="notes">Each record, with its file, line and text: quarantine.parquet.</p>'
    )


def _how(findings: Findings) -> str:
    made_with = versions(("pyspark", "pyarrow"))
    return (
        '<h2 id="how">How this was made</h2>'
        f"<p><code>{escape(findings.command)}</code></p><p>{escape(made_with)}.</p>"
        + notes_list(
            (
                "The unit of repetition is the run (or the benchmark file). What a run measured is"
                " computed from its trace; means, intervals and tests are over runs.",
                "Intervals are Student's, at 95 %; those of shares are cut to [0 %, 100 %]. A"
                " single run has none. An interval without width means that all runs measured the"
                " same, not that this is certain.",
                "Runs that differ in a parameter, in the sizes of communities, or in the version"
                " of camcast, are not averaged: they stand side by side, named by what differs.",
            )
        )
    )
