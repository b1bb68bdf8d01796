"""An event of 16 MiB over real sockets: each process gets it once, in about one copy."""

from __future__ import annotations

import asyncio

import pytest

from camcast import Community, CommunitySettings
from tests.library.live.communities import OPTIONS, Inbox, managers
from tests.patience import eventually, live

MIB = 1 << 20


@live
@pytest.mark.slow  # 5 s
@pytest.mark.parametrize("transport", ["tcp", "zmtp"])
async def test_sixteen_mebibytes_cross_the_wire_about_once_a_process(transport: str) -> None:
    parameters = CommunitySettings(event_bytes_max=16 * MIB)
    async with managers(
        6, transport=transport, options=OPTIONS, parameters=parameters
    ) as processes:
        communities: list[Community] = [await one.join(".a") for one in processes]
        inboxes = [Inbox() for _ in processes]
        for community, inbox in zip(communities, inboxes, strict=True):
            community.subscribe(inbox)
        await asyncio.gather(*(community.ready() for community in communities))
        before = sum(one.counters.outputs.bytes_sent for one in processes[:1])
        payload = bytes(range(256)) * (16 * MIB // 256)
        receipt = await communities[0].publish(payload, confirmed_by=5)
        assert receipt.accepted
        assert receipt.refusing == 0
        await eventually(lambda: all(inbox.payloads == [payload] for inbox in inboxes))
        sent = sum(one.counters.outputs.bytes_sent for one in processes[:1]) - before
        assert 3 * len(payload) <= sent <= 1.25 * 5 * len(payload)  # nodes of a loop share links
