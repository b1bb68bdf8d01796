"""Patience counts the time in which the loop turned, and no more; nobody waits for ever."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, cast

import pytest

from camcast.live.wire.reading_time import LATE_SECONDS, TICK_SECONDS, ReadingTime, patience
from tests.patience import live


class Handle:
    """A timer of `Loop`."""

    def __init__(self, act: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.act = act
        self.arguments = arguments

    def cancel(self) -> None:
        self.act = lambda *_: None


class Loop:
    """An event loop whose time the test moves, and that may stand still."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.stood_still = 0.0
        self.standstills = 0
        self._due: list[tuple[float, int, Handle]] = []
        self._numbers = count()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, act: Callable[..., object], *arguments: Any) -> Handle:
        handle = Handle(act, arguments)
        heapq.heappush(self._due, (when, next(self._numbers), handle))
        return handle

    def call_later(self, delay: float, act: Callable[..., object], *arguments: Any) -> Handle:
        return self.call_at(self.now + delay, act, *arguments)

    @property
    def turned(self) -> float:
        """For how long it has turned."""
        return self.now - self.stood_still

    def stand_still_for(self, seconds: float) -> None:
        """Do nothing for some time, as with a callback that takes as long."""
        self.now += seconds
        self.stood_still += seconds
        self.standstills += 1

    def turn_for(self, seconds: float) -> None:
        """Turn: each timer comes when it is due, those of the past at once."""
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            when, _, handle = heapq.heappop(self._due)
            self.now = max(self.now, when)
            handle.act(*handle.arguments)
        self.now = end


class Told(list[float]):
    """The standstills that a reading time told of."""

    def on_standstill(self, seconds: float) -> None:
        self.append(seconds)


def running() -> tuple[Loop, ReadingTime, Told]:
    """Return a loop, its reading time, and the standstills that it tells of."""
    loop, told = Loop(), Told()
    reading = ReadingTime(cast("asyncio.AbstractEventLoop", loop))
    reading.tell(told)
    return loop, reading, told


@pytest.mark.parametrize("turned", [0.0, 0.15, 1.0, 1.7])
def test_after_a_standstill_the_rest_of_the_patience_is_left(turned: float) -> None:
    loop, reading, told = running()
    struck = list[float]()
    reading.call_later(2.0, lambda: struck.append(loop.now - 1000.0))
    loop.turn_for(turned)
    loop.stand_still_for(3.0)
    loop.turn_for(2.0 - turned - TICK_SECONDS - 0.01)
    assert struck == []
    loop.turn_for(2 * TICK_SECONDS)
    assert len(struck) == 1
    assert list(told) == [pytest.approx(3.0, abs=TICK_SECONDS + 1e-9)]


@pytest.mark.parametrize("reading_number", range(2, 30))
def test_a_process_may_be_stopped_at_any_line_and_each_stop_is_told(reading_number: int) -> None:
    """As where a machine goes on in the middle of a tick, whose timer has woken it."""
    loop, reading, told = running()
    readings = count(2)
    time = loop.time

    def stopped_once() -> float:
        if next(readings) == reading_number:
            loop.stand_still_for(60.0)
        return time()

    loop.time = stopped_once  # type: ignore[method-assign]  # stops at a reading
    for _ in range(20):
        loop.turn_for(TICK_SECONDS)
        reading.seconds()
    assert sum(told) == pytest.approx(60.0, abs=TICK_SECONDS + 1e-9)


def test_random_standstills_take_no_patience_and_give_little() -> None:
    rng = Random(4)
    loop, reading, told = running()
    began, struck = list[tuple[float, float, int]](), dict[int, tuple[float, int]]()

    def strike(number: int) -> None:
        struck[number] = loop.turned, loop.standstills

    for number in range(300):
        delay = rng.uniform(0.1, 5.0)
        began.append((delay, loop.turned, loop.standstills))
        reading.call_later(delay, strike, number)
        for _ in range(rng.randrange(3)):
            loop.turn_for(rng.uniform(0.0, 1.0))
        if rng.random() < 0.3:
            loop.stand_still_for(rng.uniform(TICK_SECONDS + LATE_SECONDS, 20.0))
    loop.turn_for(10.0)
    assert len(struck) == 300
    for number, (delay, at, before) in enumerate(began):
        when, after = struck[number]
        assert when - at == pytest.approx(delay, abs=1e-6 + TICK_SECONDS * (after - before))
    assert (
        loop.stood_still - TICK_SECONDS * loop.standstills <= sum(told) <= loop.stood_still + 1e-6
    )


def test_a_loop_that_is_always_late_still_runs_out_of_patience() -> None:
    """Each turn takes a second; a timer of a second comes within a few of them."""
    loop, reading, _ = running()
    struck = list[float]()
    reading.call_later(1.0, lambda: struck.append(loop.now - 1000.0))
    for _ in range(10):
        loop.stand_still_for(1.0)
        loop.turn_for(0.0)
    assert struck
    assert 1.0 <= struck[0] <= 1.0 / TICK_SECONDS + 2


def test_what_is_told_no_more_and_a_cancelled_timer_leave_nothing_behind() -> None:
    loop, reading, told = running()
    struck = list[float]()
    reading.call_later(1.0, lambda: struck.append(loop.now)).cancel()
    reading.tell_no_more(told)
    loop.turn_for(1.0)
    loop.stand_still_for(5.0)
    loop.turn_for(5.0)
    assert (told, struck, [h for *_, h in loop._due]) == ([], [], [])


@live
async def test_a_timeout_by_reading_time_ends_in_a_timeout_error_and_no_sooner() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(TimeoutError):
        async with patience(0.05):
            await asyncio.sleep(5)
    assert loop.time() - began >= 0.045
    async with patience(None):
        await asyncio.sleep(0)
