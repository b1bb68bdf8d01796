"""Figures of many series: what tells them apart, and names that can be read where they stand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random
from typing import Any

import pytest
from attrs import frozen

from camcast.research.pipeline.compare.comparison import Row
from camcast.research.pipeline.compare.comparison_figures import Figure, figures_of
from camcast.research.pipeline.compare.series import SHAPES, TOGETHER_MAX
from camcast.research.report.chart import spread
from camcast.research.report.drawing import render
from tests.research.unit.pipeline.compare.rows import findings, row

PLACES = (".", ".d")
CURVE = (0.1, 0.5, 1.0)
BACKENDS = [f"membership_{n:02}" for n in range(20)]
TOWNS = [{"communities": f".a={n}, .a.b={2 * n}", "links.loss": "0.02"} for n in (6, 8, 20)]
BYTES_A_POINT = 700  # chosen: with frames, names and grey lines; 20 by 5 values then take 0.1 MB
LETTER_PIXELS = 0.5  # of a letter's height: less than the mean width of a text's letters


@frozen
class Box:
    """A text of a picture and where it stands, in pixels."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def texts(svg: str) -> tuple[list[Box], float]:
    """Return the texts of a picture that stand upright, and the picture's width."""
    root = ET.fromstring(svg)
    return list(_boxes(root, 0.0, 0.0)), float(root.get("width", ""))


def _boxes(element: ET.Element, x: float, y: float) -> Iterator[Box]:
    for dx, dy in re.findall(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", "")):
        x, y = x + float(dx), y + float(dy)
    if element.tag.endswith("text") and "rotate" not in element.get("transform", ""):
        for at, text in enumerate(filter(None, [element.text, *(e.text for e in element)])):
            size = float(element.get("font-size", "0").removesuffix("px"))
            width = LETTER_PIXELS * size * len(text)
            shift = {"end": 1.0, "middle": 0.5}.get(element.get("text-anchor", ""), 0.0)
            left, base = x - shift * width, y + 1.2 * size * at
            yield Box(text, left, base - 0.7 * size, left + width, base + 0.1 * size)
    for child in element:
        yield from _boxes(child, x, y)


def many(
    names: Sequence[str], p_sels: Sequence[float | None], settings: Sequence[dict[str, str]] = ({},)
) -> list[Row]:
    rng = Random(1)
    return [
        row("reception", [rng.uniform(0.5, 0.9) for _ in range(2)], name, place, p_sel, **setting)
        for setting in settings
        for name in names
        for place in PLACES
        for p_sel in p_sels
    ]


def figure(of: list[Row]) -> Figure:
    (only,) = figures_of(findings(of, pairs=()))
    return only


@pytest.mark.usefixtures("small_pictures")
@pytest.mark.parametrize("p_sels", [(None,), CURVE])
@pytest.mark.parametrize(
    ("names", "settings"),
    [(BACKENDS[:12], [{}]), (BACKENDS, [{}]), (BACKENDS[:5], TOWNS)],
    ids=["twelve", "twenty", "five in three settings"],
)
def test_no_text_of_a_picture_is_on_another_and_every_series_has_its_name(
    names: list[str], settings: list[dict[str, str]], p_sels: Sequence[float | None]
) -> None:
    drawn = figure(many(names, p_sels, settings))
    svg = render(drawn.spec).svg
    assert "undefined" not in svg  # every mark has its series
    assert len(svg) <= BYTES_A_POINT * len(drawn.rows)
    boxes, width = texts(svg)
    on_another = [(a.text, b.text) for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert on_another == []
    assert all(box.left >= 0 and box.right <= width for box in boxes)
    named = Counter(box.text for box in boxes)
    if p_sels == CURVE:  # bare, in a panel that says the setting
        assert {named[name] for name in names} == {len(PLACES) * len(settings)}
    else:
        of_rows = findings(many(names, p_sels, settings), pairs=()).labels.names.values()
        assert len(of_rows) == len(names) * len(settings)
        assert {named[name] for name in of_rows} == {1}


def marks(of: Figure, channels: Sequence[str]) -> list[str]:
    """Return what tells the series of a figure apart in these channels."""
    layers = of.spec.get("spec", of.spec)["layer"]
    drawn = next(each["encoding"] for each in layers if set(channels) <= set(each["encoding"]))
    ranges = [drawn[channel]["scale"]["range"] for channel in channels]
    return [str(each) for each in zip(*ranges, strict=True)]


@pytest.mark.parametrize("p_sels", [(None,), CURVE])
def test_twenty_series_are_told_apart(p_sels: Sequence[float | None]) -> None:
    """By colour and shape, and by colour and dash; twelve in one frame by the shape alone."""
    of_twenty = figure(many(BACKENDS, p_sels))
    assert len(set(marks(of_twenty, ("color", "shape")))) == 20
    of_twelve = figure(many(BACKENDS[:TOGETHER_MAX], p_sels))
    assert len(set(marks(of_twelve, ("shape",)))) == TOGETHER_MAX
    if p_sels == CURVE:
        assert len(set(marks(of_twenty, ("color", "strokeDash")))) == 20
    assert len(set(SHAPES)) == len(SHAPES)


def test_a_backend_has_one_colour_in_the_panels_of_all_settings() -> None:
    drawn = figure(many(BACKENDS[:5], CURVE, TOWNS))
    encoding = drawn.spec["spec"]["layer"][-1]["encoding"]["color"]["scale"]
    by_backend: dict[str, set[str]] = {}
    for name, colour in zip(encoding["domain"], encoding["range"], strict=True):
        by_backend.setdefault(name.partition(" ")[0], set()).add(colour)
    assert len(by_backend) == 5
    assert all(len(colours) == 1 for colours in by_backend.values())


def test_a_panel_has_all_others_in_grey() -> None:
    rows: list[dict[str, Any]] = figure(many(BACKENDS, CURVE)).spec["data"]["values"]
    frames = {each["frame"] for each in rows}
    assert len(frames) == 8  # four of six or less, of two places
    for frame in frames:
        here = {each["who"] for each in rows if each["frame"] == frame and "who" in each}
        grey = {each["other"] for each in rows if each["frame"] == frame and "other" in each}
        assert len(here) <= 6
        assert here | grey == set(BACKENDS)
        assert not here & grey


def test_places_are_cut_where_they_still_differ() -> None:
    topics = [f".a.rather.long.name.of.a.topic.{end}" for end in "ab"]
    drawn = figure([row("reception", [0.5, 0.6], "dht", topic) for topic in topics])
    shown = {point["place"] for point in drawn.spec["data"]["values"]}
    assert len(shown) == 2
    assert max(map(len, shown)) < len(topics[0])


def test_a_figure_says_what_its_letters_stand_for() -> None:
    drawn = figure(many(BACKENDS[:2], CURVE, TOWNS))
    said = " ".join(drawn.spec["title"]["subtitle"])
    for letter, town in zip("ABC", TOWNS, strict=True):
        assert f"{letter} = communities={town['communities']}, links.loss=0.02" in said


def test_names_at_the_ends_of_lines_are_as_near_as_can_be() -> None:
    """Least squares: no other 50 places that keep the distance are nearer."""
    rng = Random(2)
    for _ in range(50):
        count, step = rng.randint(1, 8), 10.0
        most = step * (count - 1) + rng.choice((0.0, 30.0))
        wanted = [rng.choice((rng.uniform(0, most), 20.0)) for _ in range(count)]
        found = spread(wanted, step, most)
        inner = sorted(found)
        assert inner[0] >= -1e-9
        assert inner[-1] <= most + 1e-9
        assert all(after - before >= step - 1e-9 for before, after in pairwise(inner))
        assert all(
            found[a] < found[b] for a, b in combinations(range(count), 2) if wanted[a] < wanted[b]
        )

        def far(places: Sequence[float], ends: Sequence[float] = tuple(sorted(wanted))) -> float:
            return sum((at - end) ** 2 for at, end in zip(places, ends, strict=True))

        for _ in range(50):
            free = sorted(rng.uniform(0, most - step * (count - 1)) for _ in range(count))
            other = [at + step * before for before, at in enumerate(free)]
            mixed = [0.9 * a + 0.1 * b for a, b in zip(inner, other, strict=True)]
            assert far(inner) <= min(far(other), far(mixed)) + 1e-9


def test_names_for_which_there_is_no_room_are_refused() -> None:
    with pytest.raises(ValueError, match="3 labels of 10 pixels do not fit into 19"):
        spread([1.0, 2.0, 3.0], 10, 19)
