"""Sockets are read in each turn in which something has come, until they are removed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from functools import partial

import pytest

from camcast.live.wire.zmtp import readers as zmtp_readers
from camcast.live.wire.zmtp.readers import Readers


@pytest.fixture(params=[True, False], ids=["epoll", "loop"])
def pairs(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    if request.param and not zmtp_readers._HAS_EPOLL:
        pytest.skip("this system has no epoll")
    monkeypatch.setattr(zmtp_readers, "_HAS_EPOLL", request.param)
    made = [socket.socketpair() for _ in range(3)]
    for pair in made:
        for one in pair:
            one.setblocking(False)
    yield made
    for pair in made:
        for one in pair:
            one.close()


async def turns() -> None:
    """Let the loop look at its sockets five times; what was sent to one is there at once."""
    for _ in range(5):
        await asyncio.sleep(0)


Pairs = list[tuple[socket.socket, socket.socket]]


def test_what_comes_is_read_and_what_is_left_is_read_in_the_next_turn(pairs: Pairs) -> None:
    async def main() -> None:
        came, after = list[tuple[int, bytes]](), list[tuple[int, bool]]()
        readers = Readers(
            asyncio.get_running_loop(), lambda: after.append((len(came), readers.has_more()))
        )

        def read(number: int, here: socket.socket) -> None:
            came.append((number, here.recv(2)))

        for number, (here, there) in enumerate(pairs):
            readers.add(here, partial(read, number, here))
            there.send(bytes([number]) * 3)
        await turns()
        assert sorted(came[:3]) == [(n, bytes([n]) * 2) for n in range(3)]
        assert sorted(came[3:]) == [(n, bytes([n])) for n in range(3)]
        told = [(3, True), (6, False)] if zmtp_readers._HAS_EPOLL else []
        assert after == told, "once a turn, when all was read"
        readers.remove(pairs[0][0])
        for _, there in pairs:
            there.send(b"x")
        await turns()
        assert sorted(came[6:]) == [(1, b"x"), (2, b"x")]
        readers.add(pairs[0][0], partial(read, 0, pairs[0][0]))
        await turns()
        assert came[8:] == [(0, b"x")]
        readers.close()

    asyncio.run(main())


@pytest.mark.parametrize("closes", [False, True], ids=["removes", "closes"])
def test_who_reads_may_remove_the_others_or_close_all(closes: bool, pairs: Pairs) -> None:
    """A frame can make a process cut off other connections, and an application close all."""

    async def main() -> None:
        loop, came, wrong = asyncio.get_running_loop(), list[int](), list[object]()
        loop.set_exception_handler(lambda _, context: wrong.append(context))
        readers = Readers(loop)

        def read(number: int) -> None:
            came.append(number)
            for here, _ in pairs:
                readers.remove(here)
                here.close()
            if closes:
                readers.close()

        for number, (here, there) in enumerate(pairs):
            readers.add(here, partial(read, number))
            there.send(b"x")
        await turns()
        assert (len(came), wrong) == (1, [])
        readers.close()

    asyncio.run(main())


def test_a_socket_that_the_other_end_closed_is_read(pairs: Pairs) -> None:
    async def main() -> None:
        readers, came = Readers(asyncio.get_running_loop()), list[bytes]()
        here, there = pairs[0]

        def read() -> None:
            came.append(here.recv(9))
            readers.remove(here)

        readers.add(here, read)
        there.close()
        await turns()
        assert came == [b""]
        readers.close()

    asyncio.run(main())
