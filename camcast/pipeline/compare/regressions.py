"""What became worse since a baseline: by more than a threshold, and not by chance."""

from __future__ import annotations

from collections.abc import Iterable
from math import copysign, inf
from typing import Any, Final

import attrs
from attrs import frozen

from camcast.measures import measure_of
from camcast.pipeline.compare.comparison import Row, Variant
from camcast.pipeline.compare.differences import SIGNIFICANT, Difference, difference, holm

THRESHOLD: Final = 0.05  # chosen: smaller changes of a real network are the weather's


@frozen(kw_only=True)
class Change:
    """A measure now and in the baseline."""

    variant: Variant
    community: str
    p_sel: float | None
    metric: str
    runs: tuple[int, int]
    """Of the baseline and of now."""
    before: float
    now: float
    relative: float
    """(now - before) / |before|; infinite for a change from 0."""
    found: Difference
    """Of now minus before."""
    adjusted_p: float | None
    """By Holm, among all measures that can become worse, or among all others."""
    verdict: str
    """regressed, improved, changed (neither way is better), same, or untested (a single run)."""

    def as_json(self) -> dict[str, Any]:
        """Return the change as JSON takes it."""
        return {
            "backend": self.variant.backend,
            "protocol": self.variant.protocol,
            "setting": self.variant.setting,
            "community": self.community,
            "p_sel": self.p_sel,
            "metric": self.metric,
            "runs_before": self.runs[0],
            "runs_now": self.runs[1],
            "before": self.before,
            "now": self.now,
            "relative": None if self.relative in (inf, -inf) else self.relative,
            "low": self.found.low,
            "high": self.found.high,
            "effect": self.found.effect,
            "p": self.adjusted_p,
            "verdict": self.verdict,
        }


def changes_of(
    now: Iterable[Row], before: Iterable[Row], threshold: float = THRESHOLD
) -> list[Change]:
    """Compare each group with the same one of the baseline, if it has one.

    A change counts if it exceeds the `threshold`, relative to the baseline, and if its p-value
    is below 5 % after Holm's adjustment.
    """
    baseline = {_place(row): row for row in before}
    paired = [(row, baseline[_place(row)]) for row in now if _place(row) in baseline]
    found = [difference(row.sample, base.sample) for row, base in paired]
    directed = [measure_of(row.metric).better != "neither" for row, _ in paired]
    # two questions: did anything become worse, or better? did anything else change?
    families = [
        holm([d.p if one == of else None for d, one in zip(found, directed, strict=True)])
        for of in (True, False)
    ]
    adjusted = [one if one is not None else other for one, other in zip(*families, strict=True)]
    return [
        _change(row, base, each, p, threshold)
        for (row, base), each, p in zip(paired, found, adjusted, strict=True)
    ]


def _place(row: Row) -> tuple[Any, ...]:
    return row.variant, row.community, row.p_sel, row.metric


def _change(
    row: Row, base: Row, found: Difference, adjusted_p: float | None, threshold: float
) -> Change:
    before, now = base.sample.mean, row.sample.mean
    if now == before:
        relative = 0.0
    else:
        relative = (now - before) / abs(before) if before else copysign(inf, now)
    change = Change(
        variant=row.variant,
        community=row.community,
        p_sel=row.p_sel,
        metric=row.metric,
        runs=(base.sample.runs, row.sample.runs),
        before=before,
        now=now,
        relative=relative,
        found=found,
        adjusted_p=adjusted_p,
        verdict="",
    )
    return attrs.evolve(change, verdict=_verdict(change, threshold))


def _verdict(change: Change, threshold: float) -> str:
    if change.adjusted_p is None:
        return "untested"
    if change.adjusted_p >= SIGNIFICANT or abs(change.relative) <= threshold:
        return "same"
    better = measure_of(change.metric).better
    if better == "neither":
        return "changed"
    return "improved" if (change.relative > 0) == (better == "more") else "regressed"
