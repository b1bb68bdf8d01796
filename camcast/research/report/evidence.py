"""Evidence: a paper's statement beside our finding, and a verdict that is computed from both.

A number that a paper prints is compared with our interval (`value`), several of one table also
together (`jointly`), and a number that is said to be the least or the most as a bound (`bounded`).
A number that a paper calculated from equations that it does not give is set beside ours, and not
judged (`unpublished`). A sentence without a number is taken apart into comparisons, each of which
holds, does not hold, or cannot be told from chance (`statement`); `exceeds`, `told_apart` and
`between` are such comparisons of 95 % intervals.

A difference has a `Cause`: whose it is, and the calculation that shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import erfc, exp, fsum, gamma, hypot, inf, sqrt
from typing import Final, Literal, get_args

from attrs import evolve, field, frozen

from camcast.research.population.outcome import Interval

Verdict = Literal["agrees", "consistent", "in part", "differs", "cannot be judged"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

Whose = Literal["ours", "the paper's", "open"]

EQUIVALENT: Final = 0.05
"""Share of a published number, or of 1 for shares, that counts as no difference. [CAMCAST 1.4:
"degraded by only 5%"]"""
_SIGNIFICANCE: Final = 0.05  # chosen: as of all intervals

NO_DATA: Final = "It has no data."
"""The beginning of the finding about a drawing."""
EDGE: Final = 1.96
"""Standard errors from the mean to the edge of a 95 % interval."""
_SAME: Final = 1e-9  # chosen: of a formula's value, for what floating point loses


@frozen
class Cause:
    """The cause of a difference."""

    whose: Whose
    """Owner of the difference: this project, the paper, or open."""
    shown: str
    """The calculation that shows it, with its result: the change that makes ours agree, or the
    reason why none does."""

    @classmethod
    def of_paper(cls, shown: str, *, holds: bool) -> Cause:
        """Return the paper's cause if the calculation `holds` in these results; else it is open."""
        return cls("the paper's" if holds else "open", shown)


UNKNOWN: Final = Cause("open", "No cause has been calculated.")


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
    """``agrees`` and ``differs`` with a number; ``consistent`` with a sentence that has none, and
    with a bound."""
    found: str
    """The finding, in words."""
    whose: Whose | None = None
    """Owner of the difference (`Cause`); None without one."""
    shown: str | None = None
    """The calculation that shows it."""

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
    cause: Cause = UNKNOWN,
) -> Evidence:
    """Compare a number that the paper prints with ours.

    `rounded` is half a unit of the number's last digit and `error` its standard error, where the
    paper says of how many runs it is a mean. A difference that chance may explain is agreement only
    if the interval of the difference leaves no room for more than `EQUIVALENT`; else the runs are
    too few to judge by. A measurement without an interval is no judge, unless it is the number
    itself.
    """
    z: float | None = None
    verdict: Verdict = "cannot be judged"
    if ours.mean is not None:
        distance = published - ours.mean
        beyond = max(0.0, abs(distance) - rounded)
        half = half_of(ours)
        deviation = hypot((half or 0.0) / EDGE, error)
        if deviation:
            z = distance / deviation
        if half is None or beyond <= _SAME * abs(published):
            verdict = "agrees" if beyond <= _SAME * abs(published) else verdict
        elif beyond > EDGE * deviation:
            verdict = "differs"
        elif beyond + EDGE * deviation <= EQUIVALENT * max(1.0, abs(published)):
            verdict = "agrees"
        else:
            off = _rounded(beyond + EDGE * deviation, 2)
            found += (
                f" Not told apart, but ours may be {off} off, which is more than {EQUIVALENT:.0%}:"
                " too few runs."
            )
    return _numeric(paper, item, quote, published, ours, z, verdict, found, cause)


def _rounded(value: float, digits: int) -> str:
    """Return a number with so many digits, or with all of those before the point: no exponent."""
    return f"{value:,.0f}" if value >= 10**digits - 0.5 else f"{value:.{digits}g}"


def jointly(
    paper: str, item: str, quote: str, rows: Sequence[Evidence], cause: Cause = UNKNOWN
) -> Evidence:
    """Judge several compared numbers together, by chi-square of the deviations that they have.

    Each of them may be within chance while all are too far off.
    """
    deviations = [row.z for row in rows if row.z is not None]
    square = fsum(z * z for z in deviations)
    chance = chi_square_tail(square, len(deviations)) if deviations else 1.0
    listed = ", ".join(f"{z:+.1f}" for z in deviations)
    found = (
        f"z is {listed}: chi-square {square:.1f}, {len(deviations)} degrees of freedom, p ="
        f" {chance:.2g}."
    )
    verdict: Verdict = "cannot be judged"
    if deviations and chance < _SIGNIFICANCE:
        verdict = "differs"
    elif deviations and all(row.verdict == "agrees" for row in rows):
        verdict = "consistent"
    return _with_cause(
        Evidence(paper=paper, item=item, quote=quote, verdict=verdict, found=found), cause
    )


def chi_square_tail(square: float, freedom: int) -> float:
    """Return the probability of a larger chi-square."""
    half = square / 2
    first = 1 if freedom % 2 else 2
    tail = erfc(sqrt(half)) if freedom % 2 else exp(-half)
    return tail + fsum(
        half ** (k / 2) * exp(-half) / gamma(k / 2 + 1) for k in range(first, freedom, 2)
    )


def bounded(
    paper: str,
    item: str,
    quote: str,
    published: float,
    ours: Interval,
    found: str,
    *,
    side: Literal["least", "most"],
    cause: Cause = UNKNOWN,
) -> Evidence:
    """Judge a number that is said to be the least, or the most, and say how far from it ours is."""
    low, high = (published, inf) if side == "least" else (-inf, published)
    verdict: Verdict = "cannot be judged"
    if (held := between(ours, low, high)) is not None:
        verdict = "consistent" if held else "differs"
    if ours.mean is not None:
        where = "above" if ours.mean > published else "below"
        found += (
            f" {_rounded(abs(ours.mean - published), 4)} {where} what is said to be the {side}."
        )
    return _numeric(paper, item, quote, published, ours, None, verdict, found, cause)


def unpublished(
    paper: str, item: str, quote: str, published: float, ours: Interval, found: str
) -> Evidence:
    """Set a number that was calculated from equations which the paper does not give beside ours."""
    found += " The paper calculated it from equations that it does not give."
    return _numeric(paper, item, quote, published, ours, None, "cannot be judged", found, UNKNOWN)


def statement(
    paper: str,
    item: str,
    quote: str,
    held: Iterable[bool | None],
    found: str,
    cause: Cause = UNKNOWN,
) -> Evidence:
    """Judge a sentence without a number by its parts; None is a part that chance may explain.

    It is consistent if all parts hold, differs if none does, and holds in part if some do, or if
    some do not and others cannot be told; a sentence without a part that could be told, such as a
    drawing's, cannot be judged.
    """
    parts = list(held)
    verdict: Verdict = "cannot be judged"
    if parts and all(parts):
        verdict = "consistent"
    elif parts and all(part is False for part in parts):
        verdict = "differs"
    elif any(part is not None for part in parts):
        verdict = "in part"
    return _with_cause(
        Evidence(paper=paper, item=item, quote=quote, verdict=verdict, found=found), cause
    )


def _numeric(
    paper: str,
    item: str,
    quote: str,
    published: float,
    ours: Interval,
    z: float | None,
    verdict: Verdict,
    found: str,
    cause: Cause,
) -> Evidence:
    row = Evidence(
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
    return _with_cause(row, cause)


def _with_cause(row: Evidence, cause: Cause) -> Evidence:
    """Return a row with its cause, if it differs; one that differs in part has a known one only."""
    if row.verdict == "differs" or (row.verdict == "in part" and cause is not UNKNOWN):
        return evolve(row, whose=cause.whose, shown=cause.shown)
    return row


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
