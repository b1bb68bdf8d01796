"""The page of a comparison: verdict, figures and tables in one file that needs no network.

What it says is computed here, and how it looks stands in ``comparison_page.html.j2``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from camcast.research.pipeline.compare import verdict_words, words
from camcast.research.pipeline.compare.comparison import Pair, Place, Row, Variant
from camcast.research.pipeline.compare.comparison_figures import GROUPS, Figure
from camcast.research.pipeline.compare.differences import SIGNIFICANT, effect_in_words
from camcast.research.pipeline.compare.findings import Findings, Source, place_name
from camcast.research.pipeline.compare.regressions import DIRECTION_UNKNOWN, UNJUDGED
from camcast.research.pipeline.compare.words import amount, metric_name
from camcast.research.report.drawing import Drawing
from camcast.research.report.measures import Measure, repair_in_words
from camcast.research.report.page import NOTHING, document, fill, picture, versions

_TITLE: Final = "Backends and protocols, compared"
_LISTED_MAX: Final = 50  # chosen: files or changes, on a page; the CSV files have all
_FOLDED_MAX: Final = 5_000  # chosen: means that fold away, 0.2 MB; comparison.csv has all
_SEEDS_MAX: Final = 5  # chosen: of more, the first and the last
_STYLE: Final = """
body { max-width: 70rem; }
.alert, .verdict { border: 1px solid; border-left-width: .4rem; border-radius: 4px;
  padding: .6rem 1rem; margin: 1rem 0; max-width: 46rem; }
.alert p, .verdict p { margin: .2rem 0; }
.bad { border-color: #D55E00; }
.good { border-color: #009E73; }
.verdict { border-color: #0072B2; }
.verdict ul { margin: .4rem 0; padding-left: 1.2rem; }
nav { margin: 1rem 0; font-size: .95rem; }
nav a { margin-right: 1.1rem; }
a { color: LinkText; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
details { margin: .35rem 0; }
summary { cursor: pointer; color: var(--quiet); }
summary:hover { color: CanvasText; }
td.best { font-weight: 600; }
.figures { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
.figures figure { flex: 0 1 auto; min-width: 0; max-width: 100%; margin: 1rem 0; }
.figures figcaption { max-width: 21rem; font-size: .8rem; }
@media (max-width: 30rem) { th, td { padding: .3rem .35rem; } table { font-size: .8rem; } }
"""


def html(findings: Findings, figures: Sequence[Figure], drawings: Mapping[str, Drawing]) -> str:
    """Return the page; `drawings` by the figures' names."""
    labels, verdicts = findings.labels, findings.verdicts
    names = labels.names
    choice, sentences = verdict_words.told(verdicts, findings.repair_in_words)
    runs = [row for row in findings.rows if not row.measure.benchmark]
    benches = [row for row in findings.rows if row.measure.benchmark]
    whole, measures = words.at_a_glance(findings.rows)
    folded, left_out = _by_metric(runs, names) if len(whole) < len(runs) else ([], 0)
    pictures: defaultdict[str, str] = defaultdict(str)
    for one in figures:
        pictures[one.group] += picture(one.name, one.title, one.notes, drawings[one.name])
    body = fill(
        "camcast.research.pipeline.compare",
        "comparison_page.html.j2",
        findings=findings,
        kinds=Counter(source.kind for source in findings.sources if not source.baseline),
        who=[name for variant, name in names.items() if variant.backend] or ["no backend"],
        choice=choice,
        sentences=sentences,
        questions=None if sentences else verdict_words.table(verdicts),
        legend=labels.legend,
        worse=list(map(words.change_in_words, findings.regressions)),
        changed=_changed(findings),
        groups=[
            (anchor, title, pictures[anchor])
            for anchor, title in GROUPS.items()
            if anchor in pictures
        ],
        glance=[
            (title, _table(rows, names, words.line_of_measure))
            for title, rows in (("Whole runs", whole), ("Benchmarks", measures))
            if rows
        ],
        folded=folded,
        left_out=left_out,
        everything=(
            _table(benches, names, words.line_of_measure) if len(measures) < len(benches) else None
        ),
        best=_best(findings),
        amount=lambda row: amount(row.sample.mean, row.measure),
        reach=lambda row: words.reach_and_over(row, findings.taken_over(row)),
        pairs=[_pair(p, names) for p in findings.pairs if p.first.measure.headline],
        sources=list(_sources(findings)),
        made_with=versions(("pyspark", "pyarrow") if "Spark" in findings.engine else ("pyarrow",)),
        listed_max=_LISTED_MAX,
        nothing=NOTHING,
    )
    return document(_TITLE, [body], drawings, _STYLE)


def _changed(findings: Findings) -> str:
    """Say what became of all measures that did not become worse since the baseline."""
    verdicts = Counter(change.verdict for change in findings.changes or ())
    said = {
        "improved": "improved",
        "changed": "changed without being better or worse",
        DIRECTION_UNKNOWN: "changed in a direction of which nothing is known",
        "same": "as before",
        "untested": "untested, for want of a second run",
        UNJUDGED: "of which nothing can be judged",
    }
    told = (f"{verdicts[name]} {text}" for name, text in said.items() if verdicts[name])
    return ", ".join(told) or "nothing else to compare"


def _table(
    rows: Sequence[Row], names: Mapping[Variant, str], line: Callable[[Row], tuple[str, str]]
) -> dict[str, Any]:
    columns, lines = words.pivot(rows, names, line)
    return {"columns": columns, "lines": lines}


def _by_metric(
    rows: Sequence[Row], names: Mapping[Variant, str]
) -> tuple[list[tuple[str, dict[str, Any]]], int]:
    """Return a table for each measure, headlines before others, and how many are left out."""
    by_metric: defaultdict[Measure, list[Row]] = defaultdict(list)
    for row in rows:
        by_metric[row.measure].append(row)
    shown, means = set(), 0
    for measure in sorted(by_metric, key=lambda measure: not measure.headline):
        means += len(by_metric[measure])
        if means <= _FOLDED_MAX:
            shown.add(measure)
    tables = [
        (metric_name(measure), _table(here, names, words.line_of_place))
        for measure, here in by_metric.items()
        if measure in shown
    ]
    return tables, len(by_metric) - len(tables)


def _best(findings: Findings) -> set[Place]:
    """Return what is significantly better than everything that it is compared with."""
    won: Counter[Place] = Counter()
    met: Counter[Place] = Counter()
    for pair in findings.pairs:
        if pair.first.of_members and not findings.judged:
            continue
        measure = pair.first.measure
        ends = [pair.first.place, pair.second.place]
        met.update(ends)
        if not measure.directed or pair.adjusted_p is None or pair.adjusted_p >= SIGNIFICANT:
            continue
        won[ends[0] if (pair.found.difference > 0) == (measure.better == "more") else ends[1]] += 1
    return {place for place, wins in won.items() if wins == met[place]}


def _pair(pair: Pair, names: Mapping[Variant, str]) -> dict[str, str]:
    """Return a comparison of two as the texts of a table's line."""
    measure, found = pair.first.measure, pair.found
    known = found.low is not None and found.high is not None
    return {
        "measure": metric_name(measure),
        "where": place_name(pair.first),
        "who": f"{names[pair.first.variant]} \N{MINUS SIGN} {names[pair.second.variant]}",
        "apart": _signed(found.difference, measure),
        "ends": (
            f"[{_signed(found.low or 0, measure)}, {_signed(found.high or 0, measure)}]"
            if known
            else ""
        ),
        "effect": NOTHING if found.effect is None else f"{found.effect:+.2f}",
        "word": "" if found.effect is None else effect_in_words(found.effect),
        "p": words.p_value(pair.adjusted_p),
    }


def _signed(value: float, measure: Measure) -> str:
    return ("+" if value > 0 else "") + amount(value, measure)


def _sources(findings: Findings) -> Iterator[list[str]]:
    """Yield what was read as lines of a table, alike ones together."""
    groups: defaultdict[tuple[object, ...], list[Source]] = defaultdict(list)
    for s in findings.sources:
        made = s.version, s.machine, s.python
        repair = repair_in_words(s.repair)
        groups[s.baseline, s.kind, s.backend, s.protocol, repair, *made].append(s)
    for (baseline, kind, *rest), here in groups.items():
        seeds = sorted({source.seed for source in here if source.seed}, key=lambda s: (len(s), s))
        shown = ", ".join(seeds)
        if len(seeds) > _SEEDS_MAX:
            shown = f"{seeds[0]} to {seeds[-1]}, {len(seeds)} in all"
        what = f"{kind}{', baseline' if baseline else ''}"
        yield [what, str(len(here)), *map(str, rest), shown]
