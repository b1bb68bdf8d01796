"""How the figures of a comparison are drawn: Vega-Lite, which `drawing` renders.

They are small multiples in groups: quality, cost, tables, benchmarks. A mean is a point, its 95 %
interval a line through it, a point without an interval is hollow; colour and shape say of whom.
Against p_sel where runs differ in it, else side by side by community; benchmarks' numbers by
benchmark. An axis begins and ends where the means do: the differences are what there is to see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log10
from typing import Any, Final

from attrs import frozen

from camcast.research.models.distributions import REACHES
from camcast.research.pipeline.compare.comparison import Row, Variant
from camcast.research.pipeline.compare.findings import Findings, community_name, place_name
from camcast.research.report.chart import PALETTE, by_series, layer, nominal, quantity, tooltip
from camcast.research.report.measures import Measure, measure_of

_COLOURS: Final = (*PALETTE, "#E69F00", "#56B4E9")  # the rest of Okabe and Ito's palette
_PANEL_WIDTH, _PANEL_HEIGHT = 115, 100  # chosen: pixels; two stand beside each other on a phone
_WIDTH, _STEP = 190, 11  # chosen: pixels; with labels as wide as a phone
_LABEL, _BENCHMARK_LABEL = 110, 240  # chosen: pixels, of a community or a benchmark
_PANELS_MAX: Final = 9  # chosen: three rows of three; what is left out is said
_PLACES_MAX: Final = 16  # chosen: a screen; what is left out is said
_REACH: Final = 1.5  # chosen: an interval is shown as far as so many ranges of the means
_MARGIN: Final = 0.06  # chosen: of the axis, on both sides
_APART: Final = 20.0  # chosen: largest to smallest; from there on an axis is logarithmic
_THOUSANDS: Final = 10_000  # chosen: written as 10k on an axis
_SHAPES: Final = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"),
)
"""One more than the colours: 42 series are told apart by the two together."""
_DASHES: Final = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2])  # likewise, of 30
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
    by_measure: defaultdict[tuple[bool, str], list[Row]] = defaultdict(list)
    communities = any(row.community for row in findings.rows)
    for row in findings.rows:
        measure = row.measure
        if measure.headline and (row.community or measure.benchmark or not communities):
            by_measure[bool(measure.benchmark), measure.title].append(row)
    names = findings.names
    figures = [
        _figure(rows, names)
        for rows in by_measure.values()
        if any(row.sample.largest for row in rows)  # else there is nothing to see: all are 0
    ]
    distributions = (_distribution(name, findings, names) for name in _DISTRIBUTIONS)
    return [*figures, *filter(None, (_reach(findings, names), *distributions))]


def _figure(rows: Sequence[Row], names: Mapping[Variant, str]) -> Figure:
    measure = rows[0].measure
    curves = _curves(rows)
    drawn, left_out = _first_places(rows, _PANELS_MAX if curves else _PLACES_MAX)
    notes = _MEANS
    if any(row.interval == (None, None) for row in drawn):
        notes += " Hollow: a single run, or equal ones."
    points = [_point(row, names) for row in drawn]
    name = ("benchmark-" if measure.benchmark else "") + measure.number
    title = measure.title[0].upper() + measure.title[1:]
    chart = (_panels if curves else _dots)(measure, points, names)
    return _titled(name, (title, _BETTER[measure.better]), notes + left_out, drawn, points, chart)


def _distribution(name: str, findings: Findings, names: Mapping[Variant, str]) -> Figure | None:
    """Draw how a number is distributed over processes; None if there is nothing of it."""
    titles, metrics = _DISTRIBUTIONS[name]
    wanted = dict(zip(metrics, ("low", "mean", "high"), strict=True))
    rows = [row for row in findings.rows if row.metric in wanted and row.community]
    if not any(row.sample.largest for row in rows):
        return None
    drawn, left_out = _first_places(rows, _PLACES_MAX)
    points: dict[tuple[Variant, str, float | None], dict[str, Any]] = {}
    for row in drawn:
        place = place_name(row)
        about = {"who": names[row.variant], "place": place, "runs": row.sample.runs}
        point = points.setdefault((row.variant, row.community, row.p_sel), about)
        point[wanted[row.metric]] = row.sample.mean
    whole = sorted(
        (point for point in points.values() if set(wanted.values()) <= set(point)),
        key=lambda point: str(point["place"]),
    )
    if not whole:
        return None
    notes = "Point: the median process; line: the processes in between. Means over runs."
    chart = _dots(measure_of(metrics[1]), whole, names)
    return _titled(name, titles, notes + left_out, drawn, whole, chart)


def _reach(findings: Findings, names: Mapping[Variant, str]) -> Figure | None:
    """Draw what share of the events reaches so many; None if nobody was to receive any."""
    rows = [row for row in findings.rows if row.metric in _REACHES and row.community]
    places = list(dict.fromkeys(map(place_name, rows)))
    drawn = [row for row in rows if place_name(row) in places[:_PANELS_MAX]]
    if not drawn:
        return None
    points = [
        _point(row, names) | {"place": place_name(row), "reach": _REACHES[row.metric]}
        for row in drawn
    ]
    notes = "Share of the events that reach so many of their expected receivers, or more. " + _MEANS
    if len(places) > _PANELS_MAX:
        notes += f" {len(places) - _PANELS_MAX} more are in comparison.csv."
    chart = _panels(measure_of("reliability"), points, names, "reach", "~%")
    return _titled("reach", ("Reach of events", "more is better"), notes, drawn, points, chart)


def _titled(
    name: str,
    titles: tuple[str, str],
    notes: str,
    rows: Sequence[Row],
    points: Sequence[dict[str, Any]],
    chart: dict[str, Any],
) -> Figure:
    """Return the chart of some points as a figure, with its title and subtitle."""
    title = {"text": titles[0], "subtitle": titles[1]}
    return Figure(
        name=name,
        group=_group(name),
        title=titles[0],
        notes=notes,
        rows=tuple(rows),
        spec=chart | {"title": title, "data": {"values": points}},
    )


def _group(name: str) -> str:
    if name.startswith("benchmark-"):
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


def _point(row: Row, names: Mapping[Variant, str]) -> dict[str, Any]:
    low, high = row.interval
    return {
        "who": names[row.variant],
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
        scale: dict[str, Any] = {"type": "log"}
    else:
        scale = {"domain": list(_domain(measure, points)), "nice": False, "zero": False}
    axis: dict[str, Any] = {"tickCount": 3, "labelOverlap": "greedy"}
    if not measure.is_share:
        axis["format"] = "~s" if most >= _THOUSANDS else ",~r"
    elif "domain" in scale:
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


def _by_who(
    names: Mapping[Variant, str], points: Sequence[dict[str, Any]], values: Sequence[object]
) -> dict[str, Any]:
    """Return the encoding that tells who is who: the same in all figures of a page."""
    present = {point["who"] for point in points}
    shown = {
        name: values[at % len(values)] for at, name in enumerate(names.values()) if name in present
    }
    return by_series("who", list(shown), list(shown.values()), columns=3, labelLimit=160)


def _told_apart(names: Mapping[Variant, str], points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the colour and the shape of each who is compared; the legend shows both."""
    channels = {"color": _COLOURS, "shape": _SHAPES}
    shown = {channel: _by_who(names, points, values) for channel, values in channels.items()}
    for channel in shown.values():
        del channel["legend"]["symbolType"]  # it is the shape
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
        layer("rule", rule | low, strokeWidth=1.8, clip=True),
        layer("point", shared | mean, "!datum.hollow", filled=True, size=34, opacity=1),
        layer("point", shared | mean, "datum.hollow", filled=False, size=34, opacity=1),
    ]


def _panels(
    measure: Measure,
    points: Sequence[dict[str, Any]],
    names: Mapping[Variant, str],
    along: str = "p_sel",
    form: str = "~g",
) -> dict[str, Any]:
    """Draw against p_sel, or a further number `along` of the points, a panel a community."""
    values = sorted({point[along] for point in points if point[along] is not None})
    logarithmic = values[0] > 0 and values[-1] / values[0] >= _APART
    x = quantity(
        along,
        title=along,
        scale={"type": "log" if logarithmic else "linear", "nice": False, "padding": 8},
        axis={"values": values, "format": form, "grid": False, "labelOverlap": "greedy"},
    )
    shared = {"x": x} | _told_apart(names, points)
    dash = {"strokeDash": _by_who(names, points, _DASHES)}
    colour = {"x": x, "color": shared["color"]}
    line = layer("line", colour | dash | {"y": _axis(measure, "mean", points)}, strokeWidth=2)
    places = list(dict.fromkeys(point["place"] for point in points))
    return {
        "facet": nominal("place", title=None, sort=places, header=_HEADER),
        "columns": 2,
        "spec": {
            "width": _PANEL_WIDTH,
            "height": _PANEL_HEIGHT,
            "layer": [line, *_intervals(shared, measure, "y", points)],
        },
    }


def _dots(
    measure: Measure, points: Sequence[dict[str, Any]], names: Mapping[Variant, str]
) -> dict[str, Any]:
    """Draw side by side, a line of points a place."""
    label = _BENCHMARK_LABEL if measure.benchmark else _LABEL
    shared = {
        "y": nominal(
            "place",
            title=None,
            sort=list(dict.fromkeys(point["place"] for point in points)),
            axis={"labelLimit": label, "domain": False, "ticks": False, "labelPadding": 8},
            scale={"paddingInner": 0.35},
        ),
        "yOffset": nominal("who", sort=list(names.values())),
    } | _told_apart(names, points)
    return {
        "width": _WIDTH,
        "height": {"step": _STEP, "for": "offset"},
        "layer": _intervals(shared, measure, "x", points),
    }
