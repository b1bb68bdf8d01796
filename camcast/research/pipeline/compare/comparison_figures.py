"""How the figures of a comparison are drawn: Vega-Lite, which `drawing` renders.

They are small multiples in groups: quality, cost, tables, benchmarks. A mean is a point, its 95 %
interval a line through it, a point without an interval is hollow; colour and shape say of whom.
Against p_sel where runs differ in it, each line with its name at its end; else side by side by
community; benchmarks' numbers by benchmark. Of many series (`Series`) each panel of curves has a
few, before all others in grey; points have their names beside them, a panel a community. An axis
begins and ends where the means do: the differences are what there is to see.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, product
from math import ceil, exp, log, log10
from statistics import fmean
from textwrap import wrap
from typing import Any, Final

from attrs import evolve, frozen

from camcast.research.models.distributions import REACHES
from camcast.research.pipeline.compare.comparison import Row, Variant
from camcast.research.pipeline.compare.findings import Findings, community_name, place_name
from camcast.research.pipeline.compare.labels import Labels, cut_apart
from camcast.research.pipeline.compare.series import COLOURS, DASHES, SHAPES, Series
from camcast.research.report.chart import by_series, layer, nominal, quantity, spread, tooltip
from camcast.research.report.measures import Measure, measure_of
from camcast.vocabulary.printable import printable

_PANEL_WIDTH, _PANEL_HEIGHT = 115, 100  # chosen: pixels; two stand beside each other on a phone
_WIDTH, _STEP = 190, 11  # chosen: pixels; with labels as wide as a phone
_GAP: Final = 18  # chosen: pixels, from place to place
_NAME_STEP: Final = 13  # chosen: pixels; the height of a name's line
_NAME_SIZE: Final = 11  # chosen: pixels, of a name's letters
_NAME_FROM: Final = 14  # chosen: pixels, from the end of a frame to the names beside it
_LETTER: Final = (
    7  # measured: pixels, of a wide letter of that size; DejaVu Sans has 6.4 in the mean
)
_LEGEND_WIDTH, _SYMBOL = 330, 24  # chosen: pixels; a figure's, and what stands before a name
_COLUMNS_MAX: Final = 3  # chosen: of a legend, and of panels of points
_BENCHMARK: Final = "benchmark-"  # before the names of their figures' files
_FILE_MAX: Final = 100  # chosen: characters; file systems take 255 bytes, with an ending
_PLACE, _BENCHMARK_PLACE = 18, 40  # chosen: characters, of a community or a benchmark
_PANELS_MAX: Final = 12  # chosen: two screens; what is left out is said
_PLACES_MAX: Final = 16  # chosen: a screen; what is left out is said
_REACH: Final = 1.5  # chosen: an interval is shown as far as so many ranges of the means
_MARGIN: Final = 0.06  # chosen: of the axis, on both sides
_APART: Final = 20.0  # chosen: largest to smallest; from there on an axis is logarithmic
_THOUSANDS: Final = 10_000  # chosen: written as 10k on an axis
_LEGEND_LINE: Final = 64  # chosen: characters below a title; 400 pixels
_MEANING: Final = 180  # chosen: characters of a setting, three such lines; the page has all
GROUPS: Final = {
    "quality": "Quality",
    "cost": "Cost",
    "tables": "Tables, joining and healing",
    "benchmarks": "Benchmarks",
}
"""The groups of figures: anchors and titles."""
_COST: Final = ("efficiency", "redundancy", "duplicates", "upward", "control", "load")
_TABLES: Final = ("view", "in_degree", "heal", "join")
_HEADER: Final = {"labelColor": "currentColor", "labelFontSize": 11}
_MEANS: Final = "Mean over runs, with its 95 % interval."
_FILLED: Final = "isValid(datum.who) && !datum.hollow"
_GREY: Final = " Grey: all others."
_REACHES: Final = {**REACHES, "reliability": 1.0}
_DISTRIBUTIONS: Final = {
    "load_sent": (
        ("Copies sent, 5 % to 99 %", "of events, by a process"),
        ("load_sent_p5", "load_sent_p50", "load_sent_p99"),
    ),
    "load_received": (
        ("Copies received, 5 % to 99 %", "of events, by a process, wanted or not"),
        ("load_received_p5", "load_received_p50", "load_received_p99"),
    ),
    "load_bytes": (
        ("Bytes sent, 5 % to 99 %", "by a process, control messages too"),
        ("load_bytes_p5", "load_bytes_p50", "load_bytes_p99"),
    ),
    "view_sizes": (
        ("Table sizes, 5 % to 95 %", "peers, at the end"),
        ("view_p5", "view_p50", "view_p95"),
    ),
}
"""Of each figure of a distribution the titles, and the measures of its two ends and its middle."""
_BETTER: Final = {
    "more": "more is better",
    "less": "less is better",
    "neither": "mean and 95 % interval",
    "unknown": "direction unknown",
}


@frozen(kw_only=True)
class Figure:
    """One measure, drawn for all who are compared."""

    name: str
    group: str
    """A key of `GROUPS`."""
    title: str
    notes: str
    rows: tuple[Row, ...]
    """The rows that are drawn."""
    spec: dict[str, Any]
    """Vega-Lite, as `camcast.research.report.drawing.render` takes it."""


def figures_of(findings: Findings) -> list[Figure]:
    """Draw the measures that matter most, and what benchmarks measured, in reading order.

    Of runs they are drawn by community, if there is any.
    """
    by_measure: defaultdict[str, list[Row]] = defaultdict(list)
    communities = any(row.community for row in findings.rows)
    for row in findings.rows:
        measure = row.measure
        if measure.headline and (row.community or measure.benchmark or not communities):
            by_measure[_BENCHMARK * bool(measure.benchmark) + measure.number].append(row)
    if not any(row.metric == "never_joined" and row.sample.largest for row in findings.rows):
        by_measure.pop("reception_of_all", None)  # it is the reception
    labels = findings.labels
    series = Series.of(labels)
    files = _file_names(by_measure)
    figures = [
        _figure(files[name], rows, labels, series)
        for name, rows in by_measure.items()
        if any(row.sample.largest for row in rows)  # else there is nothing to see: all are 0
    ]
    distributions = (_distribution(name, findings, labels, series) for name in _DISTRIBUTIONS)
    figures += filter(None, (_reach(findings, labels, series), *distributions))
    repair = f" All {findings.repair_in_words}." if findings.repair_in_words else ""
    return [
        figure if figure.group == "benchmarks" else evolve(figure, notes=figure.notes + repair)
        for figure in figures
    ]


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of figures' files, by the names of measures.

    A number of somebody else's benchmark may have any name, with a slash in it too. No two files
    have one name, on no file system: upper and lower case are one on some.
    """
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:_FILE_MAX]
        tries = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
        files[name] = next(one for one in tries if one.lower() not in taken)
        taken.add(files[name].lower())
    return files


def _figure(name: str, rows: Sequence[Row], labels: Labels, series: Series) -> Figure:
    measure = rows[0].measure
    curves = _curves(rows)
    most = _curves_max(series) if curves else _places_max(series)
    drawn, left_out = _first_places(rows, most)
    notes = _MEANS
    if any(row.interval == (None, None) for row in drawn):
        notes += " Hollow: a single run, or equal ones."
    if curves and len(series.panels) > 1:
        notes += _GREY
    points = [_point(row, labels) for row in drawn]
    _cut_places(measure, points)
    titles = measure.title[:1].upper() + measure.title[1:], _BETTER[measure.better]
    chart = (_lines if curves else _dots)(measure, points, series)
    return _titled(name, titles, labels, notes + left_out, drawn, chart)


def _curves_max(series: Series) -> int:
    """Return of how many places curves are drawn."""
    return max(1, _PANELS_MAX // len(series.panels))


def _places_max(series: Series) -> int:
    """Return of how many places points are drawn."""
    return _PLACES_MAX if series.few else _PANELS_MAX


def _distribution(name: str, findings: Findings, labels: Labels, series: Series) -> Figure | None:
    """Draw how a number is distributed over processes; None if there is nothing of it."""
    titles, metrics = _DISTRIBUTIONS[name]
    wanted = dict(zip(metrics, ("low", "mean", "high"), strict=True))
    rows = [row for row in findings.rows if row.metric in wanted and row.community]
    if not any(row.sample.largest for row in rows):
        return None
    drawn, left_out = _first_places(rows, _places_max(series))
    points: dict[tuple[Variant, str, float | None], dict[str, Any]] = {}
    for row in drawn:
        place = place_name(row)
        about = {"who": labels.names[row.variant], "place": place, "runs": row.sample.runs}
        point = points.setdefault((row.variant, row.community, row.p_sel), about)
        point[wanted[row.metric]] = row.sample.mean
    whole = sorted(
        (point for point in points.values() if set(wanted.values()) <= set(point)),
        key=lambda point: str(point["place"]),
    )
    if not whole:
        return None
    measure = measure_of(metrics[1])
    _cut_places(measure, whole)
    notes = "Point: the median process; line: the processes in between. Means over runs."
    chart = _dots(measure, whole, series)
    return _titled(name, titles, labels, notes + left_out, drawn, chart)


def _reach(findings: Findings, labels: Labels, series: Series) -> Figure | None:
    """Draw what share of the events reaches so many; None if nobody was to receive any."""
    rows = [row for row in findings.rows if row.metric in _REACHES and row.community]
    places = list(dict.fromkeys(map(place_name, rows)))
    most = _curves_max(series)
    drawn = [row for row in rows if place_name(row) in places[:most]]
    if not drawn:
        return None
    points = [
        _point(row, labels) | {"place": place_name(row), "reach": _REACHES[row.metric]}
        for row in drawn
    ]
    measure = measure_of("reliability")
    _cut_places(measure, points)
    notes = "Share of the events that reach so many of their expected receivers, or more. " + _MEANS
    if len(series.panels) > 1:
        notes += _GREY
    if len(places) > most:
        notes += f" {len(places) - most} more are in comparison.csv."
    chart = _lines(measure, points, series, "reach", "~%")
    return _titled("reach", ("Reach of events", "more is better"), labels, notes, drawn, chart)


def _titled(
    name: str,
    titles: tuple[str, str],
    labels: Labels,
    notes: str,
    rows: Sequence[Row],
    chart: dict[str, Any],
) -> Figure:
    """Return a chart as a figure, with its title, and below it what letters stand for."""
    variants = {row.variant for row in rows}
    known = {labels.letters.get(variant.setting, "") for variant in variants}
    known |= {labels.names[variant].partition(" (")[0] for variant in variants}
    legend = {short: printable(labels.legend[short]) for short in labels.legend if short in known}
    shown = cut_apart(legend.values(), _MEANING)
    meanings = [
        line
        for short, meaning in legend.items()
        for line in wrap(f"{short} = {shown[meaning]}", _LEGEND_LINE, subsequent_indent="    ")
    ]
    title = {"text": titles[0], "subtitle": [titles[1], *meanings]}
    return Figure(
        name=name,
        group=_group(name),
        title=titles[0],
        notes=notes,
        rows=tuple(rows),
        spec={**chart, "title": title},
    )


def _group(name: str) -> str:
    if name.startswith(_BENCHMARK):
        return "benchmarks"
    return "cost" if name.startswith(_COST) else "tables" if name.startswith(_TABLES) else "quality"


def _curves(rows: Iterable[Row]) -> bool:
    """Whether anything was measured at several p_sel in one place."""
    values: defaultdict[str, set[float]] = defaultdict(set)
    for row in rows:
        if row.p_sel is not None:
            values[_place(row)].add(row.p_sel)
    return any(len(each) > 1 for each in values.values())


def _place(row: Row) -> str:
    return row.measure.benchmark or community_name(row.community)


def _first_places(rows: Sequence[Row], most: int) -> tuple[list[Row], str]:
    """Return the rows of the first places, and what to say of those that are left out."""
    places = list(dict.fromkeys(_place(row) for row in rows))
    kept = [row for row in rows if _place(row) in places[:most]]
    return kept, f" {len(places) - most} more are in comparison.csv." if len(places) > most else ""


def _cut_places(measure: Measure, points: Iterable[dict[str, Any]]) -> None:
    """Shorten the places of points so that they still differ."""
    most = _BENCHMARK_PLACE if measure.benchmark else _PLACE
    shown = cut_apart((str(point["place"]) for point in points), most)
    for point in points:
        point["place"] = shown[point["place"]]


def _point(row: Row, labels: Labels) -> dict[str, Any]:
    low, high = row.interval
    return {
        "who": labels.names[row.variant],
        "place": _place(row),
        "p_sel": row.p_sel,
        "mean": row.sample.mean,
        "low": row.sample.mean if low is None else low,
        "high": row.sample.mean if high is None else high,
        "hollow": low is None,
        "runs": row.sample.runs,
    }


def _axis(measure: Measure, channel: str, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how the means of a measure are laid on an axis."""
    least, most = (pick(point["mean"] for point in points) for pick in (min, max))
    if measure.benchmark and least > 0 and most / least >= _APART:
        margin = (most / least) ** _MARGIN
        scale: dict[str, Any] = {"type": "log", "domain": [least / margin, most * margin]}
    else:
        scale = {"domain": list(_domain(measure, points)), "nice": False, "zero": False}
    axis: dict[str, Any] = {"tickCount": 3, "labelOverlap": "greedy"}
    if not measure.is_share:
        axis["format"] = "~s" if most >= _THOUSANDS else ",~r"
    elif scale.get("type") != "log":
        tick = max(1e-6, (scale["domain"][1] - scale["domain"][0]) / axis["tickCount"])
        axis["format"] = f".{max(0, ceil(-log10(100 * tick)))}%"
    return quantity(channel, title=measure.unit or None, scale=scale, axis=axis)


def _domain(measure: Measure, points: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Return the ends of an axis: the means, and of the intervals what is near them."""
    least, most = (pick(point["mean"] for point in points) for pick in (min, max))
    low, high = min(point["low"] for point in points), max(point["high"] for point in points)
    span = (most - least) or min(high - low, abs(most)) or abs(most) or 1.0
    if "hollow" in points[0]:  # they are means with their intervals
        low, high = max(low, least - _REACH * span), min(high, most + _REACH * span)
    margin = _MARGIN * ((high - low) or span)
    # an axis about one value ends so near the bounds that no tick says 105 %
    beyond = margin if low < high else margin / 4
    return max(measure.least - beyond, low - margin), min(measure.most + beyond, high + margin)


def _told_apart(
    series: Series, points: Iterable[dict[str, Any]], *, legend: bool
) -> dict[str, dict[str, Any]]:
    """Return the colour and the shape of each who is compared; a legend shows both."""
    present = {point["who"] for point in points}
    channels = {"color": COLOURS, "shape": SHAPES}
    shown = {channel: series.channel(present, values) for channel, values in channels.items()}
    if legend:
        width = _SYMBOL + _LETTER * max(map(len, present))
        columns = max(1, min(_COLUMNS_MAX, _LEGEND_WIDTH // width))
        for channel in shown.values():
            scale = channel["scale"]
            drawn = by_series("who", scale["domain"], scale["range"], columns=columns, labelLimit=0)
            channel["legend"] = {
                how: v for how, v in drawn["legend"].items() if how != "symbolType"
            }
    return shown


def _intervals(
    shared: dict[str, Any], measure: Measure, channel: str, points: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the interval and the mean of each point; `channel` is the measure's axis."""
    number = ".2%" if measure.is_share else ",.4~g"
    told = [
        nominal("who", title="of"),
        nominal("place", title="where"),
        *tooltip(p_sel="", mean=number, low=number, high=number, runs=""),
    ]
    low = {channel: _axis(measure, "low", points), f"{channel}2": {"field": "high"}}
    mean = {channel: _axis(measure, "mean", points), "tooltip": told}
    rule = {channel: how for channel, how in shared.items() if channel != "shape"}
    return [
        layer("rule", rule | low, "isValid(datum.who)", strokeWidth=1.8, clip=True),
        layer("point", shared | mean, _FILLED, filled=True, size=34, opacity=1),
        layer("point", shared | mean, "datum.hollow", filled=False, size=34, opacity=1),
    ]


def _lines(
    measure: Measure,
    points: Sequence[dict[str, Any]],
    series: Series,
    along: str = "p_sel",
    form: str = "~g",
) -> dict[str, Any]:
    """Draw against p_sel, or a further number `along` of the points, names at the ends of lines.

    Each place and panel has a frame.
    """
    values = sorted({point[along] for point in points if point[along] is not None})
    logarithmic = values[0] > 0 and values[-1] / values[0] >= _APART
    x = quantity(
        along,
        title=along,
        scale={"type": "log" if logarithmic else "linear", "nice": False, "padding": 8},
        axis={"values": values, "format": form, "grid": False, "labelOverlap": "greedy"},
    )
    frames: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for place, panel in product(
        dict.fromkeys(point["place"] for point in points), range(len(series.panels))
    ):
        names = series.panels[panel][1]
        here = [point for point in points if point["place"] == place and point["who"] in names]
        if here:
            frames[place, panel] = here
    height = max(_PANEL_HEIGHT, *(_NAME_STEP * len(_ends(here, along)) for here in frames.values()))
    scale, drawn = _axis(measure, "mean", points)["scale"], []
    for (place, panel), here in frames.items():
        frame = {"frame": ", ".join(filter(None, (place, series.panels[panel][0])))}
        names_of_ends = _names(_ends(here, along), series, scale, height)
        drawn += [point | frame | names_of_ends.get(at, {}) for at, point in enumerate(here)]
        drawn += [
            frame | {"other": point["who"], along: point[along], "mean": point["mean"]}
            for point in points
            if point["place"] == place and point["who"] not in series.panels[panel][1]
        ]
    told = _told_apart(series, points, legend=False)
    dash = series.channel({point["who"] for point in points}, DASHES)
    y, name_y = (_axis(measure, "mean", points) | {"field": each} for each in ("mean", "name_at"))
    grey = {"x": x, "y": y, "detail": nominal("other")}
    line = {"x": x, "y": y, "color": told["color"], "strokeDash": dash}
    lead = {
        "x": x,
        "x2": {"value": _PANEL_WIDTH + _NAME_FROM - 2},
        "y": y,
        "y2": {"field": "name_at"},
    }
    name = {"x": {"value": _PANEL_WIDTH + _NAME_FROM}, "y": name_y, "text": nominal("name")}
    of_names = {
        "align": "left",
        "baseline": "middle",
        "fontSize": _NAME_SIZE,
        "color": "currentColor",
    }
    return {
        "data": {"values": drawn},
        "facet": nominal(
            "frame",
            title=None,
            sort=list(dict.fromkeys(each["frame"] for each in drawn)),
            header=_HEADER,
        ),
        "columns": 2,
        "spec": {
            "width": _PANEL_WIDTH,
            "height": height,
            "layer": [
                layer(
                    "line",
                    grey,
                    "isValid(datum.other)",
                    strokeWidth=1,
                    opacity=0.25,
                    color="currentColor",
                ),
                layer(
                    "rule",
                    lead | {"color": told["color"]},
                    "isValid(datum.name_at)",
                    strokeWidth=0.8,
                ),
                layer("text", name, "isValid(datum.name_at)", **of_names),
                layer("line", line, "isValid(datum.who)", strokeWidth=2),
                *_intervals({"x": x} | told, measure, "y", points),
            ],
        },
    }


def _ends(points: Sequence[dict[str, Any]], along: str) -> dict[int, dict[str, Any]]:
    """Return the last point of each line, by its place among the points."""
    last: dict[str, int] = {}
    for at, point in enumerate(points):
        if point[along] is not None:
            known = last.setdefault(point["who"], at)
            last[point["who"]] = at if point[along] >= points[known][along] else known
    return {at: points[at] for at in last.values()}


def _names(
    ends: Mapping[int, dict[str, Any]], series: Series, scale: Mapping[str, Any], height: float
) -> dict[int, dict[str, Any]]:
    """Return the names of lines that end there, and where on the axis they stand."""
    there, back = (log, exp) if scale.get("type") == "log" else (float, float)
    low, high = map(there, scale["domain"])
    wanted = [(high - there(point["mean"])) / (high - low) * height for point in ends.values()]
    half = _NAME_STEP / 2
    found = spread([pixels - half for pixels in wanted], _NAME_STEP, height - _NAME_STEP)
    return {
        at: {
            "name": series.shown[ends[at]["who"]],
            "name_at": back(high - (pixels + half) / height * (high - low)),
        }
        for at, pixels in zip(ends, found, strict=True)
    }


def _dots(measure: Measure, points: Sequence[dict[str, Any]], series: Series) -> dict[str, Any]:
    """Draw side by side, a line of points a place; of many series a frame a place."""
    places = list(dict.fromkeys(point["place"] for point in points))
    told = _told_apart(series, points, legend=series.few)
    no_line = {
        "title": None,
        "axis": {"labelLimit": 0, "domain": False, "ticks": False, "labelPadding": 8},
    }
    if series.few:
        apart = _GAP / (_GAP + _STEP * len({point["who"] for point in points}))
        y = nominal("place", sort=places, scale={"paddingInner": apart}, **no_line)
        offset = nominal("who", sort=series.names)
        return {
            "data": {"values": list(points)},
            "width": _WIDTH,
            "height": {"step": _STEP, "for": "offset"},
            "layer": _intervals({"y": y, "yOffset": offset} | told, measure, "x", points),
        }
    y = nominal("who", sort=_best_first(measure, points, series), **no_line)
    return {
        "data": {"values": list(points)},
        "facet": nominal("place", title=None, sort=places, header=_HEADER),
        "columns": 1 if measure.benchmark else _COLUMNS_MAX,
        "spec": {
            "width": _WIDTH if measure.benchmark else _PANEL_WIDTH,
            "height": {"step": _NAME_STEP},
            "layer": _intervals({"y": y} | told, measure, "x", points),
        },
    }


def _best_first(measure: Measure, points: Iterable[dict[str, Any]], series: Series) -> list[str]:
    """Return the names in the order of their means over all places, in each setting."""
    means: defaultdict[str, list[float]] = defaultdict(list)
    for point in points:
        means[point["who"]].append(point["mean"])
    sign = -1 if measure.better == "more" else 1

    def order(name: str) -> tuple[int, float]:
        return series.panel_of(name) if series.by_setting else 0, sign * fmean(means[name])

    return sorted(means, key=order)
