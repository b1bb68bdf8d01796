"""Does something again and again, and counts what has stayed: objects, bytes, descriptors, threads.

What goes at a time of its own, and no sooner, is brought to its time first: the timers of groups
that were left. What has a bound is filled before the counting begins.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

from attrs import frozen

from camcast import CommunityManager
from camcast.live.runner import PATIENT_SECONDS
from camcast.live.wire.pipes import QueuedPipes
from tests.patience import eventually

OURS: Final = ("camcast.", "membership.", "overlays.", "tests.")
BYTES_A_ROUND: Final = 50  # less than any object with a dictionary, more than what a list grows by

Round = Callable[[int], Awaitable[None]]


@frozen
class Kept:
    """What there is at one moment."""

    objects: Counter[str]
    """The instances of each class of ours."""
    bytes: int
    """Those that Python has allocated; 0 where they are not traced."""
    descriptors: int
    tasks: int
    threads: int


def count() -> Kept:
    """Count what there is now."""
    gc.collect()
    classes = Counter(
        f"{type(one).__module__}.{type(one).__qualname__}"
        for one in gc.get_objects()
        if str(type(one).__module__).startswith(OURS)
    )
    return Kept(
        classes,
        tracemalloc.get_traced_memory()[0],
        len(os.listdir("/proc/self/fd")),
        len(asyncio.all_tasks()),
        threading.active_count(),
    )


async def let_time_pass(manager: CommunityManager) -> None:
    """Let the time come of patient timers, idle pipes and kept events; wait for other timers."""
    runner, pipes = manager._lifetime.running(), manager.pipes
    for moment in list(runner._timers._together):
        runner._timers._come(moment)
    assert isinstance(pipes, QueuedPipes)
    pipes._close_spent(asyncio.get_running_loop().time() + pipes.limits.idle_seconds)
    assert runner.node._around.parts.store is not None
    runner.node._around.parts.store.expire(inf)
    await asyncio.sleep(PATIENT_SECONDS)
    await eventually(
        lambda: not any(one.name == "camcast-subscriber" for one in threading.enumerate())
    )


async def kept_by(
    manager: CommunityManager, once: Round, rounds: int, before: int
) -> tuple[Kept, Kept]:
    """Do something so many times; return what there was before and after it.

    It is done `before` times before, which fills what has a bound.
    """
    counted: list[Kept] = []
    for begin, end in ((0, before), (before, before + rounds)):
        for number in range(begin, end):
            await once(number)
        await let_time_pass(manager)
        counted.append(count())
    first, last = counted
    return first, last


def assert_nothing_stayed(first: Kept, last: Kept, rounds: int, bytes_a_round: int) -> None:
    """Assert that of what so many rounds have made, nothing is left."""
    grown = {
        name: more
        for name, more in (last.objects - first.objects).items()
        if more >= rounds // 4 and name not in LATER
    }
    assert not grown, grown
    assert last.bytes - first.bytes < bytes_a_round * rounds, last.bytes - first.bytes
    assert last.descriptors <= first.descriptors
    assert last.tasks <= first.tasks
    assert last.threads <= first.threads


LATER: Final = (
    # remembered by their texts, up to a bound
    *("camcast.vocabulary.topics.Topic", "camcast.vocabulary.addresses._Address"),
    # timers: no more than there are shared moments in a minute
    *("camcast.live.wire.reading_time.Patience", "camcast.vocabulary.outbox.Token"),
    "camcast.live.runner.Timers",
    # the attributes of the latest events, up to a bound
    "camcast.vocabulary.events.EventId",
    # until a community has 65,536
    "camcast.engine.known_streams.KnownRanges",
)
"""What goes later, or is bounded; the bytes of ten thousand rounds show that."""
