"""The runner: timers, none of which comes early, and a bound on what leaves in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

from camcast import CommunityManager
from camcast.live.runner import (
    CONTROL_COPIES_A_TURN_MAX,
    PATIENT_SECONDS,
    TOGETHER_SECONDS,
    Timers,
)
from camcast.live.wire.reading_time import ReadingTime
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind


class Call:
    """A call that the loop owes; the tests here cancel only such that have come."""

    def cancel(self) -> None:
        pass


class Loop:
    """An event loop whose clock the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.calls: list[tuple[float, Callable[..., object], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, act: Callable[..., object], *arguments: Any) -> Call:
        self.calls.append((when, act, arguments))
        return Call()

    def call_later(self, delay: float, act: Callable[..., object], *arguments: Any) -> Call:
        return self.call_at(self.now + delay, act, *arguments)

    def run(self) -> None:
        for when, act, arguments in sorted(self.calls, key=lambda call: call[0]):
            self.now = when
            act(*arguments)


def reading(loop: Loop) -> ReadingTime:
    return ReadingTime(cast("asyncio.AbstractEventLoop", loop))


def token(number: int) -> Token:
    return Token(Kind.MEMBERSHIP, GroupId(bytes(8)), (number,))


def times(delays: Sequence[float]) -> tuple[list[float], int]:
    """Return when each of these timers came, in seconds from now, and the wake-ups it took."""
    loop, came = Loop(), dict[Token, float]()
    start, wakes = loop.now, 0

    def wake(tokens: Sequence[Token]) -> None:
        nonlocal wakes
        wakes += 1
        came.update(dict.fromkeys(tokens, loop.now - start))

    timers = Timers(reading(loop), wake, phase=0.3)
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


def test_the_nodes_of_a_process_wake_at_the_same_moments() -> None:
    loop, came = Loop(), list[float]()
    for _ in range(5):
        timers = Timers(reading(loop), lambda _: came.append(loop.now - 1000))
        timers.set(0.97, token(0))
    loop.run()
    assert len(came) == 5
    assert len(set(came)) == 1


def test_closed_timers_give_nothing_back() -> None:
    loop, came = Loop(), list[Token]()
    timers = Timers(reading(loop), came.extend)
    timers.set(2 * PATIENT_SECONDS, token(1))
    timers.close()
    loop.run()
    assert came == []


def test_a_turn_of_the_loop_sends_so_many_control_copies_and_the_next_turn_as_many() -> None:
    """What one turn refuses is counted; what was sent in the turns before takes no room away."""
    copies = 64

    async def run() -> None:
        async with CommunityManager() as manager:
            runner = manager._lifetime.running()
            for _ in range(3 * CONTROL_COPIES_A_TURN_MAX // copies):
                assert runner._may_answer(copies)
                await asyncio.sleep(0)
            for _ in range(2):
                before = manager.counters.outputs
                asked = CONTROL_COPIES_A_TURN_MAX // copies + 8
                sent = copies * sum(runner._may_answer(copies) for _ in range(asked))
                assert 0.98 * CONTROL_COPIES_A_TURN_MAX <= sent <= CONTROL_COPIES_A_TURN_MAX
                after = manager.counters.outputs
                assert after.controls_sent - before.controls_sent == sent
                assert after.controls_unsent - before.controls_unsent == copies * asked - sent
                await asyncio.sleep(0)

    asyncio.run(run())
