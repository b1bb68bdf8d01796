"""Verdicts: the best for each question, and all that cannot be distinguished from it.

A question is a measure of whole runs, or of a benchmark. Those who are compared for it differ in
one thing: the backend, or else the protocol, or else one parameter. Where runs have several p_sel
the question is the mean over them. Every two are compared by Welch's test, and all comparisons of
a question hold together with 95 % confidence (Bonferroni): so does its sentence.

Who is not told from the best may be as good. The interval of the difference says by how much they
may differ at most, and `camcast.research.pipeline.compare.power` how many runs would tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import Any, Final

from attrs import frozen

from camcast.research.pipeline.compare.comparison import Row, Variant, differing
from camcast.research.pipeline.compare.differences import SIGNIFICANT, Sample, welch
from camcast.research.pipeline.compare.labels import Labels
from camcast.research.pipeline.compare.power import runs_needed
from camcast.research.report.measures import Measure, measure_of

_OF_RUNS: Final = {  # of the measures that answer a question alike, the one that scatters least
    "reception": "reception",
    "latency_ms_p50": "delay",
    "redundancy": "cost of events",
    "control_bytes": "cost of upkeep",
    "join_visible_seconds_p50": "joining",
    "joins_invisible": "joins never seen",
    "heal_seconds_p50": "healing",
    "unhealed": "crashes never healed",
}
_IF_ANY: Final = ("joins_invisible", "unhealed")  # no question where they are 0 everywhere


@frozen(kw_only=True)
class Standing:
    """One of those who are compared."""

    name: str
    mean: float
    """Over the runs; over p_sel, where there are several."""
    runs: int
    """Of each p_sel."""


@frozen(kw_only=True)
class Duel:
    """Two that are compared, the better one first; better by how much."""

    better: str
    worse: str
    apart: float
    least: float | None
    """The interval, from here to `most`; below 0 the worse may be better. None where there is
    none: of single runs, and where no run differs from the others of its group."""
    most: float | None
    tested: bool
    told: bool
    """Whether chance is excluded."""
    runs: int
    """How many the one with fewer has."""
    variances: tuple[float, ...]
    """The share of one run of either, and of each p_sel, in the variance of the difference."""
    confidence: float
    """Of this comparison, so that all of the question hold together with 95 %."""

    @property
    def more_runs(self) -> int | None:
        """How many more both need to be told apart if they differ as it seems; None: too many."""
        needed = runs_needed(self.apart, self.variances, self.confidence)
        return needed and max(1, needed - self.runs)


@frozen(kw_only=True)
class Verdict:
    """The answer to one question."""

    question: str
    measure: Measure
    where: str
    """The parameters common to all compared, but no others, as ``c=2``, or their letter."""
    p_sels: tuple[float, ...]
    """The mean is over them, if there are several."""
    ranked: tuple[Standing, ...]
    """The best first."""
    duels: tuple[Duel, ...]
    """All pairs."""

    @property
    def of_best(self) -> list[Duel]:
        """The comparisons of the best with each of the others."""
        return [duel for duel in self.duels if duel.better == self.ranked[0].name]

    @property
    def tested(self) -> bool:
        """Whether there are runs enough to test anything."""
        return all(duel.tested for duel in self.duels)

    @property
    def equal(self) -> bool:
        """Whether all runs of all measured the same."""
        return self.tested and not any(d.apart or d.least is not None for d in self.duels)

    @property
    def best(self) -> list[str]:
        """The best, and all that cannot be distinguished from it."""
        untold = [duel.worse for duel in self.of_best if not duel.told]
        return [self.ranked[0].name, *untold]

    @property
    def winner(self) -> str | None:
        """The variant that is better than all others beyond chance; None: there is none."""
        return self.best[0] if len(self.best) == 1 else None

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON takes it, without its comparisons."""
        return {
            "question": self.question,
            "metric": self.measure.name,
            "where": self.where,
            "winner": self.winner,
            "best": ", ".join(self.best),
            "runs": min(standing.runs for standing in self.ranked),
        }


def verdicts_of(rows: Iterable[Row], labels: Labels) -> list[Verdict]:
    """Answer every question that the rows have an answer to: of runs, then of benchmarks."""
    asked: defaultdict[Measure, defaultdict[Variant, dict[float | None, Row]]]
    asked = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if not row.community and _question(row.measure):
            asked[row.measure][row.variant][row.p_sel] = row
    order = {metric: at for at, metric in enumerate(_OF_RUNS)}
    verdicts = []
    for measure in sorted(asked, key=lambda measure: order.get(measure.name, len(order))):
        found = (row.sample.largest for of in asked[measure].values() for row in of.values())
        if measure.name not in _IF_ANY or any(found):
            for where, variants in _contests([v for v in asked[measure] if v.backend], labels):
                of_variants = {
                    name: {p: row.sample for p, row in asked[measure][variant].items()}
                    for variant, name in variants.items()
                }
                question = _question(measure)
                if verdict := _verdict(measure, question, where, of_variants):
                    verdicts.append(verdict)
    return verdicts


def verdict_on(metric: str, question: str, values: Mapping[str, Sequence[float]]) -> Verdict:
    """Answer a question from a measure of each run, by the names of two contenders or more."""
    samples: dict[str, dict[float | None, Sample]]
    samples = {name: {None: Sample.of(of_runs)} for name, of_runs in values.items()}
    verdict = _verdict(measure_of(metric), question, "", samples)
    assert verdict is not None
    return verdict


def _question(measure: Measure) -> str:
    if measure.benchmark and measure.headline and measure.directed:
        return f"{measure.title} of {measure.benchmark}"
    return _OF_RUNS.get(measure.name, "")


def _contests(
    variants: Sequence[Variant], labels: Labels
) -> Iterator[tuple[str, dict[Variant, str]]]:
    """Yield what some have in common that others do not, and the names of those who have it.

    Those differ in one thing, by which they are named where their label says more than that.
    """
    if len(variants) < 2:
        return
    factors = differing(*variants)
    groups: defaultdict[tuple[tuple[str, str], ...], list[Variant]] = defaultdict(list)
    for variant in variants:
        common = tuple((name, variant.factors.get(name, "")) for name in factors[1:])
        groups[common].append(variant)
    of_several = {common: group for common, group in groups.items() if len(group) > 1}
    if len(groups) == 1 or not of_several:
        yield "", {variant: labels.names[variant] for variant in variants}
        return
    for common, group in of_several.items():
        shared, setting = dict(common), group[0].setting
        if setting in labels.letters and all(each.setting == setting for each in group):
            of_setting = dict(group[0].values)
            shared = {name: value for name, value in shared.items() if name not in of_setting}
            shared["setting"] = labels.letters[setting]
        where = ", ".join(
            value if name in ("backend", "protocol", "setting") else f"{name}={value}"
            for name, value in shared.items()
        )
        yield where, _names_within(factors[0], group, labels)


def _names_within(factor: str, group: Sequence[Variant], labels: Labels) -> dict[Variant, str]:
    """Return the names of variants that differ in one factor: if it is short, nothing else."""
    whole = {variant: labels.names[variant] for variant in group}
    if factor in ("backend", "protocol"):
        tails = {v: f" ({labels.letters.get(v.setting, v.setting)})" for v in group}
        named = {variant: name.removesuffix(tails[variant]) for variant, name in whole.items()}
    else:
        named = {v: f"{factor}={v.factors[factor]}" if factor in v.factors else "" for v in group}
    short = all(named[v] and len(named[v]) <= len(whole[v]) for v in group)
    return named if short and len(set(named.values())) == len(group) else whole


def _verdict(
    measure: Measure,
    question: str,
    where: str,
    contenders: Mapping[str, Mapping[float | None, Sample]],
) -> Verdict | None:
    """Compare all contenders, by their names; None where they have no p_sel in common."""
    first, *others = contenders.values()
    common = [p_sel for p_sel in first if all(p_sel in other for other in others)]
    if not common:
        return None
    samples = {name: [found[p] for p in common] for name, found in contenders.items()}
    ranked = sorted(
        (
            Standing(
                name=name,
                mean=fsum(sample.mean for sample in strata) / len(strata),
                runs=min(sample.runs for sample in strata),
            )
            for name, strata in samples.items()
        ),
        key=lambda standing: standing.mean,
        reverse=measure.better == "more",
    )
    pairs = list(combinations([standing.name for standing in ranked], 2))
    return Verdict(
        question=question,
        measure=measure,
        where=where,
        p_sels=tuple(sorted(p_sel for p_sel in common if p_sel is not None)),
        ranked=tuple(ranked),
        duels=tuple(_duel(*pair, samples, measure, SIGNIFICANT / len(pairs)) for pair in pairs),
    )


def _duel(
    better: str,
    worse: str,
    samples: Mapping[str, Sequence[Sample]],
    measure: Measure,
    level: float,
) -> Duel:
    strata = list(zip(samples[better], samples[worse], strict=True))
    found = welch(strata, 1 - level)
    least, most = found.low, found.high
    if measure.better == "less" and least is not None and most is not None:
        least, most = -most, -least  # what is found is the better one's minus the worse one's
    return Duel(
        better=better,
        worse=worse,
        apart=abs(found.difference),
        least=least,
        most=most,
        tested=found.p is not None,
        told=found.p is not None and found.p < level,
        runs=min(sample.runs for pair in strata for sample in pair),
        variances=tuple(_variances(strata)),
        confidence=1 - level,
    )


def _variances(strata: Sequence[tuple[Sample, Sample]]) -> list[float]:
    """As in `welch`, who does not scatter is taken to scatter as the other one does."""
    return [
        ((this.deviation or that.deviation or 0.0) / len(strata)) ** 2
        for one, other in strata
        for this, that in ((one, other), (other, one))
    ]
