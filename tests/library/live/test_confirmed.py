"""`publish(confirmed_by=)` waits for members that hold the event, and says how many do."""

from __future__ import annotations

import pytest

from camcast.app import community as communities
from camcast.vocabulary.errors import CommunityError
from tests.library.live.communities import join_all, managers
from tests.patience import live


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
