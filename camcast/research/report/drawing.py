"""Drawing: pictures from specifications, by altair's version of Vega-Lite and vl-convert.

No browser and no network is needed. Text and axes have the colour of the text around them
(``currentColor``), so that a picture in a page follows its light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any, Final, cast

import altair as alt
import vl_convert as vlc
from attrs import frozen

_PNG_SCALE: Final = 2.0  # chosen: sharp on a screen of 200 dots an inch
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_SCHEMA: Final = f"https://vega.github.io/schema/vega-lite/{alt.SCHEMA_VERSION}.json"
_VEGA_LITE: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])

_UNSEEN: Final = re.compile(
    r' (?:aria-[a-z]+|role|class)="[^"]*"'  # of frames; styles are none of a picture's
    r'|<path class="background" aria-hidden="true" d="[^"]*"/>'  # without a colour
    r'|<path [^>]*display="none"/>'
    r'| (?:opacity|stroke-width)="1"'  # as where nothing is said
)
_PLACED: Final = re.compile(r' (?:transform|d|[xy][12]?|width|height)="[^"]*"')
_DECIMALS: Final = re.compile(r"-?\d+\.\d{2,}")

CONFIG: Final[dict[str, Any]] = {
    "font": _FONT,
    "background": "transparent",
    "aria": False,  # of each mark: half of a picture's text; its figure has a label
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "tickColor": "currentColor",
        "domainColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "title": {
        "color": "currentColor",
        "subtitleColor": "currentColor",
        "fontSize": 15,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
        "anchor": "start",
        "frame": "group",
        "offset": 10,
    },
}


@frozen(kw_only=True)
class Drawing:
    """A figure, drawn."""

    spec: dict[str, Any]
    """Vega-Lite, without a background."""
    svg: str
    """Without a background, for a page."""
    svg_file: str
    """On white, by itself."""
    png: bytes
    """On white."""


def render(chart: dict[str, Any]) -> Drawing:
    """Make the pictures of a chart, a Vega-Lite specification without a ``config``."""
    spec = {"$schema": _SCHEMA, **chart, "config": CONFIG}
    svg = _lean(vlc.vegalite_to_svg(spec, vl_version=_VEGA_LITE))
    head, end, rest = svg.partition(">")
    svg_file = f'{head}{end}<rect width="100%" height="100%" fill="white"/>{rest}'
    return Drawing(
        spec=spec,
        svg=svg,
        svg_file=svg_file,
        png=vlc.svg_to_png(svg_file, scale=_PNG_SCALE),
    )


def _lean(svg: str) -> str:
    """Return a picture without what nobody sees: two thirds of one of many series."""
    font = f' font-family="{_FONT}"'
    head, _, rest = _UNSEEN.sub("", svg).replace(font, "").partition(">")
    return f"{head}{font}>{_PLACED.sub(_rounded, rest)}"


def _rounded(found: re.Match[str]) -> str:
    return _DECIMALS.sub(lambda number: f"{float(number[0]):.1f}", found[0])


def warm_up() -> None:
    """Load what draws, which takes 2 s of CPU; may run in a thread beside something else."""
    script()
    render({"data": {"values": []}, "mark": "point"})


@cache  # it takes 1 s, and is the same for every page
def script() -> str:
    """Return the JavaScript that shows specifications in a page: Vega, Vega-Lite, Vega-Embed."""
    # its annotations ask for a snippet, its documentation does not
    return cast("Callable[..., str]", vlc.javascript_bundle)(vl_version=_VEGA_LITE)


def library_versions() -> dict[str, str]:
    """Return the versions of what draws."""
    return {name: version(name) for name in ("altair", "vl-convert-python")}
