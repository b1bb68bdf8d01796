"""The wall clock of a process, against both of its clocks moved by hand."""

from __future__ import annotations

from random import Random

import pytest

from camcast.vocabulary.clock import STEP_SECONDS, Clock

BEGAN, WALL = 50.0, 1_800_000_000.0


@pytest.mark.parametrize("set_by", [600.0, -600.0, 3600.0, 1.5, -1.5])
def test_a_clock_that_was_set_is_followed_from_then_on(set_by: float) -> None:
    clock = Clock(BEGAN, WALL)
    assert clock.step(60.0, WALL + 10.0 + set_by) == pytest.approx(set_by)
    assert clock.wall(61.0) == WALL + 11.0 + set_by
    assert clock.step(61.0, WALL + 11.0 + set_by) == 0.0
    assert clock.started == BEGAN


def test_a_small_difference_counts_only_when_it_has_added_up() -> None:
    clock, off = Clock(BEGAN, WALL), 0.25
    steps = [clock.step(BEGAN + n, WALL + n + n * off) for n in range(1, 9)]
    assert steps == [0.0, 0.0, 0.0, 0.0, 1.25, 0.0, 0.0, 0.0]
    assert STEP_SECONDS == 1.0
    assert clock.wall(BEGAN + 5.0) == WALL + 5.0 + 1.25


def test_a_clock_is_never_off_by_more_than_a_step_once_both_were_read() -> None:
    """Whatever sets the wall clock, and however long the time of inputs stands still."""
    random = Random(7)
    clock, now, wall = Clock(BEGAN, WALL), BEGAN, WALL
    applied = 0.0
    for _ in range(500):
        seconds = random.choice((0.0, 0.5, 1.0))
        set_by = random.choice((0.0, 0.0, 0.3, -0.4, 2.0, -600.0, 3600.0))
        now, wall = now + seconds, wall + seconds + set_by
        applied += clock.step(now, wall)
        assert abs(clock.wall(now) - wall) <= STEP_SECONDS
        assert clock.wall(now) - now == pytest.approx(WALL - BEGAN + applied)


def test_a_time_of_the_wall_has_its_time_of_inputs() -> None:
    clock = Clock(BEGAN, WALL)
    for now in (0.0, BEGAN, 1e6):
        assert clock.now(clock.wall(now)) == pytest.approx(now)
    clock.step(BEGAN, WALL + 3600.0)
    assert clock.now(WALL + 3600.0) == BEGAN
