"""Statements of section 6.2 of the CAMCAST paper (000) on memberships, beside what was found.

Statements on one approach are judged of the paper's that are compared, together, and of each other
membership in a row of its own. Statements on pairs are judged of the paper's pairs that are
compared; where none is, the row says so. The paper ranks no other membership: its differences from
the paper's are shown, and not judged.

Parts of a statement are intervals over runs: with few runs most of them can be told from chance by
nobody, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from math import inf, isclose
from typing import Final

from camcast.research.papers.memberships_measured import Measured
from camcast.research.papers.memberships_runs import VARIANTS, Contender
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    UNKNOWN,
    Cause,
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

Backends = Sequence[str]


def evidence(results: Measured) -> Iterator[Evidence]:
    """Yield the paper's conclusions beside what was found live; nothing if nothing is compared."""
    if not results.contenders:
        return
    for at, community in enumerate("da"):
        source = {"d": "g", "a": "d"}[community]
        for suffix, backends in _alone_and_together(results):
            yield _converges(results, 19 + at, community, suffix, backends)
            yield _reliability(results, 21 + at, community, suffix, backends)
            yield _falls(
                results,
                f"Figure {23 + at}{suffix}",
                community,
                "efficiency",
                "a higher inter-community dissemination probability increases the number of"
                " duplicate messages in the system",
                backends,
            )
            yield _falls(
                results,
                f"Figure {25 + at}{suffix}",
                community,
                "hops_mean",
                "the latency complexity decreases while the inter-community dissemination"
                " probability increases",
                backends,
            )
            yield _upward(results, f"Figure {27 + at}{suffix}", source, backends)
        yield from _structured_is_best(results, 19 + at, community)
        yield _order(
            results,
            f"6.2.2, Figure {23 + at}, order",
            "The structured approach behaves better than the semi-structured approach, which is"
            " better than the unstructured approach.",
            "efficiency",
            communities=community,
        )
    yield _order(results, "6.2", _STRUCTURED, "reception")
    yield _apart_below_half(results)
    yield from _not_ranked(results, "6.2", _others(results))


def evidence_beyond(results: Measured, live: Measured) -> Iterator[Evidence]:
    """Yield the paper's ranking beside what was found in the virtual network.

    The paper ranks memberships without what this project has added to them, so those are judged
    where they were measured. Memberships that the paper does not rank have rows if they have rows
    `live`.
    """
    if not results.contenders:
        return
    for measure in ("reception", "reliability", "efficiency"):
        item = f"6.2, in the virtual network: {measure}"
        yield _order(results, item, _STRUCTURED, measure, (("dht", "scamp"),), printed=True)
    yield from _not_ranked(results, "6.2, in the virtual network", _others(live))


def _papers(results: Measured) -> Backends:
    """Return the paper's memberships that are compared."""
    return [backend for backend in VARIANTS if backend in results.backends]


def _others(results: Measured) -> Backends:
    """Return the memberships that are compared and not the paper's."""
    return [backend for backend in results.backends if backend not in VARIANTS]


def _alone_and_together(results: Measured) -> Iterator[tuple[str, Backends]]:
    """Yield who has a row for each statement on single approaches, and what its item ends with."""
    if papers := _papers(results):
        yield "", papers
    for backend in _others(results):
        yield f", {backend}", [backend]


def _of_each(
    results: Measured,
    measure: str,
    backends: Backends,
    communities: str = "da",
    p_sel: Sequence[float] | None = None,
) -> dict[str, Interval]:
    """Return by backend the mean of a measure over communities and p_sel, all if None."""
    return {
        backend: results.interval(Contender(backend), measure, p_sel, communities)
        for backend in backends
    }


# -- each approach --------------------------------------------------------------------------------


def _converges(
    results: Measured, number: int, community: str, suffix: str, backends: Backends
) -> Evidence:
    most = _of_each(results, "reception", backends, community, results.p_sel[-1:])
    least = " The least is compared." if len(most) > 1 else ""
    return _value(
        f"Figure {number}{suffix}",
        "all three approaches converge to a reception probability of 100%",
        1.0,
        min(most.values(), key=lambda interval: interval.mean or 0.0),
        f"At p_sel = {results.p_sel[-1]:g}: {_listed(most)}.{least}",
    )


def _reliability(
    results: Measured, number: int, community: str, suffix: str, backends: Backends
) -> Evidence:
    of = _of_each(results, "reliability", backends, community, (_near(results),))
    return _statement(
        f"Figure {number}{suffix}",
        "the reliability of all approaches is very high, even with low inter-community"
        " dissemination probability (0.1)",
        [between(interval, _VERY_GOOD) for interval in of.values()],
        f"At p_sel = {_near(results):g}: {_listed(of)}; very high is {_VERY_GOOD:.0%}.",
    )


def _falls(
    results: Measured, item: str, community: str, measure: str, quote: str, backends: Backends
) -> Evidence:
    ends = results.p_sel[:1], results.p_sel[-1:]
    first, last = (_of_each(results, measure, backends, community, end) for end in ends)
    shown = (f"{_name(b)} {_number(first[b])} to {_number(last[b])}" for b in backends)
    return _statement(
        item,
        quote,
        [exceeds(first[backend], last[backend]) for backend in backends],
        f"{measure_of(measure).title.capitalize()} from the lowest p_sel to the highest:"
        f" {', '.join(shown)}.",
    )


# -- approaches beside each other -----------------------------------------------------------------


def _structured_is_best(results: Measured, number: int, community: str) -> Iterator[Evidence]:
    papers = _papers(results)
    at = partial(_of_each, results, "reception", papers, community)
    low = tuple(p for p in results.p_sel if p <= _LOW_P_SEL) or results.p_sel[:1]
    rivals = [backend for backend in papers if backend != "dht"]
    comparable, few = "dht" in papers and bool(rivals), at(low)
    item, quote = (
        f"6.2.2, Figure {number}, low p_sel",
        "The structured approach ensures very good results even for a low inter-community"
        " dissemination probability.",
    )
    if comparable:
        near = at((_near(results),))["dht"]
        yield _statement(
            item,
            quote,
            [between(near, _VERY_GOOD), *(exceeds(few["dht"], few[b]) for b in rivals)],
            f"V3 at p_sel = {_near(results):g}: {_number(near)}; at p_sel ≤ {max(low):g}:"
            f" {_listed(few)}. Very good is {_VERY_GOOD:.0%}, and more than the others.",
        )
    else:
        yield _statement(item, quote, (), _too_few(results, "dht and another of them"))
    of_each = {p: at((p,)) for p in results.p_sel}
    first = {
        backend: next(
            (p for p, of in of_each.items() if (of[backend].mean or 0) >= _CONVERGED), inf
        )
        for backend in papers
    }
    shown = ", ".join(f"{_name(b)} {'none' if p == inf else f'{p:g}'}" for b, p in first.items())
    item, quote = (
        f"6.2.2, Figure {number}, convergence",
        "The structured approach converges the fastest",
    )
    if comparable:
        yield _statement(
            item,
            quote,
            [None if first["dht"] == first[b] else first["dht"] < first[b] for b in rivals],
            f"The lowest p_sel with {_CONVERGED:.0%} reception in the mean: {shown}.",
        )
    else:
        yield _statement(item, quote, (), _too_few(results, "dht and another of them"))


def _upward(results: Measured, item: str, source: str, backends: Backends) -> Evidence:
    beside = backends if len(backends) > 1 else [*backends, *_papers(results)]
    of = _of_each(results, "upward", list(dict.fromkeys(beside)), source)
    quote = (
        "The minor differences between the three approaches come from the different number of"
        " reached super-processes."
    )
    if len(of) == 1:
        return _statement(item, quote, (), _too_few(results, "two of them"))
    return _statement(
        item,
        quote,
        [exceeds(one.times(1 + _MINOR), other) for one, other in permutations(of.values(), 2)],
        f"Upward messages of an event from {source}: {_listed(of)}; minor is less than"
        f" {_MINOR:.0%}.",
    )


def _apart_below_half(results: Measured) -> Evidence:
    item, quote = (
        "6.2.2, p_sel < 0.5",
        "for the test where psel < 0.5, the unstructured (V1) and semi-structured (V2) approaches"
        " perform differently",
    )
    if not {"scamp", "hybrid"} <= set(results.backends):
        return _statement(item, quote, (), _too_few(results, "scamp and hybrid"))
    below_half = tuple(p for p in results.p_sel if p < 0.5) or results.p_sel[:1]
    of = _of_each(results, "reception", ("scamp", "hybrid"), p_sel=below_half)
    apart = told_apart(of["scamp"], of["hybrid"]) or None  # not told apart is not the same
    return _statement(
        item,
        quote,
        [apart],
        f"reception at p_sel ≤ {max(below_half):g}: {_difference(of, 'scamp', 'hybrid')}"
        f"{_single(of)}.",
    )


def _order(
    results: Measured,
    item: str,
    quote: str,
    measure: str,
    pairs: Sequence[tuple[str, str]] = _STRUCTURED_FIRST,
    communities: str = "da",
    *,
    printed: bool = False,
) -> Evidence:
    """Judge a ranking; with `printed`, of memberships as their papers have them, if measured."""
    compared = [pair for pair in pairs if set(pair) <= set(results.backends)]
    if not compared:
        needed = "two of them" if len(pairs) > 1 else " and ".join(pairs[0])
        return _statement(item, quote, (), _too_few(results, needed))
    shipped = _of_each(results, measure, _papers(results), communities)
    plain = [who for who in results.contenders if printed and who.printed]
    of = shipped | {who.backend: results.interval(who, measure, None, communities) for who in plain}
    found = "; ".join(_difference(of, *pair) for pair in compared) + _single(of) + "."
    if left_out := [who.name for who in plain if any(who.backend in pair for pair in compared)]:
        found += f" Compared is {', '.join(left_out)}, as in its paper. As shipped: "
        found += "; ".join(_difference(shipped, *pair) for pair in compared) + "."
    held = [exceeds(of[better], of[worse]) for better, worse in compared]
    return _statement(item, quote, held, found, cause=_in_degrees(results, compared))


def _in_degrees(results: Measured, pairs: Sequence[tuple[str, str]]) -> Cause:
    """Return why memberships of equal copies rank otherwise: how evenly processes are held.

    A process with few holders is missed more often, and tables that are drawn at random hold some
    by few. It is the cause if the in-degrees of each pair's better one are the less even ones.
    """
    whom = {who.backend: who for who in results.contenders}  # of two, as its paper has it
    spread = {name: results.of_upkeep(who, "chi_square") for name, who in whom.items()}
    if not all(spread[name].mean is not None for pair in pairs for name in pair):
        return UNKNOWN
    shown = ", ".join(f"{whom[name].name} {_number(of)}" for name, of in spread.items())
    return Cause.of_paper(
        "At equal copies a process is missed that few hold. Distance of the in-degrees from tables"
        f" drawn at random, which have 1, and even ones 0: {shown}.",
        holds=all(exceeds(spread[better], spread[worse]) for better, worse in pairs),
    )


def _not_ranked(results: Measured, item: str, others: Backends) -> Iterator[Evidence]:
    """Yield a row for each membership that the paper does not rank, with its differences."""
    for backend in others:
        shown = []
        for measure in ("reception", "reliability", "efficiency"):
            of = _of_each(results, measure, list(results.backends))
            pairs = [_difference(of, backend, other) for other in of if other != backend]
            shown.append(f"{measure}: {'; '.join(pairs)}")
        yield _statement(
            f"{item}, {backend}",
            _STRUCTURED,
            (),
            f"The paper does not rank {backend}. In d and a, over all p_sel, "
            + (". ".join(shown) if len(results.backends) > 1 else "no other is compared")
            + ".",
        )


def _too_few(results: Measured, needed: str) -> str:
    """Say that the paper's memberships that are compared are too few for a statement."""
    named = " and ".join(f"{backend} ({VARIANTS[backend]})" for backend in _papers(results))
    listed = ", ".join(f"{backend} ({variant})" for backend, variant in VARIANTS.items())
    return f"The statement is on {listed}; it takes {needed}, and compared is {named or 'none'}."


# -- words ----------------------------------------------------------------------------------------


def _name(backend: str) -> str:
    return VARIANTS.get(backend, backend)


def _difference(of: Mapping[str, Interval], one: str, other: str) -> str:
    more = exceeds(of[one], of[other])
    said = {None: "not told apart", True: "more", False: "less"}[more]
    difference = (of[one].mean or 0.0) - (of[other].mean or 0.0)
    return f"{_name(one)} - {_name(other)} = {difference:+.3f} ({said})"


def _single(of: Mapping[str, Interval]) -> str:
    single = any(half_of(interval) is None for interval in of.values())
    return "; a single run has no interval, and tells nothing apart" if single else ""


def _near(results: Measured) -> float:
    return min(results.p_sel, key=lambda p_sel: abs(p_sel - _LOW_P_SEL))


def _listed(of: Mapping[str, Interval]) -> str:
    return ", ".join(f"{_name(backend)} {_number(interval)}" for backend, interval in of.items())


def _number(interval: Interval) -> str:
    if interval.mean is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f}"
    below, above = interval.mean - interval.low, interval.high - interval.mean
    if isclose(below, above, abs_tol=0.001):
        return f"{interval.mean:.3f} ± {above:.3f}"
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"  # a bound has cut it
