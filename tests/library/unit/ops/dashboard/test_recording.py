"""A recording is read back as it was written, and a file that is none is named with its line."""

import re
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from camcast.ops.dashboard import recording
from camcast.ops.dashboard.recording import RecordingError, append, begin, read


def moments_in(path: Path) -> list[Any]:
    return [msgspec.json.decode(one) for one in read(path)]


def test_moments_are_read_back_in_their_order(tmp_path: Path) -> None:
    moments = [{"taken": float(n), "nodes": []} for n in range(3)]
    for moment in moments:
        append(tmp_path / "day.jsonl", moment)
    assert moments_in(tmp_path / "day.jsonl") == moments


@pytest.mark.parametrize("line", [b"{}", b"[]", b"\xff", b"{" * 100_000, b"x"])
def test_what_is_no_moment_is_named_with_its_line(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "day.jsonl"
    append(path, {"taken": 1.0, "nodes": []})
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RecordingError, match=r"day\.jsonl:2 is no moment"):
        read(path)


@pytest.mark.parametrize("bytes_left", [1, 5, 9, 20])
def test_what_a_kill_cut_short_is_left_out_and_the_recording_goes_on(
    bytes_left: int, tmp_path: Path
) -> None:
    path = tmp_path / "day.jsonl"
    moments = [{"taken": float(n), "nodes": []} for n in range(3)]
    append(path, moments[0])
    torn = len(path.read_bytes()) + bytes_left
    append(path, moments[1])
    path.write_bytes(path.read_bytes()[:torn])
    assert moments_in(path) == moments[:1]
    begin(path)
    append(path, moments[2])
    assert moments_in(path) == [moments[0], moments[2]]


def test_another_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    for text in ("notes without an end", "a line\n", '{"taken": 1}\n'):
        path.write_text(text)
        with pytest.raises(RecordingError, match="notes:1 is no moment"):
            begin(path)
        assert path.read_text() == text


def test_an_empty_file_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "day.jsonl").touch()
    with pytest.raises(RecordingError, match="is empty"):
        read(tmp_path / "day.jsonl")


def test_of_a_long_recording_no_more_is_kept_than_the_page_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither to continue it nor to make its page: the whole of a day has no room."""
    path = tmp_path / "day.jsonl"
    monkeypatch.setattr(recording, "KEPT_BYTES", 100_000)
    begin(path)
    for number in range(1000):
        append(path, {"taken": float(number), "nodes": ["x" * 5000]})
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"taken":1000.0,"nod')
    tracemalloc.start()
    begin(path)
    assert path.stat().st_size == size
    taken = [one["taken"] for one in moments_in(path)]
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert taken == sorted(taken)
    assert 10 <= len(taken) <= 20
    assert (taken[0], *taken[-5:]) == (0.0, 995.0, 996.0, 997.0, 998.0, 999.0)


def test_of_many_moments_the_page_has_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "day.jsonl"
    path.write_bytes(b"".join(b'{"taken":%d,"nodes":[]}\n' % number for number in range(5000)))
    taken = [one["taken"] for one in moments_in(path)]
    assert recording.KEPT / 2 < len(taken) <= recording.KEPT
    assert (taken[0], taken[-1]) == (0, 4999)


def test_the_bounds_are_those_of_the_page() -> None:
    text = Path(recording.__file__).with_name("page.html").read_text("utf-8")
    (bounds,) = re.findall(r"const KEPT = (\d+), KEPT_CHARACTERS = (\S+),", text)
    assert tuple(map(float, bounds)) == (recording.KEPT, recording.KEPT_BYTES)
