"""Moments in a file, one a line of JSON, to be looked at later."""

from __future__ import annotations

from pathlib import Path

import msgspec

from camcast.dashboard.gathering import Moment
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.private_file import private


class RecordingError(CamcastError, ValueError):
    """A file is no recording of a dashboard; the message names the line."""


def append(path: Path, moment: Moment) -> None:
    """Add a moment to a recording, which is made if it is not there. Raises `OSError`."""
    with open(path, "ab", opener=private) as file:
        file.write(msgspec.json.encode(moment) + b"\n")


def read(path: Path) -> list[Moment]:
    """Return the moments of a recording, oldest first. Raises `OSError`, `RecordingError`."""
    moments: list[Moment] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            moment = msgspec.json.decode(line, type=Moment)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            moment = {}
        if not {"taken", "nodes"} <= moment.keys():
            raise RecordingError(
                f"{path}:{number} is no moment of a recording; one is made by"
                f" camcast dashboard SOCKET --record {path}"
            )
        moments.append(moment)
    if not moments:
        raise RecordingError(f"{path} is empty")
    return moments
