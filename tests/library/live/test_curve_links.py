"""Encrypted links on both transports: who gets in, who does not, and what libzmq makes of it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe, OutputPipes, PipeLimits
from camcast.live.profiles.self_test import lets_strangers_in
from camcast.live.profiles.shared_key import SharedKey
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.transports import TRANSPORTS, find_transport
from camcast.live.wire import zap
from camcast.live.wire.zmtp.codec import Decoder, handshake
from camcast.live.wire.zmtp.curve import OVERHEAD, CurveClient, CurveKeys
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import UNKNOWN_PEER, PeerId
from tests.library.live.communities import free_address
from tests.library.live.pipe_ends import ANY_PORT, HEADER, Inbox, at, is_refused, knock, make_record
from tests.patience import PATIENCE_SECONDS, eventually, live

OURS, THEIRS = SharedKey(SecretKey(b"o" * 32)), SharedKey(SecretKey(b"t" * 32))
OWNER = PeerId(b"o" * 16)
SIZES = (8, 219, 220, 300, 40_000, 2**20)
"""Of records: MESSAGEs have a short head up to 219, which with header and 33 bytes makes 255."""
LINKS = list(itertools.product(TRANSPORTS, repeat=2))


def new_pipes(
    transport: str, profile: Profile | None, limits: PipeLimits | None = None
) -> OutputPipes:
    return find_transport(transport)(limits, frame_header=HEADER, profile=profile)


@contextmanager
def both(
    transports: tuple[str, str], sends: Profile | None, listens: Profile | None
) -> Iterator[tuple[OutputPipes, InputPipe, Inbox]]:
    """Yield a sender, who dials, and the input that it dials."""
    roomy = PipeLimits(queue_bytes_max=2**26)
    sender, receiver = new_pipes(transports[0], sends, roomy), new_pipes(transports[1], listens)
    inbox = Inbox()
    try:
        yield sender, receiver.open_input(ANY_PORT, inbox), inbox
    finally:
        sender.close(0)
        receiver.close(0)


@pytest.mark.parametrize("transports", LINKS, ids="-".join)
@live
async def test_members_understand_each_other_whatever_their_transports(
    transports: tuple[str, str],
) -> None:
    with both(transports, OURS, OURS) as (sender, pipe, inbox):
        for number in range(600):
            sender.send([at(pipe.address)], make_record(number, SIZES[number % 5]))
            if number % 100 == 0:
                await asyncio.sleep(0)
        sender.send([at(pipe.address)], make_record(600, SIZES[-1]))
        assert await inbox.has_numbers(601) == list(range(601))
        assert await sender.drain(PATIENCE_SECONDS)
        assert pipe.counters.strangers_refused == sender.counters.strangers_refused == 0


@pytest.mark.parametrize("transports", LINKS, ids="-".join)
@pytest.mark.parametrize(
    ("sends", "listens", "why"),
    [
        (THEIRS, OURS, "it has another passphrase"),
        (None, OURS, "without encryption|have both the same passphrase, or neither"),
        (THEIRS, None, "asks for encryption|have both the same passphrase, or neither"),
    ],
    ids=["another key", "none", "one too many"],
)
def test_strangers_stay_out_and_a_log_line_says_why(
    transports: tuple[str, str],
    sends: Profile | None,
    listens: Profile | None,
    why: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is handed over, and honest peers are heard as before.

    A libzmq that dials may end the connection before it has said anything, if the greeting that it
    sees is another one than its own: of that nobody can tell.
    """
    silent = transports[0] == "zmq" and None in (sends, listens)

    async def test() -> None:
        with both(transports, sends, listens) as (sender, pipe, inbox):
            member = new_pipes(transports[0], listens)
            sender.send([at(pipe.address)], make_record(1))
            await eventually(lambda: silent or said())
            member.send([at(pipe.address)], make_record(2))
            assert await inbox.has_numbers(1) == [2]
            assert sender.counters.frames_sent == 0 or transports[0] == "zmq"
            member.close(0)
            assert pipe.counters.frames_received == 1

    def said() -> list[str]:
        messages = (
            r.message for r in caplog.records if r.message.startswith(("refused", "lost a"))
        )
        return [m for m in messages if "at 127.0.0.1:" in m or "at tcp://127.0.0.1:" in m]

    with caplog.at_level(logging.WARNING):
        live(test)()
    assert silent or any(re.search(why, message) for message in said()), said()


@live
async def test_a_member_speaks_with_programs_that_use_libzmq_itself() -> None:
    """The raw PUSH and PULL that have the key; PING is answered in the box, else it would part."""
    secret, public = OURS.link_secret, OURS.link_public
    pipes, inbox = new_pipes("zmtp", OURS), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with (
        zmq.Context() as context,
        context.socket(zmq.PUSH) as push,
        context.socket(zmq.PULL) as pull,
    ):
        push.heartbeat_ivl, push.heartbeat_timeout = 20, 200
        push.curve_serverkey, push.curve_publickey, push.curve_secretkey = (public, public, secret)
        with push.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            push.connect(pipe.address)
            push.send(HEADER + make_record(1))
            assert await inbox.has_numbers(1) == [1]
            assert not await asyncio.to_thread(monitor.poll, 500)
            push.disable_monitor()
        pull.curve_server, pull.curve_secretkey = 1, secret
        pull.heartbeat_ivl, pull.heartbeat_timeout = 20, 200
        address = f"tcp://127.0.0.1:{pull.bind_to_random_port('tcp://127.0.0.1')}"
        for number, size in enumerate(SIZES):
            pipes.send([at(address)], make_record(number, size))
        received = Inbox()
        while len(received.numbers) < len(SIZES):
            received(await asyncio.to_thread(pull.recv))
        assert received.numbers == list(range(len(SIZES)))
        records = b"".join(frame.removeprefix(HEADER) for frame in received.frames)
        assert records == b"".join(map(make_record, range(len(SIZES)), SIZES))
    pipes.close(0)


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_the_largest_record_fits_and_a_larger_frame_cuts_its_member_off(
    transport: str,
) -> None:
    """The limit is of what is in the box, whose 33 bytes come on top."""
    limits = PipeLimits(record_bytes_max=1_000, frame_bytes_max=1_000)
    pipes, inbox = new_pipes(transport, OURS, limits), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    pipes.send([at(pipe.address)], make_record(1, 1_000))
    assert await inbox.has_numbers(1) == [1]
    with zmq.Context() as context, context.socket(zmq.PUSH) as member:
        member.linger = 0
        member.curve_serverkey = member.curve_publickey = OURS.link_public
        member.curve_secretkey = OURS.link_secret
        with member.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            member.connect(pipe.address)
            member.send(HEADER + make_record(2, 1_001))
            await eventually(lambda: bool(monitor.poll(0)))
            member.disable_monitor()
    assert inbox.numbers == [1]
    pipes.close(0)


@live
async def test_a_connection_that_broke_is_made_again_and_the_frame_under_way_sealed_anew() -> None:
    """A frame sealed with the old connection's key would end the new one."""
    count, size = 40, 2**20  # more than the kernel's buffers take, which are some 7 MB
    ours, inbox = new_pipes("zmtp", OURS, PipeLimits(queue_bytes_max=2**26)), Inbox()
    address = free_address()
    first = new_pipes("zmtp", OURS)
    half = first.open_input(address, lambda _frame: None)
    for number in range(count):
        ours.send([at(address)], make_record(number, size))
    await eventually(lambda: half.counters.frames_received > 3)
    first.close(0)
    second = new_pipes("zmtp", OURS)
    second.open_input(address, inbox)
    await eventually(lambda: inbox.numbers[-1:] == [count - 1])
    assert inbox.numbers == list(range(inbox.numbers[0], count))
    assert {len(frame) for frame in inbox.frames} == {len(HEADER) + size}
    ours.close(0)
    second.close(0)


@live
async def test_who_recorded_a_connection_cannot_play_it_again() -> None:
    """Neither to the process that it was with, nor to another that has the same key."""
    loop = asyncio.get_running_loop()
    pipes, inbox = new_pipes("zmtp", OURS), Inbox()
    inputs = [pipes.open_input(ANY_PORT, inbox) for _ in range(2)]
    keys = CurveKeys(OURS.link_secret)
    client = CurveClient(keys, OURS.link_public, lambda size: bytes(range(size)))
    decoder = Decoder(b"PULL", 0, client)
    recorded = handshake(b"PUSH", UNKNOWN_PEER, client)
    with knock(inputs[0].address) as member:
        member.sendall(recorded)
        while decoder.metadata is None:
            for _name, answer in decoder.feed(memoryview(await loop.sock_recv(member, 1024))):
                member.sendall(answer)
                recorded += answer
        said = client.message(HEADER + make_record(1))
        recorded += said
        member.sendall(said)
        assert await inbox.has_numbers(1) == [1]
    for pipe in inputs:
        with knock(pipe.address) as stranger:
            stranger.sendall(recorded)
            await is_refused(stranger)
        assert pipe.counters.frames_refused == 1
    assert inbox.numbers == [1]
    pipes.close(0)


@live
async def test_an_input_that_judges_by_the_first_frame_passes_the_self_test_only_if_it_cuts_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over libzmq, where processes are told apart, a stranger ends the handshake."""
    signatures = EventSignatures(SecretKey(b"a" * 32), [])
    links = SignedLinks.of(signatures, {}, Clock(), lambda: 0.0)
    pipes, inbox = new_pipes("zmq", links), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    assert not await lets_strangers_in(pipe, links, "")
    await eventually(lambda: pipe.strangers_expected == 0)
    assert (inbox.frames, pipe.counters.strangers_refused) == ([], 0)
    monkeypatch.setattr("camcast.live.profiles.self_test._ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("camcast.live.wire.zmq_links.sender", lambda _message, _profile: OWNER)
    with pytest.raises(TimeoutError):
        await lets_strangers_in(pipe, links, "")
    pipes.close(0)


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_the_self_test_tells_a_closed_input_from_an_open_one(
    transport: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was once measured of libzmq: without a domain of ZAP everybody gets in."""
    pipes = new_pipes(transport, OURS)
    pipe = pipes.open_input(ANY_PORT, Inbox())
    assert not await lets_strangers_in(pipe, OURS, "")
    await eventually(lambda: pipe.strangers_expected == 0)
    pipes.close(0)
    assert caplog.records == []  # a process does not warn of itself
    assert pipe.counters.strangers_refused == 0

    if transport != "zmq":
        monkeypatch.setattr(SharedKey, "admits", lambda _self, _key, _shown: True)
    else:
        monkeypatch.setattr(zap, "require_keys", without_a_domain)
    pipes = new_pipes(transport, OURS)
    assert await lets_strangers_in(pipes.open_input(ANY_PORT, Inbox()), OURS, "")
    pipes.close(0)


def without_a_domain(socket: zmq.SyncSocket, secret: bytes) -> None:
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


@live
async def test_a_key_that_cannot_be_judged_keeps_its_owner_out_and_nobody_else() -> None:
    """One exception in a callback of pyzmq's authenticators locks everybody out."""

    class Moody(SharedKey):
        raises = True

        def admits(self, key: bytes, shown: bytes = b"") -> bool:
            if self.raises:
                raise RuntimeError("no mood")
            return super().admits(key)

    profile = Moody(SecretKey(b"o" * 32))
    pipes, inbox = new_pipes("zmq", profile), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    early, late = new_pipes("zmtp", OURS), new_pipes("zmtp", OURS)
    early.send([at(pipe.address)], make_record(1))
    await eventually(lambda: pipe.counters.strangers_refused == 1)
    profile.raises = False
    late.send([at(pipe.address)], make_record(2))
    assert 2 in await inbox.has_numbers(1)
    for one in (early, late, pipes):
        one.close(0)


@live
async def test_what_goes_over_the_wire_shows_nothing_of_a_record() -> None:
    loop, secret_text = asyncio.get_running_loop(), b"the eagle has landed"
    pipes, inbox = new_pipes("zmtp", OURS), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with socket.create_server(("127.0.0.1", 0)) as tap:
        tap.setblocking(False)
        pipes.send(
            [at("tcp://{}:{}".format(*tap.getsockname()))],
            (len(secret_text) + 4).to_bytes(4) + bytes(4) + secret_text,
        )
        dialled, _ = await loop.sock_accept(tap)
        heard = b""
        with dialled, knock(pipe.address) as onward:
            dialled.setblocking(False)
            while not inbox.frames:
                for source, target in ((dialled, onward), (onward, dialled)):
                    try:
                        said = source.recv(4096)
                    except BlockingIOError:
                        await asyncio.sleep(0)
                        continue
                    heard += said
                    target.sendall(said)
    assert secret_text in inbox.frames[0]
    assert secret_text not in heard
    assert OURS.link_public not in heard
    assert len(heard) > len(inbox.frames[0]) + OVERHEAD
    pipes.close(0)
