"""Attacks on the sockets of a process, with the bytes of the security study (section 5).

Under `zmtp` the process lives, grows by less than 32 MB, and loses nothing of the honest traffic
beside the attack. Under `zmq` nothing in this library can keep libzmq from it: what it then does is
asserted too, so that a libzmq that mends it is noticed, and docs/transports.md says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import socket
from collections.abc import Awaitable, Callable

import pytest

from camcast import Community, CommunityManager, Received, open_pipes
from camcast.doors.transport import OutputPipes
from camcast.engine.link_messages import Ping
from camcast.live.wire.zmtp.codec import frame_head
from camcast.testing.world import World
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.wire import Kind
from tests.library.hostile.mutator import Mutator
from tests.library.hostile.test_fuzz import capture
from tests.library.hostile.victim import (
    ATTACKED,
    GROWTH_MEGABYTES_MAX,
    PULL,
    PUSH,
    Victim,
    connect,
    control,
    frames,
    honest_beside,
    reset,
    send,
    survives,
    victim,
)
from tests.patience import eventually, live

PING = b"\x04\x0a\x04PING\0\x0actx"  # [RFC 37, 2.5] wait a second; with a context
STRANGER = PeerId(b"stranger".ljust(16))

Attack = Callable[[Victim], Awaitable[None]]


async def shake_hands(stranger: socket.socket) -> None:
    """Say what a PUSH says, and wait until the process has answered."""
    await send(stranger, PUSH)
    await asyncio.get_running_loop().sock_recv(stranger, 1024)


async def aborting(attacked: Victim) -> None:
    """C1: 2,700 frames of a byte fill the input; a PING; and the connection is reset."""
    for _ in range(20):
        with connect(attacked) as stranger:
            with contextlib.suppress(OSError):
                await shake_hands(stranger)
                await send(stranger, b"\0\x01x" * 2_700 + PING)
            reset(stranger)
        await asyncio.sleep(0.01)


async def flood(attacked: Victim, piece: bytes, most: int) -> None:
    """Send the same again and again, until cut off."""
    block, sent = piece * (2**16 // len(piece)), 0
    with connect(attacked) as stranger, contextlib.suppress(OSError):
        await shake_hands(stranger)
        while sent < most:
            await send(stranger, block)
            sent += len(block)


async def endless_multipart(attacked: Victim) -> None:
    """C2: every part says that more follow."""
    await flood(attacked, b"\x01\x64" + bytes(100), 100_000_000)


async def endless_empty_parts(attacked: Victim) -> None:
    """C2 with parts of nothing: libzmq holds 30 bytes for each byte that is sent."""
    await flood(attacked, b"\x01\0", 10_000_000)


async def empty_frames(attacked: Victim) -> None:
    """Of two bytes each: 17 bytes held for each byte that is sent, where the input has no bound."""
    await flood(attacked, b"\0\0", 40_000_000)


async def garbage_frames(attacked: Victim) -> None:
    """Frames of three bytes, as fast as they are read: all are malformed."""
    await flood(attacked, b"\0\x01x", 5_000_000)


async def talking_back(attacked: Victim) -> None:
    """C3: a question makes the process connect to a stranger, who sends instead of reading."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = "tcp://{}:{}".format(*server.getsockname())
        loop = asyncio.get_running_loop()
        with connect(attacked) as stranger:
            ping = control(Kind.LINKS, Ping(".hostile"), STRANGER, address)
            await send(stranger, PUSH + b"".join(frames([ping])))
            peer, _ = await loop.sock_accept(server)
            with peer, contextlib.suppress(OSError):
                await send(peer, PULL)
                for _ in range(200):
                    await send(peer, frame_head(2**20) + bytes(2**20))


async def slow_connections(attacked: Victim) -> None:
    """300 connections that each hold a megabyte less one byte."""
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            with contextlib.suppress(OSError):
                stranger = stack.enter_context(connect(attacked))
                await shake_hands(stranger)
                await send(stranger, frame_head(2**20) + bytes(2**20 - 1))


async def silent_greetings(attacked: Victim) -> None:
    """2,000 connections that say nothing, half a greeting, or a whole one."""
    with contextlib.ExitStack() as stack:
        for number in range(2_000):
            with contextlib.suppress(OSError):
                stranger = stack.enter_context(connect(attacked))
                await send(stranger, PUSH[: (0, 20, 64)[number % 3]])


async def large_frames_of_many_records(attacked: Victim) -> None:
    """C5: a frame of a megabyte holds as many questions as fit, each of which is answered."""
    ping = control(Kind.LINKS, Ping(".hostile"), STRANGER, "tcp://127.0.0.1:9")
    one, *_ = frames([ping] * 20_000, 2**20)
    with connect(attacked) as stranger, contextlib.suppress(OSError):
        await send(stranger, PUSH + 20 * one)


async def mutated_records(attacked: Victim) -> None:
    """20,000 mutations of what processes of another community of the victim say."""
    world = World(seed=5, repair=True)
    for _ in range(3):
        world.join(ATTACKED)
    mutator = Mutator(random.Random(5), *capture(world))
    with connect(attacked) as stranger, contextlib.suppress(OSError):
        await send(stranger, PUSH)
        while mutator.made < 20_000:
            frame = mutator.frame()
            await send(stranger, frame_head(len(frame)) + frame)


ATTACKS: list[Attack] = [
    mutated_records,
    aborting,
    endless_multipart,
    endless_empty_parts,
    empty_frames,
    garbage_frames,
    talking_back,
    slow_connections,
    silent_greetings,
    large_frames_of_many_records,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@live
async def test_under_zmtp_an_attack_neither_ends_nor_swells_the_process_nor_costs_an_event(
    attack: Attack,
) -> None:
    with victim(transport="zmtp") as attacked:
        async with honest_beside(attacked) as honest:
            before = attacked.megabytes()
            async with honest.publishing():
                await attack(attacked)
            await survives(attacked, honest, before)


@pytest.mark.slow  # up to 30 s: it takes luck
@live
async def test_under_zmq_libzmq_can_be_made_to_abort() -> None:
    """libzmq 4.3.5, `stream_engine_base_t::out_event`; see docs/transports.md."""
    with victim(transport="zmq") as attacked:
        while attacked.alive:
            with contextlib.suppress(OSError):
                await aborting(attacked)
        assert attacked.process.returncode == -signal.SIGABRT


async def again_and_again(attack: Attack, attacked: Victim) -> None:
    """Attack until it is told to end: one that a reset cuts short has shown nothing yet."""
    while True:
        with contextlib.suppress(OSError):
            await attack(attacked)
        await asyncio.sleep(0)


@pytest.mark.parametrize("attack", [endless_empty_parts, slow_connections])
@live
async def test_under_zmq_libzmq_holds_without_bound_what_it_has_not_handed_over(
    attack: Attack,
) -> None:
    """No option bounds a message's parts, nor what all connections hold: docs/transports.md."""
    with victim(transport="zmq") as attacked:
        before = attacked.megabytes()
        attacking = asyncio.ensure_future(again_and_again(attack, attacked))
        await eventually(lambda: attacked.megabytes() - before > 2 * GROWTH_MEGABYTES_MAX)
        attacking.cancel()
        await asyncio.wait([attacking])


@pytest.mark.parametrize("passphrase", [None, "correct horse battery staple"])
@live
async def test_whoever_keeps_output_pipes_taken_keeps_nobody_out(passphrase: str | None) -> None:
    """M2: 600 questions a second in the name of ever other addresses, at few descriptors.

    With a passphrase, by somebody who knows it. One half of the addresses answers, so that these
    pipes are connected. The victim's own events arrive, and a newcomer gets in, for which the
    victim needs a pipe more.
    """
    count = 300
    with victim(descriptors=200, transport="zmtp", passphrase=passphrase) as attacked:
        async with honest_beside(attacked, passphrase=passphrase) as honest:
            early, late = Payloads(honest.community), None
            with (
                socket.create_server(("0.0.0.0", 0), backlog=2_000) as server,
                contextlib.closing(open_pipes(passphrase=passphrase)) as pipes,
            ):
                port = server.getsockname()[1]
                asking = asyncio.ensure_future(ask_in_many_names(attacked, pipes, port))
                while not (await attacked.look())["pipes_refused"]:  # all were taken
                    pass
                newcomer = CommunityManager(gateways=[attacked.address], passphrase=passphrase)
                async with newcomer:
                    community = await newcomer.join(".hostile")
                    # In, that is known to both: until then infect and die may miss it.
                    await eventually(
                        lambda: len(community.peers) == len(honest.community.peers) == 2
                    )
                    late = Payloads(community)
                    await attacked.look(publish=count)
                    await eventually(lambda: len(early.received) == len(late.received) == count)
                asking.cancel()
                await asyncio.wait([asking])


class Payloads:
    """The different payloads that a community brings."""

    def __init__(self, community: Community) -> None:
        self.received: set[bytes] = set()
        community.subscribe(self._take)

    async def _take(self, event: Received) -> None:
        self.received.add(event.payload)


async def ask_in_many_names(attacked: Victim, pipes: OutputPipes, port: int) -> None:
    """Ask 60 questions every tenth of a second, each in the name of another address."""
    number = 0
    while True:
        for _ in range(60):
            number += 1
            host = f"127.1.{number >> 8 & 255}.{number & 255}"
            address = f"tcp://{host}:{port if number % 2 else 9}"
            ping = control(Kind.LINKS, Ping(".hostile"), PeerId(number.to_bytes(16)), address)
            pipes.send([Contact(UNKNOWN_PEER, attacked.address)], ping, control=True)
        await asyncio.sleep(0.1)
