"""How the figures of section 6.1 are drawn; the communities' names stand at their lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from camcast.report import chart
from camcast.report.chart import DOTTED, Layer, curves, layer, modelled, quantity, tooltip
from camcast.report.drawing import Drawing, render
from camcast.report.series import PALETTE
from camcast.reproduction.camcast.figures import Figure, Point
from camcast.reproduction.camcast.plan import COMMUNITIES, SIZES

COLOURS: Final = dict(zip(COMMUNITIES, PALETTE, strict=False))
_WIDTH, _HEIGHT, _PANEL_HEIGHT = 560, 300, 120  # chosen: pixels; a phone shrinks them to 60 %
_LETTER_LOW: Final = 0.15  # chosen: of a line's height, so that a letter is not on the axis
_KEY_LINE: Final = 18  # chosen: pixels, at a font of 13
_TENTHS: Final = [tenth / 10 for tenth in range(10)]
_SHARES: Final = ("reception", "reliability")
_COLOUR: Final[dict[str, Any]] = {
    "field": "community",
    "type": "nominal",
    "scale": {"domain": [*COLOURS], "range": [*COLOURS.values()]},
    "legend": None,
}


def draw(figure: Figure) -> Drawing:
    """Draw a figure: in one frame, or copies in a frame a community, as they differ by orders."""
    lines = "line: measured, with 95 % interval; dashed: model"
    if any(point.measure != figure.measure for point in figure.points):
        lines += "; dotted: the paper's formula"
    heading = f"Figure {figure.number}. {figure.title}"
    if figure.measure == "messages":
        panels = [_panel(figure, community) for community in COMMUNITIES]
        title = {"text": heading, "subtitle": lines}
        return render({"vconcat": panels, "spacing": 14, "title": title})
    layers = _layers(figure, figure.points) + _letters(figure.points, figure.measure)
    communities = list(dict.fromkeys(point.community for point in figure.points))
    layers += _key(communities, left=figure.measure == "reception")
    if figure.measure == "upward_messages":
        layers.append(_rule(1.0, "at least one"))
    return chart.draw(_rows(figure.points), heading, lines, (_WIDTH, _HEIGHT), layers)


def _panel(figure: Figure, community: str) -> dict[str, Any]:
    points = [point for point in figure.points if point.community == community]
    title = {"text": _name(community), "color": COLOURS[community], "fontSize": 13, "offset": 4}
    return {
        "data": {"values": _rows(points)},
        "width": _WIDTH,
        "height": _PANEL_HEIGHT,
        "title": title,
        "layer": _layers(
            figure, points, x_title=community == COMMUNITIES[-1], tickCount=4, minExtent=50
        ),
    }


def _layers(
    figure: Figure, points: Sequence[Point], *, x_title: bool = True, **axis: Any
) -> list[Layer]:
    share = figure.measure in _SHARES
    x = quantity(
        "crashed",
        title="crashed processes" if x_title else None,
        axis={"format": ".0%", "values": _TENTHS, "grid": False, "labelFlush": False},
        scale={"domain": [0, 0.9]},
    )

    def y(field: str) -> dict[str, Any]:
        scale = {"domain": [0, 1]} if share else {"zero": True}
        form = {"format": ".0%"} if share else {}
        return quantity(field, title=figure.axis, axis={**form, **axis}, scale=scale)

    numbers = dict.fromkeys(("mean", "low", "high", "model"), ".1%" if share else ",.2f")
    told = tooltip(community=None, crashed=".0%", **numbers, simulator=None, runs=",")
    measured = f"datum.measure == '{figure.measure}'"
    band, line, dots = curves(x, y, {"color": _COLOUR}, told, measured, band=0.22)
    layers = [band, line, modelled(x, y, "community", measured), dots]
    if any(point.measure != figure.measure for point in points):
        formula = {"x": x, "y": y("mean"), "color": _COLOUR}
        layers.append(layer("line", formula, f"datum.measure != '{figure.measure}'", **DOTTED))
    return layers


def _letters(points: Sequence[Point], measure: str) -> list[Layer]:
    """Write the communities' letters at their lines, where each is farthest from the others.

    A letter stands above its line, to the right, as curves descend; or below, to the left, if
    the nearest of the others is above.
    """
    means: dict[float, dict[str, float]] = {}
    for point in points:
        if point.measure == measure:
            means.setdefault(point.crashed, {})[point.community] = point.mean or 0.0

    def nearest(at: float, community: str) -> float:
        others = (mean for other, mean in means[at].items() if other != community)
        return min((other - means[at][community] for other in others), key=abs)

    above: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = []
    for community in means[0.0]:
        most = max(mean[community] for mean in means.values())
        roomy = [at for at, mean in means.items() if mean[community] >= _LETTER_LOW * most]
        distances = {at: nearest(at, community) for at in roomy}
        best = max(distances, key=lambda at: abs(distances[at]))
        row = {"crashed": best, "mean": means[best][community], "community": community}
        (below if distances[best] > 0 else above).append(row)
    letters = {
        "x": quantity("crashed"),
        "y": quantity("mean"),
        "text": {"field": "community", "type": "nominal"},
        "color": _COLOUR,
    }
    bold: dict[str, Any] = {"fontSize": 16, "fontWeight": "bold"}
    placed = (
        (above, layer("text", letters, align="left", dx=7, dy=-9, **bold)),
        (below, layer("text", letters, align="right", dx=-5, dy=11, **bold)),
    )
    return [{"data": {"values": rows}, **marks} for rows, marks in placed if rows]


def _key(communities: Sequence[str], left: bool) -> list[Layer]:
    """Write which community has which colour: below or above where the curves are."""
    below = _HEIGHT - 8 - _KEY_LINE * len(communities)
    style = {"align": "left" if left else "right", "baseline": "top"}
    return [
        {
            "data": {"values": [{"community": community, "text": _name(community)}]},
            **layer(
                "text",
                {
                    "x": {"value": 10 if left else _WIDTH - 4},
                    "y": {"value": (below if left else 4) + _KEY_LINE * at},
                    "text": {"field": "text", "type": "nominal"},
                    "color": _COLOUR,
                },
                **style,
                fontSize=13,
                fontWeight="bold",
            ),
        }
        for at, community in enumerate(communities)
    ]


def _rule(height: float, text: str) -> Layer:
    encoding = {"y": quantity("height"), "tooltip": tooltip(text=None)}
    rule = layer("rule", encoding, color="currentColor", opacity=0.5)
    return {"data": {"values": [{"height": height, "text": text}]}, **rule}


def _name(community: str) -> str:
    role = {COMMUNITIES[0]: ", published in", COMMUNITIES[-1]: ", root"}.get(community, "")
    return f"{community}: {SIZES[COMMUNITIES.index(community)]:,} processes{role}"


def _rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [attrs.asdict(point) for point in points]
