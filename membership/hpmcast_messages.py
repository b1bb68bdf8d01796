"""The messages of hpmcast's membership; `membership.hpmcast` has the theory of operation."""

from __future__ import annotations

from typing import Final, TypeAlias

from camcast.identity import Contact
from camcast.messages import Decoder, Message

Key: TypeAlias = bytes | int
"""What tells the lines of a table apart: in level 1 a process's identity, else x(i - 1)."""

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
    """As `camcast.interests` writes and reads it."""


class Join(Message, tag=1, frozen=True):
    """From a newcomer, passed on for it: who of you is my neighbour."""

    line: LineNews


class View(Message, tag=2, frozen=True):
    """The answer of a neighbour, or of the nearest there is: all that I know of what you share."""

    lines: tuple[LineNews, ...]


class Gossip(Message, tag=3, frozen=True):
    """The time stamps of my lines: update me where yours are larger (4.2.1)."""

    stamps: tuple[Stamp, ...]


class Update(Message, tag=4, frozen=True):
    """Lines that are newer than yours; also how a process greets, answers and leaves."""

    lines: tuple[LineNews, ...]


class Ask(Message, tag=5, frozen=True):
    """To a neighbour not heard of for long: are you there? (6.1.3)."""


class Visit(Message, tag=6, frozen=True):
    """From a member, passed on like a `Join`: whether its neighbours know it."""

    line: LineNews


DECODER: Final[Decoder[Message]] = Decoder(Join | View | Gossip | Update | Ask | Visit)
