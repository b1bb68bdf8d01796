"""Communities that meet through the DHT: managers over real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from camcast import (
    CommunityError,
    CommunityManager,
    CommunitySettings,
    GatewayTimeout,
    Received,
    Subscription,
)
from overlays.kademlia import overlay
from tests.library.live.communities import free_port
from tests.patience import eventually, live

MEMBERSHIPS = ("dht", "hybrid")
# p_sel = p_a = 1 in small communities, so that an event climbs for certain.
CERTAIN = CommunitySettings(a=3.0, search_seconds=0.2, check_seconds=0.5)


async def next_of(events: Subscription) -> Received:
    """Return the next event; that any were dropped is a failure."""
    received = await anext(events)
    assert isinstance(received, Received)
    return received


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@live
async def test_who_knows_a_member_joins_publishes_and_is_heard(membership: str) -> None:
    async with CommunityManager(membership) as anna:
        soccer = await anna.join(".soccer")
        events = soccer.subscribe()
        async with CommunityManager(membership, gateways=[anna.address]) as bert:
            community = await bert.join(".soccer")
            await community.ready()
            assert community.peers == (anna.contact,)
            receipt = await community.publish(b"goal")
            assert receipt.peers == 1
            received = await next_of(events)
            assert (received.id, received.payload) == (receipt.id, b"goal")
            await soccer.ready()
            answers = community.subscribe()
            await soccer.publish(b"well done")
            assert (await next_of(answers)).payload == b"well done"


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@live
async def test_a_bootstrap_node_serves_communities_that_it_is_not_in(membership: str) -> None:
    """It may die, too, once they have met; and an event climbs to a community found alike."""
    async with AsyncExitStack() as stack:
        anna = await stack.enter_async_context(CommunityManager(membership))
        bert, carla, dora = [
            await stack.enter_async_context(
                CommunityManager(membership, gateways=[anna.address], parameters=CERTAIN)
            )
            for _ in range(3)
        ]
        top = (await bert.join(".sports")).subscribe()
        soccer = await carla.join(".sports.soccer")
        events = soccer.subscribe()
        publisher = await dora.join(".sports.soccer")
        await publisher.ready()
        for community in (soccer, publisher):
            await community.ready(min_links=1)
        await anna.close()
        await publisher.publish(b"goal")
        assert (await next_of(events)).payload == b"goal"
        assert (await next_of(top)).payload == b"goal"


@live
async def test_a_dead_gateway_is_named() -> None:
    address = f"127.0.0.1:{free_port()}"

    async def refused(membership: str) -> None:
        async with CommunityManager(membership, gateways=[f"tcp://{address}"]) as manager:
            with pytest.raises(
                GatewayTimeout, match=r"no (gateway|node of the DHT) answered"
            ) as caught:
                await manager.join(".soccer")
            assert isinstance(caught.value, CommunityError)
            assert address in str(caught.value)
            assert [place.partition("://")[2] for place in caught.value.addresses] == [address]
            assert manager.community(".soccer").state == "left"

    await asyncio.gather(*map(refused, MEMBERSHIPS))


@live
async def test_closing_while_it_joins_leaves_nothing() -> None:
    async def cut_short(membership: str, address: str) -> None:
        manager = CommunityManager(membership, gateways=[address])
        await manager.start()
        community = manager.community(".soccer")
        subscription = community.subscribe()  # starts to join
        await asyncio.sleep(0)
        assert community.state == "joining"
        await manager.close()
        assert subscription.closed

    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        await asyncio.gather(*(cut_short(membership, address) for membership in MEMBERSHIPS))


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@live
async def test_remembered_contacts_serve_when_the_gateway_is_gone(
    membership: str, tmp_path: Path
) -> None:
    """Bert comes back after the only gateway has gone, and finds Anna by himself."""
    memory = tmp_path / "contacts"
    async with CommunityManager(membership) as first, AsyncExitStack() as lives:
        gateway = first.address
        anna = await lives.enter_async_context(CommunityManager(membership, gateways=[gateway]))
        events = (await anna.join(".soccer")).subscribe()
        async with CommunityManager(membership, gateways=[gateway], remember=memory) as bert:
            await (await bert.join(".soccer")).ready(min_peers=1)
        assert memory.stat().st_mode & 0o777 == 0o600
        await first.close()
        async with CommunityManager(membership, gateways=[gateway], remember=memory) as again:
            community = await again.join(".soccer")
            await community.ready(min_peers=1)
            await community.publish(b"back")
            assert (await next_of(events)).payload == b"back"
            assert again.discovery_state == "connected"


@live
async def test_a_silent_overlay_is_degraded_and_known_tables_work() -> None:
    """All of the DHT but two members falls silent, and one of these loses his overlay as well:
    events go on through the tables that there are, and the state says so."""
    async with CommunityManager("dht") as bootstrap, AsyncExitStack() as lives:
        gateways = [bootstrap.address]
        anna = await lives.enter_async_context(CommunityManager("dht", gateways=gateways))
        bert = await lives.enter_async_context(CommunityManager("dht", gateways=gateways))
        events = (await anna.join(".soccer")).subscribe()
        soccer = await bert.join(".soccer")
        await soccer.ready(min_peers=1)
        assert (anna.discovery_state, bert.discovery_state) == ("connected", "connected")
        assert anna._lifetime.runner is not None
        anna._lifetime.runner.node.discovery.close(asyncio.get_running_loop().time())
        await bootstrap.close()
        await eventually(lambda: bert.discovery_state == "degraded")
        await soccer.publish(b"still here")
        assert (await next_of(events)).payload == b"still here"


@live
async def test_islands_become_one_when_a_bootstrap_node_comes_within_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ours knows the second bootstrap node, which starts later, with an island of its own."""
    monkeypatch.setattr(overlay, "PROBE_SECONDS", 1.0)
    later = free_port()
    async with CommunityManager("dht") as bootstrap, AsyncExitStack() as lives:

        async def member(*gateways: str) -> CommunityManager:
            manager = CommunityManager("dht", gateways=gateways, options={"probe_seconds": 1.0})
            await lives.enter_async_context(manager)
            await manager.join(".soccer")
            return manager

        second = f"tcp://127.0.0.1:{later}"
        ours = [await member(bootstrap.address, second) for _ in range(2)]
        await lives.enter_async_context(CommunityManager("dht", bind=second))
        theirs = [await member(second) for _ in range(2)]
        everybody = {manager.contact for manager in (*ours, *theirs)}
        for manager in (*ours, *theirs):
            others = everybody - {manager.contact}
            community = manager.community(".soccer")
            await eventually(lambda c=community, o=others: set(c.peers) == o)
