"""A flame graph: boxes as wide as their shares, each above the one that called it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from flame import HEIGHT, WIDTH, folded, picture
from stack_samples import StackSamples

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_are_as_wide_as_their_shares_and_above_their_callers() -> None:
    stacks = Counter({("main", "<a>"): 30, ("main", "b", "c"): 60, ("main",): 9, ("other",): 1})
    root = ElementTree.fromstring(picture("a & b", stacks))
    found: dict[str, tuple[float, float, float]] = {}
    for box in root.iter(f"{SVG}g"):
        title, rect = box.find(f"{SVG}title"), box.find(f"{SVG}rect")
        if title is not None and rect is not None:
            name, _, share = str(title.text).rpartition(": ")
            left, top, width = (float(rect.attrib[one]) for one in ("x", "y", "width"))
            assert width == pytest.approx(WIDTH * float(share.rstrip("%")) / 100, abs=1.0)
            found[name] = left, top, left + width
    assert list(found) == ["main", "<a>", "b", "c", "other"]
    for caller, callee in (("main", "<a>"), ("main", "b"), ("b", "c")):
        assert found[callee][1] == found[caller][1] - HEIGHT
        assert found[caller][0] <= found[callee][0]
        assert found[callee][2] <= found[caller][2] + 0.1
    assert found["other"][0] >= found["main"][2]


def test_the_samples_name_what_takes_the_processor_time(tmp_path: Path) -> None:
    samples = StackSamples()
    samples.begin()
    busy_until(time.process_time() + 0.1)
    samples.write(tmp_path)
    stacks = folded(tmp_path)
    busy = sum(count for stack, count in stacks.items() if "test_flame.busy_until" in stack)
    assert busy >= max(2, 0.9 * stacks.total())


def busy_until(cpu: float) -> None:
    while time.process_time() < cpu:
        pass
