"""Interests that processes tell each other: bounded, and so is what reading and uniting costs.

A process tells others what it wants, and what those want for whom it stands (002, 4.2.2, "Regroup
patterns"). Such an interest travels as its text. One that is too large is *weakened*: it becomes
the topics of its terms, and if these are too many, their super-topics. What is weaker covers the
precise interest (002, 6.1.1), so nobody misses an event for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from camcast.interest_grammar import InterestError, parse_terms
from camcast.interest_term import Term
from camcast.interests import Interest
from camcast.topics import Topic

TERMS_MAX: Final = 64  # chosen: topics of a busy reader of news; to read them takes some 3 ms
COMPARING_MAX: Final = 16  # chosen: terms with comparisons; pairs of them are what takes time
BYTES_MAX: Final = 2048  # chosen: names of newsgroups; the worst of many took 0.05 s to read
UNITED_MAX: Final = 128  # chosen: terms united at a time; the worst of many took 0.05 s
_OR: Final = len(" or ")


# chosen: texts. With what was read of them 75 MB at most (measured: 74 kB for 64 lists of numbers),
# and 1 MB if each is a topic; a bound, because peers feed this table.
@lru_cache(maxsize=1024)
def read_interest(text: str) -> Interest:
    """Read an interest that somebody sent; raises `InterestError`, also for one too large."""
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        message = f"an interest that travels has at most {BYTES_MAX:,} bytes"
        raise InterestError(text, BYTES_MAX, message)
    terms = parse_terms(text, multiplied_max=1)  # the text of an interest has nothing to multiply
    if len(terms) > TERMS_MAX:
        message = f"an interest that travels has at most {TERMS_MAX} alternatives, not {len(terms)}"
        raise InterestError(text, 1, message)
    if _comparing(terms) > COMPARING_MAX:
        message = f"an interest that travels has at most {COMPARING_MAX} alternatives that compare"
        raise InterestError(text, 1, message)
    return Interest(terms)


def union_of(interests: Iterable[Interest]) -> Interest:
    """Return what any of them matches, without redundancies; weakened if it is too large to travel.

    There is at least one interest.
    """
    first, *others = dict.fromkeys(interests)
    terms = [term for one in (first, *others) for term in one.terms]
    if len(terms) <= UNITED_MAX and _comparing(terms) <= 2 * COMPARING_MAX:
        union = first.union(*others)
        if (
            len(union.terms) <= TERMS_MAX
            and _comparing(union.terms) <= COMPARING_MAX
            and len(str(union).encode()) <= BYTES_MAX
        ):
            return union
    return _by_topic({term.topic: None for term in terms})


def _comparing(terms: Iterable[Term]) -> int:
    return sum(bool(term.wanted) for term in terms)


def _by_topic(topics: Iterable[Topic]) -> Interest:
    """Return the interest in topics, of which the deepest give way to their super-topics."""
    kept = _apart(topics)
    while len(kept) > TERMS_MAX or sum(len(t.encoded) + _OR for t in kept) > BYTES_MAX:
        deepest = max(topic.level for topic in kept)
        wider = (topic.super_topic if topic.level == deepest else topic for topic in kept)
        kept = _apart(topic for topic in wider if topic is not None)
    return Interest([Term(topic) for topic in kept])


def _apart(topics: Iterable[Topic]) -> Sequence[Topic]:
    """Return the topics that no other of them includes, in order."""
    kept: list[Topic] = []
    for topic in sorted(dict.fromkeys(topics)):  # a topic comes right before what it includes
        if not (kept and kept[-1].includes(topic)):
            kept.append(topic)
    return kept
