"""A recording is read back as it was written, and a file that is none is named with its line."""

from pathlib import Path

import pytest

from camcast.dashboard.recording import RecordingError, append, read


def test_moments_are_read_back_in_their_order(tmp_path: Path) -> None:
    moments = [{"taken": float(n), "nodes": []} for n in range(3)]
    for moment in moments:
        append(tmp_path / "day.jsonl", moment)
    assert read(tmp_path / "day.jsonl") == moments


@pytest.mark.parametrize("line", [b"{}", b"[]", b"\xff", b"{" * 100_000, b"x"])
def test_what_is_no_moment_is_named_with_its_line(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "day.jsonl"
    append(path, {"taken": 1.0, "nodes": []})
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RecordingError, match=r"day\.jsonl:2 is no moment"):
        read(path)


def test_an_empty_file_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "day.jsonl").touch()
    with pytest.raises(RecordingError, match="is empty"):
        read(tmp_path / "day.jsonl")
