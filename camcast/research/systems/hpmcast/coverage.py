"""Weaker filters for higher levels of hpmcast (002, 6.1.1, "Filter coverage").

"Higher-level delegates receive more gossips than lower-level participants. One way of reducing the
load on these delegates could consist in applying filters with a weaker accuracy." A weaker filter
*covers* the precise one: it passes all that the precise one passes, and now and then events that
interest nobody behind it.

The paper's four degrees, from the subscriber up: any method (here: the application's own code),
comparisons of attributes (an `Interest`), the more certain of these, conformance to a type (here: a
topic). Subscribers still get what they asked for: their own process compares precisely.
`camcast.research.systems.hpmcast` condenses its tables so.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from camcast.interests.bounded import union_of
from camcast.interests.interest import Interest
from camcast.interests.term import Term
from camcast.vocabulary.topics import Topic


class Accuracy(Enum):
    """How precisely a level's lines say what interests their processes."""

    ATTRIBUTES = "attributes"
    """The interests as they are."""
    SELECTIVE = "selective"
    """Related topics as one, with the comparisons that all their terms share."""
    TOPIC = "topic"
    """By topic only."""


def accuracy_of(level: int, levels: int) -> Accuracy:
    """Return how precise the table of a level is.

    Level 1, whose lines are processes, is precise; the highest of three or more levels goes by
    topic; the levels in between are selective. Raises `ValueError` for a level that does not exist.
    """
    if not 1 <= level <= levels:
        raise ValueError(f"level {level} of {levels}")
    if level == 1:
        return Accuracy.ATTRIBUTES
    # chosen: with two levels by attributes and topics, "selective" is the one between
    return Accuracy.TOPIC if level == levels > 2 else Accuracy.SELECTIVE


def weakened(interest: Interest, accuracy: Accuracy) -> Interest:
    """Return an interest of this accuracy, which covers the given one."""
    if accuracy is Accuracy.ATTRIBUTES:
        return interest
    if accuracy is Accuracy.TOPIC:
        return Interest([Term(term.topic) for term in interest.terms])
    related: dict[Topic, list[Term]] = {}
    for term in interest.terms:
        general = min(
            (other.topic for other in interest.terms if other.topic.includes(term.topic)),
            key=lambda topic: topic.level,
        )
        related.setdefault(general, []).append(term)
    return Interest([_agreed(topic, terms) for topic, terms in related.items()])


def condensed(interests: Sequence[Interest], accuracy: Accuracy) -> Interest:
    """Return one interest of this accuracy which covers all of them, and is not too large.

    The first of the three operations of 4.2.2, "Regroup patterns [...] in a way which avoids
    redundancies". There is at least one interest.
    """
    return weakened(union_of(interests), accuracy)


def _agreed(topic: Topic, terms: list[Term]) -> Term:
    """Return the topic with the comparisons that are in all the terms."""
    return Term(topic, dict(one for one in terms[0].wanted if all(one in t.wanted for t in terms)))
