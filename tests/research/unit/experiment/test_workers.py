"""When a run counts as quiet."""

from __future__ import annotations

from unittest.mock import Mock

from camcast.research.experiment.worker_messages import Status
from camcast.research.experiment.workers import are_quiet


def reported(at: float, last_delivery: float) -> Mock:
    return Mock(status=Status(1, 0, 5, 5, 0, last_delivery, at))


def test_a_worker_whose_report_is_late_may_have_got_something_since() -> None:
    assert are_quiet([reported(10.6, 10.0), reported(10.5, 9.0)], 9.5, 0.5)
    assert not are_quiet([reported(10.6, 10.0), reported(10.4, 9.0)], 9.5, 0.5)
    assert not are_quiet([reported(10.6, 10.0)], 10.2, 0.5)
    assert are_quiet([], 10.2, 0.5)
