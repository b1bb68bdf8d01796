"""Unit tests mirror the sources: who knows where a module is knows where its tests are.

`tests/library/unit` mirrors the library, `tests/research/unit` mirrors `camcast/research`.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
WINGS = {
    "tests/library/unit": (ROOT / "camcast", ROOT),
    "tests/research/unit": (ROOT / "camcast/research",),
}
# A command line is tested by what it does, and several commands at a time.
EXCUSED = ("cli",)


def test_a_unit_test_is_named_after_a_module_or_after_its_room() -> None:
    misfits = []
    for unit, homes in WINGS.items():
        for test in (ROOT / unit).rglob("test_*.py"):
            folder = test.parent.relative_to(ROOT / unit)
            rooms = [home / folder for home in homes if (home / folder).is_dir()]
            name = test.stem.removeprefix("test_")
            ideas = [path.stem for room in rooms for path in (room, *room.iterdir())]
            if name not in ideas and str(folder) not in EXCUSED:
                misfits.append(test)
    assert misfits == []
