"""Publications, of which a workload is made, and the error of a wrong file.

A *workload* is a ``Sequence[Publication]`` in the order of `Publication.at_seconds`.
"""

from __future__ import annotations

import math
from pathlib import Path

from attrs import field, frozen
from typing_extensions import override

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topics import Topic


def _check_time(_instance: object, _attribute: object, at_seconds: float) -> None:
    if not 0 <= at_seconds < math.inf:
        raise ValueError(f"at_seconds is {at_seconds}; give seconds since the start, 0 or more")


def _check_topics(_instance: object, _attribute: object, topics: tuple[Topic, ...]) -> None:
    if not topics:
        raise ValueError("topics is empty; a publication needs at least one topic")


@frozen
class Publication:
    """One publication: a publisher's payload at one time, on one or several topics.

    Raises `ValueError` when `at_seconds` is negative or not finite, or `topics` is empty.
    """

    at_seconds: float = field(validator=_check_time)
    """Seconds since the start of the workload."""
    topics: tuple[Topic, ...] = field(validator=_check_topics)
    """The topics on which it is published; with several it is a cross-post."""
    payload: bytes
    """The content, opaque to the protocols."""
    publisher: str | None = None
    """The workload's own name for the publisher; None if any member of the community may be it."""


class WorkloadError(CamcastError, ValueError):
    """A file does not have its format; the text is ``FILE:LINE: what is wrong; what to do``.

    `line` is the physical line of the file, the header being 1; None if the whole file is wrong.
    """

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        super().__init__(path, line, message)
        self.path, self.line, self.message = path, line, message

    @override
    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


def opaque_payload(name: str, size_bytes: int) -> bytes:
    """Return `size_bytes` bytes: `name`, cut off or filled up with dots."""
    return name.encode().ljust(size_bytes, b".")[:size_bytes]
