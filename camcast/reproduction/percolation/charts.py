"""How the figures of the percolation paper are drawn: Vega-Lite, which `drawing` renders.

A dot is the mean of one network, a line that of all networks with its 95 % interval as a band,
and the model is dashed.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.report.drawing import Drawing, render
from camcast.report.series import by_series
from camcast.reproduction.percolation.figures import DegreeCount, Figure, Point
from camcast.reproduction.percolation.plan import GAMMA, SIGMA

_WIDTH, _HEIGHT = 400, 250  # chosen: pixels; two stand beside each other, a phone shrinks them
_AXES: Final = {
    "sigma": f"{SIGMA}, share of subscribers",
    "gamma": f"{GAMMA}, gossip probability",
    "degree": "degree",
}
_MODELLED_MAX: Final = 20  # chosen: of Figures 1 and 2, where the bend is seen


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    rows = [attrs.asdict(point) for point in figure.points]
    if isinstance(figure.points[0], DegreeCount):
        return _rendered(figure, rows, "dots: one network; lines: as many as should", _degrees())
    if all(point.mean is None for point in figure.points):
        said = "lines: receivers; dots: subscribers; vertical: transitions"
        return _rendered(figure, rows, said, _modelled(rows))
    first: Point = figure.points[0]
    if figure.varied == "gamma" and first.paper is not None:
        for row in rows:
            row["size"] = f"{row['nodes']:,} nodes"
        rows = [row for row in rows if row["measure"] == "receivers"]
        said = "dots: networks; bars: mean and 95 % interval; dashed: Equation 17"
        return _rendered(figure, rows, said, _below(rows))
    said = "dots: networks; lines: means with 95 % interval; dashed: model"
    return _rendered(figure, rows, said, _above(figure, first.nodes or 0))


def _rendered(
    figure: Figure, rows: list[dict[str, Any]], said: str, layer: list[dict[str, Any]]
) -> Drawing:
    return render(
        {
            "data": {"values": rows},
            "width": _WIDTH,
            "height": _HEIGHT,
            "title": {"text": f"Figure {figure.number}. {figure.title}", "subtitle": said},
            "layer": layer,
        }
    )


def _modelled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw Figure 1 or 2: a colour for each gamma."""
    gammas = list(dict.fromkeys(row["gamma"] for row in rows))
    names = [f"{GAMMA} = {gamma:g}" for gamma in gammas]
    for row in rows:
        row["series"] = f"{GAMMA} = {row['gamma']:g}"
    ends = [
        {"series": name, "end": max(row["sigma"] for row in rows if row["gamma"] == gamma)}
        for gamma, name in zip(gammas, names, strict=True)
    ]
    seen = f"datum.model <= {_MODELLED_MAX}"
    x = _x("sigma", max(end["end"] for end in ends))
    y = _y("model", "nodes that receive the event", _MODELLED_MAX)
    colour = by_series("series", names)
    return [
        {
            "transform": [{"filter": f"datum.measure == 'receivers' && {seen}"}],
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": _tooltip("series", "model")},
        },
        {
            # every fifth: they would be a line
            "transform": [
                {"filter": f"datum.measure == 'subscribers' && {seen}"},
                {"window": [{"op": "row_number", "as": "row"}], "groupby": ["series"]},
                {"filter": "datum.row % 5 == 1"},
            ],
            "mark": {"type": "point", "filled": True, "size": 16, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": _tooltip("series", "model")},
        },
        {
            "data": {"values": ends},
            "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.6},
            "encoding": {"x": {**x, "field": "end"}, "color": colour},
        },
    ]


def _below(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw Figure 3: a colour for each size, side by side."""
    names = list(dict.fromkeys(row["size"] for row in rows))
    gammas = list(dict.fromkeys(row["gamma"] for row in rows))
    step = (gammas[1] - gammas[0]) / (len(names) + 2)
    for row in rows:
        row["beside"] = row["gamma"] + step * (names.index(row["size"]) - (len(names) - 1) / 2)
    x = {**_x("gamma", max(gammas) + 2 * step), "field": "beside"}
    x["scale"] = {"domain": [-2 * step, max(gammas) + 2 * step], "nice": False}
    title = "nodes that receive the event"
    colour = by_series("size", names)
    of_all = {"filter": "datum.network === null"}
    return [
        {
            "transform": [{"filter": "datum.network !== null"}],
            "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.4},
            "encoding": {"x": x, "y": _y("mean", title), "color": colour},
        },
        {
            "transform": [of_all, {"filter": f"datum.size === '{names[0]}'"}],
            "mark": {
                "type": "line",
                "strokeDash": [6, 4],
                "strokeWidth": 1.6,
                "color": "currentColor",
            },
            "encoding": {"x": {**x, "field": "gamma"}, "y": _y("paper", title)},
        },
        {
            "transform": [of_all],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {
                "x": x,
                "y": _y("low", title),
                "y2": {"field": "high"},
                "color": colour,
                "tooltip": _tooltip("size", "gamma", "mean", "low", "high", "paper"),
            },
        },
        {
            "transform": [of_all],
            "mark": {"type": "tick", "thickness": 2.5, "width": 9},
            "encoding": {"x": x, "y": _y("mean", title), "color": colour},
        },
    ]


def _above(figure: Figure, nodes: int) -> list[dict[str, Any]]:
    """Draw one of Figures 4, 5 and 7 to 18: a colour for receivers, one for subscribers."""
    x = _x(figure.varied, 1.0)
    colour = by_series("measure", ["receivers", "subscribers"])
    of_all = {"filter": "datum.network === null"}

    def y(field: str) -> dict[str, Any]:
        return _y(field, "nodes that receive the event", nodes)

    return [
        {
            "data": {"values": [{"nodes": nodes}]},
            "mark": {"type": "rule", "color": "currentColor", "opacity": 0.5},
            "encoding": {"y": y("nodes"), "tooltip": _tooltip("nodes")},
        },
        {
            "transform": [{"filter": "datum.network !== null"}],
            "mark": {"type": "point", "filled": True, "size": 12, "opacity": 0.35},
            "encoding": {"x": x, "y": y("mean"), "color": colour},
        },
        {
            "transform": [of_all],
            "mark": {"type": "area", "opacity": 0.22},
            "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour},
        },
        {
            "transform": [of_all],
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {
                "x": x,
                "y": y("mean"),
                "color": colour,
                "tooltip": _tooltip("measure", figure.varied, "mean", "low", "high", "model"),
            },
        },
        {
            "transform": [of_all],
            "mark": {
                "type": "line",
                "strokeDash": [6, 4],
                "strokeWidth": 1.6,
                "color": "currentColor",
            },
            "encoding": {"x": x, "y": y("model"), "detail": {"field": "measure"}},
        },
    ]


def _degrees() -> list[dict[str, Any]]:
    """Draw Figure 6: a colour for each b, on two logarithmic axes."""
    log = {"type": "log", "nice": False}
    x = {
        "field": "degree",
        "type": "quantitative",
        "title": _AXES["degree"],
        "scale": log,
        "axis": {"grid": False, "values": [1, 2, 5, 10, 20, 50, 100, 200, 400]},
    }

    def y(field: str) -> dict[str, Any]:
        return {
            "field": field,
            "type": "quantitative",
            "title": "nodes",
            "scale": log,
            "axis": {"values": [1, 10, 100, 400]},
        }

    colour = by_series("overlay")
    return [
        {
            "transform": [{"filter": "datum.nodes > 0"}],
            "mark": {"type": "point", "filled": True, "size": 22, "opacity": 0.6},
            "encoding": {
                "x": x,
                "y": y("nodes"),
                "color": colour,
                "tooltip": _tooltip("overlay", "degree", "nodes", "wanted"),
            },
        },
        {
            "transform": [{"filter": "datum.wanted > 0"}],
            "mark": {"type": "line", "strokeWidth": 1.2, "interpolate": "step"},
            "encoding": {"x": x, "y": y("wanted"), "color": colour},
        },
    ]


def _x(field: str, most: float) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": _AXES[field],
        "scale": {"domain": [0, most], "nice": False},
        "axis": {"grid": False, "labelFlush": False, "tickCount": 8},
    }


def _y(field: str, title: str, most: float | None = None) -> dict[str, Any]:
    scale = {"zero": True} if most is None else {"domain": [0, most], "nice": most > 100}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"tickCount": 6},
    }


def _tooltip(*fields: str) -> list[dict[str, Any]]:
    words = ("series", "measure", "size", "overlay")
    return [
        {"field": field, "type": "nominal"}
        if field in words
        else {"field": field, "type": "quantitative", "format": ",.4~r"}
        for field in fields
    ]
