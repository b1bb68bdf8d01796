"""The traces that a run left when it was over: how many records each file has, and its checksum.

The summary of a run lists them, so that a trace that is cut, doubled or changed later is found.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

import msgspec

_PIECE_BYTES: Final = 2**20  # chosen: few calls, and little memory


class TraceFile(msgspec.Struct, frozen=True):
    """The content of one trace."""

    records: int | None
    """The lines of JSON; None for Parquet, which counts its records itself."""
    crc32: str
    """CRC-32 of the content, in hexadecimal; of JSON lines with a line feed alone at their ends,
    since Windows writes two characters there."""


def trace_files(folder: Path) -> dict[str, TraceFile]:
    """Return the content of every trace in a run's folder, by the file's name."""
    return {path.name: _content(path) for path in sorted(folder.glob("trace-*.*"))}


def _content(path: Path) -> TraceFile:
    is_text = path.suffix == ".jsonl"
    checksum = lines = 0
    last = held = b""
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            if is_text:
                piece = held + piece
                held = piece[-1:] if piece.endswith(b"\r") else b""
                piece = piece.removesuffix(held).replace(b"\r\n", b"\n")
                lines += piece.count(b"\n")
            checksum = zlib.crc32(piece, checksum)
            last = piece[-1:] or last
    checksum = zlib.crc32(held, checksum)
    unended = bool(held) or last not in (b"", b"\n")
    return TraceFile(lines + unended if is_text else None, f"{checksum:08x}")
