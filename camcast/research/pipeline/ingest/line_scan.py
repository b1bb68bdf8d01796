"""A quick look at a JSON-lines trace as bytes, to see if each line is one JSON object.

No name in a trace record has a brace. Each line of a good trace has one closing brace, and it
is the line's last character. Where that holds Spark may parse lines as they come. Where it does
not, or a text is not plain UTF-8, each line is looked at for itself
(`camcast.research.pipeline.ingest.runs`). The look costs a core some 0.7 s a gigabyte.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

# chosen: what malloc takes from its own pages; from 128 KiB on each piece is new to the kernel,
# which has to clear it, at 1 s a gigabyte.
_PIECE_BYTES: Final = 2**16
_LINE_BYTES_MAX: Final = 2**20  # chosen: no record is a thousandth as long
_NEW_LINE: Final = ord("\n")
_BRACE: Final = ord("}")
_MARK: Final = "\ufeff"  # it is no JSON, and some parsers pass over it


def objects_in(path: Path) -> int | None:
    """Return how many lines a file has if each is an object by all signs, else None."""
    try:
        with path.open("rb", buffering=0) as file:
            return _objects_in(file)
    except OSError:
        return None  # Spark will say why


def _objects_in(file: BinaryIO) -> int | None:
    objects = 0
    rest = b""
    while piece := file.read(_PIECE_BYTES):
        whole, end, begun = piece.rpartition(b"\n")
        if not end:
            rest += begun
            if len(rest) > _LINE_BYTES_MAX:
                return None
            continue
        found = _whole_objects(rest + whole + end)
        if found is None:
            return None
        objects += found
        rest = begun
    if not rest:
        return objects
    found = _whole_objects(rest + b"\n")  # the last line may have no end
    return None if found is None else objects + found


def _whole_objects(lines: bytes) -> int | None:
    signs = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(signs == _NEW_LINE)
    # For an end at 0 the sign before it is the last one, an end: not a brace, which is right.
    if not (len(ends) == np.count_nonzero(signs == _BRACE) and (signs[ends - 1] == _BRACE).all()):
        return None
    if not lines.isascii():
        try:
            if _MARK in lines.decode():
                return None
        except UnicodeDecodeError:
            return None
    return len(ends)
