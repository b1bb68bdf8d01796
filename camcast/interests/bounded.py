"""Interests that travel: their size is bounded, and so is the cost of reading and uniting them.

A process sends its peers its own interest, and the union of the interests of the processes that it
represents (002, 4.2.2, "Regroup patterns"), as text. An interest that is too large is *weakened*:
it becomes the topics of its terms or, if these are too many, their super-topics. The weaker
interest covers the precise one (002, 6.1.1), so that no process misses an event.
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
COMPARING_MAX: Final = 16  # chosen: terms with comparisons, whose pairs take time
BYTES_MAX: Final = 2048  # chosen: names of newsgroups; the worst of many took 3 ms to read
UNITED_MAX: Final = 128  # chosen: terms united at a time; the worst of many took 0.12 s
_OR: Final = len(" or ")
_CUT_AT: Final = 4 * TERMS_MAX  # chosen: topics gathered before they are cut; bounds the work

_Path: TypeAlias = tuple[str, ...]
"""The levels of a topic."""


# chosen: 1,024 texts, which take 75 MB with their terms at the worst (measured: 74 kB for 64 lists
# of numbers), and 1 MB if each is one topic. A bound, because peers feed this table.
@lru_cache(maxsize=1024)
def read_interest(text: str) -> Interest:
    """Read an interest that a peer sent; raises `InterestError`, also for one that is too large.

    The terms are not condensed again. Peers send condensed terms; to check that would take ten
    times as long as to read them, and nothing depends on it, because a union condenses its terms.
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
    """Return the union of one or more interests, condensed; weakened if too large to travel."""
    first, *rest = dict.fromkeys(interests)
    terms = [term for one in (first, *rest) for term in one.terms]
    if len(terms) <= UNITED_MAX and _comparing(terms) <= 2 * COMPARING_MAX:
        union = first.union(*rest)
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
    """Return the interest in topics, weakened until it is small enough to travel."""
    return Interest([Term(topic) for topic in covering_topics(topics)])


def covering_topics(topics: Iterable[Topic]) -> list[Topic]:
    """Return topics that include all of these, within `TERMS_MAX` and `BYTES_MAX`, in order.

    Topics that another one includes are left out. If too many are left, all are cut to as many
    levels as make them few enough, so that the answer includes every topic that was given.
    """
    kept: dict[_Path, None] = {}
    depth = LEVELS_MAX
    paths = dict.fromkeys(topic.levels for topic in topics)
    for path in sorted(paths, key=len):
        kept[path[:depth]] = None
        if len(kept) > _CUT_AT:  # later paths are longer, so they include none of these
            while len(cut := _cut(kept, depth)) > TERMS_MAX:
                depth -= 1
            kept = dict.fromkeys(cut)
    while _too_large(cut := _cut(kept, depth)):
        depth -= 1
    return [Topic(path) for path in cut]


def _cut(paths: Iterable[_Path], depth: int) -> Sequence[_Path]:
    """Return the paths cut to `depth` levels, in order, without those that another includes."""
    kept: list[_Path] = []
    for path in sorted(paths):  # a path comes right before those that it includes
        short = path[:depth]
        if not kept or short[: len(kept[-1])] != kept[-1]:
            kept.append(short)
    return kept


def _too_large(paths: Sequence[_Path]) -> bool:
    size = sum(len(f".{'.'.join(path)}".encode()) + _OR for path in paths)
    return len(paths) > TERMS_MAX or size > BYTES_MAX
