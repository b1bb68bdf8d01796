"""Links within an event loop: `zmtp` needs no sockets for them, and they keep its promises."""

import asyncio

import pytest

from camcast.doors.transport import PipeLimits
from camcast.live.transports import TCP, ZMTP, open_pipes
from camcast.vocabulary.identity import Contact, PeerId
from tests.library.live.communities import free_address
from tests.library.live.pipe_ends import ANY_PORT, Inbox, at, make_record, new_pipes
from tests.patience import live

RECORD_BYTES = 1_000
FIRST, SECOND = PeerId(bytes(15) + b"\1"), PeerId(bytes(15) + b"\2")


@pytest.mark.parametrize(("transport", "connections"), [(ZMTP, 0), (TCP, 1)])
@live
async def test_what_a_loop_sends_to_itself_needs_a_connection_by_tcp_alone(
    transport: str, connections: int
) -> None:
    pipes, inbox = new_pipes(transport=transport), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    for number in range(100):
        pipes.send([at(pipe.address)], make_record(number))
        await asyncio.sleep(0)
    assert await inbox.has_numbers(100) == [*range(100)]
    assert len(pipes.connections) == connections
    assert pipes.counters.frames_sent == pipe.counters.frames_received == len(inbox.frames)
    assert pipes.counters.bytes_sent == pipe.counters.bytes_received
    pipes.close()


@live
async def test_encrypted_links_have_their_keys_within_a_loop_as_well() -> None:
    pipes = open_pipes(passphrase="quick brown foxes jump")
    inbox = asyncio.Event()
    pipe = pipes.open_input(ANY_PORT, lambda frame, link=None: inbox.set())
    pipes.send([at(pipe.address)], make_record(1))
    await inbox.wait()
    assert len(pipes.connections) == 1
    pipes.close()


@live
async def test_an_input_gets_a_turns_bytes_and_the_rest_of_the_loop_its_turn() -> None:
    limits = PipeLimits(frame_bytes_max=10_000, turn_bytes_max=30_000)
    pipes, inbox, count = new_pipes(limits), Inbox(), 1_000
    contacts = [at(pipes.open_input(ANY_PORT, inbox).address)]
    for number in range(count):
        pipes.send(contacts, make_record(number, RECORD_BYTES))
    most = 0
    while (before := len(inbox.numbers)) < count:
        assert pipes.waiting_bytes <= RECORD_BYTES * (count - before)
        await asyncio.sleep(0)  # a turn of the loop
        most = max(most, len(inbox.numbers) - before)
    assert 30 <= most <= 40  # a frame more than the turn's bytes
    assert inbox.numbers == [*range(count)]
    assert await pipes.drain(1.0)
    pipes.close()


@live
async def test_who_answers_each_record_with_another_keeps_nobody_waiting() -> None:
    pipes, count = new_pipes(), 0

    def answer(frame: bytes) -> None:
        nonlocal count
        count += 1
        pipes.send(contacts, make_record(count))

    contacts = [at(pipes.open_input(ANY_PORT, answer).address)]
    pipes.send(contacts, make_record(0))
    for _ in range(100):
        before = count
        await asyncio.sleep(0)
        assert count - before <= 1
    assert count > 10
    pipes.close()


@live
async def test_an_address_changes_hands_within_the_loop_and_beyond() -> None:
    ours, theirs, address = new_pipes(), new_pipes(), free_address()
    inboxes = [Inbox() for _ in range(4)]
    for number, owner in enumerate((ours, theirs, ours, ours)):
        pipe = owner.open_input(address, inboxes[number])
        ours.send([at(address)], make_record(number))
        assert await inboxes[number].has_numbers(1) == [number]
        assert len(theirs.connections) == (owner is theirs)
        pipe.close()
    assert ours.counters.records_dropped == 0
    ours.close()
    theirs.close()


@live
async def test_what_is_for_another_process_of_the_loop_is_dropped() -> None:
    pipes, first, second, address = new_pipes(), Inbox(), Inbox(), free_address()
    pipe = pipes.open_input(address, first, FIRST)
    pipes.send([Contact(FIRST, address)], make_record(1))
    assert await first.has_numbers(1) == [1]
    pipe.close()
    pipes.send([Contact(FIRST, address)], make_record(2))  # nobody has noticed yet
    pipes.open_input(address, second, SECOND)
    while not pipes.counters.records_misdirected:
        await asyncio.sleep(0.001)
    pipes.send([Contact(FIRST, address), Contact(SECOND, address)], make_record(3))
    assert await second.has_numbers(1) == [3]
    assert (first.numbers, pipes.counters.records_misdirected) == ([1], 2)
    pipes.close()


@live
async def test_a_frame_that_broke_off_elsewhere_is_given_anew_within_the_loop() -> None:
    ours, theirs, inbox = new_pipes(PipeLimits(queue_bytes_max=2**26)), new_pipes(), Inbox()
    address = free_address()
    theirs.open_input(address, Inbox())
    for number in range(9):
        ours.send([at(address)], make_record(number, 2**20))
    while not ours.counters.frames_sent:
        await asyncio.sleep(0)
    under_way = ours.counters.frames_sent - 1  # the kernel did not take all of it
    theirs.close(0)
    ours.open_input(address, inbox)
    assert await inbox.has_numbers(9 - under_way) == [*range(under_way, 9)]
    ours.close()


@live
async def test_a_pipe_that_is_closed_gives_the_rest_of_what_waits() -> None:
    limits = PipeLimits(turn_bytes_max=10_000, frame_bytes_max=10_000, pipes_max=1)
    pipes, one, other = new_pipes(limits), Inbox(), Inbox()
    first, second = [at(pipes.open_input(ANY_PORT, inbox).address) for inbox in (one, other)]
    for number in range(100):
        pipes.send([first], make_record(number, RECORD_BYTES), control=True)
    while not one.numbers:
        await asyncio.sleep(0)
    pipes.send([second], make_record(0), control=True)  # has the first pipe closed to make room
    assert await other.has_numbers(1) == [0]
    assert await one.has_numbers(100) == [*range(100)]
    assert pipes.counters.records_dropped == 0
    pipes.close()


@live
async def test_a_closed_input_is_handed_nothing_any_more() -> None:
    pipes, inbox = new_pipes(), Inbox()
    pipe = pipes.open_input(ANY_PORT, inbox)
    pipes.send([at(pipe.address)], make_record(1))
    while not pipes.counters.frames_sent:
        assert not inbox.numbers
        await asyncio.sleep(0)
    assert not inbox.numbers  # it is given the frame in the next turn
    pipe.close()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not inbox.numbers
    pipes.close()
