"""A durable subscriber that is killed again and again gets every event, in its publisher's order.

It prints an event, and then the cursor moves: a kill between the two brings that one event again.
"""

import asyncio
import json
import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from camcast import CommunityManager
from tests.library.live.communities import OPTIONS
from tests.patience import live

KILLS = 3
EVENTS_A_LIFE = 30


async def life(archive: Path, gateway: str, count: int, *, last: bool) -> list[int]:
    """Return the numbers that a subscriber prints until it is killed, or has printed enough."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "camcast", "subscribe", ".a", "--gateway", gateway, "--retry"),
        *("--archive", str(archive), "--durable", "billing", "--since", "1h"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    printed = [int(json.loads(await process.stdout.readline())["payload"]) for _ in range(count)]
    process.send_signal(signal.SIGINT if last else signal.SIGKILL)
    rest, _ = await process.communicate()
    return printed + [int(json.loads(line)["payload"]) for line in rest.splitlines() if line]


@pytest.mark.slow
@live
async def test_a_subscriber_that_is_killed_again_and_again_gets_all_and_no_other_one_twice(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "subscriber"
    whole = KILLS * EVENTS_A_LIFE + EVENTS_A_LIFE
    async with CommunityManager(archive=tmp_path / "publisher", options=OPTIONS) as manager:
        near = await manager.join(".a")

        async def publish() -> None:
            for number in range(whole):
                await near.publish(b"%d" % number)
                await asyncio.sleep(0.02)

        publishing = asyncio.create_task(publish())
        gateway = manager.address
        lives = [await life(archive, gateway, EVENTS_A_LIFE, last=False) for _ in range(KILLS)]
        seen = lives[-1][-1] + 1
        lives.append(await life(archive, gateway, whole - seen, last=True))
        await publishing
    for one in lives:
        assert one == list(range(one[0], one[-1] + 1)), "in order, and nothing twice"
    for before, after in pairwise(lives):
        assert after[0] in (before[-1], before[-1] + 1), "the last one may not have been done"
    assert lives[0][0] == 0
    assert lives[-1][-1] == whole - 1
