"""The baseline of every live benchmark: messages a second through one bare PUSH→PULL pair.

One event a message, sender and receiver in two OS processes, the receiver drained in bursts
through its descriptor, as in DESIGN "The hot path". No framing, no protocol.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection

import zmq

_SPAWN = multiprocessing.get_context("spawn")


def raw_messages_per_second(messages: int, size: int) -> float:
    """Measure how many messages of `size` bytes a second arrive, from the first to the last."""
    ours, theirs = _SPAWN.Pipe()
    receiver = _SPAWN.Process(target=_receive, args=(theirs, messages))
    receiver.start()
    context = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.connect(ours.recv())
    payload = bytes(size)
    for _ in range(messages):
        socket.send(payload)
    elapsed: float = ours.recv()
    receiver.join()
    socket.close()
    context.term()
    return messages / elapsed


def _receive(pipe: Connection, messages: int) -> None:
    asyncio.run(_drain(pipe, messages))


async def _drain(pipe: Connection, messages: int) -> None:
    context = zmq.Context()
    socket = context.socket(zmq.PULL)
    socket.bind("tcp://127.0.0.1:0")
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    received = 0
    first = 0.0

    def read() -> None:
        nonlocal received, first
        try:
            while True:
                socket.recv(zmq.NOBLOCK)
                first = first or time.perf_counter()
                received += 1
        except zmq.Again:
            if received >= messages and not done.done():
                done.set_result(time.perf_counter() - first)

    loop.add_reader(socket.fileno(), read)
    endpoint = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(endpoint, bytes)
    pipe.send(endpoint.decode().rstrip("\0"))
    read()
    pipe.send(await done)
    socket.close()
    context.term()
