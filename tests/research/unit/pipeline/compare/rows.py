"""Rows of the main table, made of values by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from camcast.research.pipeline.compare.comparison import Row, Variant, pairs_of, rows_of, varying
from camcast.research.pipeline.compare.differences import Sample
from camcast.research.pipeline.compare.findings import Findings
from camcast.research.pipeline.measured import Measured
from camcast.research.report.benchmark_measures import find_measure


def row(
    metric: str,
    values: Sequence[float],
    backend: str = "scamp",
    community: str = ".",
    p_sel: float | None = None,
    protocol: str = "camcast",
    **parameters: str,
) -> Row:
    """Return a row of runs; `parameters` are those in which they differ from others."""
    return Row(
        variant=Variant(backend=backend, protocol=protocol, values=tuple(parameters.items())),
        community=community,
        p_sel=p_sel,
        measure=find_measure(metric, metric.rpartition(".")[0]),
        sample=Sample.of(values),
    )


def measure(run: str, metric: str, value: float | None, **other: Any) -> Measured:
    given: dict[str, Any] = {"backend": "scamp", "protocol": "camcast", "community": "."}
    given |= {"p_sel": None, "parameters": {}, "version": "1", "seed": 1} | other
    given = {"benchmark": metric.rpartition(".")[0]} | given
    return Measured(run=run, metric=metric, value=value, **given)


def rows(measures: list[Measured]) -> list[Row]:
    return rows_of(measures, varying(measures, versions=True))


def findings(of: Sequence[Row], **other: Any) -> Findings:
    given: dict[str, Any] = {
        "command": "camcast compare runs",
        "sources": (),
        "changes": None,
        "baseline": "",
        "threshold": 0.05,
        "problems": (),
        "quarantine": (),
        "engine": "by Spark (--engine spark)",
    } | other
    if "pairs" not in given:
        given["pairs"] = tuple(pairs_of(of))
    return Findings(rows=tuple(of), **given)
