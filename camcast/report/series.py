"""The channel of Vega-Lite by which a figure's series are told apart, with its legend below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# Okabe and Ito's palette, told apart by the colour-blind, and on black as on white.
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def by_series(
    field: str,
    names: Sequence[str] | None = None,
    values: Sequence[Any] = PALETTE,
    **legend: object,
) -> dict[str, Any]:
    """Return the channel: `values` (colours, or dashes) for the series that `field` names.

    `names` are those series in the legend's order; None: as the rows have them.
    """
    scale = {"range": values} if names is None else {"domain": names, "range": values[: len(names)]}
    return {
        "field": field,
        "type": "nominal",
        "scale": scale,
        "legend": {
            "title": None,
            "orient": "bottom",
            "labelColor": "currentColor",
            "labelFontSize": 13,
            "symbolType": "stroke",
            "symbolStrokeWidth": 2.5,
            "symbolOpacity": 1,  # not the area's
            **legend,
        },
    }
