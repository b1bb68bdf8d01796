"""A member that was cut off for longer than the retention is told what it missed."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest

from camcast import CommunityManager, CommunitySettings, Missed
from tests.library.live.communities import Inbox
from tests.patience import eventually, live

RETENTION = 1.0


@pytest.mark.slow  # ten seconds pass before anything is given up
@live
async def test_who_is_cut_off_for_longer_than_the_retention_is_told_what_it_missed() -> None:
    parameters = CommunitySettings(retention_seconds=RETENTION)
    async with (
        CommunityManager(parameters=parameters) as first,
        CommunityManager(parameters=parameters, gateways=[first.address]) as second,
    ):
        near, far = await first.join(".a"), await second.join(".a")
        heard, told = Inbox(), list[Missed]()
        far.subscribe(heard, on_missed=told.append)
        await near.publish(b"before")
        await eventually(lambda: heard.payloads == [b"before"])
        assert first._lifetime.runner is not None
        assert second._lifetime.runner is not None
        with (
            mock.patch.object(first._lifetime.runner._pipes, "send"),
            mock.patch.object(second._lifetime.runner._pipes, "send"),
        ):
            for number in range(3):
                await near.publish(b"%d" % number)
            await asyncio.sleep(2 * RETENTION)
        await eventually(lambda: told)
        assert [(missed.first, missed.last) for missed in told] == [(2, 4)]
        assert heard.payloads == [b"before"]
