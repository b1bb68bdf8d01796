"""The quick look at a trace's bytes passes what is one object a line, and nothing else."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.pipeline.ingest import line_scan
from camcast.research.pipeline.ingest.line_scan import objects_in

GOOD = (b'{"a":1}', '{"a":"é"}'.encode(), b" {}")
BAD = (
    b"",
    b" ",
    b"{",
    b'{"a":{}}',
    b"{}{}",
    b"{} ",
    b"{}\r",
    b"}x",
    b'{"\xff"}',
    "\ufeff{}".encode(),
)


def _expected(content: bytes) -> int | None:
    """Judge line by line; a last line without an end is a line."""
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return len(lines) if all(line in GOOD for line in lines) else None


@pytest.mark.parametrize("piece_bytes", [1, 3, 2**20])
def test_a_bad_line_shows_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(line_scan, "_PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(line_scan, "_LINE_BYTES_MAX", 100)
    file = tmp_path / "trace-0.jsonl"
    for number in range(3):
        for lines in product((*GOOD, *BAD), repeat=number):
            for end in (b"\n", b"") if lines else (b"",):
                content = b"\n".join(lines) + end
                file.write_bytes(content)
                assert objects_in(file) == _expected(content), content


@given(st.lists(st.sampled_from((*GOOD * 4, *BAD)), max_size=20), st.booleans())
def test_it_judges_as_line_by_line(lines: list[bytes], ended: bool) -> None:
    content = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace-0.jsonl"
        file.write_bytes(content)
        assert objects_in(file) == _expected(content)


def test_no_record_is_as_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_scan, "_PIECE_BYTES", 10)
    monkeypatch.setattr(line_scan, "_LINE_BYTES_MAX", 30)
    file = tmp_path / "trace-0.jsonl"
    file.write_bytes(b'{"a":"%s"}' % (b"x" * 50))
    assert objects_in(file) is None


def test_a_file_that_is_not_there_is_left_to_spark(tmp_path: Path) -> None:
    assert objects_in(tmp_path / "trace-0.jsonl") is None
