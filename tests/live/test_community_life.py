"""Joining, leaving, closing and starting again, over real sockets; nothing is left behind."""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

from camcast import (
    AddressInUse,
    Community,
    CommunityError,
    CommunityManager,
    GatewayTimeout,
    NotReady,
    Received,
    open_pipes,
)
from tests.live.communities import (
    CERTAIN,
    OPTIONS,
    Inbox,
    free_address,
    join_all,
    managers,
    mutual,
    state_of,
)
from tests.patience import eventually, live


@live
async def test_the_first_member_founds_the_community() -> None:
    async with managers(2) as (_, manager):
        community = await manager.join(".empty")
        assert community.state == "alone"
        assert community.size == 1.0
        assert repr(community) == "<Community .empty alone>"
        with pytest.raises(NotReady, match=r"\.empty has 0 peers and 0 links after 0.05 s"):
            await community.ready(timeout=0.05)


@live
async def test_the_last_unsubscription_of_one_who_publishes_not_leaves() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        one, two = community.subscribe(), community.subscribe()
        community.unsubscribe(one)
        assert state_of(community) == "alone"
        await community.publish(b"x")
        community.unsubscribe(two)
        assert state_of(community) == "alone"
        community.stop_publishing()
        assert state_of(community) == "left"
        again = community.subscribe()
        await community.ready(0)
        assert state_of(community) == "alone"
        community.unsubscribe(again)
        assert state_of(community) == "left"


@live
async def test_who_leaves_is_dropped_from_the_tables_at_once() -> None:
    async with managers(3) as (first, second, third):
        one, two, three = await join_all(".a", [first, second, third])
        await eventually(lambda: mutual([one, two, three]))
        gone = third.contact.peer
        subscription = three.subscribe()
        await three.leave()
        assert (three.state, three.peers, three.links, three.size) == ("left", (), (), 0.0)
        assert [item async for item in subscription] == []
        for community in (one, two):
            await eventually(lambda c: gone not in [p.peer for p in c.peers], community)
        await two._manager.close()
        await eventually(lambda: one.state == "alone")


@live
async def test_leaving_ends_the_waiting_for_peers_and_for_gateways() -> None:
    async with managers(1) as (manager,):
        community = manager.community(".a")
        waiting = asyncio.create_task(community.ready(timeout=None))
        await eventually(lambda: community.state == "alone")
        await community.leave()
        with pytest.raises(CommunityError, match=r"\.a was left in the meantime"):
            await waiting
    async with CommunityManager(gateways=[free_address()]) as manager:
        joining = asyncio.create_task(manager.join(".a", timeout=None, retry=True))
        await eventually(lambda: manager.community(".a").state == "joining")
        await manager.close()
        with pytest.raises(CommunityError, match="left in the meantime"):
            await joining


@live
async def test_silent_gateways_are_named() -> None:
    addresses = (free_address(), free_address())
    async with CommunityManager(gateways=addresses) as manager:
        with pytest.raises(GatewayTimeout) as caught:
            await manager.join(".a")
        assert caught.value.addresses == addresses
        assert all(address in str(caught.value) for address in addresses)
        assert ".a" in str(caught.value)
        assert manager.community(".a").state == "left"
        with pytest.raises(GatewayTimeout):
            await manager.community(".a").publish(b"x")
        with pytest.raises(NotReady, match=r"not joined within 0\.05 s"):
            await manager.join(".b", timeout=0.05)


@live
async def test_with_retry_a_process_joins_once_the_gateway_runs() -> None:
    address = free_address()
    async with CommunityManager(gateways=[address]) as manager:
        joining = asyncio.create_task(manager.join(".a", retry=True, timeout=None))
        # Until it has learned that nobody answers.
        await eventually(lambda: (c := manager.community(".a"))._participation is not None
                         and c._participation.unreachable)  # fmt: skip
        async with CommunityManager(bind=address):
            assert (await joining).state == "alone"


@live
async def test_a_port_in_use_is_said_and_leaves_nothing_behind() -> None:
    async with managers(1) as (manager,):
        other = CommunityManager(bind=manager.address)
        with pytest.raises(AddressInUse) as caught:
            await other.start()
        assert manager.address in str(caught.value.strerror)
        with pytest.raises(CommunityError, match="not running"):
            await other.join(".a")


@live
async def test_a_restarted_process_comes_back_at_the_same_port() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        address, peer = second.address, second.contact.peer
        await (await second.join(".a")).publish(b"before")
        await eventually(lambda: inbox.payloads == [b"before"])
        await second.close()
        async with CommunityManager(
            gateways=[first.address], bind=address, options=OPTIONS, parameters=CERTAIN
        ) as again:
            assert again.address == address
            assert again.contact.peer != peer
            community = await again.join(".a")
            await community.ready()
            returning = community.subscribe()
            await community.publish(b"after")
            await eventually(lambda: inbox.payloads == [b"before", b"after"])
            assert isinstance(await anext(returning), Received)
            await first.community(".a").ready()
            await first.community(".a").publish(b"back")
            item = await anext(returning)
            assert isinstance(item, Received)
            assert item.payload == b"back"


@live
async def test_a_manager_can_be_closed_twice_and_started_again() -> None:
    manager = CommunityManager()
    await manager.close()
    for _ in range(2):
        async with manager:
            await manager.start()
            community = await manager.join(".a")
            events = community.subscribe()
            await community.publish(b"x")
            assert isinstance(await anext(events), Received)
        await manager.close()
        with pytest.raises(CommunityError, match="not running"):
            _ = manager.address
        with pytest.raises(CommunityError, match="not running"):
            community.subscribe()


@live
async def test_managers_of_a_loop_may_share_output_pipes() -> None:
    pipes = open_pipes()
    try:
        async with managers(3, pipes=pipes) as three:
            communities = await join_all(".a", three)
            inbox = Inbox()
            communities[2].subscribe(inbox)
            await communities[0].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])
            assert all(manager.pipes is pipes for manager in three)
    finally:
        pipes.close()


def test_close_leaves_no_task_thread_or_descriptor_behind() -> None:
    @live
    async def use() -> None:
        async with managers(4) as four:
            communities = await join_all(".a", four)
            inbox = Inbox()
            communities[0].subscribe(inbox)
            await communities[1].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])

    use()  # whatever is loaded once is loaded now
    threads, descriptors = threading.enumerate(), len(os.listdir("/proc/self/fd"))
    use()
    assert threading.enumerate() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@live
async def test_ipv6_loopback_works_like_ipv4() -> None:
    try:
        probe = socket.socket(socket.AF_INET6)
        probe.bind(("::1", 0))
        probe.close()
    except OSError:
        pytest.skip("no IPv6 here")
    async with managers(2, bind="tcp://[::1]:0") as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher: Community = await second.join(".a")
        await publisher.ready()
        assert first.address.startswith("tcp://[::1]:")
        published: Awaitable[Any] = publisher.publish(b"six")
        await published
        await eventually(lambda: inbox.payloads == [b"six"])
