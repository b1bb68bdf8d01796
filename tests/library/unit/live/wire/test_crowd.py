"""Whether an event finds room on its first hop."""

from __future__ import annotations

import asyncio

from camcast.doors.transport import PipeLimits
from camcast.live.wire.crowd import MOVES_SECONDS, Crowd
from camcast.live.wire.output_pipe import OutputPipe
from tests.library.live.pipe_ends import at
from tests.patience import live

FULL, OTHER = at("tcp://127.0.0.1:1"), at("tcp://127.0.0.1:2")


def crowd_with_a_full_pipe(stood_still_seconds: float) -> Crowd:
    loop = asyncio.get_running_loop()
    limits = PipeLimits(queue_bytes_max=1000)
    crowd = Crowd(limits, loop)
    pipe = OutputPipe(address=FULL.address, moved=loop.time() - stood_still_seconds)
    pipe.waiting = 990
    crowd.pipes[FULL.address] = pipe
    return crowd


@live
async def test_a_full_pipe_that_moves_leaves_no_room_though_another_has_some() -> None:
    """What is refused is told to the publisher; what is accepted reaches all peers that move."""
    crowd = crowd_with_a_full_pipe(0.0)
    assert not crowd.has_room([FULL, OTHER], 11)
    assert crowd.has_room([FULL, OTHER], 10)
    assert crowd.has_room([OTHER], 11)


@live
async def test_a_full_pipe_that_stands_still_counts_only_where_there_is_no_other() -> None:
    crowd = crowd_with_a_full_pipe(2 * MOVES_SECONDS)
    assert crowd.has_room([FULL, OTHER], 11)
    assert not crowd.has_room([FULL], 11)
