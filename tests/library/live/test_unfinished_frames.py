"""Frames that come in pieces: who waits, who is cut off, and that every honest one ends."""

from __future__ import annotations

import asyncio
import random
from contextlib import ExitStack
from itertools import pairwise

import pytest

from camcast.doors.transport import PipeLimits
from camcast.live.wire.zmtp import zmtp_input
from camcast.live.wire.zmtp.codec import frame_head
from camcast.live.wire.zmtp.zmtp_input import Accepted, Connection
from tests.library.hostile.victim import PUSH
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
from tests.patience import PATIENCE_SECONDS, eventually, live

LARGE = 2**20
ROOM = 2 * LARGE


class Watched:
    """What inputs held at most, and how often a frame had to wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most, self.waits = 0, 0
        has_read = Accepted.has_read

        def watched(
            accepted: Accepted, connection: Connection, held: int, now: float, *, frame_ended: bool
        ) -> None:
            has_read(accepted, connection, held, now, frame_ended=frame_ended)
            self.most = max(self.most, accepted.held)
            self.waits += connection in accepted.waiting

        monkeypatch.setattr(Accepted, "has_read", watched)


@live
@pytest.mark.parametrize("transport", ["tcp", "zmtp"])
async def test_ten_large_events_in_a_burst_cut_nobody_off_and_all_arrive(
    transport: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond the room the oldest unfinished frame was cut off, and sent again from its begin."""
    nodes, each = 5, 2
    watched = Watched(monkeypatch)
    limits = PipeLimits(held_bytes_max=ROOM)
    made = [(new_pipes(limits, transport=transport), Inbox()) for _ in range(nodes)]
    addresses = [pipes.open_input(ANY_PORT, inbox).address for pipes, inbox in made]
    for number, (pipes, _) in enumerate(made):
        others = [at(one) for one in addresses if one != addresses[number]]
        for count in range(each):
            pipes.send(others, make_record(number * each + count, LARGE))
    for number, (_, inbox) in enumerate(made):
        own = range(number * each, (number + 1) * each)
        expected = sorted(set(range(nodes * each)) - set(own))
        assert sorted(await inbox.has_numbers(len(expected))) == expected
    assert watched.waits
    assert watched.most <= ROOM + LARGE
    assert "cut off" not in caplog.text
    for pipes, _ in made:
        assert pipes.counters.frames_sent == (nodes - 1) * each
        pipes.close()


@live
async def test_frames_of_which_nothing_comes_are_cut_off_when_others_wait_and_small_ones_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty megabytes of unfinished frames, in a room of two, and then a process that sends."""
    watched, loop = Watched(monkeypatch), asyncio.get_running_loop()
    theirs, honest, inbox = new_pipes(PipeLimits(held_bytes_max=ROOM)), new_pipes(), Inbox()
    address = theirs.open_input(ANY_PORT, inbox).address
    with ExitStack() as stack:
        strangers = [stack.enter_context(knock(address)) for _ in range(20)]
        for stranger in strangers:
            await loop.sock_sendall(stranger, PUSH)
            await loop.sock_recv(stranger, 1024)
            await loop.sock_sendall(stranger, frame_head(LARGE) + bytes(LARGE - 1))
        await eventually(lambda: len(theirs.connections.waiting) >= 18)
        honest.send([at(address)], make_record(0))
        assert await inbox.has_numbers(1) == [0]
        assert len(theirs.connections) == 21  # nobody is cut off yet
        monkeypatch.setattr(zmtp_input, "_LOOK_SECONDS", 0.05)
        monkeypatch.setattr(zmtp_input, "FRAME_SECONDS_MAX", 2 * PATIENCE_SECONDS)
        honest.send([at(address)], make_record(1, LARGE))
        assert await inbox.has_numbers(2) == [0, 1]
        for stranger in strangers[:2]:  # who had the room
            await is_refused(stranger)
    assert watched.most <= ROOM + LARGE
    honest.close()
    theirs.close()


@live
@pytest.mark.parametrize("seed", range(4))
async def test_every_frame_ends_in_whatever_pieces_they_come(
    seed: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Twelve connections whose frames, short and long, are cut at random, in room for three."""
    draw, watched = random.Random(seed), Watched(monkeypatch)
    limits = PipeLimits(
        record_bytes_max=20_000, frame_bytes_max=4_000, held_bytes_max=60_000, turn_frames_max=3
    )
    pipes, inbox = new_pipes(limits), Inbox()
    address, loop = pipes.open_input(ANY_PORT, inbox).address, asyncio.get_running_loop()
    pieces: list[list[bytes]] = []
    count = 0
    for _ in range(12):
        sent = PUSH
        for _ in range(15):
            record = make_record(count, draw.choice([20, 300, 3_900, 9_000, 20_000]))
            sent += frame_head(len(HEADER) + len(record)) + HEADER + record
            count += 1
        cuts = [0, *sorted(draw.sample(range(len(sent)), 12)), len(sent)]
        pieces.append([sent[begin:end] for begin, end in pairwise(cuts)])
    with ExitStack() as stack:
        strangers = [stack.enter_context(knock(address)) for _ in pieces]
        left = [number for number, its in enumerate(pieces) for _ in its]
        draw.shuffle(left)
        for number in left:
            await loop.sock_sendall(strangers[number], pieces[number].pop(0))
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
        assert sorted(await inbox.has_numbers(count)) == list(range(count))
    assert watched.waits
    assert "cut off" not in caplog.text
    pipes.close()
