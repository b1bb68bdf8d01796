"""How long an answer is waited for, as RFC 6298 reckons it."""

from __future__ import annotations

import pytest

from camcast.vocabulary.smoothed_time import DELAY_SECONDS_MAX, DELAY_SECONDS_MIN, ArrivalDelay


def test_at_first_it_waits_as_the_rfc_says() -> None:
    assert ArrivalDelay().timeout == 1.0


def test_it_is_the_mean_and_four_variations() -> None:
    """By hand: 2 s give 2 + 4·1; then 1 s gives 1.875 + 4·(0.75·1 + 0.25·1)."""
    delay = ArrivalDelay()
    delay.observe(2.0)
    assert delay.timeout == pytest.approx(6.0)
    delay.observe(1.0)
    assert delay.timeout == pytest.approx(1.875 + 4.0)


def test_it_falls_with_quick_arrivals_and_stays_within_bounds() -> None:
    delay = ArrivalDelay()
    delay.observe(100.0)
    assert delay.timeout == DELAY_SECONDS_MAX
    for _ in range(200):
        delay.observe(0.001)
    assert delay.timeout == DELAY_SECONDS_MIN


def test_it_doubles_when_something_did_not_arrive() -> None:
    delay = ArrivalDelay()
    delay.back_off()
    assert delay.timeout == 2.0
    for _ in range(10):
        delay.back_off()
    assert delay.timeout == DELAY_SECONDS_MAX
