"""Moments in a file, one a line of JSON, to be looked at later.

An hour of a thousand processes is some six gigabytes. A file is therefore read line by line, and
what is kept of a long time, or of many processes, is as much as the page of the dashboard keeps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from camcast.observe.trace import private
from camcast.ops.dashboard.gathering import Moment
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.messages import UNDECODABLE

_BEGINS: Final = b'{"taken":'  # a moment, as msgspec writes it: so a torn line is known as ours
KEPT: Final = 1800  # chosen: moments, as page.html has them: an hour of looks
KEPT_BYTES: Final = 50_000_000  # chosen: of them as JSON, as page.html
_BLOCK_BYTES: Final = 1 << 16


class RecordingError(CamcastError, ValueError):
    """A file is no recording of a dashboard; the message names the line."""


class _Moment(msgspec.Struct):
    """As much of a moment as shows that it is one."""

    taken: float
    nodes: list[msgspec.Raw]


def begin(path: Path) -> None:
    """Make a recording, or continue one, without a last line that a kill or a full disk cut short.

    Raises `OSError`, and `RecordingError` for a file that does not begin as a recording.
    """
    with open(path, "ab+", opener=private) as file:
        file.seek(0)
        next(_moments(path, file), None)
        file.truncate(_end_of_lines(file))


def append(path: Path, moment: Moment) -> None:
    """Add a moment to a recording that `begin` made or took. Raises `OSError`."""
    with open(path, "ab", opener=private) as file:
        file.write(msgspec.json.encode(moment) + b"\n")


def read(path: Path) -> list[msgspec.Raw]:
    """Return the moments of a recording as JSON, oldest first; of a long one, fewer of its past.

    Raises `OSError`, `RecordingError`.
    """
    kept: list[msgspec.Raw] = []
    size = 0
    with path.open("rb") as file:
        for moment in _moments(path, file):
            kept.append(msgspec.Raw(moment))
            size += len(moment)
            while len(kept) > 2 and (len(kept) > KEPT or size > KEPT_BYTES):
                kept = _thinned(kept)
                size = sum(len(memoryview(one)) for one in kept)
    if not kept:
        raise RecordingError(f"{path} is empty")
    return kept


def _thinned(moments: list[msgspec.Raw]) -> list[msgspec.Raw]:
    """Leave out every second moment of the older half, as the page does, or else the oldest."""
    younger = min(len(moments) // 2, len(moments) - 2)
    fewer = moments[:younger:2] + moments[younger:]
    return fewer if len(fewer) < len(moments) else moments[1:]


def _moments(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    """Yield whole lines; a torn last one of ours is passed over."""
    for number, line in enumerate(file, 1):
        whole = line.removesuffix(b"\n")
        if whole == line and (line.startswith(_BEGINS) or _BEGINS.startswith(line)):
            return
        try:
            msgspec.json.decode(whole, type=_Moment)
        except UNDECODABLE:
            raise RecordingError(
                f"{path}:{number} is no moment of a recording; one is made by"
                f" camcast dashboard SOCKET --record {path}"
            ) from None
        yield whole


def _end_of_lines(file: IO[bytes]) -> int:
    """Return where the last whole line of a file ends."""
    at = file.seek(0, os.SEEK_END)
    while at:
        start = max(0, at - _BLOCK_BYTES)
        file.seek(start)
        if (found := file.read(at - start).rfind(b"\n")) >= 0:
            return start + found + 1
        at = start
    return 0
