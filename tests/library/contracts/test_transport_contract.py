"""The contract of a transport, on real sockets: order, bounds, and how pipes open and close."""

import asyncio
import contextlib
import itertools
import logging
import os
import random
import socket
from collections.abc import Callable

import pytest
import zmq

from camcast.doors.transport import AddressInUse, BindError, OutputPipes, PipeLimits
from camcast.live.transports import TRANSPORTS, find_transport
from camcast.live.wire.pipes import QueuedPipes
from camcast.vocabulary.addresses import AddressError, is_loopback
from tests.library.live.communities import free_address
from tests.library.live.pipe_ends import ANY_PORT, HEADER, Inbox, at, is_refused, knock, make_record
from tests.patience import PATIENCE_SECONDS, eventually, live

NewPipes = Callable[..., OutputPipes]


@pytest.fixture(params=TRANSPORTS)
def new_pipes(request: pytest.FixtureRequest) -> NewPipes:
    make = find_transport(request.param)
    return lambda limits=None: make(limits, frame_header=HEADER)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


ROOMY = PipeLimits(queue_records_max=50_000)


NARROW = PipeLimits(queue_records_max=50_000, frame_bytes_max=100, turn_frames_max=1)


@pytest.mark.parametrize("limits", [ROOMY, NARROW], ids=["roomy", "narrow"])
@pytest.mark.parametrize(
    "bind",
    [
        ANY_PORT,
        pytest.param(
            "tcp://[::1]:0",
            marks=pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback"),
        ),
    ],
)
@live
async def test_records_arrive_completely_and_in_order(
    new_pipes: NewPipes, bind: str, limits: PipeLimits
) -> None:
    count = 20_000
    ours, theirs, inbox = new_pipes(limits), new_pipes(limits), Inbox()
    source = theirs.open_input(bind, inbox)
    assert is_loopback(source.address)
    assert not source.address.endswith(":0")
    sizes = random.Random(1)
    for number in range(count):
        ours.send([at(source.address)], make_record(number, sizes.choice((8, 20, 90, 300))))
        if number % 700 == 0:
            await asyncio.sleep(0)
    assert await inbox.has_numbers(count) == list(range(count))
    assert await ours.drain(PATIENCE_SECONDS)
    assert ours.counters.records_sent == count
    assert ours.counters.records_dropped == 0
    assert ours.counters.frames_sent == source.counters.frames_received == len(inbox.frames)
    assert ours.counters.bytes_sent == source.counters.bytes_received
    longest = max(map(len, inbox.frames))
    assert longest <= max(limits.frame_bytes_max, len(HEADER) + 300)
    ours.close()
    theirs.close()


@live
async def test_records_of_one_turn_leave_as_one_frame(new_pipes: NewPipes) -> None:
    pipes, first, second = new_pipes(), Inbox(), Inbox()
    contacts = [at(pipes.open_input(ANY_PORT, inbox).address) for inbox in (first, second)]
    for number in range(10):
        pipes.send(contacts, make_record(number))
    pipes.send(contacts[:1], make_record(10), control=True)
    await first.has_numbers(11)
    await second.has_numbers(10)
    assert first.frames == [HEADER + b"".join(map(make_record, range(11)))]
    assert second.frames == [HEADER + b"".join(map(make_record, range(10)))]
    pipes.close()


@live
async def test_a_record_larger_than_a_frame_travels_alone_and_a_too_large_one_not_at_all(
    new_pipes: NewPipes, caplog: pytest.LogCaptureFixture
) -> None:
    limits = PipeLimits(record_bytes_max=5_000, frame_bytes_max=1_000)
    pipes, inbox = new_pipes(limits), Inbox()
    address = pipes.open_input(ANY_PORT, inbox).address
    for number, size in enumerate((20, 5_000, 5_001, 20, 20)):
        pipes.send([at(address)], make_record(number, size))
    assert await inbox.has_numbers(4) == [0, 1, 3, 4]
    assert list(map(len, inbox.frames)) == [3 + 20, 3 + 5_000, 3 + 40]
    assert pipes.counters.records_dropped == 1
    pipes.close()
    assert "record_bytes_max" in caplog.text


@live
async def test_who_sends_too_large_a_frame_is_cut_off_and_others_are_heard(
    new_pipes: NewPipes,
) -> None:
    limits = PipeLimits(record_bytes_max=1_000, frame_bytes_max=1_000)
    pipes, inbox = new_pipes(limits), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
        stranger.linger = 0
        with stranger.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor:
            stranger.connect(pipe.address)
            stranger.send(HEADER + make_record(1, 1_004 - len(HEADER)))
            await eventually(lambda: bool(monitor.poll(0)))
            stranger.disable_monitor()
    pipes.send([at(pipe.address)], make_record(2))
    assert await inbox.has_numbers(1) == [2]
    pipes.close()


@live
async def test_connections_beyond_the_bound_are_refused_and_the_others_stay(
    new_pipes: NewPipes, caplog: pytest.LogCaptureFixture
) -> None:
    inbox, ours = Inbox(), new_pipes()
    theirs = new_pipes(PipeLimits(connections_max=2))
    pipe = theirs.open_input(ANY_PORT, inbox)
    ours.send([at(pipe.address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    with contextlib.ExitStack() as stack:
        second = new_pipes()  # silent, it would be cut off after a while
        second.send([at(pipe.address)], make_record(2))
        assert await inbox.has_numbers(2) == [1, 2]
        refused = [stack.enter_context(knock(pipe.address)) for _ in range(5)]
        await asyncio.gather(*map(is_refused, refused))
        assert (pipe.counters.connections_refused, len(theirs.connections)) == (5, 2)
        ours.send([at(pipe.address)], make_record(3))
        assert await inbox.has_numbers(3) == [1, 2, 3]
        second.close()
        await eventually(lambda: len(theirs.connections) == 1)
        third = new_pipes()  # now there is room
        third.send([at(pipe.address)], make_record(4))
        assert await inbox.has_numbers(4) == [1, 2, 3, 4]
        assert pipe.counters.connections_refused == 5
        third.close()
    ours.close()
    theirs.close()
    (said,) = [r.message for r in caplog.records if "refused a connection" in r.message]
    assert "all 2 connections that others may have" in said


@live
async def test_who_was_refused_gets_in_when_there_is_room(new_pipes: NewPipes) -> None:
    inbox, ours = Inbox(), new_pipes()
    theirs = new_pipes(PipeLimits(connections_max=1))
    pipe = theirs.open_input(ANY_PORT, inbox)
    with knock(pipe.address):
        await eventually(lambda: len(theirs.connections) == 1)
        ours.send([at(pipe.address)], make_record(1))
        await eventually(lambda: pipe.counters.connections_refused > 0)
    # libzmq may have given the record to the connection that was then cut off: it is sent again.
    await eventually(lambda: inbox.numbers or ours.send([at(pipe.address)], make_record(1)))
    ours.close()
    theirs.close()


@live
async def test_an_input_takes_its_connections_with_it(new_pipes: NewPipes) -> None:
    pipes = new_pipes(PipeLimits(connections_max=2))
    one, other = (pipes.open_input(ANY_PORT, Inbox()) for _ in range(2))
    with knock(one.address), knock(other.address):
        await eventually(lambda: len(pipes.connections) == 2)
        one.close()
        assert len(pipes.connections) == 1
        with knock(other.address):
            await eventually(lambda: len(pipes.connections) == 2)
        assert other.counters.connections_refused == 0
    pipes.close()


@live
async def test_garbage_on_the_port_disturbs_nobody(new_pipes: NewPipes) -> None:
    pipes, inbox = new_pipes(), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    port = int(pipe.address.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\xff" + random.Random(2).randbytes(100_000))
    _, browser = await asyncio.open_connection("127.0.0.1", port)
    browser.write(b"GET / HTTP/1.1\r\n\r\n")
    pipes.send([at(pipe.address)], make_record(7))
    assert await inbox.has_numbers(1) == [7]
    for connection in (writer, browser):
        connection.close()
        with contextlib.suppress(OSError):  # cut off by ZeroMQ already
            await connection.wait_closed()
    pipes.close()


@live
async def test_an_absent_peer_costs_a_bounded_queue_with_a_reserve_for_control(
    new_pipes: NewPipes,
) -> None:
    limits = PipeLimits(queue_records_max=100, control_reserve=0.25)
    pipes, inbox, address = new_pipes(limits), Inbox(), free_address()
    for number in range(1_000):
        pipes.send([at(address)], make_record(number))
    assert pipes.counters.records_dropped == 900
    for number in range(1_000, 1_100):
        pipes.send([at(address)], make_record(number), control=True)
    assert pipes.counters.records_dropped == 975
    assert not await pipes.drain(0.01)

    # The peer that appears later receives what was queued, oldest first.
    pipes.open_input(address, inbox)
    assert await inbox.has_numbers(125) == [*range(100), *range(1_000, 1_025)]
    assert await pipes.drain(PATIENCE_SECONDS)
    pipes.send([at(address)], make_record(5))
    assert (await inbox.has_numbers(126))[-1] == 5
    assert pipes.counters.records_dropped == 975
    pipes.close()


@live
async def test_a_pipe_is_crowded_while_more_than_half_of_its_queue_waits(
    new_pipes: NewPipes,
) -> None:
    """Whether what waits leaves in one frame, or in several."""
    limits = PipeLimits(queue_records_max=10, frame_bytes_max=1_000)
    pipes, inbox = new_pipes(limits), Inbox()
    contact = at(pipes.open_input(ANY_PORT, inbox).address)
    for size, seen in ((20, 8), (900, 16)):
        for number in range(6):
            pipes.send([contact], make_record(number, size))
        assert not pipes.crowded
        for number in range(2):
            pipes.send([contact], make_record(number, size))
        assert list(pipes.crowded) == [contact.address]
        await inbox.has_numbers(seen)
        assert not pipes.crowded
    pipes.close()


@live
async def test_the_bytes_that_wait_for_an_absent_peer_are_bounded_over_many_turns(
    new_pipes: NewPipes,
) -> None:
    limits = PipeLimits(record_bytes_max=1_000, frame_bytes_max=1_000, queue_bytes_max=10_000)
    pipes, address = new_pipes(limits), free_address()
    for number in range(200):
        pipes.send([at(address)], make_record(number, 900))
        await asyncio.sleep(0)
    # 11 in the queue, and at most 2 in the socket: its high-water mark.
    assert 187 <= pipes.counters.records_dropped <= 189
    pipes.close(0)
    assert pipes.counters.records_dropped + pipes.counters.records_sent == 200
    assert pipes.counters.records_sent <= 2


@live
async def test_the_bytes_that_wait_in_all_pipes_together_are_bounded(new_pipes: NewPipes) -> None:
    limits = PipeLimits(waiting_bytes_max=10_000, control_reserve=0.25)
    pipes, inbox = new_pipes(limits), Inbox()
    absent = [at(free_address()) for _ in range(20)]
    pipes.send(absent, make_record(1, 1_000))
    assert pipes.counters.records_dropped == 10
    pipes.send(absent, make_record(2, 1_000), control=True)
    assert pipes.counters.records_dropped == 28  # two more fit into 12,500
    await asyncio.sleep(0)
    address = pipes.open_input(ANY_PORT, inbox).address
    pipes.send([at(address)], make_record(3, 400), control=True)
    assert await inbox.has_numbers(1) == [3]
    pipes.send([at(address)], make_record(4, 400), control=True)  # what has left makes room
    assert await inbox.has_numbers(2) == [3, 4]
    assert pipes.counters.records_dropped == 28
    pipes.close(0)


@live
async def test_a_frame_above_the_bound_has_one_record(new_pipes: NewPipes) -> None:
    """C5 of the security study: a frame of a megabyte held 18,583 records, which made 1.7 million.

    Records are joined up to the bound only, so a larger frame of several is nobody's of ours.
    """
    limits = PipeLimits(record_bytes_max=5_000, frame_bytes_max=1_000)
    pipes, inbox = new_pipes(limits), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
        stranger.connect(pipe.address)
        stranger.send(HEADER + make_record(1, 500) + make_record(2, 500))
        stranger.send(HEADER + make_record(3, 3_000))
        stranger.send(HEADER + make_record(4, 900)[:-1] + bytes(101))
        stranger.send(HEADER + make_record(5, 500) + make_record(6, 497))
        assert await inbox.has_numbers(3) == [3, 5, 6]
    assert pipe.counters.frames_refused == 2
    pipes.close()


@live
async def test_an_input_hands_over_so_many_frames_a_turn(new_pipes: NewPipes) -> None:
    count, limits = 3_000, PipeLimits(turn_frames_max=7)
    pipes, inbox, turns = new_pipes(limits), Inbox(), [0]
    pipe = pipes.open_input(ANY_PORT, inbox)
    with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
        stranger.sndhwm = 0  # or sending would wait for this very loop
        stranger.connect(pipe.address)
        for number in range(count):
            stranger.send(HEADER + make_record(number))
        while len(inbox.numbers) < count:
            await asyncio.sleep(0)
            turns.append(len(inbox.numbers))
    assert inbox.numbers == list(range(count))
    # Two of the input's turns may lie between two looks of ours, since both are callbacks.
    assert max(after - before for before, after in itertools.pairwise(turns)) <= 2 * 7
    pipes.close()


@live
async def test_what_was_drained_survives_an_immediate_close(new_pipes: NewPipes) -> None:
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    address = theirs.open_input(ANY_PORT, inbox).address
    for number in range(5_000):
        ours.send([at(address)], make_record(number))
    assert await ours.drain(PATIENCE_SECONDS)
    ours.close(0)
    assert await inbox.has_numbers(5_000) == list(range(5_000))
    theirs.close()


@live
async def test_a_port_in_use_and_other_failures_to_bind_say_what_to_do(new_pipes: NewPipes) -> None:
    pipes = new_pipes()
    pipe = pipes.open_input(ANY_PORT, print)
    with pytest.raises(AddressInUse, match=rf"{pipe.address}.*port 0"):
        pipes.open_input(pipe.address, print)
    with pytest.raises(BindError, match=r"192\.0\.2\.1:7000.*address of this machine"):
        pipes.open_input("tcp://192.0.2.1:7000", print)  # [RFC 5737] nobody's address
    with pytest.raises(AddressError):
        pipes.open_input("tcp://*:7000", print)
    pipes.close()
    with pytest.raises(BindError, match="closed"):
        pipes.open_input(ANY_PORT, print)
    # Closed pipes have given the port back.
    again = new_pipes()
    again.open_input(pipe.address, print)
    again.close()


def test_a_raising_receiver_is_counted_logged_once_and_called_again(
    new_pipes: NewPipes, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        pipes, inbox = new_pipes(PipeLimits(frame_bytes_max=1)), Inbox()

        def raising(frame: bytes) -> None:
            inbox(frame)
            if len(inbox.numbers) <= 3:
                raise RuntimeError("a bug in the receiver")

        pipe = pipes.open_input(ANY_PORT, raising)
        for number in range(5):
            pipes.send([at(pipe.address)], make_record(number))
        assert await inbox.has_numbers(5) == [0, 1, 2, 3, 4]
        assert pipe.counters.frames_failed == 3
        pipes.close()

    with caplog.at_level(logging.ERROR):
        live(test)()
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None


@live
async def test_a_receiver_may_close_its_own_input(new_pipes: NewPipes) -> None:
    pipes, frames, done = new_pipes(PipeLimits(frame_bytes_max=1)), [], asyncio.Event()

    def on_frame(frame: bytes) -> None:
        frames.append(frame)
        pipe.close()
        done.set()

    pipe = pipes.open_input(ANY_PORT, on_frame)
    for number in range(5):
        pipes.send([at(pipe.address)], make_record(number))
    await done.wait()
    pipe.close()
    pipes.close(0)
    assert len(frames) == 1


def test_at_the_most_pipes_a_busy_one_stays_and_an_idle_one_makes_room(
    new_pipes: NewPipes, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(limits: PipeLimits, refused: int) -> None:
        pipes, inboxes = new_pipes(limits), [Inbox(), Inbox(), Inbox()]
        contacts = [at(pipes.open_input(ANY_PORT, inbox).address) for inbox in inboxes]
        for number, count in ((0, 1), (1, 1), (0, 2)):  # the first one is open for longest
            pipes.send([contacts[number]], make_record(number))
            await inboxes[number].has_numbers(count)
        pipes.send(contacts[2:] * 2, make_record(2))
        assert len(pipes) == 2
        assert pipes.counters.pipes_refused == pipes.counters.records_dropped == refused
        if not refused:
            assert await inboxes[2].has_numbers(2) == [2, 2]
            assert isinstance(pipes, QueuedPipes)
            assert list(pipes._pipes) == [contacts[0].address, contacts[2].address]
        pipes.close()

    live(test)(PipeLimits(pipes_max=2, spare_seconds=3600.0), refused=2)
    assert len([r for r in caplog.records if "no new peer" in r.message]) == 1
    live(test)(PipeLimits(pipes_max=2, spare_seconds=1e-9), refused=0)


@pytest.mark.parametrize("first", ["an event", "a control record"])
@live
async def test_a_pipe_with_an_event_in_it_makes_no_room_for_one_that_only_answers(
    new_pipes: NewPipes, first: str
) -> None:
    """Whatever waited in it before the event."""
    pipes = new_pipes(PipeLimits(pipes_max=1, spare_seconds=3600.0))
    inboxes = [Inbox(), Inbox()]
    kept, stranger = (at(pipes.open_input(ANY_PORT, one).address) for one in inboxes)
    for control in (first == "a control record", False):
        pipes.send([kept], make_record(int(control)), control=control)
    await inboxes[0].has_numbers(2)
    pipes.send([stranger], make_record(2), control=True)
    assert (len(pipes), pipes.counters.pipes_refused) == (1, 1)
    pipes.close(0)


@live
async def test_an_idle_pipe_is_closed_and_opens_again_when_needed(new_pipes: NewPipes) -> None:
    pipes, inbox = new_pipes(PipeLimits(idle_seconds=0.02)), Inbox()
    address = pipes.open_input(ANY_PORT, inbox).address
    pipes.send([at(address)], make_record(1))
    await inbox.has_numbers(1)
    await eventually(lambda: len(pipes) == 0)
    pipes.send([at(address)], make_record(2))
    assert await inbox.has_numbers(2) == [1, 2]
    assert pipes.counters.records_dropped == 0
    pipes.close()


@live
async def test_what_is_sent_after_close_is_dropped_and_counted(new_pipes: NewPipes) -> None:
    pipes, inbox = new_pipes(), Inbox()
    contact = at(pipes.open_input(ANY_PORT, inbox).address)
    pipes.send([contact], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    pipes.close()
    pipes.send([contact, at(free_address())], make_record(2))
    assert pipes.counters.records_dropped == 2


@live
async def test_close_leaves_no_descriptor_and_never_hangs(new_pipes: NewPipes) -> None:
    before = set(os.listdir("/proc/self/fd"))
    pipes, inbox = new_pipes(), Inbox()
    contacts = [at(pipes.open_input(ANY_PORT, inbox).address) for _ in range(3)]
    pipes.send([*contacts, *(at(free_address()) for _ in range(2))], make_record(1))
    await inbox.has_numbers(3)
    pipes.send(contacts, make_record(2))
    started = asyncio.get_running_loop().time()
    pipes.close(50)
    pipes.close()
    assert asyncio.get_running_loop().time() - started < 5.0
    assert set(os.listdir("/proc/self/fd")) == before


def test_limits_refuse_what_is_not_positive() -> None:
    with pytest.raises(ValueError, match="frame_bytes_max must be above 0"):
        PipeLimits(frame_bytes_max=0)
    with pytest.raises(ValueError, match="linger_milliseconds must not be negative"):
        PipeLimits(linger_milliseconds=-1)
