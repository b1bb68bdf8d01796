"""How Figures 19 to 28 are drawn: means against p_sel on a logarithmic axis, a colour a backend."""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.measures import measure_of
from camcast.report import chart
from camcast.report.chart import curves, quantity, tooltip
from camcast.report.drawing import Drawing
from camcast.report.series import PALETTE, by_series
from camcast.reproduction.memberships.plan import VARIANTS
from camcast.reproduction.memberships.results import Figure

_COLOURS: Final = dict(zip(VARIANTS, PALETTE, strict=False))
_DASHES: Final = dict(zip(VARIANTS, ([1, 0], [7, 4], [2, 3]), strict=True))
"""[CAMCAST 6.2.2] "plain, interrupted and dotted lines"."""
_SIZE: Final = (400, 230)  # chosen: pixels; two stand beside each other, a phone shrinks them
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    backends = list(dict.fromkeys(point.backend for point in figure.points))
    share = measure_of(figure.measure).is_share
    names = {backend: f"{VARIANTS[backend]} {backend}" for backend in backends}
    rows = [{**attrs.asdict(point), "backend": names[point.backend]} for point in figure.points]
    p_sel = [point.p_sel for point in figure.points]
    x = quantity(
        "p_sel",
        title="p_sel",
        scale={"type": "log", "domain": [min(p_sel), max(p_sel)], "nice": False},
        axis={"values": _TICKS, "format": "~g", "grid": False, "labelFlush": False},
    )

    def y(field: str) -> dict[str, Any]:
        scale = {"domain": [0, 1]} if share else {"zero": True}
        axis = {"format": ".0%"} if share else {"tickCount": 6}
        return quantity(field, title=figure.axis, scale=scale, axis=axis)

    told = dict.fromkeys(("mean", "low", "high", "model"), ".1%" if share else ",.2f")
    number = f"Figure {figure.number}. " if figure.number is not None else ""
    shown = [*names.values()]
    series = {
        "color": by_series("backend", shown, [_COLOURS[backend] for backend in backends]),
        "strokeDash": by_series("backend", shown, [_DASHES[backend] for backend in backends]),
    }
    layers = curves(
        x, y, series, tooltip(backend=None, p_sel="", **told, runs=""), band=0.15, dot=34
    )
    return chart.draw(
        rows, f"{number}{figure.title}", "mean and 95 % interval over runs", _SIZE, layers
    )
