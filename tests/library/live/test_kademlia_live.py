"""The DHT over real UDP sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random, SystemRandom
from typing import Any

import pytest

from camcast import CommunityManager
from camcast.doors.datagrams import Endpoint, address_of
from camcast.doors.transport import AddressInUse
from camcast.live.runner import Runner
from camcast.live.wire.udp import UdpPort
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic
from overlays.kademlia.discovery import KademliaDiscovery
from overlays.kademlia.overlay import Found, KademliaOverlay
from tests.camcast_command import Capture, camcast
from tests.library.unit.overlays.kademlia.kademlia_world import remembered
from tests.patience import eventually, live

A, B = map(Topic.parse, (".a", ".b"))
HOST = "127.0.0.1"


def contact_of(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), f"tcp://{HOST}:{7000 + number}")


class Member:
    """An overlay driven by real time and real sockets."""

    def __init__(self, **options: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self.udp = UdpPort(self.receive)
        self.overlay = KademliaOverlay(rng=SystemRandom(), wake=self.wake_later, **options)

    def receive(self, port: int, source: Endpoint, data: bytes) -> None:
        self.overlay.receive(port, source, data, self.loop.time())

    def wake_later(self, delay: float, *name: Any) -> None:
        self.loop.call_later(delay, lambda: self.overlay.wake(name, self.loop.time()))

    async def open(self, bootstrap: Sequence[Endpoint]) -> None:
        opened = asyncio.Event()
        self.overlay.open(self.udp, bootstrap, lambda _: opened.set(), self.loop.time())
        await opened.wait()

    async def join(self, topic: Topic, number: int) -> None:
        joined, now = asyncio.Event(), self.loop.time()
        self.overlay.join(topic, contact_of(number), now)
        self.overlay.when_joined(topic.group, lambda _: joined.set(), now)
        await joined.wait()

    async def find(self, topic: Topic, wanted: int) -> Found:
        answer = self.loop.create_future()
        self.overlay.find(
            topic.group, wanted, lambda found, _: answer.set_result(found), self.loop.time()
        )
        found: Found = await answer
        return found

    def leave(self, topic: Topic) -> None:
        self.overlay.leave(topic.group, self.loop.time())

    def close(self) -> None:
        self.overlay.close(self.loop.time())


async def started(
    count: int, topic: Topic, first: int, bootstrap: Sequence[Endpoint]
) -> list[Member]:
    async def start(number: int) -> Member:
        member = Member()
        await member.open(bootstrap)
        await member.join(topic, number)
        return member

    return list(await asyncio.gather(*map(start, range(first, first + count))))


async def until(find: Callable[[], Awaitable[Found]], right: Callable[[Found], bool]) -> Found:
    """Look until it is as it should be; the test's time limit ends it."""
    while not right(found := await find()):
        await asyncio.sleep(0.05)
    return found


@live
async def test_members_join_are_found_and_leave() -> None:
    bootstrap = Member()
    await bootstrap.open([])
    members = await started(12, A, 1, bootstrap.overlay.addresses)
    others = await started(4, B, 21, bootstrap.overlay.addresses)
    stranger = others[0]
    found = await until(lambda: stranger.find(A, 20), lambda found: len(found.contacts) == 12)
    assert found.size == 12
    assert set(found.contacts) == {contact_of(n) for n in range(1, 13)}
    members[0].leave(A)
    members[1].close()
    found = await until(lambda: stranger.find(A, 20), lambda found: len(found.contacts) == 10)
    assert contact_of(1) not in found.contacts
    bootstrap.close()
    founds = await asyncio.gather(*(member.find(B, 2) for member in members[2:]))
    assert all(len(found.contacts) == 2 for found in founds)
    late = Member(remembered=members[5].overlay.remembered)
    await late.open([])
    assert len((await late.find(A, 3)).contacts) == 3
    for member in (*members, *others, late):
        member.close()


@contextmanager
def udp_socket() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((HOST, 0))
        yield udp


@live
async def test_a_flood_of_nonsense_is_counted_and_survived() -> None:
    members = await started(3, A, 1, [])
    target = members[0].overlay.addresses[0]
    counters = members[0].overlay.counters
    rng = Random(1)
    with udp_socket() as udp:
        for _ in range(3000):
            udp.sendto(rng.choice([b"\0", b"\1"]) + rng.randbytes(rng.randrange(1400)), target)
            await asyncio.sleep(0)  # The socket's buffer is small.
        await eventually(lambda: counters.malformed + counters.refused + counters.stray >= 1000)
    late = Member()
    await late.open([target])
    assert (await late.find(A, 1)).contacts == (contact_of(1),)
    for member in (*members, late):
        member.close()


@live
async def test_bootstrap_nodes_that_are_not_there_are_named_in_time() -> None:
    with udp_socket() as silent, udp_socket() as closed:
        addresses = [silent.getsockname(), closed.getsockname()]
        closed.close()
        member = Member()
        await member.open(addresses)
        found = await member.find(A, 3)
        member.close()
    assert found.contacts == ()
    assert sorted(found.unreachable) == sorted(map(address_of, addresses))
    assert found.seconds < 9


@live
async def test_a_port_in_use_falls_back_to_a_free_one() -> None:
    with udp_socket() as taken:
        port = taken.getsockname()[1]
        member = Member(port=port)
        await member.open([])
        assert member.overlay.addresses[0][1] not in (0, port)
        member.close()


@live
async def test_a_chosen_port_in_use_is_an_error_that_names_it() -> None:
    """Others may be configured with an address that somebody bound or advertises."""
    with udp_socket() as taken:
        port = taken.getsockname()[1]
        address = f"tcp://{HOST}:{port}"
        managers = (
            CommunityManager("hybrid", bind=address),
            CommunityManager("dht", advertise=address),
        )
        for manager in managers:
            with pytest.raises(AddressInUse, match=f"uses UDP port {port} of {HOST}; choose"):
                await manager.start()
    for manager in managers:  # nothing was left behind
        await manager.start()
        assert manager.address == address
        await manager.close()


@live
async def test_a_port_that_nobody_chose_need_not_be_free_for_udp() -> None:
    opened = Runner.open

    def open_beside_another_program(runner: Runner) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind((HOST, int(runner.input.address.rpartition(":")[2])))
            opened(runner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "open", open_beside_another_program)
        async with CommunityManager("hybrid") as manager:
            await manager.join(".a")


def test_a_gateway_whose_udp_port_is_in_use_says_so(capsys: Capture) -> None:
    with udp_socket() as taken:
        port = taken.getsockname()[1]
        assert camcast("gateway", "--overlay", "--bind", f"tcp://{HOST}:{port}") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"camcast: the overlay cannot listen: another program uses UDP port {port} of {HOST};"
        " choose another port, or port 0 for any free port\n"
    )


@live
async def test_the_names_of_calls_are_the_systems_chance_unless_a_stream_is_given() -> None:
    """The state of a seeded stream is 624 words, and the name of a call shows five of them."""

    class Watched(Random):
        drawn = 0

        def randbytes(self, n: int) -> bytes:
            self.drawn += 1
            return super().randbytes(n)

    async with CommunityManager("hybrid") as manager:
        assert manager._lifetime.runner is not None
        discovery = manager._lifetime.runner.node.discovery
        assert isinstance(discovery, KademliaDiscovery)
        assert isinstance(discovery._overlay._rng, SystemRandom)
    given = Watched(1)
    async with CommunityManager("hybrid", rng=given):
        assert given.drawn


@live
async def test_close_in_the_middle_of_everything() -> None:
    answers: list[object] = []
    with udp_socket() as silent:
        member = Member(remembered=remembered(silent.getsockname()))
        overlay, now = member.overlay, member.loop.time()
        overlay.open(member.udp, [], answers.append, now)
        overlay.join(A, contact_of(1), now)
        overlay.when_joined(A.group, answers.append, now)
        overlay.find(B.group, 1, lambda found, _: answers.append(found), now)
        assert overlay.counters.calls == 3
        member.close()
        assert overlay.addresses == ()
        await asyncio.sleep(0)
    assert answers == []
