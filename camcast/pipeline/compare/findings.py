"""All that a comparison found, as plain values: what its tables, figures and page are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs
from attrs import frozen

from camcast.pipeline.compare.comparison import Pair, Row, Variant
from camcast.pipeline.compare.regressions import Change


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
    """What was compared, and what came of it."""

    command: str
    sources: tuple[Source, ...]
    rows: tuple[Row, ...]
    """The main table: of the runs that were given, without the baseline's."""
    pairs: tuple[Pair, ...]
    changes: tuple[Change, ...] | None
    """Since the baseline; None without one."""
    baseline: str
    """What the baseline is called; empty without one."""
    threshold: float
    problems: tuple[str, ...]
    """What could not be read as a whole, in words."""
    quarantine: tuple[Quarantined, ...]

    @property
    def variants(self) -> list[Variant]:
        """Who is compared, by name; last, benchmarks that are of no backend."""
        return sorted({row.variant for row in self.rows}, key=lambda v: (not v.backend, v))

    @property
    def regressions(self) -> list[Change]:
        """What became worse, the largest change first."""
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


def names_of(variants: Sequence[Variant]) -> dict[Variant, str]:
    """Return short names: a protocol that all have in common is left out."""
    common = len({variant.protocol for variant in variants if variant.backend}) == 1
    return {v: str(attrs.evolve(v, protocol="") if common and v.backend else v) for v in variants}
