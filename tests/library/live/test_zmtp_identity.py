"""READY of `zmtp` says who speaks and in which version, and no record goes to anybody else."""

import asyncio
import logging
import socket
import struct

import pytest
import zmq

from camcast.doors.transport import InputPipe, PipeLimits
from camcast.live.transports import find_transport
from camcast.live.wire.zmtp.codec import (
    GREETING,
    Decoder,
    ProtocolError,
    extensions_in,
    handshake,
    peer_in,
    ready,
)
from camcast.vocabulary.extensions import EXTENSION_BYTES_MAX, EXTENSIONS_MAX, Extension
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.systems import SYSTEM_BYTES_MAX
from camcast.vocabulary.wire import VERSION
from tests.library.live.pipe_ends import (
    ANY_PORT,
    HEADER,
    Inbox,
    is_refused,
    knock,
    make_record,
    new_pipes,
)
from tests.patience import PATIENCE_SECONDS, eventually, live

ONE, OTHER = PeerId(b"1" * 16), PeerId(b"2" * 16)
ANOTHER_VERSION = str(VERSION + 1).encode()


def read(said: bytes, peer_type: bytes) -> dict[str, bytes] | None:
    decoder = Decoder(peer_type, 100)
    list(decoder.feed(memoryview(said)))
    return decoder.metadata


# -- the bytes


def test_ready_names_the_process_and_the_wire_version() -> None:
    """The vector for a second implementation; see `camcast.live.wire.zmtp.codec`."""
    said = handshake(b"PULL", ONE)
    version = str(VERSION).encode()
    properties = (
        b"\x0bSocket-Type\x00\x00\x00\x04PULL"
        b"\x0eX-Camcast-Wire\x00\x00\x00" + bytes((len(version),)) + version +
        b"\x0eX-Camcast-Peer\x00\x00\x00\x10" + ONE
    )  # fmt: skip
    assert said == GREETING + bytes((4, 6 + len(properties))) + b"\x05READY" + properties
    metadata = read(said, b"PULL")
    assert metadata is not None
    assert peer_in(metadata) == ONE


def test_a_process_without_a_name_of_its_own_names_none() -> None:
    for said in (handshake(b"PUSH", UNKNOWN_PEER), GREETING + ready({"Socket-Type": b"PUSH"})):
        metadata = read(said, b"PUSH")
        assert metadata is not None
        assert peer_in(metadata) == UNKNOWN_PEER


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("X-Camcast-Wire", ANOTHER_VERSION, f"speaks version {VERSION + 1}, not {VERSION}"),
        ("x-camcast-wire", b"", "speaks version '', not"),
        ("X-Camcast-Wire", b"\x1b[31m" + b"x" * 50, r"speaks version '\\x1b\[31mxxx', not"),
        ("X-Camcast-Peer", b"short", "a peer id of a wrong length"),
    ],
)
def test_a_ready_of_another_version_or_without_sense_is_refused(
    name: str, value: bytes, complaint: str
) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        read(GREETING + ready({"Socket-Type": b"PUSH", name: value}), b"PUSH")


def test_the_longest_ready_is_taken() -> None:
    """The longest name of a system, and as many extensions as there may be."""
    most = [Extension(f"{number}".rjust(EXTENSION_BYTES_MAX, "x")) for number in range(8)]
    assert len(most) == EXTENSIONS_MAX
    said = handshake(b"PUSH", ONE, system="s" * SYSTEM_BYTES_MAX, extensions=most)
    decoder = Decoder(b"PUSH", 100, system="s" * SYSTEM_BYTES_MAX)
    list(decoder.feed(memoryview(said)))
    assert extensions_in(decoder.metadata or {}) == tuple(one.name for one in most)


@pytest.mark.parametrize("within", ["zmtp", "tcp"])
@live
async def test_an_extension_is_spoken_on_a_connection_to_who_has_named_it(within: str) -> None:
    """And not before, nor to an earlier release, libzmq, or another process at the address."""
    make, toy = find_transport(within), [Extension("toy")]
    ours, theirs = (make(frame_header=HEADER, extensions=toy) for _ in range(2))
    earlier, libzmq = make(frame_header=HEADER), find_transport("zmq")(frame_header=HEADER)
    inboxes = [Inbox() for _ in range(3)]
    inputs = [
        pipes.open_input(ANY_PORT, inbox, peer)
        for pipes, inbox, peer in zip(
            (theirs, earlier, libzmq), inboxes, (ONE, OTHER, UNKNOWN_PEER), strict=True
        )
    ]
    contacts = [Contact(one.peer, one.address) for one in inputs]
    assert not any(ours.speaks(one, "toy") for one in contacts)
    ours.send(contacts, make_record(1))
    for inbox in inboxes:
        await inbox.has_numbers(1)
    assert [ours.speaks(one, "toy") for one in contacts] == [True, False, False]
    assert not ours.speaks(contacts[0], "other")
    assert not ours.speaks(Contact(OTHER, contacts[0].address), "toy")
    assert ours.speaks(Contact(UNKNOWN_PEER, contacts[0].address), "toy")
    assert not libzmq.speaks(contacts[0], "toy")
    for pipes in (ours, theirs, earlier, libzmq):
        pipes.close()


# -- who gets what


async def hears(pipe: InputPipe, inbox: Inbox, *numbers: int) -> None:
    """Wait until an input was given these records, and no others, and nothing is under way."""
    assert await inbox.has_numbers(len(numbers)) == list(numbers)
    assert pipe.counters.frames_received == len(inbox.frames)


@pytest.mark.parametrize("connected", [False, True], ids=["before READY", "after READY"])
@live
async def test_records_for_who_was_at_the_address_before_are_dropped_and_counted(
    connected: bool,
) -> None:
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    pipe = theirs.open_input(ANY_PORT, inbox, ONE)
    one, other = Contact(ONE, pipe.address), Contact(OTHER, pipe.address)
    anyone = Contact(UNKNOWN_PEER, pipe.address)
    if connected:
        ours.send([one], make_record(9))
        await hears(pipe, inbox, 9)
        inbox.numbers.clear()
    for number, contact in enumerate((other, one, other, anyone, one, other)):
        ours.send([contact], make_record(number), control=number % 2 == 0)
    assert await inbox.has_numbers(3) == [1, 3, 4]
    assert await ours.drain(PATIENCE_SECONDS)
    assert inbox.numbers == [1, 3, 4]
    assert ours.counters.records_dropped == ours.counters.records_misdirected == 3
    ours.close()
    theirs.close()


@pytest.mark.parametrize("order", [(ONE, OTHER), (OTHER, ONE)], ids=["old first", "new first"])
@live
async def test_a_process_that_started_anew_at_its_address_is_reached_by_its_new_name(
    order: tuple[PeerId, PeerId],
) -> None:
    ours, before, after, inbox = new_pipes(), new_pipes(), new_pipes(), Inbox()
    address = before.open_input(ANY_PORT, inbox, ONE).address
    ours.send([Contact(ONE, address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    before.close()
    again = Inbox()
    after.open_input(address, again, OTHER)
    numbers = {ONE: 2, OTHER: 3}
    await eventually(lambda: not any(pipe.named for pipe in ours._pipes.values()))
    for peer in order:
        ours.send([Contact(peer, address)], make_record(numbers[peer]))
    assert await again.has_numbers(1) == [3]
    for peer in order:
        ours.send([Contact(peer, address)], make_record(numbers[peer] + 10))
    assert await again.has_numbers(2) == [3, 13]
    assert ours.counters.records_misdirected == 2
    ours.close()
    after.close()


@live
async def test_a_frame_that_broke_off_goes_to_nobody_else() -> None:
    """The kernel had a part of it when its receiver died, and another process took the port."""
    ours, theirs, inbox = new_pipes(PipeLimits(queue_bytes_max=2**26)), new_pipes(), Inbox()
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = "tcp://{}:{}".format(*server.getsockname())
        for number in range(40):  # more than the kernel's buffers take
            ours.send([Contact(ONE, address)], make_record(number, 2**20))
        peer, _ = await loop.sock_accept(server)
        with peer:
            await loop.sock_sendall(peer, handshake(b"PULL", ONE))
            await eventually(lambda: any(p.frame for p in ours._pipes.values()))
    await eventually(lambda: not any(pipe.named for pipe in ours._pipes.values()))
    theirs.open_input(address, inbox, OTHER)
    ours.send([Contact(OTHER, address)], make_record(7))
    assert await inbox.has_numbers(1) == [7]
    ours.close()
    theirs.close()


@live
async def test_what_was_offered_to_a_connection_that_had_broken_goes_to_nobody_else() -> None:
    """The sender learns of the end when it offers a frame, and another process took the port."""
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = "tcp://{}:{}".format(*server.getsockname())
        ours.send([Contact(ONE, address)], make_record(1))
        peer, _ = await loop.sock_accept(server)
        await loop.sock_sendall(peer, handshake(b"PULL", ONE))
        await eventually(lambda: any(pipe.named for pipe in ours._pipes.values()))
        reset = struct.pack("ii", 1, 0)  # no lingering: the connection is reset
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        peer.close()
    ours.send([Contact(ONE, address)], make_record(2))
    await eventually(lambda: not any(pipe.named for pipe in ours._pipes.values()))
    theirs.open_input(address, inbox, OTHER)
    ours.send([Contact(OTHER, address)], make_record(7))
    assert await inbox.has_numbers(1) == [7]
    ours.close()
    theirs.close()


@live
async def test_a_process_that_does_not_say_who_it_is_gets_what_is_for_its_address() -> None:
    pipes = new_pipes()
    with zmq.Context() as context, context.socket(zmq.PULL) as theirs:
        address = f"tcp://127.0.0.1:{theirs.bind_to_random_port('tcp://127.0.0.1')}"
        for number in range(2):  # the second when it is known that nobody is named
            pipes.send([Contact(ONE, address)], make_record(number))
            received = await asyncio.to_thread(theirs.recv)
            assert received == HEADER + make_record(number)
    pipes.close()


# -- another version


@live
async def test_an_input_of_another_version_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    pipes = new_pipes()
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = "tcp://{}:{}".format(*server.getsockname())
        metadata = {"Socket-Type": b"PULL", "X-Camcast-Wire": ANOTHER_VERSION}
        for attempt in (1, 2, 3):
            pipes.send([Contact(ONE, address)], make_record(attempt))
            peer, _ = await loop.sock_accept(server)
            with peer:
                await loop.sock_sendall(peer, GREETING + ready(metadata))
                said = b""
                while got := await loop.sock_recv(peer, 4096):
                    said += got
            assert said == handshake(b"PUSH", UNKNOWN_PEER)
            assert pipes.counters.versions_refused == pipes.counters.records_dropped == attempt
    assert await pipes.drain(PATIENCE_SECONDS)
    pipes.close()
    (record,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert f"it speaks version {VERSION + 1}" in record.message


@live
async def test_an_output_of_another_version_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    pipes, inbox = new_pipes(), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox, ONE)
    metadata = {"Socket-Type": b"PUSH", "X-Camcast-Wire": ANOTHER_VERSION}
    for _ in range(3):
        with knock(pipe.address) as stranger:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(stranger, GREETING + ready(metadata) + b"\0\x04CAM1")
            await is_refused(stranger)
    assert pipe.counters.versions_refused == 3
    assert not inbox.frames
    pipes.close()
    (record,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert f"it speaks version {VERSION + 1}" in record.message
