"""Moments in a file, one a line of JSON, to be looked at later."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from camcast.observe.trace import private
from camcast.ops.dashboard.gathering import Moment
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.messages import UNDECODABLE

_BEGINS: Final = b'{"taken":'  # a moment, as msgspec writes it: so a torn line is known as ours


class RecordingError(CamcastError, ValueError):
    """A file is no recording of a dashboard; the message names the line."""


def begin(path: Path) -> None:
    """Make a recording, or continue one, without a last line that a kill or a full disk cut short.

    Raises `OSError`, and `RecordingError` for a file that is no recording.
    """
    with open(path, "ab+", opener=private) as file:
        file.seek(0)
        whole = file.read()
        _moments(path, whole)
        file.truncate(whole.rfind(b"\n") + 1)


def append(path: Path, moment: Moment) -> None:
    """Add a moment to a recording that `begin` made or took. Raises `OSError`."""
    with open(path, "ab", opener=private) as file:
        file.write(msgspec.json.encode(moment) + b"\n")


def read(path: Path) -> list[Moment]:
    """Return the moments of a recording, oldest first. Raises `OSError`, `RecordingError`."""
    moments = _moments(path, path.read_bytes())
    if not moments:
        raise RecordingError(f"{path} is empty")
    return moments


def _moments(path: Path, content: bytes) -> list[Moment]:
    """Read whole lines; a torn last one of ours is passed over."""
    *lines, torn = content.split(b"\n")
    if not (torn.startswith(_BEGINS) or _BEGINS.startswith(torn)):
        lines.append(torn)
    moments: list[Moment] = []
    for number, line in enumerate(lines, 1):
        try:
            moment = msgspec.json.decode(line, type=Moment)
        except UNDECODABLE:
            moment = {}
        if not {"taken", "nodes"} <= moment.keys():
            raise RecordingError(
                f"{path}:{number} is no moment of a recording; one is made by"
                f" camcast dashboard SOCKET --record {path}"
            )
        moments.append(moment)
    return moments
