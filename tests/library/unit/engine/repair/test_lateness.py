"""How long repair waits for what is late and not lost."""

from __future__ import annotations

import pytest

from camcast.engine.repair.agreement import LAG_SECONDS
from camcast.engine.repair.lateness import (
    LATE_SECONDS_MAX,
    REORDER_SECONDS,
    REORDER_SECONDS_MAX,
    Lateness,
)


def test_without_anything_late_repair_waits_as_the_protocol_says() -> None:
    lateness = Lateness()
    lateness.came(0.05, 1.0)
    assert lateness.reorder_seconds(1.0) == REORDER_SECONDS
    assert lateness.lag(1.0) == 0


def test_repair_waits_twice_as_long_as_what_came_latest_was_late() -> None:
    lateness = Lateness()
    lateness.came(1.5, 0.0)
    lateness.came(0.1, 0.0)
    assert lateness.reorder_seconds(0.0) == pytest.approx(3.0)
    assert lateness.lag(0.0) == 3
    assert lateness.reorder_seconds(10.0) == pytest.approx(1.5)  # half of it ten seconds later
    assert lateness.reorder_seconds(1e3) == REORDER_SECONDS


def test_who_holds_an_event_back_for_long_makes_repair_wait_for_seconds_only() -> None:
    lateness = Lateness()
    lateness.came(1e9, 0.0)
    assert lateness.reorder_seconds(0.0) == REORDER_SECONDS_MAX
    assert lateness.lag(0.0) == 2 * LATE_SECONDS_MAX


def test_tallies_go_as_far_as_all_has_usually_come_and_less_far_where_events_are_late() -> None:
    lateness = Lateness()
    assert lateness.second(1000.75, 5.5) == 1006 - LAG_SECONDS
    lateness.came(1.25, 5.5)
    assert lateness.second(1000.75, 5.5) == 1006 - LAG_SECONDS - 3  # 2.5 s, rounded up
