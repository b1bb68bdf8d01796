"""How Figures 19 to 28 are drawn: means against p_sel on a logarithmic axis, a colour a backend.

The band is the 95 % interval over runs. Vega-Lite as it is, which `drawing` renders.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.measures import measure_of
from camcast.report.drawing import Drawing, render
from camcast.report.series import PALETTE, by_series
from camcast.reproduction.memberships.plan import VARIANTS
from camcast.reproduction.memberships.results import Figure

_COLOURS: Final = dict(zip(VARIANTS, PALETTE, strict=False))
_DASHES: Final = dict(zip(VARIANTS, ([1, 0], [7, 4], [2, 3]), strict=True))
"""[CAMCAST 6.2.2] "plain, interrupted and dotted lines"."""
_WIDTH, _HEIGHT = 400, 230  # chosen: pixels; two stand beside each other, a phone shrinks them
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    backends = list(dict.fromkeys(point.backend for point in figure.points))
    share = measure_of(figure.measure).is_share
    names = [f"{VARIANTS[backend]} {backend}" for backend in backends]
    rows = [
        {**attrs.asdict(point), "backend": f"{VARIANTS[point.backend]} {point.backend}"}
        for point in figure.points
    ]
    p_sel = [point.p_sel for point in figure.points]
    x = {
        "field": "p_sel",
        "type": "quantitative",
        "title": "p_sel",
        "scale": {"type": "log", "domain": [min(p_sel), max(p_sel)], "nice": False},
        "axis": {"values": _TICKS, "format": "~g", "grid": False, "labelFlush": False},
    }
    colour = by_series("backend", names, [_COLOURS[backend] for backend in backends])
    dash = by_series("backend", names, [_DASHES[backend] for backend in backends])
    format_ = ".1%" if share else ",.2f"

    def y(field: str) -> dict[str, Any]:
        return {
            "field": field,
            "type": "quantitative",
            "title": figure.axis,
            "scale": {"domain": [0, 1]} if share else {"zero": True},
            "axis": {"format": ".0%"} if share else {"tickCount": 6},
        }

    tooltip = [
        {"field": "backend", "type": "nominal"},
        {"field": "p_sel", "type": "quantitative"},
        *(
            {"field": field, "type": "quantitative", "format": format_}
            for field in ("mean", "low", "high", "model")
        ),
        {"field": "runs", "type": "quantitative"},
    ]
    number = f"Figure {figure.number}. " if figure.number is not None else ""
    return render(
        {
            "data": {"values": rows},
            "width": _WIDTH,
            "height": _HEIGHT,
            "title": {
                "text": f"{number}{figure.title}",
                "subtitle": "mean and 95 % interval over runs",
            },
            "layer": [
                {
                    "mark": {"type": "area", "opacity": 0.15},
                    "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour},
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": {"x": x, "y": y("mean"), "color": colour, "strokeDash": dash},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
                    "encoding": {"x": x, "y": y("mean"), "color": colour, "tooltip": tooltip},
                },
            ],
        }
    )
