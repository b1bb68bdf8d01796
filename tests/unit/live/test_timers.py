"""Timers: none comes early, long ones share wake-ups and give way, short ones wait for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

import pytest

from camcast.live.timers import (
    BUSY_SECONDS,
    PATIENT_SECONDS,
    PUT_OFF_SECONDS,
    TOGETHER_SECONDS,
    Timers,
)
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind


class Loop:
    """An event loop whose clock the test moves; it is always late by so many seconds."""

    def __init__(self, late: float = 0.0) -> None:
        self.now = 1000.0
        self.late = late
        self.calls: list[tuple[float, Callable[..., object], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, act: Callable[..., object], *arguments: Any) -> None:
        self.calls.append((when, act, arguments))

    def call_later(self, delay: float, act: Callable[..., object], *arguments: Any) -> None:
        self.call_at(self.now + delay, act, *arguments)

    def run(self) -> None:
        while self.calls:
            when, act, arguments = self.calls.pop(self.calls.index(min(self.calls, key=_when)))
            self.now = max(self.now, when + self.late)
            act(*arguments)


def _when(call: tuple[float, Callable[..., object], tuple[Any, ...]]) -> float:
    return call[0]


def token(number: int) -> Token:
    return Token(Kind.MEMBERSHIP, GroupId(bytes(8)), (number,))


def times(delays: Sequence[float], late: float = 0.0) -> tuple[list[float], int]:
    """Return when each of these timers came, in seconds from now, and the wake-ups it took."""
    loop, came = Loop(late), dict[Token, float]()
    start, wakes = loop.now, 0

    def wake(tokens: Sequence[Token]) -> None:
        nonlocal wakes
        wakes += 1
        came.update(dict.fromkeys(tokens, loop.now - start))

    timers = Timers(cast("asyncio.AbstractEventLoop", loop), wake, phase=0.3)
    for number, delay in enumerate(delays):
        timers.set(delay, token(number))
    loop.run()
    return [came[token(number)] for number in range(len(delays))], wakes


def test_the_ticks_of_a_hundred_communities_wake_a_process_a_few_times() -> None:
    rng = Random(1)
    delays = [0.9 + 0.2 * rng.random() for _ in range(100)]
    came, wakes = times(delays)
    assert wakes <= 0.2 / TOGETHER_SECONDS + 1
    for delay, when in zip(delays, came, strict=True):
        assert delay - 1e-9 <= when <= delay + TOGETHER_SECONDS + 1e-9


def test_short_timers_come_in_time() -> None:
    delays = [0.0, 0.01, PATIENT_SECONDS - 0.001]
    came, wakes = times(delays)
    assert wakes == 3
    assert all(abs(when - delay) < 1e-9 for delay, when in zip(delays, came, strict=True))


@pytest.mark.parametrize("late", [BUSY_SECONDS + 0.001, 0.15, 0.34])
def test_patient_timers_of_a_busy_loop_come_later_but_not_for_ever(late: float) -> None:
    delays = [PATIENT_SECONDS, 0.97, 1.0, 30.0]
    came, _ = times(delays, late)
    longest = TOGETHER_SECONDS + PUT_OFF_SECONDS + late
    for delay, when in zip(delays, came, strict=True):
        assert delay + longest / 2 < when <= delay + longest + 1e-9


def test_a_loop_that_is_hardly_late_puts_nothing_off() -> None:
    (when,), _ = times([1.0], BUSY_SECONDS - 0.001)
    assert when <= 1.0 + TOGETHER_SECONDS + BUSY_SECONDS


def test_a_loop_that_is_very_late_puts_nothing_off_either() -> None:
    (when,), _ = times([1.0], 2.0)
    assert when <= 1.0 + TOGETHER_SECONDS + 2.0 + 1e-9


def test_short_timers_of_a_busy_loop_are_not_put_off() -> None:
    (when,), _ = times([0.3], 0.1)
    assert abs(when - 0.4) < 1e-9


def test_the_nodes_of_a_process_wake_at_the_same_moments() -> None:
    loop, came = Loop(), list[float]()
    for _ in range(5):
        timers = Timers(
            cast("asyncio.AbstractEventLoop", loop), lambda _: came.append(loop.now - 1000)
        )
        timers.set(0.97, token(0))
    loop.run()
    assert len(came) == 5
    assert len(set(came)) == 1


def test_closed_timers_give_nothing_back() -> None:
    loop, came = Loop(), list[Token]()
    timers = Timers(cast("asyncio.AbstractEventLoop", loop), came.extend)
    timers.set(2 * PATIENT_SECONDS, token(1))
    timers.close()
    loop.run()
    assert came == []
