"""Which engine compares: as asked for, and else by the size of the traces."""

from __future__ import annotations

import pytest

from camcast.research.pipeline.compare.engine import LOCAL_BYTES_MAX, EngineError, chosen_engine


@pytest.mark.parametrize(
    ("asked", "size", "cluster", "name", "why"),
    [
        (None, 0, False, "local", "0 MB of traces, no more than 1,000"),
        (None, LOCAL_BYTES_MAX, False, "local", "1,000 MB of traces, no more than 1,000"),
        (None, 3 * LOCAL_BYTES_MAX, False, "spark", "3,000 MB of traces, more than 1,000"),
        (None, 0, True, "spark", "--master or --conf was given"),
        ("spark", 0, False, "spark", "--engine spark"),
        ("spark", 0, True, "spark", "--engine spark"),
        ("local", 9 * LOCAL_BYTES_MAX, False, "local", "--engine local"),
    ],
)
def test_the_choice_and_its_reason(
    asked: str | None, size: int, cluster: bool, name: str, why: str
) -> None:
    choice = chosen_engine(asked, size, cluster=cluster)
    assert (choice.name, choice.why) == (name, why)
    assert why in choice.in_words


@pytest.mark.parametrize(("asked", "cluster"), [("duckdb", False), ("local", True)])
def test_what_cannot_be_is_refused(asked: str, cluster: bool) -> None:
    with pytest.raises(EngineError, match="--engine"):
        chosen_engine(asked, 0, cluster=cluster)
