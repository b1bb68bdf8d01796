"""Accounts of events: processes tell the times of one clock."""

from __future__ import annotations

import time

import pytest

from camcast.live.event_account import _since_1970


def test_a_process_that_was_stopped_between_two_clocks_reads_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The publisher seemed to have published before another had joined, some milliseconds."""
    now = 1000.0
    stops = iter([0.0, 0.05])  # after the first reading of both clocks, and not again

    def wall() -> float:
        nonlocal now
        told = 5000.0 + now
        now += next(stops, 0.0)
        return told

    def clock() -> float:
        nonlocal now
        told = now
        now += 0.004 if now == 1000.0 else 1e-6
        return told

    monkeypatch.setattr(time, "time", wall)
    assert _since_1970(clock) == pytest.approx(5000.0, abs=2e-6)
