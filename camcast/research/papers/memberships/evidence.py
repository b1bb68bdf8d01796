"""What section 6.2 of the CAMCAST paper (000) says of its three memberships, beside what was found.

Parts of a statement are intervals over runs: with few runs most of them can be told from chance by
nobody, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from math import inf, isclose
from typing import Final

from camcast.research.papers.memberships.plan import VARIANTS, Contender
from camcast.research.papers.memberships.results import Results
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    Evidence,
    between,
    exceeds,
    half_of,
    statement,
    told_apart,
    value,
)
from camcast.research.report.measures import measure_of

_LOW_P_SEL: Final = 0.1  # [CAMCAST 6.2.2: "even with low [...] probability (0.1)"]
_CONVERGED: Final = 0.99  # chosen: "converge to a reception probability of 100%"
_VERY_GOOD: Final = 0.9  # chosen: "very good", "very high"
_MINOR: Final = 0.2  # chosen: "minor differences"; the sizes alone make 6 %

_STRUCTURED: Final = (
    "the more structured the membership algorithm, the better the overall performance"
)
_STRUCTURED_FIRST: Final = (("dht", "hybrid"), ("hybrid", "scamp"), ("dht", "scamp"))

_statement = partial(statement, "000")
_value = partial(value, "000")


def evidence(results: Results) -> Iterator[Evidence]:
    """Yield the paper's conclusions beside what was found live."""
    for at, community in enumerate("da"):
        yield from _reception(results, 19 + at, community)
        yield _reliability(results, 21 + at, community)
        yield _falls(
            results,
            23 + at,
            community,
            "efficiency",
            "a higher inter-community dissemination probability increases the number of duplicate"
            " messages in the system",
        )
        yield _order(
            results,
            f"6.2.2, Figure {23 + at}, order",
            "The structured approach behaves better than the semi-structured approach, which is"
            " better than the unstructured approach.",
            "efficiency",
            communities=community,
        )
        yield _falls(
            results,
            25 + at,
            community,
            "hops_mean",
            "the latency complexity decreases while the inter-community dissemination probability"
            " increases",
        )
        yield _upward(results, 27 + at, {"d": "g", "a": "d"}[community])
    yield _order(results, "6.2", _STRUCTURED, "reception")
    below_half = tuple(p for p in results.p_sel if p < 0.5) or results.p_sel[:1]
    of = _of_each(results, "reception", p_sel=below_half)
    apart = told_apart(of["scamp"], of["hybrid"]) or None  # not told apart is not the same
    difference = _difference(of, "scamp", "hybrid")
    yield _statement(
        "6.2.2, p_sel < 0.5",
        "for the test where psel < 0.5, the unstructured (V1) and semi-structured (V2) approaches"
        " perform differently",
        [apart],
        f"reception at p_sel ≤ {max(below_half):g}: {difference}{_alone(of)}.",
    )


def evidence_beyond(results: Results) -> Iterator[Evidence]:
    """Yield the paper's ranking beside what was found in the virtual network."""
    for measure in ("reception", "reliability", "efficiency"):
        item = f"6.2, in the virtual network: {measure}"
        yield _order(results, item, _STRUCTURED, measure, (("dht", "scamp"),))


def _of_each(
    results: Results, measure: str, communities: str = "da", p_sel: Sequence[float] | None = None
) -> dict[str, Interval]:
    """Return by backend the mean of a measure over communities and p_sel, all if None."""
    return {
        backend: results.interval(Contender(backend), measure, p_sel, communities)
        for backend in VARIANTS
    }


# -- figure by figure -----------------------------------------------------------------------------


def _reception(results: Results, number: int, community: str) -> Iterator[Evidence]:
    at = partial(_of_each, results, "reception", community)
    most = at(results.p_sel[-1:])
    yield _value(
        f"Figure {number}",
        "all three approaches converge to a reception probability of 100%",
        1.0,
        min(most.values(), key=lambda interval: interval.mean or 0.0),
        f"At p_sel = {results.p_sel[-1]:g}: {_listed(most)}. The least is compared.",
    )
    low = tuple(p for p in results.p_sel if p <= _LOW_P_SEL) or results.p_sel[:1]
    few, near = at(low), at((_near(results),))["dht"]
    yield _statement(
        f"6.2.2, Figure {number}, low p_sel",
        "The structured approach ensures very good results even for a low inter-community"
        " dissemination probability.",
        [between(near, _VERY_GOOD), *(exceeds(few["dht"], few[b]) for b in ("scamp", "hybrid"))],
        f"V3 at p_sel = {_near(results):g}: {_number(near)}; at p_sel ≤ {max(low):g}:"
        f" {_listed(few)}. Very good is {_VERY_GOOD:.0%}, and more than the others.",
    )
    of_each = {p: at((p,)) for p in results.p_sel}
    first = {
        backend: next(
            (p for p, of in of_each.items() if (of[backend].mean or 0) >= _CONVERGED), inf
        )
        for backend in VARIANTS
    }
    shown = ", ".join(f"{VARIANTS[b]} {'none' if p == inf else f'{p:g}'}" for b, p in first.items())
    yield _statement(
        f"6.2.2, Figure {number}, convergence",
        "The structured approach converges the fastest",
        [None if first["dht"] == first[b] else first["dht"] < first[b]
         for b in ("scamp", "hybrid")],
        f"The lowest p_sel with {_CONVERGED:.0%} reception in the mean: {shown}.",
    )  # fmt: skip


def _reliability(results: Results, number: int, community: str) -> Evidence:
    of = _of_each(results, "reliability", community, (_near(results),))
    return _statement(
        f"Figure {number}",
        "the reliability of all approaches is very high, even with low inter-community"
        " dissemination probability (0.1)",
        [between(interval, _VERY_GOOD) for interval in of.values()],
        f"At p_sel = {_near(results):g}: {_listed(of)}; very high is {_VERY_GOOD:.0%}.",
    )


def _falls(results: Results, number: int, community: str, measure: str, quote: str) -> Evidence:
    ends = results.p_sel[:1], results.p_sel[-1:]
    first, last = (_of_each(results, measure, community, end) for end in ends)
    shown = (f"{name} {_number(first[b])} to {_number(last[b])}" for b, name in VARIANTS.items())
    return _statement(
        f"Figure {number}",
        quote,
        [exceeds(first[backend], last[backend]) for backend in VARIANTS],
        f"{measure_of(measure).title.capitalize()} from the lowest p_sel to the highest:"
        f" {', '.join(shown)}.",
    )


def _upward(results: Results, number: int, community: str) -> Evidence:
    of = _of_each(results, "upward", community)
    return _statement(
        f"Figure {number}",
        "The minor differences between the three approaches come from the different number of"
        " reached super-processes.",
        [exceeds(one.times(1 + _MINOR), other) for one, other in permutations(of.values(), 2)],
        f"Upward messages of an event from {community}: {_listed(of)}; minor is less than"
        f" {_MINOR:.0%}.",
    )


# -- backends beside each other -------------------------------------------------------------------


def _order(
    results: Results,
    item: str,
    quote: str,
    measure: str,
    pairs: Sequence[tuple[str, str]] = _STRUCTURED_FIRST,
    communities: str = "da",
) -> Evidence:
    of = _of_each(results, measure, communities)
    return _statement(
        item,
        quote,
        [exceeds(of[better], of[worse]) for better, worse in pairs],
        "; ".join(_difference(of, *pair) for pair in pairs) + _alone(of) + ".",
    )


def _difference(of: Mapping[str, Interval], one: str, other: str) -> str:
    more = exceeds(of[one], of[other])
    said = {None: "not told apart", True: "more", False: "less"}[more]
    difference = (of[one].mean or 0.0) - (of[other].mean or 0.0)
    return f"{VARIANTS[one]} - {VARIANTS[other]} = {difference:+.3f} ({said})"


def _alone(of: Mapping[str, Interval]) -> str:
    single = any(half_of(interval) is None for interval in of.values())
    return "; a single run has no interval, and tells nothing apart" if single else ""


def _near(results: Results) -> float:
    return min(results.p_sel, key=lambda p_sel: abs(p_sel - _LOW_P_SEL))


def _listed(of: Mapping[str, Interval]) -> str:
    return ", ".join(f"{VARIANTS[backend]} {_number(interval)}" for backend, interval in of.items())


def _number(interval: Interval) -> str:
    if interval.mean is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f}"
    below, above = interval.mean - interval.low, interval.high - interval.mean
    if isclose(below, above, abs_tol=0.001):
        return f"{interval.mean:.3f} ± {above:.3f}"
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"  # a bound has cut it
