"""Interests that processes tell each other: bounded, and so is what reading and uniting costs.

A process tells others what it wants, and what those want for whom it stands (002, 4.2.2, "Regroup
patterns"). Such an interest travels as its text. One that is too large is *weakened*: it becomes
the topics of its terms, and if these are too many, their super-topics. What is weaker covers the
precise interest (002, 6.1.1), so nobody misses an event for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from camcast.interests.grammar import InterestError, parse_terms
from camcast.interests.interest import Condensed, Interest
from camcast.interests.term import Term
from camcast.vocabulary.topics import LEVELS_MAX, Topic

TERMS_MAX: Final = 64  # chosen: topics of a busy reader of news; to read them takes some 0.5 ms
COMPARING_MAX: Final = 16  # chosen: terms with comparisons; pairs of them are what takes time
BYTES_MAX: Final = 2048  # chosen: names of newsgroups; the worst of many took 3 ms to read
UNITED_MAX: Final = 128  # chosen: terms united at a time; the worst of many took 0.12 s
_OR: Final = len(" or ")
_CUT_AT: Final = 4 * TERMS_MAX  # chosen: topics of many are cut by so many, however many there are

_Path: TypeAlias = tuple[str, ...]
"""The levels of a topic."""


# chosen: texts. With what was read of them 75 MB at most (measured: 74 kB for 64 lists of numbers),
# and 1 MB if each is a topic; a bound, because peers feed this table.
@lru_cache(maxsize=1024)
def read_interest(text: str) -> Interest:
    """Read an interest that somebody sent; raises `InterestError`, also for one too large.

    Its terms are taken for condensed, as everybody tells them. To see whether they are would take
    ten times as long as to read them, and nothing depends on it: a union condenses them anew.
    """
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
    return Interest(Condensed(terms))


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
    return _by_topic(term.topic for term in terms)


def _comparing(terms: Iterable[Term]) -> int:
    return sum(bool(term.wanted) for term in terms)


def _by_topic(topics: Iterable[Topic]) -> Interest:
    """Return the interest in topics, or in super-topics of as many levels as are not too large."""
    kept: dict[_Path, None] = {}
    depth = LEVELS_MAX
    paths = dict.fromkeys(topic.levels for topic in topics)
    for path in sorted(paths, key=len):
        kept[path[:depth]] = None
        if len(kept) > _CUT_AT:  # what comes includes none of these, so there will be no fewer
            while len(cut := _cut(kept, depth)) > TERMS_MAX:
                depth -= 1
            kept = dict.fromkeys(cut)
    while _too_large(cut := _cut(kept, depth)):
        depth -= 1
    return Interest([Term(Topic(path)) for path in cut])


def _cut(paths: Iterable[_Path], depth: int) -> Sequence[_Path]:
    """Return paths cut to a depth, in order, without those that another includes."""
    kept: list[_Path] = []
    for path in sorted(paths):  # one comes right before those that it includes
        short = path[:depth]
        if not kept or short[: len(kept[-1])] != kept[-1]:
            kept.append(short)
    return kept


def _too_large(paths: Sequence[_Path]) -> bool:
    size = sum(len(f".{'.'.join(path)}".encode()) + _OR for path in paths)
    return len(paths) > TERMS_MAX or size > BYTES_MAX
