"""Fields of counters and snapshots that are metrics."""

from __future__ import annotations

import attrs
import pytest

from camcast.observe import stats
from camcast.observe.counters import Counters, NodeCounters, PipeCounters

SNAPSHOTS = [
    one for one in vars(stats).values() if attrs.has(one) and one.__module__ == stats.__name__
]


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda one: one.__name__)
def test_a_snapshot_without_a_number_is_refused(snapshot: type) -> None:
    """A metric of a snapshot has no default, though the annotation looks like one."""
    required = [one for one in attrs.fields(snapshot) if one.metadata]
    assert all(one.default is attrs.NOTHING for one in required)
    with pytest.raises(TypeError, match="missing"):
        snapshot()


def test_what_is_counted_begins_at_nothing_and_has_a_name() -> None:
    for counters in (NodeCounters, PipeCounters, Counters):
        for one in attrs.fields(counters):
            assert bool(one.metadata) is (one.name not in ("input", "outputs"))
            assert one.default == 0 or not one.metadata
