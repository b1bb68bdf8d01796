"""Positions: what was taken does not come again, what was not does, in at most 4 kB."""

from __future__ import annotations

import random
import time

import pytest

from camcast.inbox.position import (
    BACK_SECONDS,
    POSITION_BYTES_MAX,
    REMEMBERED_MAX,
    STREAMS_MAX,
    Position,
    Progress,
)
from camcast.inbox.received import Received
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

A = Topic.parse(".a")
NOW = time.time()


def stream(number: int) -> StreamId:
    return stream_id(PeerId(number.to_bytes(16)), 1)


def event(of: int, sequence: int, ago: float) -> Received[bytes]:
    return Received(stream(of), sequence, A, b"", b"", 1, NOW - ago)


def add(progress: Progress[bytes], one: Received[bytes]) -> None:
    """Add an event as `EventFeed.put` does."""
    progress.given[one.stream] = one.sequence, one.published
    if len(progress.given) > REMEMBERED_MAX:
        progress.forget()


def is_done(position: Position, one: Received[bytes]) -> bool:
    """Say whether whoever begins at a position gets an event, as `EventFeed` and `since=` do."""
    return one.published < position.since or one.sequence <= position.done.get(one.stream, 0)


@pytest.mark.parametrize("seed", range(5))
def test_a_position_has_all_that_was_taken_and_nothing_that_waits(seed: int) -> None:
    rng = random.Random(seed)
    events = []
    numbers = dict.fromkeys(range(60), 0)
    for place in range(2000):
        of = rng.randrange(60)
        numbers[of] += 1
        events.append(event(of, numbers[of], 400 - place / 5))
    progress = Progress[bytes](A.group, NOW - 1000, {})
    for one in events:
        add(progress, one)
    taken = rng.randrange(2000)
    position = progress.position(events[taken:])
    data = position.encode()
    assert len(data) <= POSITION_BYTES_MAX
    again = Position.decode(data, A.group)
    assert [is_done(again, one) for one in events] == [place < taken for place in range(2000)]


def test_of_more_publishers_than_there_is_room_for_some_events_come_again_and_none_is_lost() -> (
    None
):
    events = [event(of, 1, 100 - of / 100) for of in range(2 * REMEMBERED_MAX)]
    progress = Progress[bytes](A.group, NOW - 1000, {})
    for one in events:
        add(progress, one)
    data = progress.position(events[-3:]).encode()
    assert len(data) <= POSITION_BYTES_MAX
    position = Position.decode(data, A.group)
    done = [is_done(position, one) for one in events]
    assert done[-3:] == [False] * 3
    assert sum(done) >= STREAMS_MAX - 3


def test_an_event_that_comes_up_to_two_minutes_late_is_not_done() -> None:
    progress = Progress[bytes](A.group, NOW - 1000, {})
    for of in range(3):
        add(progress, event(of, 7, 0.0))
    position = progress.position(())
    assert not is_done(position, event(9, 1, BACK_SECONDS - 1))
    assert is_done(position, event(9, 1, BACK_SECONDS + 1))
    assert Progress[bytes](A.group, NOW - 5, {}).position(()).since == pytest.approx(NOW - 5)


def test_what_waits_of_publishers_that_were_forgotten_comes() -> None:
    events = [event(of, 1, 100 - of / 100) for of in range(2 * REMEMBERED_MAX)]
    progress = Progress[bytes](A.group, NOW - 1000, {})
    for one in events:
        add(progress, one)
    position = Position.decode(progress.position(events[7:]).encode(), A.group)
    assert [is_done(position, one) for one in events[7:]] == [False] * len(events[7:])


@pytest.mark.parametrize("ago", [0.0004, 0.5])
def test_events_of_a_clock_that_is_behind_are_done_if_taken_and_come_if_not(ago: float) -> None:
    """Events name whole milliseconds, so that those of the first one are older than it."""
    progress = Progress[bytes](A.group, NOW, {})
    events = [event(1, number, ago) for number in (1, 2, 3)]
    for one in events:
        add(progress, one)
    again = Position.decode(progress.position(events[2:]).encode(), A.group)
    assert again.done == {stream(1): 2}
    assert again.since <= round(events[2].published, 3)


def test_bytes_that_are_no_position_or_damaged_are_refused() -> None:
    data = Position(A.group, NOW, {stream(1): 5}).encode()
    for wrong in (b"", data[:-1], data + b"\0", bytes([data[0] ^ 1]) + data[1:], bytes(5000)):
        with pytest.raises(ValueError, match="no position"):
            Position.decode(wrong, A.group)
    with pytest.raises(ValueError, match="another topic"):
        Position.decode(data, Topic.parse(".b").group)
