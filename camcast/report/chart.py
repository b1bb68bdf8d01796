"""Vega-Lite specifications of figures: channels and layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Layer = dict[str, Any]


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
