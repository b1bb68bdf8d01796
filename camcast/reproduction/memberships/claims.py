"""What section 6.2 of the CAMCAST paper (000) concludes, and whether ours say so too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import hypot, inf
from typing import Final

import numpy as np

from camcast.population.outcome import mean_interval
from camcast.report.claim import Claim
from camcast.reproduction.memberships.plan import VARIANTS
from camcast.reproduction.memberships.results import Results

_LOW_P_SEL: Final = 0.1  # [CAMCAST 6.2.2: "even with low [...] probability (0.1)"]
_CONVERGED: Final = 0.99  # chosen: "converge to a reception probability of 100%"
_VERY_HIGH: Final = 0.9  # chosen: "very high"
_MINOR: Final = 0.2  # chosen: "minor differences"; the sizes alone make 6 %


def claims(results: Results) -> list[Claim]:
    """Return the paper's conclusions beside what was found live."""
    low = tuple(value for value in results.p_sel if value <= _LOW_P_SEL) or results.p_sel[:1]
    near = min(results.p_sel, key=lambda value: abs(value - _LOW_P_SEL))
    below_half = tuple(value for value in results.p_sel if value < 0.5) or results.p_sel[:1]
    return [
        _claim(
            "all three approaches converge to a reception probability of 100%",
            *_all_reach(results, "reception", results.p_sel[-1], _CONVERGED),
        ),
        _claim(
            "The structured approach ensures very good results even for a low inter-community"
            " dissemination probability.",
            *_best(results, "dht", "reception", low),
        ),
        _claim("The structured approach converges the fastest", *_fastest(results)),
        _claim(
            "for the test where psel < 0.5, the unstructured (V1) and semi-structured (V2)"
            " approaches perform differently",
            *_differ(results, "scamp", "hybrid", "reception", below_half),
        ),
        _claim(
            "the reliability of all approaches is very high, even with low inter-community"
            " dissemination probability (0.1)",
            *_all_reach(results, "reliability", near, _VERY_HIGH),
        ),
        _claim(
            "The structured approach behaves better than the semi-structured approach, which"
            " is better than the unstructured approach. [efficiency]",
            *_order(results, ("dht", "hybrid", "scamp"), "efficiency"),
        ),
        _claim(
            "the latency complexity decreases while the inter-community dissemination"
            " probability increases",
            *_falls(results, "hops_mean"),
        ),
        _claim(
            "a higher inter-community dissemination probability increases the number of"
            " duplicate messages in the system [efficiency falls]",
            *_falls(results, "efficiency"),
        ),
        _claim(
            "The minor differences between the three approaches come from the different"
            " number of reached super-processes. [upward messages]",
            *_minor(results),
        ),
        _claim(
            "the more structured the membership algorithm, the better the overall performance",
            *_order(results, ("dht", "hybrid", "scamp"), "reception"),
        ),
    ]


def claims_beyond(results: Results) -> list[Claim]:
    """Return the paper's ranking beside what was found in the virtual network."""
    where = "6.2, in the virtual network"
    return [
        Claim(
            where=where,
            quote=f"the more structured the membership algorithm, the better [{measure}]",
            holds=holds,
            found=found,
        )
        for measure in ("reception", "reliability", "efficiency")
        for holds, found in (_order(results, ("dht", "scamp"), measure),)
    ]


def _claim(quote: str, holds: str, found: str) -> Claim:
    return Claim(where="6.2.2", quote=quote, holds=holds, found=found)


def _told(
    results: Results, one: str, other: str, measure: str, p_sel: Sequence[float] | None = None
) -> tuple[int, str]:
    """Return 1, 0 or -1, as one backend has more, is not told apart, or has less."""
    pair = [np.array(results.means(backend, measure, p_sel)) for backend in (one, other)]
    difference, error = 0.0, inf
    if all(len(values) for values in pair):
        difference = float(pair[0].mean() - pair[1].mean())
        intervals = [mean_interval(values) for values in pair]
        error = hypot(
            *(
                (i.high - i.low) / 2 if i.low is not None and i.high is not None else inf
                for i in intervals
            )
        )
    sign = 0 if abs(difference) <= error else 1 if difference > 0 else -1
    within = "" if error == inf else f" ± {error:.3f}"
    verdict = {0: "not told apart", 1: "more", -1: "less"}[sign]
    named = f"{VARIANTS[one]} - {VARIANTS[other]}"
    return sign, f"{named} = {difference:+.3f}{within} ({verdict})"


def _order(results: Results, order: Sequence[str], measure: str) -> tuple[str, str]:
    pairs = list(pairwise(order))
    if len(order) > 2:
        pairs.append((order[0], order[-1]))
    told = [_told(results, one, other, measure) for one, other in pairs]
    signs = [sign for sign, _ in told]
    holds = "no" if -1 in signs else "yes" if all(signs) else "in part" if 1 in signs else ""
    return holds or "not told apart", "; ".join(text for _, text in told)


def _best(results: Results, best: str, measure: str, p_sel: Sequence[float]) -> tuple[str, str]:
    told = [
        _told(results, best, other, measure, p_sel) for other in results.backends if other != best
    ]
    means = _listed({b: _mean(results.means(b, measure, p_sel)) for b in results.backends})
    signs = [sign for sign, _ in told]
    holds = "yes" if min(signs) > 0 else "no" if -1 in signs else "not told apart"
    detail = "; ".join(text for _, text in told)
    return holds, f"{measure} at p_sel ≤ {max(p_sel):g}: {means}; {detail}"


def _differ(
    results: Results, one: str, other: str, measure: str, p_sel: Sequence[float]
) -> tuple[str, str]:
    sign, text = _told(results, one, other, measure, p_sel)
    return "yes" if sign else "not told apart", f"{measure} at p_sel ≤ {max(p_sel):g}: {text}"


def _all_reach(results: Results, measure: str, p_sel: float, least: float) -> tuple[str, str]:
    """Return whether all backends have so much of a measure at a p_sel."""
    means = {b: _average(results.means(b, measure, (p_sel,))) for b in results.backends}
    holds = _of_all(mean is not None and mean >= least for mean in means.values())
    shown = {backend: _number(mean) for backend, mean in means.items()}
    return holds, f"at p_sel = {p_sel:g}: {_listed(shown)}"


def _fastest(results: Results) -> tuple[str, str]:
    from_here = {
        backend: next(
            (
                p_sel
                for p_sel in results.p_sel
                if np.mean(results.means(backend, "reception", (p_sel,))) >= _CONVERGED
            ),
            inf,
        )
        for backend in results.backends
    }
    others = min(value for backend, value in from_here.items() if backend != "dht")
    own = from_here["dht"]
    shown = {b: "none" if value == inf else f"{value:g}" for b, value in from_here.items()}
    return (
        "yes" if own < others else "no" if own > others else "not told apart",
        f"lowest p_sel with {_CONVERGED:.0%} reception: {_listed(shown)}",
    )


def _falls(results: Results, measure: str) -> tuple[str, str]:
    ends = {
        b: [_average(results.means(b, measure, (value,))) for value in results.p_sel]
        for b in results.backends
    }
    falls = []
    for values in ends.values():
        known = [value for value in values if value is not None]
        falls.append(len(known) > 1 and known[0] > known[-1])
    shown = {b: f"{_number(v[0])} to {_number(v[-1])}" for b, v in ends.items()}
    return _of_all(falls), f"{measure} from the lowest p_sel to the highest: {_listed(shown)}"


def _minor(results: Results) -> tuple[str, str]:
    means = {b: _average(results.means(b, "upward")) or 0.0 for b in results.backends}
    least, most = min(means.values()), max(means.values())
    apart = most / least - 1 if least else inf
    shown = {backend: f"{mean:.1f}" for backend, mean in means.items()}
    return "yes" if apart < _MINOR else "no", f"{_listed(shown)} an event; {apart:.0%} apart"


def _of_all(held: Iterable[bool]) -> str:
    """Return whether a claim of every backend holds, given of which it does."""
    held = list(held)
    return "yes" if all(held) else "in part" if any(held) else "no"


def _listed(by_backend: Mapping[str, str]) -> str:
    return ", ".join(f"{VARIANTS[backend]} {shown}" for backend, shown in by_backend.items())


def _average(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _mean(values: Sequence[float]) -> str:
    return _number(_average(values))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
