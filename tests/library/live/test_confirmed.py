"""`publish(confirmed_by=)` waits for members that hold the event, and says how many do."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import pytest

from camcast import Missed
from camcast.app import community as communities
from camcast.vocabulary.errors import CommunityError
from tests.library.live.communities import Inbox, join_all, managers
from tests.patience import eventually, live


@live
async def test_a_receipt_counts_the_members_that_hold_the_event() -> None:
    async with managers(3) as processes:
        one, *_ = await join_all(".a", processes)
        await one.ready(2)
        assert (await one.publish(b"alone")).confirmed == 0
        assert (await one.publish(b"held", confirmed_by=2)).confirmed == 2


@live
async def test_the_wait_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communities, "CONFIRM_SECONDS", 0.01)
    async with managers(1) as (only,):
        community = await only.join(".a")
        receipt = await community.publish(b"nobody else", confirmed_by=1)
        assert (receipt.accepted, receipt.confirmed) == (True, 0)


@live
async def test_what_cannot_be_confirmed_is_refused() -> None:
    async with managers(1, repair=False) as (only,):
        community = await only.join(".a")
        with pytest.raises(CommunityError, match="no repair"):
            await community.publish(b"", confirmed_by=1)
        with pytest.raises(ValueError, match="0 or more, not -1"):
            await community.publish(b"", confirmed_by=-1)
        with pytest.raises(TypeError, match="confirmed_by"):
            await community.publish(b"", confirmed_by=1.5)  # type: ignore[arg-type] # which is the test


DIES: Final = """
import asyncio, os, sys
from camcast import CommunityManager

async def main(gateway, confirmed_by):
    async with CommunityManager(gateways=[gateway]) as manager:
        community = await manager.join(".a")
        await community.ready(2)
        receipt = await community.publish(b"%d" % confirmed_by, confirmed_by=confirmed_by)
        os._exit(0 if receipt.accepted and receipt.confirmed == confirmed_by else 1)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.slow
@live
async def test_a_publisher_that_dies_on_the_next_line_has_said_what_a_receipt_promises() -> None:
    """Confirmed, all get it; accepted, it may have died there, and nobody is told of a hole."""
    async with managers(2) as processes:
        inboxes, missed = (Inbox(), Inbox()), list[Missed]()
        for community, inbox in zip(await join_all(".a", processes), inboxes, strict=True):
            community.subscribe(inbox, on_missed=missed.append)
        for confirmed_by in (0, 2):
            command = [sys.executable, "-c", DIES, processes[0].address, f"{confirmed_by}"]
            process = await asyncio.create_subprocess_exec(*command)
            assert await process.wait() == 0
        await eventually(lambda: all(b"2" in inbox.payloads for inbox in inboxes))
        await asyncio.sleep(3.0)  # the news of a stream are over
        one, other = (inbox.payloads for inbox in inboxes)
        assert one.count(b"0") == other.count(b"0") <= 1, "both or neither"
        assert one.count(b"2") == other.count(b"2") == 1
        assert not missed
