"""Does something again and again, and counts what stays: objects, blocks, descriptors, threads.

What goes at a time of its own, and no sooner, is brought to its time first: the timers of groups
that were left. What has a bound is filled before the counting begins. Blocks are those of Python's
allocator, of up to 512 bytes: each object has one, but for larger strings and bytes. They are
counted for nothing; `tracemalloc` would take four times as much as the rounds.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
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
BLOCKS_MAX: Final = 2_500  # chosen: an object of Python's in a quarter of ten thousand rounds
TIMERS_IN_A_ROW: Final = 4  # chosen: one more than set each other: asked, asked again, given up

Round = Callable[[int], Awaitable[None]]


@frozen
class Kept:
    """What there is at one moment."""

    objects: Counter[str]
    """The instances of each class of ours."""
    blocks: int
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
        sys.getallocatedblocks(),
        len(os.listdir("/proc/self/fd")),
        len(asyncio.all_tasks()),
        threading.active_count(),
    )


async def let_time_pass(manager: CommunityManager) -> None:
    """Let the time come of patient timers, idle pipes and kept events; wait for other timers.

    A timer that comes may set the next one of its row. What is under way would else be counted,
    more of it the faster the rounds were.
    """
    runner, pipes = manager._lifetime.running(), manager.pipes
    for _ in range(TIMERS_IN_A_ROW):
        for moment in list(runner._timers._together):
            runner._timers._come(moment)
    assert isinstance(pipes, QueuedPipes)
    pipes._close_spent(asyncio.get_running_loop().time() + pipes.limits.idle_seconds)
    assert runner.node._around.parts.store is not None
    runner.node._around.parts.store.expire(inf)
    runner.node.liveness._forget_left(inf)
    own_events = runner.node._intake._own_events
    own_events._kept.clear()  # as the next publication does
    own_events._bytes = 0
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


def assert_nothing_stayed(first: Kept, last: Kept, rounds: int, blocks_max: int) -> None:
    """Assert that of what so many rounds have made, nothing is left."""
    grown = {
        name: more
        for name, more in (last.objects - first.objects).items()
        if more >= rounds // 4 and name not in LATER
    }
    assert not grown, grown
    assert last.blocks - first.blocks < blocks_max, last.blocks - first.blocks
    assert last.descriptors <= first.descriptors
    assert last.tasks <= first.tasks
    assert last.threads <= first.threads


LATER: Final = (
    # remembered by their texts, up to a bound
    *("camcast.vocabulary.topics.Topic", "camcast.vocabulary.addresses._Address"),
    # no more than there are shared moments in a minute
    "camcast.live.wire.reading_time.Patience",
    "camcast.live.runner.Timers",
    # the attributes of the latest events, up to a bound
    "camcast.vocabulary.events.EventId",
    # until a community has 65,536
    "camcast.engine.known_streams.KnownRanges",
)
"""What goes later, or is bounded; the blocks of ten thousand rounds show that."""
