"""One number that was measured in one run: a row of every table of measures."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta

Seed: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # as Spark and Parquet have it


class Measured(NamedTuple):
    """A measure of a run or of a benchmark file, and what made it."""

    run: str
    """The run folder or benchmark file."""
    backend: str
    protocol: str
    community: str
    """Empty: the run as a whole."""
    p_sel: float | None
    parameters: dict[str, str]
    version: str
    seed: int | None
    metric: str
    value: float | None
    """None: the run had nothing to measure."""
    benchmark: str = ""
    """The benchmark that measured it, with whose name the metric begins; empty for a run."""
