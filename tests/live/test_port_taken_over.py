"""A process of another topic takes over the port of one that died: what still goes there."""

import asyncio

import pytest

from camcast import Community, CommunityManager
from camcast.live.transports import TRANSPORTS, ZMTP
from tests.live.communities import OPTIONS, Inbox, managers
from tests.patience import PATIENCE_SECONDS, eventually, live


async def publish(community: Community, count: int) -> None:
    for _ in range(count):
        await community.publish(b"for .a")
    assert await community._manager.pipes.drain(PATIENCE_SECONDS)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_process_of_another_topic_gets_nothing_for_who_had_its_port_before(
    transport: str,
) -> None:
    """`zmtp` sends nothing. `zmq` cannot know; the next heartbeat, after a second by default, ends
    it, and the process counts until then what is not for it, and delivers none of it.

    The one that died is suspected after 200 silent periods, which this test does not last.
    """

    async def test() -> None:
        async with managers(2, transport=transport) as (publisher, dying):
            community, *_ = [await manager.join(".a") for manager in (publisher, dying)]
            await community.ready()
            await eventually(lambda: len(dying.community(".a").peers) == 1)
            assert dying._runner is not None
            dying._runner.close()  # as if it were killed: it says goodbye to nobody
            dying.pipes.close(0)
            dead = dying.contact
            async with CommunityManager(
                bind=dead.address, transport=transport, options=OPTIONS
            ) as heir:
                inbox = Inbox()
                other = await heir.join(".b")
                other.subscribe(inbox)
                while transport == ZMTP and publisher.pipes.counters.records_misdirected < 100:
                    await publish(community, 10)
                    await asyncio.sleep(0.01)
                while transport != ZMTP and dead in community.peers:
                    await publish(community, 10)
                    await asyncio.sleep(0.01)
                before = heir.counters.parasites
                await publish(community, 10)
                await other.publish(b"for .b")
                await eventually(lambda: inbox.payloads)
                assert heir.counters.parasites == before
                assert transport != ZMTP or before == 0
                assert heir.counters.events == 0
                assert inbox.payloads == [b"for .b"]

    live(test)()
