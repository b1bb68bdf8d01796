"""A figure of a paper, computed again: its points, and how every figure is drawn.

A measured mean is a line with its 95 % interval as a band, single networks are dots, the model is
dashed, and the paper's formula dotted. Series have a colour each, and panels a frame each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

import attrs
from attrs import frozen

from camcast.research.report.chart import Layer, by_series, layer, quantity, tooltip

_WIDE: Final = (560, 300)  # chosen: pixels; a phone shrinks them to 60 %
_NARROW: Final = (400, 240)  # chosen: two stand beside each other
_PANEL_HEIGHT: Final = 120  # chosen: three take a figure's and a quarter
_LEGEND_LETTERS: Final = 1 / 8  # chosen: of the names beside each other, in a pixel of width
_TICKS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 400)
_FEW: Final = 8  # chosen: values of x that each get a tick
_DASHED: Final = {"strokeWidth": 1.6, "strokeDash": [6, 4]}
_DOTTED: Final = {"strokeWidth": 2, "strokeDash": [1.5, 4], "strokeCap": "round"}
_OF_ALL: Final = "datum.sample === null"


@frozen(kw_only=True)
class Point:
    """A row of a figure, at one x of one series; None where there is no such number."""

    series: str
    x: float
    mean: float | None = None
    """Measured; with the 95 % interval from `low` to `high`."""
    low: float | None = None
    high: float | None = None
    model: float | None = None
    """By our model, for the same setting."""
    formula: float | None = None
    """By the paper's formula, for the same setting."""
    runs: int | None = None
    """How many runs `mean` is the mean of."""
    panel: str = ""
    """The frame that the point is in, of a figure with several."""
    sample: int | None = None
    """The number of a network, if `mean` is of that one alone."""


@frozen(kw_only=True)
class Figure:
    """A figure of a paper, or one beyond it."""

    name: str
    """The stem of its files; of a figure of the paper, ``figure`` and its number there."""
    title: str
    x: str
    y: str
    notes: str
    points: tuple[Point, ...]
    domain: tuple[float, float] | None = None
    """The range of y that is shown; None: all, from 0 on. Up to 1, y is a share."""
    logarithmic: Literal["", "x", "xy"] = ""
    """The axes that are logarithmic."""
    rule: float | None = None
    """Where a horizontal line is drawn."""
    wide: bool = True
    """Whether it stands alone, instead of beside another."""

    @property
    def share(self) -> bool:
        """Whether y is a share, and not a number."""
        return self.domain is not None and self.domain[1] <= 1

    @property
    def number(self) -> int | None:
        """Its number in the paper; None: it is beyond the paper."""
        if not self.name.startswith("figure"):
            return None
        return int(self.name.removeprefix("figure").partition("_")[0])

    @property
    def heading(self) -> str:
        """The title, with the number of a figure of the paper."""
        return self.title if self.number is None else f"Figure {self.number}. {self.title}"

    @property
    def about(self) -> dict[str, Any]:
        """Title, axes and notes, for the file of its points."""
        return {"title": self.title, "x": self.x, "y": self.y, "notes": self.notes}


def chart_of(figure: Figure) -> dict[str, Any]:
    """Return the chart of a figure, as `camcast.research.report.drawing.render` takes it.

    It has one frame, or one for each of the figure's panels.
    """
    points = figure.points
    names = list(dict.fromkeys(point.series for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    width, height = _WIDE if figure.wide else _NARROW
    columns = max(1, min(len(names), int(width * _LEGEND_LETTERS) // max(map(len, names))))
    colour = by_series("series", names, columns=columns, labelLimit=280)
    frames = [
        {
            "data": {"values": [attrs.asdict(point) for point in points if point.panel == panel]},
            "width": width,
            "height": _PANEL_HEIGHT if len(panels) > 1 else height,
            "layer": _layers(figure, colour),
            **({"title": {"text": panel, "fontSize": 13, "offset": 4}} if panel else {}),
        }
        for panel in panels
    ]
    title = {"text": figure.heading, "subtitle": _lines(points)}
    if len(frames) > 1:
        return {"vconcat": frames, "spacing": 14, "title": title}
    return {**frames[0], "title": title}


def _lines(points: Iterable[Point]) -> str:
    """Say what the lines are, for those that there are."""
    points = list(points)
    said = {
        "line: measured": any(p.mean is not None and p.sample is None for p in points),
        "band: 95 % interval": any(point.low is not None for point in points),
        "dots: networks": any(point.sample is not None for point in points),
        "dashed: model": any(point.model is not None for point in points),
        "dotted: formula": any(point.formula is not None for point in points),
    }
    return "; ".join(words for words, there in said.items() if there)


def _layers(figure: Figure, colour: dict[str, Any]) -> list[Layer]:
    x = _x(figure)
    form = ".4%" if figure.share else ",.4~r"
    numbers = dict.fromkeys(("mean", "low", "high", "model", "formula"), form)
    told = tooltip(series=None, x="", **numbers, runs="")
    told[1]["title"] = figure.x

    def shown(field: str, **more: Any) -> dict[str, Any]:
        return {"x": x, "y": _y(figure, field), "color": colour, **more}

    measured = f"{_OF_ALL} && datum.mean !== null"
    layers = [
        layer("point", shown("mean"), "datum.sample !== null", filled=True, size=12, opacity=0.35),
        layer("area", shown("low", y2={"field": "high"}), measured, opacity=0.2, clip=True),
        layer("line", shown("mean"), measured, strokeWidth=2, clip=True),
    ]
    for field, style in (("model", _DASHED), ("formula", _DOTTED)):
        if any(getattr(point, field) is not None for point in figure.points):
            there = f"{_OF_ALL} && datum.{field} !== null"
            layers.append(layer("line", shown(field), there, **style, clip=True))
    layers.append(
        layer(
            *("point", shown("mean", tooltip=told), measured),
            filled=True,
            size=28,
            opacity=1,
            clip=True,
        )
    )
    if figure.rule is not None:
        rule = layer("rule", {"y": quantity("rule")}, color="currentColor", opacity=0.5)
        layers.append({"data": {"values": [{"rule": figure.rule}]}, **rule})
    return layers


def _x(figure: Figure) -> dict[str, Any]:
    xs = sorted({point.x for point in figure.points})
    logarithmic = "x" in figure.logarithmic
    scale: dict[str, Any] = {"type": "log" if logarithmic else "linear", "nice": False}
    axis: dict[str, Any] = {"grid": False, "labelFlush": False, "format": "~f"}
    if len(xs) <= _FEW or logarithmic:
        scale["domain"] = [xs[0], xs[-1]]
        axis["values"] = _ticks(xs) if logarithmic else xs
    return quantity("x", title=figure.x, scale=scale, axis=axis)


def _y(figure: Figure, field: str) -> dict[str, Any]:
    scale: dict[str, Any] = {"domain": figure.domain} if figure.domain else {"zero": True}
    axis: dict[str, Any] = {"tickCount": 6}
    if figure.share:
        narrow = figure.domain is not None and figure.domain[0] > 0
        axis["format"] = ".2%" if narrow else ".0%"
    if "y" in figure.logarithmic:
        scale, axis = {"type": "log", "nice": False}, {"values": [1, 10, 100]}
    return quantity(field, title=figure.y, scale=scale, axis=axis)


def _ticks(xs: Sequence[float]) -> list[float]:
    return [at for at in _TICKS if xs[0] <= at <= xs[-1]]
