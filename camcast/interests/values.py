"""Sets of values that comparisons leave to an attribute: numbers, texts, and everything else.

A set of numbers is a sorted tuple of *cuts*, at which the set begins and ends by turns. A cut lies
just before a number or just after it, which says whether that number belongs to the set: [3, 5)
is ((3, before), (5, before)), and the single number 3 is ((3, before), (3, after)). Numbers are
taken to be dense, and ±∞ to be numbers. A set of texts is a list, or all texts but those listed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from sys import float_info
from typing import Any, Final

from attrs import frozen

Number = int | float
Literal = Number | str
Cut = tuple[Number, bool]
"""A number, and whether the cut is just after it."""

_ALL_NUMBERS: Final[tuple[Cut, ...]] = ((-inf, False), (inf, True))
DIGITS_MAX: Final = 40
"""chosen: characters of a number; a float has 24 at most."""
_EXACT_MAX: Final = 10**16
"""chosen: repr() writes a float as digits alone up to here, and with an exponent from here on."""


@frozen
class Values:
    """A set of values of an attribute."""

    numbers: tuple[Cut, ...] = ()
    texts: tuple[str, ...] = ()
    but: bool = False
    """Whether the set has all texts but those in `texts`."""
    rest: bool = False
    """Whether everything else is in the set: a missing attribute, null, true, a list, NaN..."""

    def has(self, value: object) -> bool:
        """Say whether a value is in the set; None stands for a missing attribute too."""
        if isinstance(value, str):
            return (value in self.texts) != self.but
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
            return _inside(self.numbers, (value, False))
        return self.rest  # also for NaN, which is not equal to itself

    @property
    def empty(self) -> bool:
        """Whether no value is in the set."""
        return not (self.numbers or self.texts or self.but or self.rest)

    @property
    def writable(self) -> bool:
        """Whether comparisons can leave such a set: texts, numbers, or an interval less points."""
        if self.rest:
            return False
        if self.texts:
            return not self.numbers and all(map(_is_text, self.texts)) and _rising(self.texts)
        if self.but or not self.numbers or len(self.numbers) % 2:
            return False
        inner = [cut for cut in self.numbers if cut not in _ALL_NUMBERS]
        if not inner or not all(_is_number(number) for number, _ in inner):
            return False
        gaps = self.numbers[1:-1]
        in_form = bool(_points(self.numbers)) or not gaps or bool(_points(gaps))
        return in_form and _rising(self.numbers)

    def both(self, other: Values) -> Values:
        """Return the values that are in this set and in the other."""
        mine, theirs = dict.fromkeys(self.texts), dict.fromkeys(other.texts)
        if self.but and other.but:
            texts = sorted(mine | theirs)
        else:
            some, opposite = (theirs, mine) if self.but else (mine, theirs)
            texts = [text for text in some if (text in opposite) != (self.but or other.but)]
        return Values(
            numbers=_common(self.numbers, other.numbers),
            texts=tuple(texts),
            but=self.but and other.but,
            rest=self.rest and other.rest,
        )

    def minus(self, other: Values) -> Values:
        """Return the values that are in this set and not in the other."""
        (first, last), cuts = _ALL_NUMBERS, other.numbers
        cuts = cuts[1:] if cuts[:1] == (first,) else (first, *cuts)
        cuts = cuts[:-1] if cuts[-1] == last else (*cuts, last)
        return self.both(Values(cuts, other.texts, not other.but, not other.rest))

    def comparisons(self, name: str) -> list[str]:
        """Write a `writable` set as comparisons of an attribute that all hold for its values."""
        if self.but:
            return [f"{name} != {literal_text(text)}" for text in self.texts]
        listed: list[Literal] = [*self.texts, *_points(self.numbers)]
        if len(listed) == 1:
            return [f"{name} == {literal_text(listed[0])}"]
        if listed:
            return [f"{name} in ({', '.join(map(literal_text, listed))})"]
        (low, above), *gaps, (high, upto) = self.numbers
        lines = [] if low == -inf else [f"{name} {'>' if above else '>='} {literal_text(low)}"]
        if high != inf:
            lines.append(f"{name} {'<=' if upto else '<'} {literal_text(high)}")
        return lines + [f"{name} != {literal_text(point)}" for point, _ in gaps[::2]]


ANYTHING: Final = Values(numbers=_ALL_NUMBERS, but=True, rest=True)


def compared(operator: str, literal: Literal) -> Values:
    """Return the values whose comparison with a literal holds; a text takes only == and !=."""
    if isinstance(literal, str):
        return Values(texts=(literal,), but=operator == "!=")
    (first, last), before, after = _ALL_NUMBERS, (literal, False), (literal, True)
    cuts = {
        "==": (before, after),
        "!=": (first, before, after, last),
        "<": (first, before),
        "<=": (first, after),
        ">": (after, last),
        ">=": (before, last),
    }
    return Values(numbers=cuts[operator])


def listed(literals: Sequence[Literal]) -> Values:
    """Return the values of a list, which are all numbers or all texts."""
    texts = sorted(dict.fromkeys(one for one in literals if isinstance(one, str)))
    numbers = sorted(dict.fromkeys(one for one in literals if not isinstance(one, str)))
    cuts = ((number, after) for number in numbers for after in (False, True))
    return Values(numbers=tuple(cuts), texts=tuple(texts))


def plain(number: Number) -> Number:
    """Return the canonical form of a number, which 5, 5.0 and 0.5e1 share."""
    if isinstance(number, float):
        return int(number) if abs(number) < _EXACT_MAX and number.is_integer() else number
    if abs(number) < _EXACT_MAX:
        return number
    return float(number) if float(number) == number else number


def literal_text(literal: Literal) -> str:
    """Write a literal as the grammar reads it."""
    if isinstance(literal, str):
        import json  # when used, as in `camcast.interests.grammar`

        return json.dumps(literal, ensure_ascii=False)
    number = plain(literal)  # subclasses, such as NumPy's floats, write themselves otherwise
    return float.__repr__(number) if isinstance(number, float) else int.__repr__(number)


def _is_number(number: object) -> bool:
    """Say whether the grammar can write this number."""
    return (
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and abs(number) <= float_info.max  # neither NaN nor infinite, nor too large for a float
        and len(literal_text(number)) <= DIGITS_MAX
    )


def _is_text(text: object) -> bool:
    """Say whether the grammar can write this text, which half a surrogate pair prevents."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rising(values: Sequence[Any]) -> bool:
    return all(one < other for one, other in pairwise(values))


def _common(one: tuple[Cut, ...], other: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """Return the cuts of the numbers that are in both sets.

    The loop goes through the intervals of the smaller set, so that taking one point out of a
    large set does not look at all its cuts.
    """
    few, many = sorted((one, other), key=len)
    cuts: list[Cut] = []
    for begin, end in zip(few[::2], few[1::2], strict=True):
        first, last = bisect_right(many, begin), bisect_left(many, end)
        if first % 2:
            cuts.append(begin)
        cuts += many[first:last]
        if last % 2:
            cuts.append(end)
    return tuple(cuts)


def _inside(cuts: tuple[Cut, ...], place: Cut) -> bool:
    """Say whether the point right after a cut is in the set."""
    return bool(bisect_right(cuts, place) % 2)


def _points(cuts: tuple[Cut, ...]) -> list[Number]:
    """Return the numbers of a set of single numbers; of any other set, an empty list."""
    pairs = list(zip(cuts[::2], cuts[1::2], strict=True))
    return [low for (low, _), _ in pairs] if all(b[0] == e[0] for b, e in pairs) else []
