"""The transport `zmtp`: with libzmq at the other end, and with strangers that mean no good."""

import asyncio
import contextlib
import os
import random
import socket
import struct
from itertools import permutations

import pytest
import zmq

import camcast.live.wire.pipes
from camcast.doors.transport import OutputPipes, PipeLimits
from camcast.live.transports import TRANSPORTS, find_transport
from camcast.live.wire.zmtp import zmtp_input
from camcast.live.wire.zmtp.codec import (
    GREETING,
    Decoder,
    ProtocolError,
    frame_head,
    handshake,
    ready,
)
from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes
from camcast.vocabulary.identity import UNKNOWN_PEER
from tests.library.live.communities import free_address
from tests.library.live.pipe_ends import (
    ANY_PORT,
    HEADER,
    Inbox,
    at,
    is_refused,
    knock,
    make_record,
    new_pipes,
)
from tests.mutations import mutated
from tests.patience import PATIENCE_SECONDS, eventually, live

PUSH = GREETING + ready({"Socket-Type": b"PUSH"})
PULL = GREETING + ready({"Socket-Type": b"PULL"})
PING = b"\x04\x07\x04PING\x00\x0a"  # [RFC 37, 2.5] wait a second; without a context


def message(record: bytes) -> bytes:
    return frame_head(len(HEADER) + len(record)) + HEADER + record


@live
@pytest.mark.parametrize(("size", "frames"), [(20, 2), (200_000, 3)])
async def test_what_is_sent_a_turn_later_shares_the_frame_unless_much_waits(
    size: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camcast.live.wire.pipes, "GATHER_SECONDS", PATIENCE_SECONDS)
    pipes, one, other = new_pipes(), Inbox(), Inbox()
    contacts = [at(pipes.open_input(ANY_PORT, inbox).address) for inbox in (one, other)]
    pipes.send(contacts, make_record(0))
    assert await one.has_numbers(1) == await other.has_numbers(1) == [0]  # connected
    before = pipes.counters.frames_sent
    pipes.send(contacts[:1], make_record(1, size))
    pipes.send(contacts[1:], make_record(1))
    asyncio.get_running_loop().call_soon(pipes.send, contacts[1:], make_record(2))
    assert await other.has_numbers(3) == [0, 1, 2]
    assert await one.has_numbers(2) == [0, 1]
    assert pipes.counters.frames_sent - before == frames
    pipes.close()


@live
@pytest.mark.parametrize(("gathered", "turns"), [(PATIENCE_SECONDS, 20), (0.0, 1)])
async def test_what_is_sent_waits_while_inputs_read_but_no_longer_than_it_may(
    gathered: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camcast.live.wire.pipes, "GATHER_SECONDS", gathered)
    pipes, inbox = new_pipes(), Inbox()
    contacts = [at(pipes.open_input(ANY_PORT, inbox).address)]
    pipes.send(contacts, make_record(0))
    assert await inbox.has_numbers(1) == [0]  # connected
    before, reading = pipes.counters.frames_sent, 20
    pipes.send(contacts, make_record(1))
    waited = 0
    while pipes.counters.frames_sent == before:
        if waited < reading:
            pipes.begin_turn()  # as an input does
        waited += 1
        await asyncio.sleep(0)
    assert waited in (turns, turns + 1)
    assert await inbox.has_numbers(2) == [0, 1]
    pipes.close()


@live
@pytest.mark.parametrize("inputs", [1, 2])
async def test_what_the_only_node_of_a_loop_forwards_leaves_in_the_turn_that_brought_it(
    inputs: int,
) -> None:
    """Nobody else could share the frame; where there are others, it waits for what they send."""
    loop, ours, theirs, inbox = asyncio.get_running_loop(), new_pipes(), new_pipes(), Inbox()
    target, sent = at(theirs.open_input(ANY_PORT, inbox).address), list[int]()

    def forward(frame: bytes) -> None:
        before = ours.counters.frames_sent
        loop.call_soon(lambda: sent.append(ours.counters.frames_sent - before))  # comes first
        ours.send([target], frame[len(HEADER) :])

    ours.send([target], make_record(0))
    assert await inbox.has_numbers(1) == [0]  # connected
    sources = [at(ours.open_input(ANY_PORT, forward).address) for _ in range(inputs)]
    for number in (1, 2, 3):
        theirs.send(sources[:1], make_record(number))
        assert await inbox.has_numbers(number + 1) == list(range(number + 1))
    assert sent == [inputs == 1] * 3
    ours.close()
    theirs.close()


# -- libzmq at the other end


SIZES = (8, 252, 253, 300, 40_000, 2**20)
"""Of records: frames with a short head up to 252, which with the header makes 255."""


@live
async def test_libzmq_reads_all_that_we_send() -> None:
    pipes = new_pipes()
    with zmq.Context() as context, context.socket(zmq.PULL) as theirs:
        address = f"tcp://127.0.0.1:{theirs.bind_to_random_port('tcp://127.0.0.1')}"
        for number, size in enumerate(SIZES):
            pipes.send([at(address)], make_record(number, size))
            assert await pipes.drain(PATIENCE_SECONDS)
        await eventually(lambda: bool(theirs.poll(0)))
        received = [await asyncio.to_thread(theirs.recv) for _ in SIZES]
    assert received == [HEADER + make_record(*one) for one in enumerate(SIZES)]
    pipes.close()


@live
async def test_we_read_all_that_libzmq_sends() -> None:
    pipes, inbox = new_pipes(), Inbox()
    address = pipes.open_input(ANY_PORT, inbox).address
    with zmq.Context() as context, context.socket(zmq.PUSH) as theirs:
        theirs.connect(address)
        for number, size in enumerate(SIZES):
            theirs.send(HEADER + make_record(number, size))
        assert await inbox.has_numbers(len(SIZES)) == list(range(len(SIZES)))
    assert inbox.frames == [HEADER + make_record(*one) for one in enumerate(SIZES)]
    pipes.close()


@live
async def test_the_heartbeats_of_libzmq_are_answered() -> None:
    """A libzmq that hears no PONG for so long ends the connection, and makes another."""
    pipes, inbox = new_pipes(), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with zmq.Context() as context, context.socket(zmq.PUSH) as theirs:
        theirs.heartbeat_ivl = 20
        theirs.heartbeat_timeout = 200
        with theirs.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            theirs.connect(pipe.address)
            await eventually(lambda: len(pipes.connections) == 1)
            assert not await asyncio.to_thread(monitor.poll, 1_000)
            theirs.disable_monitor()
        theirs.send(HEADER + make_record(1))
        assert await inbox.has_numbers(1) == [1]
    pipes.close()


@pytest.mark.parametrize(("ours", "theirs"), [*permutations(TRANSPORTS, 2)])
@live
async def test_both_transports_understand_each_other(ours: str, theirs: str) -> None:
    """That each understands itself is in its contract."""
    sender = find_transport(ours)(frame_header=HEADER)
    receiver: OutputPipes = find_transport(theirs)(frame_header=HEADER)
    inbox = Inbox()
    address = receiver.open_input(ANY_PORT, inbox).address
    for number in range(5_000):
        sender.send([at(address)], make_record(number, SIZES[number % 4]))
        if number % 500 == 0:
            await asyncio.sleep(0)
    assert await inbox.has_numbers(5_000) == list(range(5_000))
    sender.close()
    receiver.close()


# -- strangers


@live
async def test_a_connection_that_broke_is_made_again_and_the_frame_under_way_sent_anew() -> None:
    """What the kernel had is lost with the connection; the first frame after it comes whole."""
    count, size = 40, 2**20  # more than the kernel's buffers take, which are some 7 MB
    ours, inbox = new_pipes(PipeLimits(queue_bytes_max=2**26)), Inbox()
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "tcp://{}:{}".format(*server.getsockname())
        for number in range(count):
            ours.send([at(address)], make_record(number, size))
        server.setblocking(False)
        peer, _ = await loop.sock_accept(server)
        with peer:
            await loop.sock_sendall(peer, PULL)
            await loop.sock_recv(peer, 2**15)
            await eventually(lambda: ours.counters.frames_sent > 1)
    theirs = new_pipes()
    theirs.open_input(address, inbox)
    await eventually(lambda: inbox.numbers[-1:] == [count - 1])
    assert inbox.numbers == list(range(inbox.numbers[0], count))
    assert {len(frame) for frame in inbox.frames} == {len(HEADER) + size}
    ours.close()
    theirs.close()


@live
async def test_what_waits_for_a_connection_that_was_refused_is_not_lost() -> None:
    inbox, ours, theirs = Inbox(), new_pipes(), new_pipes(PipeLimits(connections_max=1))
    pipe = theirs.open_input(ANY_PORT, inbox)
    with knock(pipe.address):
        await eventually(lambda: len(theirs.connections) == 1)
        ours.send([at(pipe.address)], make_record(1))
        await eventually(lambda: pipe.counters.connections_refused > 0)
    assert await inbox.has_numbers(1) == [1]
    ours.close()
    theirs.close()


@live
async def test_a_frame_may_come_byte_by_byte() -> None:
    pipes, inbox = new_pipes(), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with knock(pipe.address) as stranger:
        stranger.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in PUSH + PING + message(make_record(1, 300)) + message(make_record(2)):
            stranger.send(bytes((byte,)))
            await asyncio.sleep(0)
        assert await inbox.has_numbers(2) == [1, 2]
    pipes.close()


HOSTILE = {
    "a greeting of HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "version 2 of ZMTP": GREETING[:10] + b"\x01" + GREETING[11:],
    "the mechanism PLAIN": GREETING[:12] + b"PLAIN".ljust(20, b"\0") + bytes(32),
    "a message before READY": GREETING + message(make_record(1)),
    "a READY of a PULL": PULL,
    "a READY of a DEALER": GREETING + ready({"Socket-Type": b"DEALER", "Identity": b""}),
    "a READY that ends within a property": GREETING + b"\x04\x08\x05READY\x0bS",
    "a READY of 1 MiB": GREETING + b"\x06" + struct.pack(">Q", 2**20),
    "a subscription": PUSH + b"\x04\x0a\x09SUBSCRIBE",
    "a command of no name": PUSH + b"\x04\x00",
    "a PING with too long a context": PUSH + b"\x04\x18\x04PING" + bytes(19),
    "a message of several frames": PUSH + b"\x01\x04abcd",
    "an empty message of several frames": PUSH + b"\x01\x00",
    "an empty frame": PUSH + b"\x00\x00",
    "an odd flag": PUSH + b"\x08\x01a",
    "a frame of 2^63 bytes": PUSH + b"\x02" + struct.pack(">Q", 2**63),
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
@live
async def test_who_says_what_is_not_allowed_is_cut_off_and_others_are_heard(said: bytes) -> None:
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    pipe = theirs.open_input(ANY_PORT, inbox)
    ours.send([at(pipe.address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    with knock(pipe.address) as stranger:
        stranger.sendall(said)
        await is_refused(stranger)
    assert pipe.counters.frames_refused == 1
    ours.send([at(pipe.address)], make_record(2))
    assert await inbox.has_numbers(2) == [1, 2]
    assert len(theirs.connections) == 1
    ours.close()
    theirs.close()


@live
async def test_who_was_connected_to_may_not_talk_back() -> None:
    pipes, loop = new_pipes(), asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        pipes.send([at("tcp://{}:{}".format(*server.getsockname()))], make_record(1))
        peer, _ = await loop.sock_accept(server)
        with peer:
            await loop.sock_sendall(peer, PULL + message(make_record(2)))
            await is_refused(peer)
    pipes.close(0)


@pytest.mark.parametrize(
    "other", [b"SSH-2.0-OpenSSH_9.2p1\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", PUSH]
)
@live
async def test_a_port_that_another_program_took_over_gets_no_frame(other: bytes) -> None:
    pipes, loop = new_pipes(), asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        pipes.send([at("tcp://{}:{}".format(*server.getsockname()))], make_record(1))
        peer, _ = await loop.sock_accept(server)
        heard = b""
        with peer, contextlib.suppress(ConnectionResetError):
            await loop.sock_sendall(peer, other)
            while piece := await loop.sock_recv(peer, 4096):
                heard += piece
    assert heard in (b"", handshake(b"PUSH", UNKNOWN_PEER))
    assert pipes.counters.frames_sent == 0
    pipes.close(0)


@live
async def test_who_does_not_end_a_frame_or_its_handshake_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zmtp_input, "HANDSHAKE_SECONDS_MAX", 0.05)
    monkeypatch.setattr(zmtp_input, "FRAME_SECONDS_MAX", 0.05)
    monkeypatch.setattr(zmtp_input, "_LOOK_SECONDS", 0.01)
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    pipe = theirs.open_input(ANY_PORT, inbox)
    ours.send([at(pipe.address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    for said in (b"", GREETING[:20], GREETING, PUSH + b"\x00\x09abc"):
        with knock(pipe.address) as stranger:
            stranger.sendall(said)
            await is_refused(stranger)
    assert len(theirs.connections) == 1  # who ended what it began may be silent
    ours.close()
    theirs.close()


@pytest.mark.parametrize("size", [1, 255, 256, 1_000, 1_001])
def test_a_message_by_itself_is_told_from_all_else_by_its_head(size: int) -> None:
    """What is not one whole message goes to `feed`, which keeps it, or refuses it."""
    decoder = Decoder(b"PUSH", 1_000)
    whole = memoryview(frame_head(size) + bytes(size))
    assert decoder.lone_message(whole) is None  # amid the handshake
    assert [name for name, _ in decoder.feed(memoryview(PUSH))] == [b"READY"]
    assert decoder.lone_message(whole) == (bytes(size) if size <= 1_000 else None)
    for other in (whole[:-1], memoryview(bytes(whole) + b"\0"), memoryview(PING)):
        assert decoder.lone_message(other) is None
    assert decoder.lone_message(memoryview(frame_head(0))) is None
    if size <= 1_000:
        assert list(decoder.feed(whole[:-1])) == []
        assert decoder.lone_message(whole) is None  # amid another message


@pytest.mark.parametrize("mutations", [10_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_mutated_bytes_raise_nothing_but_a_protocol_error(mutations: int) -> None:
    """What a codec is fed is cut into pieces at random; it may refuse, but not fail."""
    rng = random.Random(1)
    talk = (
        PUSH + PING + message(make_record(1)) + message(make_record(2, 400)) + b"\x04\x05\x04PONG"
    )
    for _ in range(mutations):
        decoder = Decoder(b"PUSH", 1_000)
        data = memoryview(mutated(rng, talk))
        at = 0
        with contextlib.suppress(ProtocolError):
            while at < len(data):
                step = rng.randrange(1, 200)
                alone = decoder.lone_message(data[at : at + step])
                fed = []
                for name, body in decoder.feed(data[at : at + step]):
                    assert name or 0 < len(body) <= 1_000
                    fed.append((name, body))
                assert alone is None or fed == [(b"", alone)]
                assert decoder.held <= 1_009
                at += step


def test_a_closed_loop_leaves_no_descriptor() -> None:
    before = set(os.listdir("/proc/self/fd"))
    made: list[ZmtpPipes] = []

    async def test() -> None:
        pipes = new_pipes()
        made.append(pipes)
        address = pipes.open_input(ANY_PORT, Inbox()).address
        pipes.send([at(address), at(free_address())], make_record(1))
        await asyncio.sleep(0)

    live(test)()
    made[0].close()
    assert set(os.listdir("/proc/self/fd")) == before
