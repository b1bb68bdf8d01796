"""All that a comparison found, as plain values: what its tables, figures and page are made of."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from attrs import frozen

from camcast.research.pipeline.compare.comparison import Pair, Place, Row, Variant
from camcast.research.pipeline.compare.labels import Labels, labels_of, whole_names
from camcast.research.pipeline.compare.regressions import Change
from camcast.research.pipeline.compare.verdict import Verdict, verdicts_of
from camcast.research.pipeline.ingest.whole_runs import OUTSIDE_MAX
from camcast.research.report.measures import measure_of, repair_in_words


@frozen(kw_only=True)
class Source:
    """A run folder or benchmark file that was read."""

    path: str
    kind: Literal["run", "benchmarks"]
    baseline: bool
    """Whether it is what the others are compared against."""
    version: str
    machine: str
    python: str
    started: str
    backend: str = ""
    """Empty if there are several in it, as benchmark files have; likewise the next two."""
    protocol: str = ""
    seed: str = ""
    world: str = ""
    """Of a run: live, or virtual, of whose times the machine is no part."""
    repair: bool | None = None
    """Of a run: whether missed events were asked for."""


@frozen
class Quarantined:
    """Records of one file that could not be read, for one reason."""

    file: str
    reason: str
    records: int
    first_line: int | None
    """None: the file as a whole."""


@frozen(kw_only=True)
class Findings:
    """The inputs and the results of a comparison."""

    command: str
    sources: tuple[Source, ...]
    rows: tuple[Row, ...]
    """The main table: of the runs that were given, without the baseline's."""
    pairs: tuple[Pair, ...]
    changes: tuple[Change, ...] | None
    """Since the baseline; None without one."""
    baseline: str
    """The name of the baseline; empty without one."""
    threshold: float
    problems: tuple[str, ...]
    """The inputs that could not be read as a whole, in words."""
    notes: tuple[str, ...] = ()
    """Remarks on the numbers, in words: measures of one side only, other machines."""
    judged: bool = True
    """Whether runs can be judged; not where many processes never joined."""
    quarantine: tuple[Quarantined, ...]
    engine: str
    """The engine that measured the runs, and the reason for it, in words."""

    @property
    def variants(self) -> list[Variant]:
        """The variants compared, by name; last, benchmarks that are of no backend."""
        return sorted({row.variant for row in self.rows}, key=lambda v: (not v.backend, v))

    @property
    def labels(self) -> Labels:
        """The short names of the variants, and what stands for what in them."""
        return labels_of(self.variants)

    @property
    def repair(self) -> bool | None:
        """Whether missed events were asked for in all runs, or in none; None where that differs."""
        of_runs = {source.repair for source in self.sources if source.kind == "run"}
        return of_runs.pop() if len(of_runs) == 1 else None

    @property
    def repair_in_words(self) -> str:
        """``with repair`` or ``without repair``, if that is so of all runs; else empty."""
        return repair_in_words(self.repair)

    def taken_over(self, row: Row) -> str:
        """Say how many processes or joins a mean is taken over, of how many: ``83 of 85``."""
        if row.measure.over is None:
            return ""
        variant, _, community, p_sel = row.place
        taken, left_out = (
            self._means.get((variant, metric, community, p_sel)) for metric in row.measure.over
        )
        if taken is None:
            return ""
        number = measure_of("processes").text
        return number(taken) + (f" of {number(taken + left_out)}" if left_out is not None else "")

    @cached_property
    def _means(self) -> dict[Place, float]:
        return {row.place: row.sample.mean for row in self.rows}

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts, question by question, in labels."""
        return verdicts_of(self._judged_rows, self.labels)

    @property
    def verdicts_in_full(self) -> list[Verdict]:
        """The verdicts in whole names, for who has no legend."""
        return verdicts_of(self._judged_rows, Labels(whole_names(self.variants)))

    @property
    def _judged_rows(self) -> list[Row]:
        return [row for row in self.rows if self.judged or not row.of_members]

    @property
    def unjudged_in_words(self) -> str:
        """Why runs that are compared have no verdict; empty: they have one, or are not compared."""
        of_members = [row for row in self.rows if row.of_members]
        if self.judged or not verdicts_of(of_members, self.labels):
            return ""
        return (
            f"Which is better cannot be judged: in a run more than {OUTSIDE_MAX:.0%} of the"
            " processes never became members."
        )

    @property
    def regressions(self) -> list[Change]:
        """The changes for the worse, the largest first."""
        worse = [c for c in self.changes or () if c.verdict == "regressed"]
        return sorted(worse, key=lambda c: -abs(c.relative))

    @property
    def quarantined(self) -> int:
        """How many records could not be read."""
        return sum(part.records for part in self.quarantine)


def community_name(community: str) -> str:
    """Return what a community is called in a table or figure."""
    return {"": "whole run", ".": ". (root)"}.get(community, community)


def place_name(row: Row) -> str:
    """Say where a measure was taken."""
    p_sel = "" if row.p_sel is None else f", p_sel = {row.p_sel:g}"
    return community_name(row.community) + p_sel
