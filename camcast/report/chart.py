"""Vega-Lite specifications of figures: channels, layers, and curves with interval and model.

A measured mean is a line with its 95 % interval as a band, the model is dashed, a formula dotted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from camcast.report.drawing import Drawing, render

Channel = Mapping[str, Any]
Layer = dict[str, Any]

DASHED: Final = {"strokeWidth": 1.6, "strokeDash": [6, 4], "color": "currentColor"}
DOTTED: Final = {"strokeWidth": 2, "strokeDash": [1.5, 4], "strokeCap": "round"}


def draw(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    subtitle: str,
    size: tuple[int, int],
    layers: Sequence[Layer],
) -> Drawing:
    """Draw layers of rows into one frame of a width and height in pixels."""
    return render(
        {
            "data": {"values": rows},
            "width": size[0],
            "height": size[1],
            "title": {"text": title, "subtitle": subtitle},
            "layer": layers,
        }
    )


def quantity(field: str, **options: Any) -> dict[str, Any]:
    """Return the channel of a number, with options of Vega-Lite."""
    return {"field": field, "type": "quantitative", **options}


def tooltip(**formats: str | None) -> list[dict[str, Any]]:
    """Return what a mark tells: fields by the format of their numbers, "" for any; None: names."""
    return [
        {"field": field, "type": "nominal"}
        if form is None
        else quantity(field, **({"format": form} if form else {}))
        for field, form in formats.items()
    ]


def layer(
    mark: str, encoding: Mapping[str, Any], where: str | None = None, **style: Any
) -> dict[str, Any]:
    """Return a layer of marks, of all rows or of those for which the expression `where` holds."""
    drawn = {"mark": {"type": mark, **style}, "encoding": encoding}
    return drawn if where is None else {"transform": [{"filter": where}], **drawn}


def curves(
    x: Channel,
    y: Callable[[str], Channel],
    series: Mapping[str, Channel],
    told: Sequence[Channel],
    where: str | None = None,
    *,
    band: float = 0.2,
    dot: int = 28,
    **style: Any,
) -> list[Layer]:
    """Return band, line and dots of the rows' fields mean, low and high; the model is `modelled`.

    `y` makes the channel of a field, `series` has the channels that tell the curves apart.
    """
    mean = {"x": x, "y": y("mean"), **series}
    interval = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": series["color"]}
    dots = {"x": x, "y": y("mean"), "color": series["color"], "tooltip": told}
    return [
        layer("area", interval, where, opacity=band, **style),
        layer("line", mean, where, strokeWidth=2, **style),
        layer("point", dots, where, filled=True, size=dot, opacity=1, **style),
    ]


def modelled(
    x: Channel, y: Callable[[str], Channel], series: str, where: str | None = None, **style: Any
) -> Layer:
    """Return the dashed line of the rows' field model, one for each value of the field `series`."""
    encoding = {"x": x, "y": y("model"), "detail": {"field": series}}
    return layer("line", encoding, where, **DASHED, **style)
