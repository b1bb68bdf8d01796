"""The two real clocks are read at the same moment."""

from __future__ import annotations

import time

import pytest

from camcast.live.wall_clock import read_clocks, start_clock


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
    monotonic, there = read_clocks(clock)
    assert there - monotonic == pytest.approx(5000.0, abs=2e-6)
    assert start_clock(clock).wall(0.0) == pytest.approx(5000.0, abs=2e-6)
