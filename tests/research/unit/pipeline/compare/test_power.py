"""How many runs are needed: a table of the literature, and what is asked of few or many."""

from __future__ import annotations

import pytest

from camcast.research.pipeline.compare.power import RUNS_MAX, runs_needed


@pytest.mark.parametrize(
    ("effect", "runs"),
    [(0.2, 393), (0.5, 64), (0.8, 26)],  # [Cohen 1992, Table 2] mean difference, 5 %, power 80 %
)
def test_as_many_runs_as_in_cohens_table(effect: float, runs: int) -> None:
    """His are exact by the non-central t; ours are by two quantiles, one run off at most."""
    assert runs_needed(effect, [1.0, 1.0], 0.95) == pytest.approx(runs, abs=1)


def test_more_confidence_or_more_scatter_needs_more_runs() -> None:
    needed = runs_needed(1.0, [1.0, 1.0], 0.95)
    assert needed is not None
    assert (runs_needed(1.0, [1.0, 1.0], 0.99) or 0) > needed
    assert (runs_needed(1.0, [1.0, 4.0], 0.95) or 0) > needed
    assert runs_needed(-1.0, [1.0, 1.0], 0.95) == needed


def test_where_there_is_nothing_to_find_no_number_is_said() -> None:
    assert runs_needed(0.0, [1.0, 1.0], 0.95) is None
    assert runs_needed(1.0, [0.0, 0.0], 0.95) is None
    assert runs_needed(1e-3, [1.0, 1.0], 0.95) is None  # more than RUNS_MAX
    assert (runs_needed(1e3, [1.0, 1.0], 0.95) or RUNS_MAX) <= 3
