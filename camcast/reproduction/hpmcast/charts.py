"""How the figures of the hpmcast paper are drawn: Vega-Lite as it is, which `drawing` renders.

Measured means are a line with their 95 % interval as a band, the model is dashed, a formula dotted.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.report.drawing import Drawing, render
from camcast.report.series import by_series
from camcast.reproduction.hpmcast.figures import Figure

_TICKS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_WIDTH, _HEIGHT = 560, 300  # chosen: pixels; a phone shrinks them to 60 %
_LEGEND_LETTERS: Final = 70  # chosen: of the names beside each other in the figure's width


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    series = list(dict.fromkeys(point.series for point in figure.points))
    colour = by_series(
        "series",
        series,
        columns=max(1, min(len(series), _LEGEND_LETTERS // max(map(len, series)))),
        labelLimit=280,
    )
    xs = [point.x for point in figure.points]
    few = len(set(xs)) <= 8
    x = {
        "field": "x",
        "type": "quantitative",
        "title": figure.x,
        "scale": {"type": "log" if figure.logarithmic else "linear", "nice": False}
        | ({"domain": [min(xs), max(xs)]} if few or figure.logarithmic else {}),
        "axis": {"grid": False, "labelFlush": False, "format": "~f"}
        | ({"values": sorted(set(xs))} if few else {})
        | (
            {"values": [at for at in _TICKS if min(xs) <= at <= max(xs)]}
            if figure.logarithmic
            else {}
        ),
    }
    number = ".4%" if figure.share else ",.2f"
    narrow = figure.domain is not None and figure.domain[0] > 0

    def y(field: str) -> dict[str, Any]:
        return {
            "field": field,
            "type": "quantitative",
            "title": figure.y,
            "scale": {"domain": figure.domain} if figure.domain else {"zero": True},
            "axis": {"format": (".2%" if narrow else ".0%") if figure.share else ",~f"},
        }

    tooltip = [
        {"field": "series", "type": "nominal"},
        {"field": "x", "type": "quantitative", "title": figure.x},
        *(
            {"field": field, "type": "quantitative", "format": number}
            for field in ("mean", "low", "high", "model")
        ),
        {"field": "runs", "type": "quantitative"},
    ]
    measured, formula = {"filter": "datum.runs != null"}, {"filter": "datum.runs == null"}
    layers: list[dict[str, Any]] = [
        {
            "transform": [measured],
            "mark": {"type": "area", "opacity": 0.2, "clip": True},
            "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour},
        },
        {
            "transform": [measured],
            "mark": {"type": "line", "strokeWidth": 2, "clip": True},
            "encoding": {"x": x, "y": y("mean"), "color": colour},
        },
        {
            "transform": [{"filter": "datum.runs != null && datum.model != null"}],
            "mark": {
                "type": "line",
                "strokeWidth": 1.6,
                "strokeDash": [6, 4],
                "color": "currentColor",
                "clip": True,
            },
            "encoding": {"x": x, "y": y("model"), "detail": {"field": "series"}},
        },
        {
            "transform": [measured],
            "mark": {"type": "point", "filled": True, "size": 28, "opacity": 1, "clip": True},
            "encoding": {"x": x, "y": y("mean"), "color": colour, "tooltip": tooltip},
        },
        {
            "transform": [formula],
            "mark": {
                "type": "line",
                "strokeWidth": 2,
                "strokeDash": [1.5, 4],
                "strokeCap": "round",
                "clip": True,
            },
            "encoding": {"x": x, "y": y("mean"), "color": colour},
        },
    ]
    lines = "line: measured, with 95 % interval"
    if any(point.model is not None for point in figure.points):
        lines += "; dashed: model"
    if any(point.runs is None for point in figure.points):
        lines += "; dotted: a formula"
    heading = figure.title
    if figure.name.startswith("figure"):
        heading = f"Figure {figure.name.removeprefix('figure').partition('_')[0]}. {heading}"
    return render(
        {
            "data": {"values": [attrs.asdict(point) for point in figure.points]},
            "width": _WIDTH,
            "height": _HEIGHT,
            "title": {"text": heading, "subtitle": lines},
            "layer": layers,
        }
    )
