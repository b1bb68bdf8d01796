"""Vega-Lite specifications of figures: channels, layers, series and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
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


def spread(wanted: Sequence[float], step: float, most: float) -> list[float]:
    """Return where labels of `step` pixels stand from 0 to `most`, as near as can be to `wanted`.

    Labels that are too near to each other move together, around the mean of where each would be
    (least squares, by pooling adjacent violators). Raises `ValueError`: there is no room for them.
    """
    room = most - (len(wanted) - 1) * step
    if room < 0:
        raise ValueError(f"{len(wanted)} labels of {step:g} pixels do not fit into {most:g}")
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    pools: list[list[float]] = []  # of what is wanted, less the steps of the labels before it
    for before, at in enumerate(order):
        pools.append([wanted[at] - before * step])
        while len(pools) > 1 and fmean(pools[-2]) >= fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    levels = [min(max(fmean(pool), 0.0), room) for pool in pools for _ in pool]
    found = dict(zip(order, (level + at * step for at, level in enumerate(levels)), strict=True))
    return [found[at] for at in range(len(wanted))]
