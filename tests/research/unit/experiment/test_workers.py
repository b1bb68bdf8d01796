"""When a run counts as quiet."""

from __future__ import annotations

from unittest.mock import Mock

from camcast.research.experiment.worker_messages import Status
from camcast.research.experiment.workers import are_quiet


def reported(at: float, last_delivery: float, *, sends_later: bool = False) -> Mock:
    return Mock(status=Status(1, 0, 5, 5, 0, last_delivery, at, sends_later))


def test_a_worker_whose_report_is_late_may_have_got_something_since() -> None:
    assert are_quiet([reported(10.6, 10.0), reported(10.5, 9.0)], 9.5)
    assert not are_quiet([reported(10.6, 10.0), reported(10.4, 9.0)], 9.5)
    assert not are_quiet([reported(10.6, 10.0)], 10.2)
    assert are_quiet([], 10.2)


def test_where_processes_were_killed_repair_has_its_time() -> None:
    assert not are_quiet([reported(14.9, 10.0)], 9.5, killed=True)
    assert are_quiet([reported(15.0, 10.0)], 9.5, killed=True)


def test_where_one_sends_later_all_are_waited_for_longer() -> None:
    """A run of push-pull ended with 390 of 460 deliveries missing: half a second is its period."""
    assert not are_quiet([reported(14.9, 10.0), reported(14.9, 9.0, sends_later=True)], 9.5)
    assert are_quiet([reported(15.0, 10.0), reported(15.1, 9.0, sends_later=True)], 9.5)
