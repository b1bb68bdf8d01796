"""A recording is read back as it was written, and a file that is none is named with its line."""

from pathlib import Path

import pytest

from camcast.ops.dashboard.recording import RecordingError, append, begin, read


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
    assert read(path) == moments[:1]
    begin(path)
    append(path, moments[2])
    assert read(path) == [moments[0], moments[2]]


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
