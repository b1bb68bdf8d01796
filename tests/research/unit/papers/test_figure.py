"""Every figure is drawn by one chart: lines, bands, dots, panels, axes."""

from __future__ import annotations

import re

import pytest

from camcast.research.papers.figure import Figure, Point, chart_of
from camcast.research.report.drawing import Drawing, render


def figure(name: str, points: list[Point], **given: object) -> Figure:
    return Figure(
        *(), name=name, title="Title", x="abscissa", y="ordinate", notes="",
        points=tuple(points), **given,  # type: ignore[arg-type]  # by name
    )  # fmt: skip


def points(panel: str = "") -> list[Point]:
    return [
        *(
            Point(
                series="one", x=x, mean=x, low=x - 0.01, high=x + 0.01, model=x, formula=2 * x,
                runs=3, panel=panel,
            )
            for x in (0.01, 0.1, 1.0)
        ),
        Point(series="two", x=0.5, mean=0.4, sample=1, runs=1, panel=panel),
    ]  # fmt: skip


def draw(of: Figure) -> Drawing:
    return render(chart_of(of))


@pytest.mark.parametrize("logarithmic", ["", "x", "xy"])
def test_a_figure_is_drawn(logarithmic: str) -> None:
    drawing = draw(figure("figure7", points(), logarithmic=logarithmic, rule=1.0))
    assert drawing.png.startswith(b"\x89PNG\r\n\x1a\n")
    width = re.match(r'<svg [^>]*?width="(\d+)"', drawing.svg)
    assert width is not None
    pixels = int.from_bytes(drawing.png[16:20])
    assert pixels == 2 * int(width[1])  # for screens of 200 dots an inch
    assert len(drawing.spec["layer"]) == 7  # dots, band, line, model, formula, means, rule
    lines = (
        "line: measured",
        "band: 95 % interval",
        "dots: networks",
        "dashed: model",
        "dotted: formula",
    )
    for text in ("Figure 7. Title", "abscissa", "ordinate", "one", "two", *lines):
        assert text in drawing.svg


def test_what_there_is_not_is_not_said() -> None:
    drawing = draw(figure("beyond", [Point(series="one", x=x, formula=x) for x in (1.0, 2.0)]))
    assert "dotted: formula" in drawing.svg
    for text in ("dashed", "measured", "networks", "Figure"):
        assert text not in drawing.svg


def test_panels_have_a_frame_each() -> None:
    drawing = draw(figure("figure13", points("g: 1,000 processes") + points("d: 100 processes")))
    assert len(drawing.spec["vconcat"]) == 2
    for text in ("g: 1,000 processes", "d: 100 processes"):
        assert text in drawing.svg


def test_axes_have_whole_numbers_as_they_are_written() -> None:
    drawing = draw(figure("rounds", [Point(series="one", x=x, mean=10.0 * x) for x in range(11)]))
    words = re.findall(r">([^<]+)</text>", drawing.svg)
    assert {"10", "100"} <= set(words)
    assert not any("e+" in word for word in words)


def test_shares_are_per_cent_and_narrow_ones_in_hundredths() -> None:
    wide, narrow = (
        draw(figure("share", [Point(series="one", x=x, mean=1.0) for x in (0, 1)], domain=domain))
        for domain in ((0, 1), (0.998, 1))
    )
    assert ">100%<" in wide.svg
    assert ">99.90%<" in narrow.svg
