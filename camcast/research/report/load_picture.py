"""The picture of the load of a process, as a simulator measured it.

A panel a load has of each community the median as a point and 5 % to 99 % of the processes as a
line; a panel a role, and one for the busiest process, what they send or receive for the mean, with
its 95 % interval. The measures, their titles and units are those of
`camcast.research.report.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from camcast.ops.output_place import output_file
from camcast.research.report.chart import layer, nominal, quantity, tooltip
from camcast.research.report.drawing import Drawing, render
from camcast.research.report.measures import MEASURES
from camcast.research.report.results_folder import as_bytes
from camcast.vocabulary.lasting_file import write_lasting

Values = Mapping[str, Mapping[str, float | None]]
"""The measures of a community: by name the mean, and low and high of its interval."""

SUFFIXES: Final = (".svg", ".png", ".vl.json")
"""The ends of a picture's name, which say what it is."""
_LOADS: Final = ("load_sent", "load_received", "load_bytes")
_WIDTH, _STEP = 220, 22  # chosen: pixels; two panels beside each other, a line of text a community
_NUMBER: Final = ",.4~g"


@contextmanager
def picture_file(path: Path) -> Iterator[Callable[[Mapping[str, Values], str], None]]:
    """Enter a block that draws a picture into a file by what it is called with.

    Raises `OutputError` before the block for a file that cannot be written, and `ValueError` for a
    name without one of `SUFFIXES`, or in the block where there is nothing to draw.
    """
    suffix = next((one for one in SUFFIXES if path.name.endswith(one)), None)
    if suffix is None:
        raise ValueError(f"--figure {path}: give a name that ends with {', '.join(SUFFIXES)}")

    def draw(communities: Mapping[str, Values], about: str) -> None:
        drawing = draw_load(communities, about)
        if drawing is None:
            raise ValueError(f"--figure {path}: there is no load of a process to draw")
        content = {
            ".png": drawing.png,
            ".svg": drawing.svg_file.encode(),
            ".vl.json": as_bytes(drawing.spec),
        }
        write_lasting(path, content[suffix], 0o644)

    with output_file(path, "--figure"):
        yield draw


def draw_load(communities: Mapping[str, Values], about: str) -> Drawing | None:
    """Draw the loads of communities by their names; None where nothing was measured."""
    points = [
        {"place": place} | point for place, values in communities.items() for point in _of(values)
    ]
    if not points:
        return None
    panels = list(dict.fromkeys(point["panel"] for point in points))
    y = nominal("place", title=None, sort=list(communities), axis={"labelLimit": 0})
    told = tooltip(place=None, panel=None, low=_NUMBER, middle=_NUMBER, high=_NUMBER)
    low = quantity("low", title=None, scale={"zero": False}, axis={"tickCount": 4})
    line = {"x": low, "x2": {"field": "high"}, "y": y}
    point = {"x": {**low, "field": "middle"}, "y": y, "tooltip": told}
    return render(
        {
            "title": {"text": "Load of a process", "subtitle": about},
            "data": {"values": points},
            "facet": nominal(
                "panel", title=None, sort=panels, header={"labelColor": "currentColor"}
            ),
            "columns": 2,
            "resolve": {"scale": {"x": "independent"}},
            "spec": {
                "width": _WIDTH,
                "height": {"step": _STEP},
                "layer": [
                    layer("rule", line, "isValid(datum.low)", strokeWidth=1.8, color="#0072B2"),
                    layer("point", point, filled=True, size=40, opacity=1, color="#0072B2"),
                ],
            },
        }
    )


def _of(values: Values) -> Iterator[dict[str, Any]]:
    """Return the points of a community, a panel each."""
    for load in _LOADS:
        ends = [values.get(f"{load}_{name}", {}).get("mean") for name in ("p5", "p50", "p99")]
        if ends[1] is not None:
            title, _, _ = MEASURES[f"{load}_p50"].title.partition(",")
            panel = f"{title}, 5 % to 99 %"
            yield {"panel": panel} | dict(zip(("low", "middle", "high"), ends, strict=True))
    for name, measure in MEASURES.items():
        found = values.get(name, {})
        if name.startswith(_LOADS) and "/ mean" in measure.title and found.get("mean") is not None:
            ends = [found.get(end) for end in ("low", "mean", "high")]
            yield {"panel": measure.title} | dict(zip(("low", "middle", "high"), ends, strict=True))
