"""Vega-Lite specifications of figures: channels, layers, and series with their legend below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

# Okabe and Ito's palette, told apart by the colour-blind, and on black as on white.
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")

Layer = dict[str, Any]


def quantity(field: str, **options: Any) -> dict[str, Any]:
    """Return the channel of a number, with options of Vega-Lite."""
    return {"field": field, "type": "quantitative", **options}


def nominal(field: str, **options: Any) -> dict[str, Any]:
    """Return the channel of a name, with options of Vega-Lite."""
    return {"field": field, "type": "nominal", **options}


def tooltip(**formats: str | None) -> list[dict[str, Any]]:
    """Return what a mark tells: fields by the format of their numbers, "" for any; None: names."""
    return [
        nominal(field) if form is None else quantity(field, **({"format": form} if form else {}))
        for field, form in formats.items()
    ]


def layer(
    mark: str, encoding: Mapping[str, Any], where: str | None = None, **style: Any
) -> dict[str, Any]:
    """Return a layer of marks, of all rows or of those for which the expression `where` holds."""
    drawn = {"mark": {"type": mark, **style}, "encoding": encoding}
    return drawn if where is None else {"transform": [{"filter": where}], **drawn}


def by_series(
    field: str,
    names: Sequence[str] | None = None,
    values: Sequence[Any] = PALETTE,
    **legend: object,
) -> dict[str, Any]:
    """Return the channel that tells series apart: `values` (colours, or dashes) by `field`.

    `names` are those series in the legend's order; None: as the rows have them.
    """
    scale = {"range": values} if names is None else {"domain": names, "range": values[: len(names)]}
    shown = {
        "title": None,
        "orient": "bottom",
        "labelColor": "currentColor",
        "labelFontSize": 13,
        "symbolType": "stroke",
        "symbolStrokeWidth": 2.5,
        "symbolOpacity": 1,  # not the area's
    }
    return nominal(field, scale=scale, legend=shown | legend)
