"""How the figures of the percolation paper are drawn.

A dot is the mean of one network, a line that of all networks with its 95 % interval as a band,
and the model is dashed.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from camcast.report import chart
from camcast.report.chart import DASHED, Layer, layer, modelled, quantity, tooltip
from camcast.report.drawing import Drawing
from camcast.report.series import by_series
from camcast.reproduction.percolation.figures import DegreeCount, Figure, Point
from camcast.reproduction.percolation.plan import GAMMA, SIGMA

_SIZE: Final = (400, 250)  # chosen: pixels; two stand beside each other, a phone shrinks them
_AXES: Final = {"sigma": f"{SIGMA}, share of subscribers", "gamma": f"{GAMMA}, gossip probability"}
_NODES: Final = "nodes that receive the event"
_MODELLED_MAX: Final = 20  # chosen: of Figures 1 and 2, where the bend is seen
_NUMBER: Final = ",.4~r"
_OF_ALL, _OF_ONE = "datum.network === null", "datum.network !== null"


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    rows = [attrs.asdict(point) for point in figure.points]
    first = figure.points[0]
    if isinstance(first, DegreeCount):
        said, layers = "dots: one network; lines: as many as should", _degrees()
    elif all(row["mean"] is None for row in rows):
        said = "lines: receivers; dots: subscribers; vertical: transitions"
        layers = _modelled(rows)
    elif figure.varied == "gamma" and first.paper is not None:
        rows = [row for row in rows if row["measure"] == "receivers"]
        said = "dots: networks; bars: mean and 95 % interval; dashed: Equation 17"
        layers = _below(rows)
    else:
        said = "dots: networks; lines: means with 95 % interval; dashed: model"
        layers = _above(figure, first)
    return chart.draw(rows, f"Figure {figure.number}. {figure.title}", said, _SIZE, layers)


def _modelled(rows: list[dict[str, Any]]) -> list[Layer]:
    """Draw Figure 1 or 2: a colour for each gamma."""
    ends: dict[str, float] = {}
    for row in rows:
        name = row["series"] = f"{GAMMA} = {row['gamma']:g}"
        ends[name] = max(row["sigma"], ends.get(name, 0.0))
    x = _x("sigma", max(ends.values()))
    colour = by_series("series", [*ends])
    shown = {
        "x": x,
        "y": _y("model", _MODELLED_MAX),
        "color": colour,
        "tooltip": tooltip(series=None, model=_NUMBER),
    }
    seen = f"datum.model <= {_MODELLED_MAX}"
    dots = layer(
        "point", shown, f"datum.measure == 'subscribers' && {seen}",
        filled=True, size=16, opacity=1,
    )  # fmt: skip
    dots["transform"] += [  # every fifth: they would be a line
        {"window": [{"op": "row_number", "as": "row"}], "groupby": ["series"]},
        {"filter": "datum.row % 5 == 1"},
    ]
    transitions = layer(
        "rule", {"x": {**x, "field": "end"}, "color": colour}, strokeWidth=1, opacity=0.6
    )
    values = [{"series": name, "end": end} for name, end in ends.items()]
    return [
        layer("line", shown, f"datum.measure == 'receivers' && {seen}", strokeWidth=2),
        dots,
        {"data": {"values": values}, **transitions},
    ]


def _below(rows: list[dict[str, Any]]) -> list[Layer]:
    """Draw Figure 3: a colour for each size, side by side."""
    for row in rows:
        row["size"] = f"{row['nodes']:,} nodes"
    names = list(dict.fromkeys(row["size"] for row in rows))
    gammas = list(dict.fromkeys(row["gamma"] for row in rows))
    step = (gammas[1] - gammas[0]) / (len(names) + 2)
    for row in rows:
        row["beside"] = row["gamma"] + step * (names.index(row["size"]) - (len(names) - 1) / 2)
    x = {**_x("gamma", max(gammas) + 2 * step), "field": "beside"}
    x["scale"] = {"domain": [-2 * step, max(gammas) + 2 * step], "nice": False}
    colour = by_series("size", names)
    mean = {"x": x, "y": _y("mean"), "color": colour}
    told = tooltip(size=None, **dict.fromkeys(("gamma", "mean", "low", "high", "paper"), _NUMBER))
    bars = {"x": x, "y": _y("low"), "y2": {"field": "high"}, "color": colour, "tooltip": told}
    paper = {"x": {**x, "field": "gamma"}, "y": _y("paper")}
    return [
        layer("point", mean, _OF_ONE, filled=True, size=14, opacity=0.4),
        layer("line", paper, f"{_OF_ALL} && datum.size === '{names[0]}'", **DASHED),
        layer("rule", bars, _OF_ALL, strokeWidth=2.5),
        layer("tick", mean, _OF_ALL, thickness=2.5, width=9),
    ]


def _above(figure: Figure, first: Point) -> list[Layer]:
    """Draw one of Figures 4, 5 and 7 to 18: a colour for receivers, one for subscribers."""
    x, colour = _x(figure.varied, 1.0), by_series("measure", ["receivers", "subscribers"])

    def y(field: str) -> dict[str, Any]:
        return _y(field, first.nodes)

    mean = {"x": x, "y": y("mean"), "color": colour}
    band = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour}
    fields = (figure.varied, "mean", "low", "high", "model")
    told = {"tooltip": tooltip(measure=None, **dict.fromkeys(fields, _NUMBER))}
    everybody = {"y": y("nodes"), "tooltip": tooltip(nodes=_NUMBER)}
    most = layer("rule", everybody, color="currentColor", opacity=0.5)
    return [
        {"data": {"values": [{"nodes": first.nodes}]}, **most},
        layer("point", mean, _OF_ONE, filled=True, size=12, opacity=0.35),
        layer("area", band, _OF_ALL, opacity=0.22),
        layer("line", mean | told, _OF_ALL, strokeWidth=1.6),
        modelled(x, y, "measure", _OF_ALL),
    ]


def _degrees() -> list[Layer]:
    """Draw Figure 6: a colour for each b, on two logarithmic axes."""
    log = {"type": "log", "nice": False}
    ticks = {"grid": False, "values": [1, 2, 5, 10, 20, 50, 100, 200, 400]}
    x = quantity("degree", title="degree", scale=log, axis=ticks)
    colour = by_series("overlay")

    def shown(field: str) -> dict[str, Any]:
        y = quantity(field, title="nodes", scale=log, axis={"values": [1, 10, 100, 400]})
        return {"x": x, "y": y, "color": colour}

    told = tooltip(overlay=None, **dict.fromkeys(("degree", "nodes", "wanted"), _NUMBER))
    dots = {**shown("nodes"), "tooltip": told}
    return [
        layer("point", dots, "datum.nodes > 0", filled=True, size=22, opacity=0.6),
        layer("line", shown("wanted"), "datum.wanted > 0", strokeWidth=1.2, interpolate="step"),
    ]


def _x(field: str, most: float) -> dict[str, Any]:
    return quantity(
        field,
        title=_AXES[field],
        scale={"domain": [0, most], "nice": False},
        axis={"grid": False, "labelFlush": False, "tickCount": 8},
    )


def _y(field: str, most: float | None = None) -> dict[str, Any]:
    scale = {"zero": True} if most is None else {"domain": [0, most], "nice": most > 100}
    return quantity(field, title=_NODES, scale=scale, axis={"tickCount": 6})
