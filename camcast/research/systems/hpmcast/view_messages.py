"""The messages of hpmcast's membership; its folder has the theory of operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, TypeAlias

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message, encode

Key: TypeAlias = bytes | int
"""The key of a line in its table: in level 1 a process's identity, else x(i - 1)."""

LINES_BYTES_MAX: Final = 1 << 15
"""chosen: bytes of lines in a message, as many as a frame has (`live.wire.pipes`). A line has at
most some 7,000: an interest of 2,048 and 64 delegates of 80."""

Stamp: TypeAlias = tuple[int, Key, int]
"""A line without what it says: its level, its key, its time stamp."""


class LineNews(Message, frozen=True):
    """A line with its time stamp; without contacts, whoever it stood for is gone."""

    level: int
    key: Key
    stamp: int
    contacts: tuple[Contact, ...]
    """The delegates; of a process, itself."""
    processes: int
    interest: str
    """As `camcast.interests.interest` writes and reads it."""


class Join(Message, tag=1, frozen=True):
    """From a newcomer, passed on for it: who of you is my neighbour."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "join"
    mandated: ClassVar[tuple[str, ...]] = ("line",)
    line: LineNews


class View(Message, tag=2, frozen=True):
    """The answer of a neighbour, or of the nearest there is: all that I know of what you share.

    What does not fit one message comes in several, the lowest level first.
    """

    lines: tuple[LineNews, ...]


class Gossip(Message, tag=3, frozen=True):
    """The time stamps of my lines: update me where yours are larger (4.2.1)."""

    stamps: tuple[Stamp, ...]


class Update(Message, tag=4, frozen=True):
    """Lines that are newer than yours, or some of them; also a greeting, an answer, a farewell."""

    lines: tuple[LineNews, ...]


class Ask(Message, tag=5, frozen=True):
    """To a neighbour not heard of for long: are you there? (6.1.3)."""


class Visit(Message, tag=6, frozen=True):
    """From a member, passed on like a `Join`: whether its neighbours know it."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "visit"
    mandated: ClassVar[tuple[str, ...]] = ("line",)
    line: LineNews


DECODER: Final[Decoder[Message]] = Decoder(Join | View | Gossip | Update | Ask | Visit)


def parts(lines: Iterable[LineNews]) -> Iterator[tuple[LineNews, ...]]:
    """Yield lines as they go into messages, in order, each of at most `LINES_BYTES_MAX`.

    A larger line goes alone; of no lines there is one part, without any.
    """
    part: list[LineNews] = []
    room = LINES_BYTES_MAX
    for line in lines:
        size = len(encode(line))
        if part and size > room:
            yield tuple(part)
            part, room = [], LINES_BYTES_MAX
        part.append(line)
        room -= size
    yield tuple(part)
