"""Terms: topics and comparisons of attributes, all of which an event must meet.

A topic may have several super-topics (000, 3.6), so that an event may be of two topics of which
neither includes the other by its name. A term therefore may name several. The topics that include
the topic of an event are known by names; what else is known, as from the hierarchy of a process
(`camcast.vocabulary.hierarchy`), is given to `matches` as `above`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from attrs import field, frozen
from typing_extensions import override

from camcast.interests.values import ANYTHING, DIGITS_MAX, Values
from camcast.vocabulary.topics import ROOT, Topic

PIECES_MAX: Final = 4096
"""chosen: after so many pieces of a term, which take some 50 ms, the term counts as not covered;
ten other terms of three attributes leave at most a hundred pieces."""

TOPICS_MAX: Final = 8
"""chosen: topics of a term; more than one event is of, and a bound, as peers send terms."""

NAME: Final = r"[^\W\d]\w*"
"""An attribute's name, as a regular expression: like one in Python."""
WORDS: Final = ("and", "or", "in", "not")
"""Words that cannot name an attribute, because the grammar uses them."""
_NAME: Final = re.compile(NAME)

Draft: TypeAlias = tuple[tuple[Topic, ...], Mapping[str, Values]]
"""A term in the making: its topics and its attributes, not yet in order or checked."""
_Box = dict[str, Values]


def _checked(wanted: Mapping[str, Values]) -> tuple[tuple[str, Values], ...]:
    """Return the wanted values by attribute, in order; raises `ValueError` as `Term` says."""
    for name, values in wanted.items():
        if not _NAME.fullmatch(name) or name in WORDS:
            raise ValueError(
                f"an attribute is called {name!r}; a name has letters, digits and '_', does not"
                f" begin with a digit, and is none of {', '.join(WORDS)}"
            )
        if not values.writable:
            raise ValueError(
                f"no comparison of the attribute {name!r} leaves what it should be; compare it with"
                f" finite numbers of at most {DIGITS_MAX} characters, or with texts"
            )
    return tuple(sorted(wanted.items()))


@frozen
class Term:
    """A conjunction: topics, each of which covers its subtopics, and comparisons of attributes.

    Raises `ValueError`, which names the attribute, for a term that could not be read back from
    its text: the grammar does not have that name, or no comparison leaves those values.
    """

    topic: Topic = ROOT
    wanted: tuple[tuple[str, Values], ...] = field(default={}, converter=_checked)
    """The values that each attribute may have; attributes not named may have any, or be missing."""
    also: tuple[Topic, ...] = ()
    """Further topics that the event must be of. None of all topics includes another by its name,
    and they are in order."""

    @classmethod
    def of(cls, draft: Draft) -> Term:
        """Return the term of a draft, whose topics are as `common` leaves them."""
        (topic, *also), wanted = draft
        return cls(topic, wanted, tuple(also))

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics that the event must be of, at least one."""
        return (self.topic, *self.also)

    def takes(self, topic: Topic, above: Collection[Topic] = ()) -> bool:
        """Say whether an event of a topic may match, whatever its attributes are.

        `above` are topics that include the event's topic, beside those that its name says.
        """
        if not above:
            return self.topic.includes(topic) and all(one.includes(topic) for one in self.also)
        return all(
            wanted.includes(topic) or any(wanted.includes(one) for one in above)
            for wanted in self.topics
        )

    def matches(
        self, topic: Topic, attributes: Mapping[str, object], above: Collection[Topic] = ()
    ) -> bool:
        """Say whether an event of this topic with these attributes is of interest."""
        return self.takes(topic, above) and all(
            values.has(attributes.get(name)) for name, values in self.wanted
        )

    def both(self, other: Term) -> Term | None:
        """Return the term that matches what both match; None if no event could."""
        found = common((self.topics, dict(self.wanted)), (other.topics, dict(other.wanted)))
        return None if found is None else Term.of(found)

    def within(self, other: Term) -> bool:
        """Say whether another term, by itself, matches each event that this one matches."""
        mine = dict(self.wanted)
        return other._covers_topics(self) and all(
            mine.get(name, ANYTHING).minus(wanted).empty for name, wanted in other.wanted
        )

    def covered_by(self, others: Iterable[Term], pieces_max: int = PIECES_MAX) -> bool:
        """Say whether each event that this term matches is matched by one of the others.

        A yes is always right. A no is wrong where the numbers left over contain no float or
        integer, and where the answer would take more than `pieces_max` pieces.

        Only terms whose topics include topics of this term match every event that is of these
        topics and no others. Only these terms count, and the question that remains is one of
        attributes: whether boxes cover a box.
        """
        pieces: list[_Box] = [dict(self.wanted)]
        looked_at = 0
        for other in others:
            if other._covers_topics(self):
                looked_at += len(pieces)
                if looked_at > pieces_max:
                    return False
                pieces = [left for piece in pieces for left in _minus(piece, other)]
                if not pieces:
                    return True
        return False

    def _covers_topics(self, other: Term) -> bool:
        """Say whether every event of all topics of the other term is of all topics of this one."""
        if not self.also and not other.also:
            return self.topic.includes(other.topic)
        return all(any(one.includes(low) for low in other.topics) for one in self.topics)

    @override
    def __str__(self) -> str:
        comparisons = [line for name, values in self.wanted for line in values.comparisons(name)]
        topics = [] if comparisons and self.topic == ROOT else [one.name for one in self.topics]
        return " and ".join(topics + comparisons)


def common(one: Draft, other: Draft) -> Draft | None:
    """Return what matches what both match; None if no event could.

    Topics alone never exclude each other: there may be a topic below both.
    """
    wanted = dict(one[1])
    for name, values in other[1].items():
        mine = wanted.get(name)
        wanted[name] = found = values if mine is None else mine.both(values)
        if found.empty:
            return None
    topics = sorted(dict.fromkeys((*one[0], *other[0])))
    lowest = [low for low in topics if not any(low != t and low.includes(t) for t in topics)]
    return tuple(lowest), wanted


def _minus(piece: _Box, other: Term) -> list[_Box]:
    """Return what a term's comparisons leave of a box, as boxes that do not overlap."""
    outside: list[_Box] = []
    inside = piece
    for name, wanted in other.wanted:
        have = inside.get(name, ANYTHING)
        shared, left = have.both(wanted), have.minus(wanted)
        if shared.empty:
            return [piece]
        if not left.empty:
            outside.append(inside | {name: left})
        inside = inside | {name: shared}
    return outside
