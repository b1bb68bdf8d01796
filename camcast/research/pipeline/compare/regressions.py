"""Regressions from a baseline: changes for the worse beyond a threshold, and not by chance."""

from __future__ import annotations

from collections.abc import Iterable
from math import copysign, inf
from typing import Any, Final

from attrs import frozen

from camcast.research.pipeline.compare.comparison import Row
from camcast.research.pipeline.compare.differences import SIGNIFICANT, Difference, difference, holm

DIRECTION_UNKNOWN: Final = "direction unknown"
UNJUDGED: Final = "cannot be judged"
THRESHOLD: Final = 0.05  # chosen: smaller changes of a real network are the weather's


@frozen
class Change:
    """A measure now and in the baseline."""

    before: Row
    now: Row
    found: Difference
    """Of now minus before."""
    adjusted_p: float | None
    """By Holm, among all measures that can become worse, or among all others."""
    threshold: float
    """How large a change counts, relative to the baseline."""
    judged: bool = True
    """Whether it can be said which is better; not of members where many never became one."""

    @property
    def relative(self) -> float:
        """(now - before) / |before|; infinite for a change from 0."""
        before, now = self.before.sample.mean, self.now.sample.mean
        if now == before:
            return 0.0
        return (now - before) / abs(before) if before else copysign(inf, now)

    @property
    def verdict(self) -> str:
        """regressed, improved, same, untested (one run), changed (neither is better), or unknown.

        `DIRECTION_UNKNOWN`: it changed, and nobody said which way is better. `UNJUDGED`: it is of
        the members alone, where too many processes never became one.
        """
        if not self.judged:
            return UNJUDGED
        if self.adjusted_p is None:
            return "untested"
        if self.adjusted_p >= SIGNIFICANT or abs(self.relative) <= self.threshold:
            return "same"
        better = self.now.measure.better
        if better == "unknown":
            return DIRECTION_UNKNOWN
        if better == "neither":
            return "changed"
        return "improved" if (self.relative > 0) == (better == "more") else "regressed"

    def as_json(self) -> dict[str, Any]:
        """Return the change as JSON takes it."""
        return {
            "backend": self.now.variant.backend,
            "protocol": self.now.variant.protocol,
            "repair": self.now.repair,
            "setting": self.now.variant.setting,
            "community": self.now.community,
            "p_sel": self.now.p_sel,
            "metric": self.now.metric,
            "runs_before": self.before.sample.runs,
            "runs_now": self.now.sample.runs,
            "before": self.before.sample.mean,
            "now": self.now.sample.mean,
            "relative": None if self.relative in (inf, -inf) else self.relative,
            "low": self.found.low,
            "high": self.found.high,
            "effect": self.found.effect,
            "p": self.adjusted_p,
            "verdict": self.verdict,
        }


def changes_of(
    now: Iterable[Row],
    before: Iterable[Row],
    threshold: float = THRESHOLD,
    *,
    judged: bool = True,
) -> list[Change]:
    """Compare each group with the same one of the baseline, if it has one.

    A change counts if it exceeds the `threshold`, relative to the baseline, and if its p-value
    is below 5 % after Holm's adjustment. `judged` is as in `Findings`.
    """
    baseline = {row.place: row for row in before}
    paired = [(row, baseline[row.place]) for row in now if row.place in baseline]
    found = [difference(row.sample, base.sample) for row, base in paired]
    directed = [row.measure.directed for row, _ in paired]
    # two questions: did anything become worse, or better? did anything else change?
    families = [
        holm([d.p if one == of else None for d, one in zip(found, directed, strict=True)])
        for of in (True, False)
    ]
    adjusted = [one if one is not None else other for one, other in zip(*families, strict=True)]
    return [
        Change(base, row, each, p, threshold, judged=judged or not row.of_members)
        for (row, base), each, p in zip(paired, found, adjusted, strict=True)
    ]
