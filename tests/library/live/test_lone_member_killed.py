"""The only member of a topic is killed, and its successor joins through the live gateway."""

import time

import pytest

from camcast import CommunityManager
from camcast.app.community import JOIN_SECONDS
from tests.patience import eventually, live


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht", "cyclon", "hyparview"])
@live
async def test_its_successor_joins_before_join_gives_up(membership: str) -> None:
    async with CommunityManager(membership) as gateway:
        lone = CommunityManager(membership, gateways=[gateway.address])
        await lone.start()
        await lone.join(".a", retry=True)
        if membership not in ("hybrid", "dht"):  # whose gateways keep no register
            await eventually(lambda: gateway.counters.controls)
        assert lone._lifetime.runner is not None
        lone._lifetime.runner.close()  # as if it were killed: it says goodbye to nobody
        lone.pipes.close(0)
        async with CommunityManager(membership, gateways=[gateway.address]) as successor:
            began = time.monotonic()
            community = await successor.join(".a")
            assert time.monotonic() - began < JOIN_SECONDS
            assert community.state == "alone"
