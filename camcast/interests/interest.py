"""Interests: which events a subscriber wants, by topic and by attributes (paper 002, 2 and 5.2).

::

    >>> quakes = Interest.parse(".earthquake.nepal and mag >= 5 or .usenet.comp")
    >>> quakes.matches(Topic.parse(".earthquake.nepal.gorkha"), {"mag": 7.8})
    True

A topic covers its subtopics. A comparison holds only if the event has the attribute, and as a
number or a text, whichever it is compared with; also ``!=``. docs/interests.md has the grammar.

An interest is kept as a disjunction of terms of which none is covered by the others, in a fixed
order: so it is written, and `union` condenses. Two interests may mean the same and not be equal,
like ``x == 1 or x == 2`` and ``x in (1, 2)``; they cover each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import msgspec
from attrs import field, frozen

from camcast.interests.grammar import InterestError, parse_terms
from camcast.interests.term import Term
from camcast.vocabulary.topics import Topic

__all__ = ["Interest", "InterestError", "attributes_of"]


TOGETHER_MAX: Final = 1024
"""chosen: pieces looked at for all terms of an interest, in some 20 ms, as others tell theirs."""


class Condensed(tuple[Term, ...]):
    """Terms of which none is covered by the others, in order: an `Interest` takes them as such."""

    __slots__ = ()


def _condensed(terms: Iterable[Term]) -> Condensed:
    """Return terms that match the same, of which none is covered by the others, in order.

    A term that another one covers goes first, so that of ``x > 0`` and its two halves the whole
    remains. That several cover one together is found out as far as `TOGETHER_MAX` allows.
    """
    if isinstance(terms, Condensed):
        return terms
    kept = sorted(dict.fromkeys(terms), key=str)
    kept = [
        term for term in kept if not any(other is not term and term.within(other) for other in kept)
    ]
    changed = True
    while changed:  # with fewer others, what took too many pieces may be found out
        changed = False
        for term in reversed(kept):
            others = [other for other in kept if other is not term]
            if term.covered_by(others, TOGETHER_MAX // len(kept)):
                kept, changed = others, True
    return Condensed(kept)


@frozen(cache_hash=True)  # which many lines of a table are told apart by
class Interest:
    """A set of events: those that one of the terms matches. There is at least one term."""

    terms: Condensed = field(converter=_condensed, validator=attrs.validators.min_len(1))

    @classmethod
    def parse(cls, text: str) -> Interest:
        """Read an interest; raises `InterestError`, which points at the column."""
        return cls(parse_terms(text))

    def matches(self, topic: Topic, attributes: Mapping[str, object]) -> bool:
        """Say whether an event of this topic with these attributes is of interest."""
        return any(term.matches(topic, attributes) for term in self.terms)

    def covers(self, other: Interest) -> bool:
        """Say whether every event that the other matches matches this one, too.

        A yes is always right. A no is wrong in two cases only; see `Term.covered_by`.
        """
        return all(term.covered_by(self.terms) for term in other.terms)

    def union(self, *others: Interest) -> Interest:
        """Return the interest in what any of them matches, without what is covered."""
        return Interest([*self.terms, *(term for other in others for term in other.terms)])

    def __str__(self) -> str:
        return " or ".join(map(str, self.terms))


def attributes_of(value: object) -> Mapping[str, object]:
    """Return the attributes of an event's value, for `Interest.matches`.

    The fields of an attrs instance; the entries of a JSON object in UTF-8; else none.
    """
    if isinstance(value, bytes):
        try:
            decoded = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        return decoded if isinstance(decoded, dict) else {}
    cls: Any = type(value)
    if attrs.has(cls):
        return {one.name: getattr(value, one.name, None) for one in attrs.fields(cls)}
    return {}
