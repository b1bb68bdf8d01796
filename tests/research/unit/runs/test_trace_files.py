"""What a summary says of the traces is their content, whatever system wrote the ends of lines."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from camcast.research.runs import trace_files as module
from camcast.research.runs.trace_files import trace_files


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 2**20])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_lines_are_counted_and_their_ends_are_alike(
    piece: int, last: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE_BYTES", piece)
    plain = b"{}\n" + b'{"a":"\r"}\n' + b"{}" + last
    (tmp_path / "trace-0.jsonl").write_bytes(plain)
    (tmp_path / "trace-1.jsonl").write_bytes(plain.replace(b"\n", b"\r\n"))
    (tmp_path / "trace-2.jsonl").write_bytes(b"")
    (tmp_path / "trace-3.parquet").write_bytes(b"PAR1\r\n")
    found = trace_files(tmp_path)
    assert found["trace-0.jsonl"] == found["trace-1.jsonl"]
    assert found["trace-0.jsonl"].records == 3
    assert found["trace-0.jsonl"].crc32 == f"{zlib.crc32(plain):08x}"
    assert (found["trace-2.jsonl"].records, found["trace-3.parquet"].records) == (0, None)
    assert found["trace-3.parquet"].crc32 == f"{zlib.crc32(b'PAR1' + bytes((13, 10))):08x}"
