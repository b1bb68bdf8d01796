"""How the figures of section 6.1 are drawn: altair specifications, which `drawing` renders.

Measured means are a line with their 95 % interval as a band, the model is dashed, a formula of
the paper dotted. The communities' names stand at their lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from camcast.report.drawing import Drawing, render
from camcast.report.series import PALETTE
from camcast.reproduction.camcast.figures import Figure, Point
from camcast.reproduction.camcast.plan import COMMUNITIES, SIZES

COLOURS: Final = dict(zip(COMMUNITIES, PALETTE, strict=False))
_WIDTH, _HEIGHT, _PANEL_HEIGHT = 560, 300, 120  # chosen: pixels; a phone shrinks them to 60 %
_LETTER_LOW: Final = 0.15  # chosen: of a line's height, so that a letter is not on the axis
_LETTER: Final[dict[str, Any]] = {"fontSize": 16, "fontWeight": "bold"}
_KEY_LINE: Final = 18  # chosen: pixels, at a font of 13


def draw(figure: Figure) -> Drawing:
    """Draw a figure."""
    chart = _panels(figure) if figure.measure == "messages" else _curves(figure)
    return render(chart.properties(title=_title(figure)).to_dict())


def _title(figure: Figure) -> alt.TitleParams:
    formulas = any(point.measure != figure.measure for point in figure.points)
    lines = "line: measured, with 95 % interval; dashed: model" + (
        "; dotted: the paper's formula" if formulas else ""
    )
    return alt.TitleParams(f"Figure {figure.number}. {figure.title}", subtitle=lines)


def _curves(figure: Figure) -> alt.LayerChart | alt.FacetChart:
    """Draw all communities into one frame."""
    share = figure.measure in ("reception", "reliability")
    axis = alt.Axis(format=".0%") if share else alt.Axis()
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=True)
    layers = _layers(figure, figure.points, axis, scale, figure.axis)
    layers += _letters(figure.points, figure.measure)
    communities = list(dict.fromkeys(point.community for point in figure.points))
    layers += _key(communities, left=figure.measure == "reception")
    if figure.measure == "upward_messages":
        layers.append(_rule(1.0, "at least one"))
    return alt.layer(*layers, data=_data(figure.points)).properties(width=_WIDTH, height=_HEIGHT)


def _panels(figure: Figure) -> alt.VConcatChart:
    """Draw each community into a frame of its own, as their numbers differ by orders."""
    panels = []
    for community in COMMUNITIES:
        points = [point for point in figure.points if point.community == community]
        last = community == COMMUNITIES[-1]
        layers = _layers(
            figure,
            points,
            alt.Axis(tickCount=4, minExtent=50),
            alt.Scale(zero=True),
            figure.axis,
            x_title=last,
        )
        panel = alt.layer(*layers, data=_data(points))
        panels.append(
            panel.properties(
                width=_WIDTH,
                height=_PANEL_HEIGHT,
                title=alt.TitleParams(
                    _name(community), color=COLOURS[community], fontSize=13, offset=4
                ),
            )
        )
    return alt.vconcat(*panels, spacing=14)


def _layers(
    figure: Figure,
    points: Sequence[Point],
    axis: alt.Axis,
    scale: alt.Scale,
    y_title: str,
    *,
    x_title: bool = True,
) -> list[Any]:
    x = alt.X(
        "crashed:Q",
        title="crashed processes" if x_title else None,
        axis=alt.Axis(
            format=".0%", values=[tenth / 10 for tenth in range(10)], grid=False, labelFlush=False
        ),
        scale=alt.Scale(domain=[0, 0.9]),
    )
    colour = _colour()

    def y(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title=y_title, axis=axis, scale=scale)

    measured = alt.Chart().transform_filter(f"datum.measure == '{figure.measure}'")
    number = ".1%" if figure.measure in ("reception", "reliability") else ",.2f"
    tooltip = [
        alt.Tooltip("community:N"),
        alt.Tooltip("crashed:Q", format=".0%"),
        *(alt.Tooltip(f"{name}:Q", format=number) for name in ("mean", "low", "high", "model")),
        alt.Tooltip("simulator:N"),
        alt.Tooltip("runs:Q", format=","),
    ]
    layers = [
        measured.mark_area(opacity=0.22).encode(x, y("low"), y2="high:Q", color=colour),
        measured.mark_line(strokeWidth=2).encode(x, y("mean"), color=colour),
        measured.mark_line(strokeWidth=1.6, strokeDash=[6, 4], color="currentColor").encode(
            x, y("model"), detail="community:N"
        ),
        measured.mark_point(filled=True, size=28, opacity=1).encode(
            x, y("mean"), color=colour, tooltip=tooltip
        ),
    ]
    if any(point.measure != figure.measure for point in points):
        formula = alt.Chart().transform_filter(f"datum.measure != '{figure.measure}'")
        layers.append(
            formula.mark_line(strokeWidth=2, strokeDash=[1.5, 4], strokeCap="round").encode(
                x, y("mean"), color=colour
            )
        )
    return layers


def _letters(points: Sequence[Point], measure: str) -> list[Any]:
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
    marks = (
        alt.Chart(_inline(above)).mark_text(align="left", dx=7, dy=-9, **_LETTER),
        alt.Chart(_inline(below)).mark_text(align="right", dx=-5, dy=11, **_LETTER),
    )
    return [
        mark.encode(alt.X("crashed:Q"), alt.Y("mean:Q"), text="community:N", color=_colour())
        for mark, rows in zip(marks, (above, below), strict=True)
        if rows
    ]


def _key(communities: Sequence[str], left: bool) -> list[alt.Chart]:
    """Write which community has which colour: below or above where the curves are."""
    below = _HEIGHT - 8 - _KEY_LINE * len(communities)
    return [
        alt.Chart(_inline([{"community": community, "text": _name(community)}]))
        .mark_text(
            align="left" if left else "right", baseline="top", fontSize=13, fontWeight="bold"
        )
        .encode(
            x=alt.value(10 if left else _WIDTH - 4),
            y=alt.value((below if left else 4) + _KEY_LINE * at),
            text="text:N",
            color=_colour(),
        )
        for at, community in enumerate(communities)
    ]


def _colour() -> alt.Color:
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    return alt.Color("community:N", scale=scale, legend=None)


def _rule(height: float, text: str) -> alt.Chart:
    data = _inline([{"height": height, "text": text}])
    rule = alt.Chart(data).mark_rule(color="currentColor", opacity=0.5)
    chart: alt.Chart = rule.encode(alt.Y("height:Q"), tooltip="text:N")
    return chart


def _name(community: str) -> str:
    role = {COMMUNITIES[0]: ", published in", COMMUNITIES[-1]: ", root"}.get(community, "")
    return f"{community}: {SIZES[COMMUNITIES.index(community)]:,} processes{role}"


def _data(points: Sequence[Point]) -> dict[str, Any]:
    names = ("community", "crashed", "measure", "mean", "low", "high", "model", "simulator", "runs")
    return _inline([{name: getattr(point, name) for name in names} for point in points])


def _inline(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"values": rows}
