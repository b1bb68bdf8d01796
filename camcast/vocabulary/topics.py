"""Topics: names in a hierarchy, compared level by level.

A topic is written like a path that starts at the root: ``.`` is the root topic,
``.soccer`` a topic below it, ``.soccer.italy`` one below that (paper 000, section 2.1).
The *super-topic* of ``.soccer.italy`` is ``.soccer``; a topic *includes* itself and
every topic below it.

The grammar is frozen, since every process on an event's way has to read its topic: the characters
of a level are in a table of this package (`camcast.vocabulary.topic_letters`), and not those of the
Unicode that a Python happens to have; and a name is in Unicode's form NFC, in which equal names
have equal bytes. Characters of the table have one NFC for ever [Unicode, Normalization Stability].
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache, total_ordering
from typing import Final, NewType

from attrs import field, frozen
from typing_extensions import override

from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topic_letters import BOUNDS

GroupId = NewType("GroupId", bytes)
"""Eight bytes that stand for a topic on the wire: the head of the SHA-1 of its name."""

GROUP_ID_BYTES: Final = 8  # chosen: leaves 12 of 20 bytes to a node's name in the DHT
LEVEL_LENGTH_MAX: Final = 64  # chosen: characters in one level; the DNS allows 63 [RFC 1035, 2.3.4]
LEVELS_MAX: Final = 32  # chosen: the work for one topic from a peer has a bound
NAME_BYTES_MAX: Final = 255  # chosen: fits one length byte; as a name in the DNS [RFC 1035, 2.3.4]

_ASCII_LEVEL: Final = re.compile(r"[A-Za-z0-9_+-]+")  # most levels: spares a look at the table
_WILDCARDS: Final = ("*", "**", "#", ">")  # of MQTT, NATS and zenoh


PROBE: Final = "camcast-ping"
"""The last level of the topic of a probe, an event of ``camcast ping``: no subscription gets it."""


class TopicError(CamcastError, ValueError):
    """A topic's name does not follow the grammar; the message says where and why."""


def _join(levels: tuple[str, ...]) -> str:
    return "." + ".".join(levels)


def _is_of_level(character: str) -> bool:
    return bisect_right(BOUNDS, ord(character)) % 2 == 1


def _check_levels(instance: Topic, _attribute: object, levels: tuple[str, ...]) -> None:
    if not isinstance(levels, tuple):
        raise TypeError(f"a Topic is made of a tuple of levels; Topic.parse reads {levels!r}")
    name = _join(levels)
    if len(levels) > LEVELS_MAX:
        raise TopicError(f"topic {name!r} has {len(levels)} levels; at most {LEVELS_MAX} fit")
    if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX:
        raise TopicError(f"topic {name[:40]!r}… is longer than {NAME_BYTES_MAX} bytes in UTF-8")
    if not name.isascii() and not unicodedata.is_normalized("NFC", name):
        form = unicodedata.normalize("NFC", name)
        raise TopicError(f"topic {name!a} is not in Unicode's form NFC; write {form!a} instead")
    for level in levels:
        if not level:
            raise TopicError(
                f"topic {name!r} has an empty level; write .soccer.italy, without a dot at the end"
                " and without two dots in a row"
            )
        if len(level) > LEVEL_LENGTH_MAX:
            raise TopicError(
                f"level {level[:20]!r}… of topic {name[:40]!r} is longer than"
                f" {LEVEL_LENGTH_MAX} characters"
            )
        if not _ASCII_LEVEL.fullmatch(level) and not all(map(_is_of_level, level)):
            if level in _WILDCARDS:
                raise TopicError(
                    f"topic {name!r} has the wildcard {level!r}; a topic covers all topics below"
                    " it, so leave the level out"
                )
            wrong = next(c for c in level if not _is_of_level(c))
            raise TopicError(
                f"topic {name!r} has the character {wrong!r} in level {level!r};"
                " a level is made of letters and digits of Unicode 14.0, '_', '-' and '+'"
            )


@total_ordering
@frozen(eq=False)
class Topic:
    """One topic, as the tuple of its levels; the root is the empty tuple.

    Raises `TopicError` when a level is empty, too long or has a character outside the letters and
    digits of Unicode 14.0 and ``_ - +``, when the name is not in Unicode's form NFC, or when there
    are too many levels or bytes.

    A topic equals the text that names it, and hashes as this text does: a topic that was received
    is found in a dict of handlers by name. Topics are in the order of their levels.

    Example:
        >>> str(Topic.parse(".soccer.italy").super_topic)
        '.soccer'
    """

    levels: tuple[str, ...] = field(validator=_check_levels)
    # Derived, and kept because every copy of every event needs them.
    name: str = field(init=False, repr=False)
    """The topic as it is written, ``.`` for the root."""
    encoded: bytes = field(init=False, repr=False)
    """The name in UTF-8."""
    group: GroupId = field(init=False, repr=False)
    """The identifier of this topic's community on the wire."""

    def __attrs_post_init__(self) -> None:
        name = _join(self.levels)
        encoded = name.encode()
        digest = hashlib.sha1(encoded, usedforsecurity=False).digest()
        for attribute, value in (
            ("name", name),
            ("encoded", encoded),
            ("group", GroupId(digest[:GROUP_ID_BYTES])),
        ):
            object.__setattr__(self, attribute, value)

    @classmethod
    def parse(cls, name: str) -> Topic:
        """Read ``.soccer.italy``; raises `TopicError` for anything else.

        `TypeError` for what is no text, also for a topic: the cache would take one for its name, as
        long as it has the name.
        """
        check_type("a topic", name, str, "a text such as '.soccer.italy'")
        return _parse(name)

    @property
    def level(self) -> int:
        """The distance from the root, which is at level 0 (section 2.1)."""
        return len(self.levels)

    @property
    def super_topic(self) -> Topic | None:
        """super(t), or None for the root (section 2.1)."""
        return Topic(self.levels[:-1]) if self.levels else None

    def ancestors(self) -> Iterator[Topic]:
        """Yield super(t), super(super(t)), and so on; the root comes last."""
        for end in range(len(self.levels) - 1, -1, -1):
            yield Topic(self.levels[:end])

    def includes(self, other: Topic) -> bool:
        """Say whether `other` is this topic or below it, level by level: ``.a.b`` not ``.a.bc``."""
        return other.levels[: len(self.levels)] == self.levels

    def child(self, level: str) -> Topic:
        """Return the subtopic one level below this one."""
        return Topic((*self.levels, level))

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, Topic):
            return self.name == other.name
        return self.name == other if isinstance(other, str) else NotImplemented

    def __lt__(self, other: Topic) -> bool:
        return self.levels < other.levels if isinstance(other, Topic) else NotImplemented

    @override
    def __hash__(self) -> int:
        return self.name.__hash__()  # no run depends on it: nothing iterates a set

    @override
    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @override
    def __str__(self) -> str:
        return self.name


ROOT: Final = Topic(())


# chosen: 4,096 names; an application names few topics, and names that peers send are
# parsed once per event of a new topic. A bound, because peers feed this table.
@lru_cache(maxsize=4096)
def _parse(name: str) -> Topic:
    if not name.startswith("."):
        raise TopicError(f"topic {name!r} must start with '.', the root; try {'.' + name!r}")
    return ROOT if name == "." else Topic(tuple(name[1:].split(".")))


@lru_cache(maxsize=4096)  # chosen: as for _parse, whose answer it remembers by its bytes
def decode_topic(encoded: bytes) -> Topic:
    """Read a topic from UTF-8; raises `TopicError`, and `UnicodeDecodeError`."""
    return _parse(encoded.decode())
