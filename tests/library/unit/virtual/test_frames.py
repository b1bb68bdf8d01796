"""What one step leaves for a process crosses the virtual network in frames, as it does live."""

from __future__ import annotations

import asyncio
from math import sqrt

import pytest

from camcast.live.wire.zmq_pipes import ZmqPipes
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant, Uniform
from camcast.virtual.frames import copies_in, frames_of
from camcast.virtual.network import VirtualNetwork, address_of
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.outbox import Send
from camcast.vocabulary.wire import FRAME_BYTES_MAX, FRAME_HEADER
from tests.patience import live

A, B, NOBODY = (address_of(number) for number in (1, 2, 9))


def at(*addresses: str) -> list[Contact]:
    return [Contact(UNKNOWN_PEER, address) for address in addresses]


def record(name: str, size: int = 24) -> bytes:
    """Return a record of an unknown kind: a node counts it, and does nothing for it."""
    return (size - 4).to_bytes(4) + b"\xff" + name.encode().ljust(size - 5, b".")


ONE, TWO, THREE = map(record, ("one", "two", "three"))


class Bench(World):
    """A process that sends what it is told, and two that are only looked at."""

    def __init__(self, climate: Climate) -> None:
        super().__init__(virtual=VirtualNetwork(1, climate))
        self.network = self.virtual
        self.sender, *_ = [self.start(self.settings) for _ in range(3)]
        self.arrived: list[tuple[str, bytes]] = []
        arrive = self.network._arrive

        def watch(address: str, frame: bytes, lives: int, link: PeerId | None) -> None:
            self.arrived.append((address, frame))
            arrive(address, frame, lives, link)

        self.network._arrive = watch  # type: ignore[method-assign] # watched in its place

    def step(self, *sends: tuple[list[str], bytes]) -> None:
        wishes = [Send(at(*addresses), said, True) for addresses, said in sends]
        self.do(self.sender, lambda node, _now: node.outbox.sends.extend(wishes))


STEADY, UNSTEADY = Climate(latency=Constant(0.01)), Climate(latency=Uniform(0.01, 0.01))


@pytest.mark.parametrize("climate", [STEADY, UNSTEADY], ids=["steady", "unsteady"])
def test_what_one_step_leaves_for_a_process_is_one_frame(climate: Climate) -> None:
    bench = Bench(climate)
    bench.step(([A, B], ONE), ([B], TWO), ([A], THREE))
    bench.step(([A], TWO))
    bench.run(1.0)
    assert bench.arrived == [
        (A, FRAME_HEADER + ONE + THREE),
        (B, FRAME_HEADER + ONE + TWO),
        (A, FRAME_HEADER + TWO),
    ]
    assert bench.network.messages == 5
    assert bench.network.bytes == 5 * len(ONE)


def test_a_frame_is_lost_as_a_whole() -> None:
    """Half of 2,000 frames, at 99.9 %; what is counted are the records in them."""
    bench, steps = Bench(Climate(loss=0.5)), 1000
    for _ in range(steps):
        bench.step(([A, B], ONE), ([A], TWO))
    bench.run(1.0)
    frames = [frame for address, frame in bench.arrived if address == A]
    assert set(frames) == {FRAME_HEADER + ONE + TWO}
    lone = len(bench.arrived) - len(frames)
    for came in (len(frames), lone):
        assert abs(came - steps / 2) <= 3.29 * sqrt(steps / 4)
    assert bench.network.weather.lost == 2 * (steps - len(frames)) + (steps - lone)


def test_a_frame_is_duplicated_and_overtaken_as_a_whole() -> None:
    bench = Bench(Climate(duplication=0.5, reordering=0.5))
    for _ in range(200):
        bench.step(([A], ONE), ([A], TWO))
    bench.run(1.0)
    assert set(bench.arrived) == {(A, FRAME_HEADER + ONE + TWO)}
    assert 200 < len(bench.arrived) < 400


@pytest.mark.parametrize("climate", [STEADY, UNSTEADY], ids=["steady", "unsteady"])
def test_every_record_of_a_frame_that_finds_nobody_is_counted(climate: Climate) -> None:
    bench = Bench(climate)
    bench.step(([NOBODY], ONE), ([NOBODY], TWO), ([A], THREE))
    dead = bench.network.processes[B]
    bench.step(([B], ONE), ([B], TWO), ([B], THREE))
    bench.network.crash(dead)
    bench.run(1.0)
    assert bench.network.undeliverable == 5


def test_two_processes_at_one_address_get_one_frame_with_two_copies() -> None:
    assert list(frames_of([Send(at(A, B, A), ONE, True)])) == [
        (A, FRAME_HEADER + ONE + ONE, 2),
        (B, FRAME_HEADER + ONE, 1),
    ]


def test_the_records_of_a_frame_are_counted() -> None:
    assert [copies_in(frame) for frame in (b"", b"?", b"HTTP/1.1")] == [1, 1, 1]
    assert copies_in(FRAME_HEADER + ONE) == 1
    assert copies_in(FRAME_HEADER + ONE + TWO + THREE) == 3


@pytest.mark.parametrize(
    "sizes",
    [
        [100] * 1000,
        [FRAME_BYTES_MAX - 4],
        [FRAME_BYTES_MAX - 4, 24],
        [24, FRAME_BYTES_MAX - 4],
        [FRAME_BYTES_MAX // 2 - 2] * 5,
        [FRAME_BYTES_MAX // 2 - 1] * 5,
        [3 * FRAME_BYTES_MAX, 24, 24, 3 * FRAME_BYTES_MAX],
    ],
)
def test_frames_are_cut_as_pipes_cut_them(sizes: list[int]) -> None:
    records = [record(str(number), size) for number, size in enumerate(sizes)]
    frames: list[bytes] = []

    @live
    async def send_through_pipes() -> None:
        pipes = ZmqPipes(frame_header=FRAME_HEADER)
        all_came = asyncio.Event()

        def on_frame(frame: bytes) -> None:
            frames.append(frame)
            if sum(map(copies_in, frames)) == len(records):
                all_came.set()

        address = pipes.open_input("tcp://127.0.0.1:0", on_frame).address
        for said in records:
            pipes.send(at(address), said)
        await all_came.wait()
        pipes.close()

    send_through_pipes()
    cut = list(frames_of([Send(at(A), said, False) for said in records]))
    assert cut == [(A, frame, copies_in(frame)) for frame in frames]
