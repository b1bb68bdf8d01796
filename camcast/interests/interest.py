"""Interests: which events a subscriber wants, by topic and by attributes (paper 002, 2 and 5.2).

::

    >>> quakes = Interest.parse(".earthquake.nepal and mag >= 5 or .usenet.comp")
    >>> quakes.matches(Topic.parse(".earthquake.nepal.gorkha"), {"mag": 7.8})
    True

A topic covers its subtopics. A comparison, ``!=`` included, holds only if the event has the
attribute, with a value of the kind that it is compared with: a number, or a text.
docs/choosing.md has the grammar.

An interest is a disjunction of terms in a fixed order, of which none is covered by the others:
`union` condenses terms to this form, and the text of an interest has it. Two interests may match
the same events and not be equal, like ``x == 1 or x == 2`` and ``x in (1, 2)``; then they cover
each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import attrs
import msgspec
from attrs import field, frozen
from typing_extensions import override

from camcast.interests.covering import Covering
from camcast.interests.grammar import InterestError, parse_terms
from camcast.interests.term import Term
from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.topics import Topic

__all__ = ["Interest", "InterestError", "attributes_of"]


TOGETHER_MAX: Final = 1024
"""chosen: pieces looked at to condense an interest, in some 20 ms; a bound, as peers send
interests."""


class Condensed(tuple[Term, ...]):
    """Terms in order, none covered by the others: an `Interest` does not condense them again."""

    __slots__ = ()


def _condensed(terms: Iterable[Term]) -> Condensed:
    """Return terms that match the same events, in order, of which none is covered by the others.

    Terms that a single other term covers are removed first, so that of ``x > 0`` and its two
    halves the whole remains. Whether several terms cover one together is decided as far as
    `TOGETHER_MAX` allows.
    """
    if isinstance(terms, Condensed):
        return terms
    distinct = sorted(dict.fromkeys(terms), key=str)
    alone = Covering(distinct)
    kept = {term: None for term in distinct if not any(map(term.within, alone.of(term)))}
    together = Covering(kept)
    changed = True
    while changed:  # with fewer terms left, fewer pieces may decide it
        changed = False
        for term in list(reversed(kept)):
            others = (other for other in together.of(term) if other in kept)
            if term.covered_by(others, TOGETHER_MAX // len(kept)):
                del kept[term]
                changed = True
    return Condensed(kept)


@frozen(cache_hash=True)  # interests are keys of dictionaries
class Interest:
    """A set of events: those that one of its terms matches. There is at least one term.

    Example:
        >>> str(Interest.parse("mag >= 5 or mag >= 6"))
        'mag >= 5'
    """

    terms: Condensed = field(converter=_condensed, validator=attrs.validators.min_len(1))

    @classmethod
    def parse(cls, text: str) -> Interest:
        """Read an interest; raises `InterestError`, which points at the column."""
        check_type("an interest", text, str, 'a text such as "mag >= 5"')
        return cls(parse_terms(text))

    def matches(
        self, topic: Topic, attributes: Mapping[str, object], above: Collection[Topic] = ()
    ) -> bool:
        """Say whether an event of this topic with these attributes is of interest.

        `above` are topics that include the event's topic, beside those that its name says.
        """
        return any(term.matches(topic, attributes, above) for term in self.terms)

    def covers(self, other: Interest) -> bool:
        """Say whether this interest matches every event that `other` matches.

        A yes is always right. A no is wrong in two cases only; see `Term.covered_by`.
        """
        return all(term.covered_by(self.terms) for term in other.terms)

    def union(self, *others: Interest) -> Interest:
        """Return the interest that matches what any of these matches, condensed."""
        return Interest([*self.terms, *(term for other in others for term in other.terms)])

    @override
    def __str__(self) -> str:
        return " or ".join(map(str, self.terms))


def attributes_of(payload: bytes) -> Mapping[str, object]:
    """Return the entries of a payload that is a JSON object in UTF-8, for `Interest.matches`.

    Any other payload has none. Those of typed events are in `camcast.interests.attributes`.
    """
    try:
        decoded = msgspec.json.decode(payload)
    except UNDECODABLE:
        return {}
    return decoded if isinstance(decoded, dict) else {}
