"""An index of terms, by which those that may cover a term are found without a look at each pair.

Only terms that overlap a term matter to whether they cover it, alone or together: their topics
include its topics, each attribute that they compare is one that it compares (events without the
attribute would be left otherwise), and some value is in both.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain, combinations

from camcast.interests.term import Term
from camcast.interests.values import Cut, Values
from camcast.vocabulary.topics import Topic

_Names = tuple[str, ...]


class Covering:
    """Terms by topic, by the attributes that they compare, and by values of the first of these."""

    def __init__(self, terms: Iterable[Term]) -> None:
        groups: dict[Topic, dict[_Names, list[Term]]] = {}
        for term in terms:
            names = tuple(name for name, _ in term.wanted)
            groups.setdefault(term.topic, {}).setdefault(names, []).append(term)
        self._groups = {
            topic: {names: _ByValue(group) for names, group in by_names.items()}
            for topic, by_names in groups.items()
        }

    def of(self, term: Term) -> Iterator[Term]:
        """Yield the other terms that may cover a term, alone or together."""
        wanted, seen = dict(term.wanted), {term: None}
        for topic in dict.fromkeys(up for low in term.topics for up in (low, *low.ancestors())):
            groups = self._groups.get(topic, {})
            for names in _subsets(tuple(wanted), groups):
                for other in groups[names].overlapping(wanted):
                    if other not in seen:
                        seen[other] = None
                        yield other


def _subsets(names: _Names, groups: dict[_Names, _ByValue]) -> Iterator[_Names]:
    """Yield those of these groups' attributes that are among `names`, by the shorter way."""
    if 2 ** len(names) < len(groups):
        some = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
        return (one for one in some if one in groups)
    return (one for one in groups if all(name in names for name in one))


class _ByValue:
    """Terms that compare the same attributes, by the values of the first one."""

    def __init__(self, terms: list[Term]) -> None:
        self._terms = terms
        self._name = terms[0].wanted[0][0] if terms[0].wanted else None
        self._texts: dict[str, list[Term]] = {}
        self._but: list[Term] = []
        intervals: list[tuple[Cut, Cut, Term]] = []
        for term in terms if self._name else ():
            values = term.wanted[0][1]
            intervals += [(begin, end, term) for begin, end in _intervals(values)]
            if values.but:
                self._but.append(term)
            for text in values.texts if not values.but else ():
                self._texts.setdefault(text, []).append(term)
        self._intervals = sorted(intervals, key=lambda one: one[:2])
        self._begins = [begin for begin, _, _ in self._intervals]
        self._farthest = list(accumulate((end for _, end, _ in self._intervals), max))
        """The farthest end of each interval and those before it."""

    def overlapping(self, wanted: Mapping[str, Values]) -> Iterator[Term]:
        """Yield the terms of which a value may be among these; those that begin first come first.

        Of an attribute that may have any text but some, these are the texts that others exclude.
        """
        if self._name is None:
            yield from self._terms
            return
        values = wanted[self._name]
        if values.but or values.texts:
            yield from self._but
        texts = values.texts
        if values.but:
            texts = tuple(text for term in self._but for text in term.wanted[0][1].texts)
        for text in texts:
            yield from self._texts.get(text, ())
        for begin, end in _intervals(values):
            first, last = bisect_right(self._farthest, begin), bisect_left(self._begins, end)
            for _, until, term in self._intervals[first:last]:
                if until > begin:
                    yield term


def _intervals(values: Values) -> Iterator[tuple[Cut, Cut]]:
    return zip(values.numbers[::2], values.numbers[1::2], strict=True)
