"""Communities of processes over real sockets: grow them, look at their tables, take events."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from random import SystemRandom
from typing import Any

import pytest

from camcast import Community, CommunityManager, CommunitySettings, Received
from camcast.research.experiment.node import manager_of
from membership.scamp.scamp import Scamp
from tests.patience import eventually

# Quick repairs, and nobody is suspected for being slow: what is dropped was told to leave.
OPTIONS = {"heartbeat_seconds": 0.1, "suspect_after": 200}
# p_sel = p_a = 1 in small communities, so that an event climbs for certain.
CERTAIN = CommunitySettings(a=3.0, search_seconds=0.2, check_seconds=0.5)


@asynccontextmanager
async def managers(count: int, **settings: Any) -> AsyncIterator[list[CommunityManager]]:
    """Some processes that find each other through the first; `settings` as for `manager_of`."""
    settings = {"options": OPTIONS, "parameters": CERTAIN, **settings}
    async with manager_of(**settings) as first:
        gateways = [first.address]
        others = [manager_of(gateways=gateways, **settings) for _ in range(count - 1)]
        async with together(first, *others) as started:
            yield started


@asynccontextmanager
async def together(*managers: CommunityManager) -> AsyncIterator[list[CommunityManager]]:
    """Start processes in turn, and close all at once.

    In turn each would wait for a second, as its goodbyes are also for those that are gone.
    """
    try:
        for manager in managers:
            await manager.start()
        yield [*managers]
    finally:
        await asyncio.gather(*(manager.close() for manager in managers))


def connected(communities: Iterable[Community]) -> bool:
    """Whether an event of any of these processes reaches all of them along the topic tables."""
    by_peer = {c._lifetime.running().node.me.peer: c for c in communities}
    for start in by_peer:
        reached, edge = {start}, [start]
        while edge:
            for peer in by_peer[edge.pop()].peers:
                if peer.peer in by_peer and peer.peer not in reached:
                    reached.add(peer.peer)
                    edge.append(peer.peer)
        if len(reached) < len(by_peer):
            return False
    return True


def mutual(communities: Iterable[Community]) -> bool:
    """Whether every arc is known at both ends: no answer to a subscription is under way."""
    arcs: set[tuple[bytes, bytes]] = set()
    held: set[tuple[bytes, bytes]] = set()
    for community in communities:
        me = community._lifetime.running().node.me.peer
        assert community._local_group is not None
        arcs |= {(me, peer.peer) for peer in community.peers}
        scamp = community._local_group.membership
        assert isinstance(scamp, Scamp)
        held |= {(holder.peer, me) for holder in scamp.in_view()}
    return arcs == held


def state_of(community: Community) -> str:
    """Read the state: mypy takes a property, once compared, for what it was."""
    return community.state


async def join_all(topic: Any, joining: Iterable[CommunityManager], **how: Any) -> list[Community]:
    communities = [await manager.join(topic, **how) for manager in joining]
    await eventually(lambda: connected(communities))
    return communities


async def assert_left_whenever_cancelled(
    monkeypatch: pytest.MonkeyPatch,
    enter: Callable[[CommunityManager], AbstractAsyncContextManager[object]],
    topic: str,
) -> None:
    """Whoever is cancelled while entering, being there or leaving is no member of a topic after."""
    join = Community.join

    async def join_slowly(self: Community) -> None:
        await join(self)
        await asyncio.sleep(0)

    async def come_and_go(manager: CommunityManager) -> None:
        async with enter(manager):
            pass

    monkeypatch.setattr(Community, "join", join_slowly)
    async with managers(1) as (manager,):
        turns, there = 0, False
        while not there:
            turns += 1
            task = asyncio.create_task(come_and_go(manager))
            for _ in range(turns):
                await asyncio.sleep(0)
            there = task.done()
            task.cancel()
            await asyncio.wait([task])
            assert manager.stats().communities == (), turns
        assert turns > 2


class Inbox:
    """A plain callback that collects payloads, in the thread of its subscription."""

    def __init__(self) -> None:
        self.received: list[Received] = []

    def __call__(self, received: Received) -> None:
        self.received.append(received)

    @property
    def payloads(self) -> list[bytes]:
        return [received.payload for received in self.received]


def free_port() -> int:
    """Return a port that is free for both TCP and UDP, or was just now.

    It is none of those that Linux gives for port 0, or to who connects: another test's process
    could get it before it is bound.
    """
    while True:
        place = "127.0.0.1", SystemRandom().randrange(10_000, 32_768)
        with (
            socket.socket() as tcp,
            socket.socket(type=socket.SOCK_DGRAM) as udp,
            suppress(OSError),  # something listens there
        ):
            tcp.bind(place)
            udp.bind(place)
            return place[1]


def free_address() -> str:
    return f"tcp://127.0.0.1:{free_port()}"
