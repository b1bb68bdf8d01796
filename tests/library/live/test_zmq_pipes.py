"""What only the transport `zmq` does."""

import asyncio
import contextlib
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import zmq

from camcast.doors.transport import PipeLimits
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.wire.connections import Connections
from camcast.live.wire.zmq_pipes import _SHOWN_SECONDS, ZmqPipes
from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import SecretKey
from camcast.security.records import LIFETIME_SECONDS
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from tests.authority import ADA, CLUB
from tests.library.live.pipe_ends import ANY_PORT, HEADER, Inbox, at, is_refused, knock, make_record
from tests.patience import PATIENCE_SECONDS, eventually, live
from tests.signed_world import certificate, with_own


@live
async def test_multipart_messages_are_refused_and_later_frames_arrive() -> None:
    pipes, inbox = ZmqPipes(PipeLimits(turn_frames_max=2), frame_header=HEADER), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
        stranger.connect(pipe.address)
        stranger.send(HEADER + make_record(1))
        stranger.send_multipart([HEADER + make_record(2)] * 7)
        stranger.send_multipart([b"", HEADER + make_record(3)])
        stranger.send(HEADER + make_record(4))
        assert await inbox.has_numbers(2) == [1, 4]
    assert pipe.counters.frames_refused == 2
    assert pipe.counters.frames_received == 2
    pipes.close()


@pytest.mark.slow
def test_a_busy_input_survives_a_sender_that_resets_its_connection() -> None:
    """With ZeroMQ's own heartbeats libzmq aborts here, at the PING after 10 s (`pipes`)."""
    program = f"""
import asyncio, socket, struct, time
from camcast.live.wire.zmq_pipes import ZmqPipes

async def main():
    pipes = ZmqPipes()
    frames = []
    pipe = pipes.open_input({ANY_PORT!r}, frames.append)
    with socket.create_connection(("127.0.0.1", int(pipe.address.rpartition(":")[2]))) as sender:
        mechanism = b"NULL".ljust(20, b"\\0") + bytes(32)
        sender.sendall(b"\\xff" + bytes(8) + b"\\x7f\\3\\0" + mechanism)
        sender.recv(64, socket.MSG_WAITALL)
        ready = b"\\5READY" + b"\\x0bSocket-Type" + struct.pack(">I", 4) + b"PUSH"
        sender.sendall(bytes([4, len(ready)]) + ready + b"\\0\\4abcd" * 100)
        time.sleep(1)  # ZeroMQ's thread takes what fits, and stops reading
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(12)  # longer than an interval of heartbeats, in one turn of the loop
    while len(frames) < 100:
        await asyncio.sleep(0.01)
    pipes.close()

asyncio.run(asyncio.wait_for(main(), 30))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_nothing_but_a_connection_to_the_input_is_shut_down(tmp_path: Path) -> None:
    """By the time of the refusal a descriptor may be another's, or nobody's."""
    connections = Connections(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(server.getsockname()) as client:
            accepted, _ = server.accept()
            with accepted, (tmp_path / "file").open("wb") as file:
                assert connections.accepted(server.fileno(), address, 0.0)
                for another in (client.fileno(), file.fileno(), 2**16 + 1):
                    assert not connections.accepted(another, address, 0.0)
                client.sendall(b"still there")
                assert accepted.recv(64) == b"still there"
                file.write(b"still there")
                assert not connections.accepted(accepted.fileno(), address, 9.0)
                assert client.recv(64) == b""


def test_who_sends_nothing_makes_room_where_peers_prove_themselves_by_what_they_send() -> None:
    connections = Connections(2, spares_silent=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        clients = [socket.create_connection(server.getsockname()) for _ in range(4)]
        accepted = [server.accept()[0] for _ in clients]
        member, silent, early, late = (one.fileno() for one in accepted)
        assert connections.accepted(member, address, 0.0)
        assert connections.accepted(silent, address, 0.0)
        connections.has_proved(member)
        assert not connections.accepted(early, address, 4.9)
        assert connections.accepted(late, address, 5.0)
        assert (member in connections, silent in connections) == (True, False)
        assert clients[1].recv(1) == b""
        for one in (*clients, *accepted):
            one.close()


def test_a_flood_of_connections_takes_no_descriptor_that_is_needed() -> None:
    """A process that may have 64 of them is flooded with 300 connections.

    Without a bound it has no descriptor left, and can do no more than what it has begun.
    """
    program = f"""
import asyncio, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from camcast.live.wire.zmq_pipes import ZmqPipes

async def main():
    pipes, frames = ZmqPipes(), asyncio.Queue()
    pipe = pipes.open_input({ANY_PORT!r}, frames.put_nowait)
    print(pipe.address, flush=True)
    assert await frames.get() == b"before"
    print(pipes.connections.most, flush=True)
    assert await frames.get() == b"after"
    open(os.devnull).close()
    print(len(pipes.connections), pipe.counters.connections_refused, flush=True)
    pipes.close()

asyncio.run(asyncio.wait_for(main(), {PATIENCE_SECONDS}))
"""
    flood = 300

    async def test(flooded: subprocess.Popen[str]) -> None:
        assert flooded.stdout is not None
        address, pipes = flooded.stdout.readline().strip(), ZmqPipes()
        pipes.send([at(address)], b"before")
        await pipes.drain(PATIENCE_SECONDS)
        most = int(flooded.stdout.readline())
        with contextlib.ExitStack() as stack:
            strangers = [stack.enter_context(knock(address)) for _ in range(flood)]
            await asyncio.gather(*map(is_refused, strangers))  # the few accepted, for their silence
            pipes.send([at(address)], b"after")
            await pipes.drain(PATIENCE_SECONDS)
            connections, refused = map(int, flooded.stdout.readline().split())
        assert connections == 1
        assert flood - 10 * most < refused <= flood - (most - 1)
        pipes.close()

    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as flooded:
        live(test)(flooded)
        assert flooded.wait(PATIENCE_SECONDS) == 0


@live
async def test_a_given_context_is_left_alone() -> None:
    with zmq.Context() as context:
        pipes, inbox = ZmqPipes(frame_header=HEADER, context=context), Inbox()
        pipes.send([at(pipes.open_input(ANY_PORT, inbox).address)], make_record(1))
        await inbox.has_numbers(1)
        pipes.close()
        assert not context.closed


@live
async def test_an_output_shows_a_new_record_before_the_one_that_it_showed_expires() -> None:
    """libzmq shows in each handshake what was to be shown when the socket was made."""
    at_server = "tcp://127.0.0.1:9"
    clock = [1_000.0]

    def links(owner: SecretKey) -> SignedLinks:
        made = SignedLinks.of(with_own(owner, certificate(owner)), {}, Clock(), lambda: clock[0])
        made.known.reached_at(at_server)
        return made

    inbox, heard = Inbox(), []

    def hear(frame: bytes, link: PeerId) -> None:
        heard.append(link)
        inbox(frame)

    server = ZmqPipes(frame_header=HEADER, profile=links(ADA))
    pipe = server.open_input(ANY_PORT, hear)
    profile = links(CLUB)
    profile.pin(pipe.address, ADA.public.raw)
    client = ZmqPipes(frame_header=HEADER, profile=profile)
    there = Contact(UNKNOWN_PEER, pipe.address)
    client.send([there], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    (output,) = client._pipes.values()
    await eventually(lambda: not output.records and output not in client._fresh)
    for seconds, open_still in ((_SHOWN_SECONDS - 1, 1), (_SHOWN_SECONDS, 0)):
        output.moved = now = output.opened + seconds  # it is used all the time
        client._close_spent(now)
        assert len(client) == open_still
    clock[0] += LIFETIME_SECONDS + SLACK_SECONDS + 1
    client.send([there], make_record(2))
    assert await inbox.has_numbers(2) == [1, 2]
    assert heard == [CLUB.public.peer_id] * 2
    assert pipe.counters.strangers_refused == 0
    client.close()
    server.close()
