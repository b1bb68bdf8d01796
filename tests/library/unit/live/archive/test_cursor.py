"""The file of a cursor: what is there after a kill, and after a write that was torn."""

from __future__ import annotations

from pathlib import Path

from camcast.live.archive.cursor import _RECORD, Cursor, CursorFile

PLACES = [Cursor(1, 9, 100, 3, 2), Cursor(1, 9, 200, 4), Cursor(9, 9)]


def found(path: Path) -> Cursor:
    file = CursorFile(path)
    assert not file.fresh
    file.close()
    return file.cursor


def moved(path: Path, places: list[Cursor]) -> None:
    file = CursorFile(path)
    assert file.fresh
    for place in places:
        file.move(place)
    file.close()


def test_the_last_place_is_found_again(tmp_path: Path) -> None:
    for number, place in enumerate(PLACES, 1):
        moved(tmp_path / str(number), PLACES[:number])
        assert found(tmp_path / str(number)) == place


def test_a_torn_write_leaves_the_place_before(tmp_path: Path) -> None:
    """Whichever byte of the last record is wrong."""
    moved(tmp_path / "cursor", PLACES[:2])
    data = (tmp_path / "cursor").read_bytes()
    for at in range(_RECORD.size):  # the second record stands in the first place
        torn = tmp_path / "torn"
        torn.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert found(torn) == PLACES[0]
