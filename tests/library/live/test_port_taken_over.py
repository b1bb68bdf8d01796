"""A process of another topic takes over the port of one that died: what still goes there."""

import asyncio

import attrs
import pytest

from camcast import Community, CommunityManager
from camcast.live.transports import TRANSPORTS, ZMQ
from camcast.vocabulary.topics import ROOT
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox, managers
from tests.patience import PATIENCE_SECONDS, eventually, live


async def publish(manager: CommunityManager, community: Community, count: int) -> None:
    for _ in range(count):
        await community.publish(b"for .a")
    assert await manager.pipes.drain(PATIENCE_SECONDS)


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_a_process_of_another_topic_gets_nothing_for_who_had_its_port_before(
    transport: str,
) -> None:
    """`zmtp` sends nothing. `zmq` cannot know; the next heartbeat, after a second by default, ends
    it, and the process counts until then what is not for it, and delivers none of it.

    The one that died is suspected after 200 silent periods, which this test does not last.
    """
    async with managers(2, transport=transport) as (publisher, dying):
        community, *_ = [await manager.join(".a") for manager in (publisher, dying)]
        await community.ready()
        await eventually(lambda: len(dying.community(".a").peers) == 1)
        assert dying._lifetime.runner is not None
        dying._lifetime.runner.close()  # as if it were killed: it says goodbye to nobody
        dying.pipes.close(0)
        dead = dying.contact
        async with CommunityManager(
            bind=dead.address, transport=transport, options=OPTIONS
        ) as heir:
            inbox = Inbox()
            other = await heir.join(".b")
            other.subscribe(inbox)
            while transport != ZMQ and publisher.pipes.counters.records_misdirected < 100:
                await publish(publisher, community, 10)
                await asyncio.sleep(0.01)
            while transport == ZMQ and dead in community.peers:
                await publish(publisher, community, 10)
                await asyncio.sleep(0.01)
            before = heir.counters.parasites
            await publish(publisher, community, 10)
            await other.publish(b"for .b")
            await eventually(lambda: inbox.payloads)
            assert heir.counters.parasites == before
            assert transport == ZMQ or before == 0
            assert heir.counters.events == 0
            assert inbox.payloads == [b"for .b"]


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_a_process_of_another_topic_gets_no_climbs_for_the_super_process_before_it(
    transport: str,
) -> None:
    """`zmtp` sends none. With `zmq` the first that comes draws the answer that ends them.

    No check of the link comes in the time of this test.
    """
    never = attrs.evolve(CERTAIN, check_seconds=1e6)
    async with managers(2, transport=transport, parameters=never) as (publisher, dying):
        await dying.join(".")
        community = await publisher.join(".x")
        await community.ready(0, min_links=1)
        assert dying._lifetime.runner is not None
        dying._lifetime.runner.close()
        dying.pipes.close(0)
        dead = dying.contact
        async with CommunityManager(bind=dead.address, transport=transport) as heir:
            await heir.join(".b")
            while transport != ZMQ and publisher.pipes.counters.records_misdirected < 10:
                await publish(publisher, community, 1)
                await asyncio.sleep(0.01)
            while transport == ZMQ and community.links != ((ROOT, ()),):
                await publish(publisher, community, 1)
                await asyncio.sleep(0.01)
            assert (heir.counters.parasites == 0) == (transport != ZMQ)
            assert heir.counters.events == 0
