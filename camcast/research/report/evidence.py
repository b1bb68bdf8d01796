"""Evidence: a paper's statement beside our finding, and a verdict that is computed from both.

A number that a paper prints is compared with our interval (`value`). A sentence without a number
is taken apart into comparisons, each of which holds, does not hold, or cannot be told from chance
(`statement`); `exceeds`, `told_apart` and `between` are such comparisons of 95 % intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import hypot, inf
from typing import Final, Literal, get_args

from attrs import field, frozen

from camcast.research.population.outcome import Interval

Verdict = Literal["agrees", "consistent", "in part", "differs", "cannot be judged"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

NO_DATA: Final = "It has no data."
"""The beginning of the finding about a drawing."""
_EDGE: Final = 1.96  # standard errors from the mean to the edge of a 95 % interval
_SAME: Final = 1e-9  # chosen: of a formula's value, for what floating point loses


@frozen(kw_only=True)
class Evidence:
    """A sentence, or a number, of a paper and what became of it."""

    paper: str
    """000 CAMCAST, 001 daMulticast, 002 hpmcast, 003 percolation gossip."""
    item: str
    """The table, figure, section or equation."""
    quote: str
    """The paper's words; of a figure without data, what it shows."""
    published: float | None = None
    """The number that the paper prints."""
    ours: float | None = None
    """The mean, or a formula's value, that the number is compared with."""
    low: float | None = None
    """From `low` to `high` is the 95 % interval of `ours`; both are `ours` for a formula."""
    high: float | None = None
    z: float | None = None
    """How many standard errors the published number is above ours; ±1.96 is our interval's edge."""
    verdict: Verdict = field()
    """``agrees`` and ``differs`` with a number; ``consistent`` with a sentence that has none."""
    found: str
    """The finding, in words."""

    @verdict.validator
    def _known(self, _attribute: object, verdict: Verdict) -> None:
        if verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {verdict!r}; there are {', '.join(VERDICTS)}")


def value(
    paper: str,
    item: str,
    quote: str,
    published: float,
    ours: Interval,
    found: str,
    *,
    rounded: float = 0.0,
    error: float = 0.0,
    bound: Literal["least", "most"] | None = None,
) -> Evidence:
    """Compare a number that the paper prints with ours.

    `rounded` is half a unit of the number's last digit and `error` its standard error, where the
    paper says of how many runs it is a mean. A number that is said to be the least, or the most,
    is differed from on one side only. A measurement without an interval is no judge, unless it is
    the number itself.
    """
    z: float | None = None
    verdict: Verdict = "cannot be judged"
    if ours.mean is not None:
        distance = published - ours.mean
        if (bound == "least" and distance < 0) or (bound == "most" and distance > 0):
            beyond = 0.0
        else:
            beyond = max(0.0, abs(distance) - rounded)
        half = half_of(ours)
        deviation = hypot((half or 0.0) / _EDGE, error)
        if deviation:
            z = distance / deviation
        if beyond <= _SAME * abs(published):
            verdict = "agrees"
        elif half is not None:
            verdict = "agrees" if beyond <= _EDGE * deviation else "differs"
    return Evidence(
        paper=paper,
        item=item,
        quote=quote,
        published=published,
        ours=ours.mean,
        low=ours.low,
        high=ours.high,
        z=z,
        verdict=verdict,
        found=found,
    )


def statement(
    paper: str, item: str, quote: str, held: Iterable[bool | None], found: str
) -> Evidence:
    """Judge a sentence without a number by its parts; None is a part that chance may explain.

    It is consistent if all parts hold, and differs if none does; a sentence without a part that
    could be told, such as a drawing's, cannot be judged.
    """
    parts = list(held)
    verdict: Verdict = "cannot be judged"
    if parts and all(parts):
        verdict = "consistent"
    elif any(parts):
        verdict = "in part"
    elif False in parts:
        verdict = "differs"
    return Evidence(paper=paper, item=item, quote=quote, verdict=verdict, found=found)


def drawing(paper: str, item: str, shows: str, where: str) -> Evidence:
    """Return the row of a figure or table without data; `where` says what we have of it."""
    return statement(paper, item, shows, (), f"{NO_DATA} {where}")


# -- parts of a statement -------------------------------------------------------------------------


def exceeds(one: Interval, other: Interval, by: float = 0.0) -> bool | None:
    """Return whether a mean is larger than another by more than `by`; None: chance may explain it.

    Two means are told apart if they differ by more than the root of the sum of the squares of
    their intervals' halves.
    """
    if one.mean is None or other.mean is None:
        return None
    halves = [half_of(one), half_of(other)]
    error = hypot(*(inf if half is None else half for half in halves))
    more = one.mean - other.mean - by
    return None if abs(more) <= error and error else more > 0


def told_apart(one: Interval, other: Interval) -> bool:
    """Return whether two means are told apart."""
    return any((exceeds(one, other), exceeds(other, one)))


def between(interval: Interval, low: float = -inf, high: float = inf) -> bool | None:
    """Return whether a mean is in a range; None: the interval is partly in it, or unknown."""
    if interval.low is None or interval.high is None:
        return None
    if low <= interval.low and interval.high <= high:
        return True
    return False if interval.high < low or interval.low > high else None


def half_of(interval: Interval) -> float | None:
    """Return the half of an interval; the longer one, where a bound has cut it."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return None
    return max(interval.high - interval.mean, interval.mean - interval.low)


def exact(number: float) -> Interval:
    """Return a formula's value, which chance has no part in."""
    return Interval(number, number, number)


# -- all rows -------------------------------------------------------------------------------------


def counts(evidence: Iterable[Evidence]) -> dict[Verdict, int]:
    """Return how many rows have each verdict."""
    counted = Counter(row.verdict for row in evidence)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def in_words(evidence: Sequence[Evidence]) -> str:
    """Return the counts as a sentence."""
    listed = ", ".join(f"{verdict} {count}" for verdict, count in counts(evidence).items())
    return f"{len(evidence)} statements: {listed}."
