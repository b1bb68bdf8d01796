"""The attacks of strangers on a process that has a passphrase: all of them end in the handshake.

Nothing of theirs is delivered or dialled, the process lives, grows by less than 32 MB, and loses
nothing of the honest traffic beside the attack. Under `zmq` too: what makes libzmq abort or swell
begins after a handshake that no stranger finishes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import random

import pytest

from camcast.live.profiles.shared_key import SharedKey
from camcast.live.wire.zmtp.codec import NULL, Decoder, Mechanism, ProtocolError, command, greeting
from camcast.live.wire.zmtp.codec import handshake as first_words
from camcast.live.wire.zmtp.curve import CurveClient, CurveKeys
from camcast.security.passphrase import group_key
from camcast.vocabulary.identity import UNKNOWN_PEER
from tests.library.hostile.test_sockets import (
    aborting,
    empty_frames,
    endless_empty_parts,
    endless_multipart,
    garbage_frames,
    large_frames_of_many_records,
    silent_greetings,
    slow_connections,
    talking_back,
)
from tests.library.hostile.victim import Victim, connect, honest_beside, send, survives, victim
from tests.mutations import mutated
from tests.patience import live

PASSPHRASE = "correct horse battery staple"

ENDING = [
    aborting,
    endless_multipart,
    endless_empty_parts,
    empty_frames,
    garbage_frames,
    slow_connections,
    silent_greetings,
    large_frames_of_many_records,
]


@functools.cache
def public_key() -> bytes:
    """Return the group's public key, which a passphrase makes slowly."""
    return SharedKey(group_key(PASSPHRASE)).link_public


def a_stranger(server_key: bytes | None = None) -> CurveClient:
    """Return a client with a key of its own, who may have learnt the group's public key."""
    return CurveClient(CurveKeys(os.urandom(32)), server_key or public_key(), os.urandom)


async def shakes_hands(attacked: Victim, mechanism: Mechanism, rng: random.Random | None) -> bool:
    """Try to finish a handshake; with `rng` what is said is mutated. Return whether that worked."""
    loop = asyncio.get_running_loop()
    decoder = Decoder(b"PULL", 0, mechanism)
    with connect(attacked) as stranger, contextlib.suppress(OSError, ProtocolError, TimeoutError):
        async with asyncio.timeout(1.0):  # a mutation may make the process wait for more
            await send(stranger, said(first_words(b"PUSH", UNKNOWN_PEER, mechanism), rng))
            while decoder.metadata is None and (heard := await loop.sock_recv(stranger, 1024)):
                for _name, answer in decoder.feed(memoryview(heard)):
                    await send(stranger, said(answer, rng))
    return decoder.metadata is not None


def said(words: bytes, rng: random.Random | None) -> bytes:
    return words if rng is None or not words else mutated(rng, words)


async def handshakes(attacked: Victim) -> None:
    """Plainly, for another key, and with an unknown one: 60 of each, some of them mutated."""
    rng = random.Random(1)
    tries = [
        shakes_hands(attacked, mechanism, rng if number % 2 else None)
        for number in range(60)
        for mechanism in (NULL, a_stranger(os.urandom(32)), a_stranger())
    ]
    assert not any(await asyncio.gather(*tries))


async def commands_before_the_handshake(attacked: Victim) -> None:
    """Lengths of 2^63, MESSAGEs and INITIATEs before HELLO, and HELLOs without end."""
    hello = first_words(b"PUSH", UNKNOWN_PEER, a_stranger())[64:]
    for words in (
        b"\x06" + b"\x7f" * 8,
        b"\x00\x30\x07MESSAGE" + bytes(40),
        command(b"INITIATE", bytes(300)),
        command(b"READY", bytes(30)),
        hello * 1_000,
    ):
        with connect(attacked) as stranger, contextlib.suppress(OSError):
            await send(stranger, greeting(b"CURVE") + words)
            while await asyncio.get_running_loop().sock_recv(stranger, 4096):
                pass


@pytest.mark.parametrize("transport", ["zmtp", "zmq"])
@live
async def test_with_a_passphrase_every_attack_of_a_stranger_fails_in_the_handshake(
    transport: str,
) -> None:
    with victim(transport=transport, passphrase=PASSPHRASE) as attacked:
        async with honest_beside(attacked, passphrase=PASSPHRASE) as honest:
            before = attacked.megabytes()
            async with honest.publishing():
                dialled = asyncio.ensure_future(talking_back(attacked))
                for attack in (*ENDING, handshakes, commands_before_the_handshake):
                    with contextlib.suppress(ConnectionError):
                        await attack(attacked)
            await survives(attacked, honest, before)
            assert (await attacked.look())["received"] == honest.published
            assert not dialled.done()  # it waits for the process to connect, as in `open`
            dialled.cancel()
            await asyncio.wait([dialled])
