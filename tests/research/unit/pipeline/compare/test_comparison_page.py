"""What the page, its figures and its sentences say, of findings made by hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path

import attrs
import pytest
from markupsafe import escape

from camcast.research.pipeline.compare import comparison_page
from camcast.research.pipeline.compare.comparison import rows_of, varying
from camcast.research.pipeline.compare.comparison_figures import figures_of
from camcast.research.pipeline.compare.comparison_page import html
from camcast.research.pipeline.compare.findings import Findings, Quarantined, Source
from camcast.research.pipeline.compare.regressions import changes_of
from camcast.research.pipeline.compare.words import amount, at_a_glance, line_of_measure, pivot
from camcast.research.report.benchmark_measures import find_measure
from camcast.research.report.drawing import Drawing, render
from camcast.research.report.measures import Better
from tests.narrow_page import PHONE_PIXELS, laid_out
from tests.research.unit.papers.page import assert_whole
from tests.research.unit.pipeline.compare.rows import findings, measure, row, rows
from tests.research.unit.pipeline.compare.test_labels import HOSTILE

PLAIN = Drawing(spec={}, svg="<svg></svg>", svg_file="", png=b"")


def page(of: Findings, drawing: Drawing = PLAIN) -> str:
    figures = figures_of(of)
    return html(of, figures, {figure.name: drawing for figure in figures})


FAST, SLOW = [10.0, 10.2, 9.8], [20.0, 20.2, 19.8]


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("reception", 1.0, "100%"),
        ("reception", 0.99999, ">99.99%"),
        ("reception", 0.98765, "98.77%"),
        ("reception", 0.00001, "<0.01%"),
        ("reception", 0.0, "0%"),
        ("duplicates", 50307.0, "50,307"),
        ("control_bytes", 34309570.0, "34.31 M"),
        ("control_bytes", 2.5e10, "25,000 M"),
        ("hops_mean", 2.33333, "2.333"),
        ("live.fast.cpu_seconds_per_1000_deliveries", 0.000123456, "0.000123"),
        ("parasites", 0.0, "0"),
    ],
)
def test_amounts(metric: str, value: float, text: str) -> None:
    assert amount(value, find_measure(metric, metric.rpartition(".")[0])) == text


def test_the_page_opens_with_the_verdict() -> None:
    rows = [row("heal_seconds_p50", v, b, "") for b, v in (("dht", FAST), ("scamp", SLOW))]
    text = page(findings(rows))
    assert "<strong>Choose dht for healing.</strong>" in text
    assert text.index("dht is best, 10 s: 9.55 to 10.5 s below scamp") < text.index("<nav>")
    assert text.index("<nav>") < text.index("<table>")
    assert "nobody to compare" in page(findings(rows[:1]))


def test_no_tick_of_an_axis_stands_beyond_what_a_share_can_be() -> None:
    """Runs without a loss, the commonest, had an axis from 95 to 105 %."""
    equal = findings([row("reception", [1.0] * 3, b, "") for b in ("dht", "scamp")])
    [figure] = [one for one in figures_of(equal) if one.name == "reception"]
    drawn = render(figure.spec).svg
    assert "100%" in drawn
    assert "105%" not in drawn


def test_on_a_phone_tables_scroll_in_their_own_box_and_begin_with_values(tmp_path: Path) -> None:
    backends = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
    rows = [
        row(metric, [level + 0.01 * place for level in (0.5, 0.6, 0.7)], backend, "")
        for metric in ("reception", "join_visible_seconds_p50", "heal_seconds_p50", "control_bytes")
        for place, backend in enumerate(backends)
    ]
    figure = Drawing(spec={}, svg='<svg width="900" height="90"></svg>', svg_file="", png=b"")
    seen = laid_out(page(findings(rows), figure), tmp_path)
    assert seen.page <= PHONE_PIXELS
    assert seen.first_values
    assert max(seen.first_values) < PHONE_PIXELS * 3 / 4  # room for a value


def test_columns_are_named_by_what_was_varied() -> None:
    """Neither the backend nor the protocol that all have is said again and again."""
    of_c = [row("hops_mean", FAST, c=c) for c in ("2", "5")]
    assert list(findings(of_c).labels.names.values()) == ["c=2", "c=5"]
    of_backends = [row("hops_mean", FAST, backend) for backend in ("dht", "scamp")]
    assert list(findings(of_backends).labels.names.values()) == ["dht", "scamp"]
    of_protocols = [row("hops_mean", FAST, protocol=protocol) for protocol in ("camcast", "tree")]
    assert list(findings(of_protocols).labels.names.values()) == ["camcast", "tree"]
    of_both = [of_c[0], row("hops_mean", FAST, "dht")]
    assert list(findings(of_both).labels.names.values()) == ["dht", "scamp (c=2)"]


def test_equal_runs_are_not_shown_as_certain() -> None:
    rows = [row("reception", [0.9833] * 3, b, "") for b in ("dht", "scamp")]
    text = page(findings(rows))
    assert "3 equal runs" in text
    assert "[98.33%, 98.33%]" not in text
    (figure,) = figures_of(findings(rows))
    assert {point["hollow"] for point in figure.spec["data"]["values"]} == {True}


def test_figures_are_in_groups_and_their_axes_where_the_difference_is() -> None:
    metrics = {"reception": 0.98, "efficiency": 0.2, "view_mean": 9.0, "x.a.missed": 3.0}
    rows = [
        row(metric, [(1 - gap) * level, (0.999 - gap) * level], b)
        for metric, level in metrics.items()
        for b, gap in (("dht", 0.0), ("scamp", 0.01))
    ]
    figures = figures_of(findings(rows))
    assert [figure.group for figure in figures] == ["quality", "cost", "tables", "benchmarks"]
    low, high = figures[0].spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert 0.94 < low < 0.98 * 0.989
    assert 0.98 < high <= 1.01


def test_the_glance_has_three_p_sel_of_whole_runs() -> None:
    values = (0.01, 0.02, 0.1, 0.5, 1.0)
    rows = [row("reception", [0.5], "dht", c, p) for c in ("", ".d") for p in values]
    shown, benchmarks = at_a_glance([*rows, row("x.a.missed", [1.0]), row("x.a.nodes", [1.0])])
    assert [(r.community, r.p_sel) for r in shown] == [("", 0.01), ("", 0.1), ("", 1.0)]
    assert [r.metric for r in benchmarks] == ["x.a.missed"]


def test_curves_where_p_sel_differs_and_lines_where_not() -> None:
    curves = [row("reception", [0.5, 0.6], b, ".d", p) for b in ("dht", "a") for p in (0.1, 1.0)]
    lines = [row("hops_mean", [1.0], "dht", f".d{i}") for i in range(20)]
    zeros = [row("parasites", [0.0, 0.0], b) for b in ("dht", "a")]
    drawn = {figure.name: figure for figure in figures_of(findings([*curves, *lines, *zeros]))}
    assert list(drawn) == ["reception", "hops_mean"]  # of zeros there is nothing to see
    assert "facet" in drawn["reception"].spec
    assert len({point["place"] for point in drawn["hops_mean"].spec["data"]["values"]}) == 16
    assert "4 more are in comparison.csv" in drawn["hops_mean"].notes
    assert "a single run" in drawn["hops_mean"].notes

    def colours(name: str) -> dict[str, str]:
        spec = drawn[name].spec
        layer = spec.get("spec", spec)["layer"][-1]["encoding"]["color"]["scale"]
        return dict(zip(layer["domain"], layer["range"], strict=True))

    assert colours("hops_mean")["dht"] == colours("reception")["dht"]
    assert set(colours("reception")) == {"dht", "a"}


def test_distributions_of_table_sizes_are_drawn() -> None:
    names = {"view_p5": 2.0, "view_p50": 5.0, "view_p95": 9.0}
    rows = [row(metric, [value], "dht", ".d") for metric, value in names.items()]
    (figure,) = figures_of(findings(rows))
    (point,) = figure.spec["data"]["values"]
    assert (point["low"], point["mean"], point["high"]) == (2.0, 5.0, 9.0)


def test_benchmarks_are_in_order_of_their_numbers_and_far_apart_on_a_logarithmic_axis() -> None:
    rows = [
        row(f"live.fast(nodes={nodes}).deliveries_per_second", [1e6 / nodes**2, 1e6 / nodes**2])
        for nodes in (10, 50, 100)
    ]
    (figure,) = figures_of(findings(rows))
    assert figure.name == "benchmark-deliveries_per_second"
    assert figure.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_names_are_no_markup() -> None:
    evil = "<script>alert(1)</script>"
    rows = [row("hops_mean", FAST, evil, f".{evil}"), row("hops_mean", SLOW, "dht", f".{evil}")]
    named = dict.fromkeys(("path", "backend", "protocol", "version", "machine", "python"), evil)
    source = Source(kind="run", baseline=False, started="", repair=None, **named)
    of = findings(
        rows,
        command=evil,
        sources=(source,),
        problems=(evil,),
        quarantine=(Quarantined(evil, evil, 1, None),),
        changes=tuple(changes_of(rows, rows)),
        baseline=evil,
    )
    assert evil not in page(of)


@pytest.mark.usefixtures("small_pictures")
def test_hostile_names_are_text_in_pictures_and_on_the_page_whose_legend_has_them_whole() -> None:
    rows = [
        row("reception", [0.5 + n / 100, 0.6, 0.7], name, place, p_sel)
        for n, name in enumerate(HOSTILE)
        for place in ("", f".{name}")
        for p_sel in (0.1, 1.0)
    ]
    of = findings(rows, pairs=())
    (figure,) = figures_of(of)
    drawing = render(figure.spec)
    text = html(of, [figure], {figure.name: drawing})
    assert_whole(text)
    assert not any(name in text for name in HOSTILE if "<" in name)
    assert of.labels.legend
    for short, whole in of.labels.legend.items():
        assert f"<tr><th>{escape(short)}</th><td>{escape(whole)}</td></tr>" in text
    written = {"".join(element.itertext()) for element in ET.fromstring(drawing.svg).iter()}
    assert {point["name"] for point in figure.spec["data"]["values"] if "name" in point} <= written


ODD_NUMBERS = (
    "ops/s",
    "OPS/S",
    "ops s",
    "ops_s",
    "../up",
    "",
    "a" * 300,
    "a" * 299 + "b",
    "\0",
    "\xb5s",
)


def test_each_number_of_others_has_a_figure_a_file_and_a_line_whatever_its_name() -> None:
    numbers = {number: float(place + 1) for place, number in enumerate(ODD_NUMBERS)}
    directions: dict[str, Better] = dict.fromkeys(numbers, "less")
    values = [
        measure(f"{who}{run}", f"x.a.{number}", value + run / 100, backend=who, benchmark="x.a")
        for number, value in numbers.items()
        for who in ("dht", "scamp")
        for run in range(3)
    ]
    of = rows_of(values, varying(values, versions=True), directions)
    figures = figures_of(findings(of))
    drawn = [{row.measure.number for row in figure.rows} for figure in figures]
    assert sorted(drawn, key=str) == sorted(({number} for number in numbers), key=str)
    files = [figure.name for figure in figures]
    assert len({name.lower() for name in files}) == len(numbers)
    assert all(re.fullmatch(r"benchmark-[\w.-]{,100}", name, re.ASCII) for name in files)
    columns, lines = pivot(of, findings(of).labels.names, line_of_measure)
    assert columns == ["dht", "scamp"]
    shown = [cell.measure.number for _, cells in lines for cell in cells if cell is not None]
    assert sorted(shown) == sorted([*numbers, *numbers])


def test_the_best_is_better_than_every_other() -> None:
    """Two that cannot be told apart, and are better than a third, are not the best."""
    two = [row("hops_mean", FAST, "dht"), row("hops_mean", [10.1, 10.3, 9.9], "hybrid")]
    assert 'class="best"' not in page(findings([*two, row("hops_mean", SLOW, "scamp")]))
    assert page(findings([two[0], row("hops_mean", SLOW, "scamp")])).count('class="best"') == 1


def test_of_members_nothing_is_judged_where_many_never_became_one() -> None:
    """Whoever lets nobody in has the best reception; that of all says so, and may be shown best."""
    few, many = [0.29, 0.30, 0.31], [0.94, 0.95, 0.96]
    means = {
        "reception": {"dht": [1.0, 0.999, 0.998], "scamp": many},
        "reception_of_all": {"dht": few, "scamp": many},
    }
    rows = [row(name, v, who, "") for name, of in means.items() for who, v in of.items()]
    whole, some = page(findings(rows)), page(findings(rows, judged=False))
    assert "Choose dht for reception" in whole
    assert "cannot be judged" not in whole
    assert "dht is best" not in some
    assert re.search('id="verdict"><p><strong>Which is better cannot be judged: .* 2% of', some)
    assert "nobody to compare" not in some
    best = [re.findall('class="best">([^<]*)', text) for text in (whole, some)]
    assert [sorted(set(cells)) for cells in best] == [["95.00%", "99.90%"], ["95.00%"]]
    of_one = page(findings([one for one in rows if one.variant.backend == "dht"], judged=False))
    assert "nobody to compare" in of_one
    assert "cannot be judged" not in of_one


def test_of_benchmarks_a_verdict_stays_where_runs_have_none() -> None:
    rows = [
        row(metric, values, who, "")
        for metric in ("heal_seconds_p50", "x.a.cpu_ratio_to_raw")
        for who, values in (("dht", FAST), ("scamp", SLOW))
    ]
    text = page(findings(rows, judged=False))
    assert "Choose dht for" in text
    assert "for healing" not in text
    assert "Which is better cannot be judged" in text
    assert text.count('id="verdict"') == 1


def test_a_page_on_a_baseline_says_what_cannot_be_judged() -> None:
    now, before = ([row("reception", values, community="")] for values in ([1.0] * 3, [0.9] * 3))
    changes = tuple(changes_of(now, before, judged=False))
    text = page(findings(now, changes=changes, baseline="version 0.1", judged=False))
    assert "<strong>Nothing that can be judged regressed</strong> since version 0.1" in text
    assert "1 of which nothing can be judged." in text


def test_of_many_means_the_headlines_are_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = ("reception", "reach_p5", "hops_mean", "load_sent_p5")
    many = [row(metric, FAST, community=place) for metric in metrics for place in (".", ".a")]
    assert "more measures are in comparison.csv" not in page(findings(many))
    monkeypatch.setattr(comparison_page, "_FOLDED_MAX", 4)
    text = page(findings(many)).partition("Every measure, by community")[2]
    assert "2 more measures are in comparison.csv" in text
    titles = [find_measure(metric, "").title for metric in metrics]
    assert [title in text.lower() for title in titles] == [True, False, True, False]


def test_the_page_says_what_it_was_made_with() -> None:
    text = page(findings([row("hops_mean", SLOW, "scamp")]))
    for package in ("camcast", "pyspark", "pyarrow"):
        assert f"{package} {version(package)}" in text


def test_the_page_says_what_regressed_and_what_was_not_read() -> None:
    before = [row("hops_mean", FAST, b) for b in ("dht", "scamp")]
    now = [row("hops_mean", SLOW, "dht"), row("hops_mean", FAST, "scamp")]
    of = findings(
        now,
        changes=tuple(changes_of(now, before)),
        baseline="version 0.1",
        problems=("runs/x has no trace",),
        quarantine=(Quarantined("runs/y/trace-0.jsonl", "not JSON", 2, 17),),
    )
    text = page(of)
    assert "<strong>1 measure regressed</strong> since version 0.1" in text
    assert "10 became 20 (+100.0%, p &lt; 0.001)" in text
    assert "runs/x has no trace" in text
    assert "2 records in" in text
    assert "<td>2</td><td>17</td>" in text
    assert 'class="best"' in text  # scamp's, which is better than dht's
    calm = page(attrs.evolve(of, changes=tuple(changes_of(before, before)), problems=()))
    assert "<strong>Nothing regressed</strong>" in calm
    assert "Not everything could be read" not in calm


def of_runs(**repair: bool) -> Findings:
    """Return findings of runs of some backends, with their repair."""
    measures = [
        measure(f"{who}{run}", "reception", value - run / 100, backend=who, **place)
        for who, value in zip(repair, (0.99, 0.95), strict=True)
        for run in range(3)
        for place in ({"community": "", "parameters": {"repair": str(repair[who]).lower()}},)
    ]
    source = Source(
        path="",
        kind="run",
        baseline=False,
        version="",
        machine="",
        python="",
        started="",
    )
    sources = tuple(attrs.evolve(source, backend=who, repair=one) for who, one in repair.items())
    return findings(rows(measures), sources=sources)


@pytest.mark.parametrize(("repair", "words"), [(True, "with repair"), (False, "without repair")])
def test_a_page_says_whether_all_runs_have_repair(repair: bool, words: str) -> None:
    """In the verdict, above the tables, below each figure, and in each row's JSON."""
    found = of_runs(scamp=repair, dht=repair)
    text = page(found)
    assert f"All runs are {words}.</strong>" in text
    assert f"of scamp, dht, all {words}. Intervals" in text or f"of dht, scamp, all {words}" in text
    assert all(f" All {words}." in figure.notes for figure in figures_of(found))
    assert {row.as_json()["repair"] for row in found.rows} == {repair}


def test_where_repair_differs_each_name_says_whether_it_has_it() -> None:
    """Of backends that are compared all the same: verdict, table and figure have these names."""
    found = of_runs(scamp=True, dht=False)
    assert set(found.labels.names.values()) == {"scamp (repair)", "dht (no repair)"}
    text = page(found)
    assert "All runs are" not in text
    assert "scamp (repair) is best" in text
    assert "<th>dht (no repair)</th>" in text
    assert len(found.pairs) == 1
    assert {r.variant.backend: r.as_json()["repair"] for r in found.rows} == {
        "scamp": True,
        "dht": False,
    }


def test_a_mean_says_how_many_it_is_taken_over() -> None:
    """Beside it: members of all who were to be that, and joins that were seen of all."""
    (seen, late, left, out, degree, visible) = (
        row(metric, values, community="")
        for metric, values in (
            ("joins_seen", [80.0, 82.0]),
            ("joins_invisible", [4.0, 4.0]),
            ("processes", [83.0, 83.0]),
            ("never_joined", [2.0, 2.0]),
            ("in_degree_variance", [9.0, 7.0]),
            ("join_visible_seconds_p50", [0.5, 0.7]),
        )
    )
    found = findings([seen, late, left, out, degree, visible])
    assert found.taken_over(degree) == "83 of 85"
    assert found.taken_over(visible) == "81 of 85"
    assert found.taken_over(left) == ""
    assert findings([degree, left]).taken_over(degree) == "83"  # an older run's
    assert " over 83 of 85</small>" in page(found)


def test_the_reception_of_all_is_drawn_where_it_is_another() -> None:
    """Both are in the table in any case."""
    rows = [row(m, [0.9, 0.8], community="") for m in ("reception", "reception_of_all")]
    all_three = ["reception", "reception_of_all", "never_joined"]
    for out, drawn in ((0.0, ["reception"]), (2.0, all_three)):
        outside = row("never_joined", [out, out], community="")
        found = findings([*rows, outside])
        assert [figure.name for figure in figures_of(found)] == drawn
        assert "reception of all" in page(found)
