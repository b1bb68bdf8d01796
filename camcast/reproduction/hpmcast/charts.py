"""How the figures of the hpmcast paper are drawn."""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.report import chart
from camcast.report.chart import DOTTED, curves, layer, modelled, quantity, tooltip
from camcast.report.drawing import Drawing
from camcast.report.series import by_series
from camcast.reproduction.hpmcast.figures import Figure

_TICKS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SIZE: Final = (560, 300)  # chosen: pixels; a phone shrinks them to 60 %
_LEGEND_LETTERS: Final = 70  # chosen: of the names beside each other in the figure's width
_FEW: Final = 8  # chosen: values of x that each get a tick
_MEASURED: Final = "datum.runs != null"


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    names = list(dict.fromkeys(point.series for point in figure.points))
    columns = max(1, min(len(names), _LEGEND_LETTERS // max(map(len, names))))
    colour = by_series("series", names, columns=columns, labelLimit=280)

    def y(field: str) -> dict[str, Any]:
        narrow = figure.domain is not None and figure.domain[0] > 0
        scale = {"domain": figure.domain} if figure.domain else {"zero": True}
        form = (".2%" if narrow else ".0%") if figure.share else ",~f"
        return quantity(field, title=figure.y, scale=scale, axis={"format": form})

    x = _x(figure)
    numbers = dict.fromkeys(("mean", "low", "high", "model"), ".4%" if figure.share else ",.2f")
    told = tooltip(series=None, x="", **numbers, runs="")
    told[1]["title"] = figure.x
    band, line, dots = curves(x, y, {"color": colour}, told, _MEASURED, clip=True)
    model = modelled(x, y, "series", f"{_MEASURED} && datum.model != null", clip=True)
    formula = {"x": x, "y": y("mean"), "color": colour}
    layers = [band, line, model, dots]
    layers.append(layer("line", formula, "datum.runs == null", **DOTTED, clip=True))
    lines = "line: measured, with 95 % interval"
    if any(point.model is not None for point in figure.points):
        lines += "; dashed: model"
    if any(point.runs is None for point in figure.points):
        lines += "; dotted: a formula"
    heading = figure.title
    if figure.name.startswith("figure"):
        heading = f"Figure {figure.name.removeprefix('figure').partition('_')[0]}. {heading}"
    return chart.draw(
        [attrs.asdict(point) for point in figure.points], heading, lines, _SIZE, layers
    )


def _x(figure: Figure) -> dict[str, Any]:
    xs = sorted({point.x for point in figure.points})
    scale: dict[str, Any] = {"type": "log" if figure.logarithmic else "linear", "nice": False}
    axis: dict[str, Any] = {"grid": False, "labelFlush": False, "format": "~f"}
    if len(xs) <= _FEW or figure.logarithmic:
        scale["domain"] = [xs[0], xs[-1]]
        axis["values"] = xs
    if figure.logarithmic:
        axis["values"] = [at for at in _TICKS if xs[0] <= at <= xs[-1]]
    return quantity("x", title=figure.x, scale=scale, axis=axis)
