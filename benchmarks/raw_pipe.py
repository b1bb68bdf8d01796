"""The baseline of every live benchmark: one bare PUSH→PULL pair.

One event a message, sender and receiver in two OS processes, the receiver drained in bursts
through its descriptor. No framing, no protocol.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection

import zmq
from attrs import frozen

_SPAWN = multiprocessing.get_context("spawn")


@frozen
class Raw:
    """What one bare pair does on this machine, now."""

    messages_per_second: float
    """From the first arrival to the last."""
    cpu_seconds_per_1000: float
    """Processor time of both processes for 1,000 messages."""
    latency_ms_p50: float | None
    """From send to receive, the median; None if as fast as possible, which is a queue's length."""


def measure_raw(messages: int, size: int, rate: float | None = None) -> Raw:
    """Send messages of `size` bytes, as fast as possible or at `rate` a second."""
    ours, theirs = _SPAWN.Pipe()
    receiver = _SPAWN.Process(target=_receive, args=(theirs, messages))
    receiver.start()
    context = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.connect(ours.recv())
    payload = bytes(size)
    sent = [0.0] * messages
    cpu, started = time.process_time(), time.monotonic()
    for number in range(messages):
        if rate is not None:
            time.sleep(max(0.0, started + number / rate - time.monotonic()))
            sent[number] = time.monotonic()
        socket.send(payload)
    arrived, receiver_cpu = ours.recv()
    cpu = time.process_time() - cpu + receiver_cpu
    receiver.join()
    socket.close()
    context.term()
    latencies = sorted(there - here for here, there in zip(sent, arrived, strict=True))
    return Raw(
        messages_per_second=(messages - 1) / (arrived[-1] - arrived[0]),
        cpu_seconds_per_1000=cpu / messages * 1000,
        latency_ms_p50=None if rate is None else latencies[messages // 2] * 1e3,
    )


def _receive(pipe: Connection, messages: int) -> None:
    asyncio.run(_drain(pipe, messages))


async def _drain(pipe: Connection, messages: int) -> None:
    context = zmq.Context()
    socket = context.socket(zmq.PULL)
    socket.bind("tcp://127.0.0.1:0")
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    arrived: list[float] = []

    def read() -> None:
        clock, arrive, receive = time.monotonic, arrived.append, socket.recv
        try:
            while True:
                receive(zmq.NOBLOCK)
                arrive(clock())
        except zmq.Again:
            if len(arrived) >= messages and not done.done():
                done.set_result(None)

    loop.add_reader(socket.fileno(), read)
    endpoint = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(endpoint, bytes)
    cpu = time.process_time()
    pipe.send(endpoint.decode().rstrip("\0"))
    read()
    await done
    pipe.send((arrived, time.process_time() - cpu))
    socket.close()
    context.term()
