"""`tests/unit` mirrors the sources: who knows where a module is knows where its tests are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests/unit"
# A command line is tested by what it does, and several commands at a time.
EXCUSED = ("cli",)


def test_a_unit_test_is_named_after_a_module_or_after_its_room() -> None:
    misfits = []
    for test in UNIT.rglob("test_*.py"):
        folder = test.parent.relative_to(UNIT)
        room = next(r for r in (ROOT / "camcast" / folder, ROOT / folder) if r.is_dir())
        name = test.stem.removeprefix("test_")
        ideas = [room.name, *(path.stem for path in room.iterdir())]
        if name not in ideas and str(folder) not in EXCUSED:
            misfits.append(test)
    assert misfits == []
