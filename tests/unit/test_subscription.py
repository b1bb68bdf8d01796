"""A subscription's queue, policy by policy, against a dumb twin."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.subscription import Lagged, Overflow, Received, Subscription
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.topics import ROOT

TAKE = -1  # among the numbers of events that are put


def received(number: int) -> Received:
    return Received(EventId(StreamId(bytes(24)), number), ROOT, b"", number, 0)


def subscription(length: int, overflow: Overflow) -> Subscription:
    return Subscription(None, None, length, overflow, lambda _: None)


def run(steps: list[int], length: int, overflow: Overflow) -> list[int | Lagged]:
    """Put and take as the steps say, then close and take the rest."""

    async def main() -> list[int | Lagged]:
        queue = subscription(length, overflow)
        got: list[int | Lagged] = []
        for step in steps:
            if step != TAKE:
                queue.put(received(step))
            elif (item := queue._take()) is not None:
                got.append(item if isinstance(item, Lagged) else item.id.sequence)
        queue.close()
        rest = [item async for item in queue]
        return got + [item if isinstance(item, Lagged) else item.id.sequence for item in rest]

    return asyncio.run(main())


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(st.sampled_from([0, 0, 0, TAKE]), max_size=40),
    length=st.integers(1, 5),
    overflow=st.sampled_from(Overflow),
)
def test_events_keep_their_order_and_gaps_add_up(
    steps: list[int], length: int, overflow: Overflow
) -> None:
    numbered, put = [], 0
    for step in steps:
        numbered.append(step if step == TAKE else put)
        put += step != TAKE
    got = run(numbered, length, overflow)
    events = [item for item in got if not isinstance(item, Lagged)]
    assert events == sorted(set(events))
    missed = sum(item.missed for item in got if isinstance(item, Lagged))
    assert len(events) + missed == put
    if overflow is Overflow.DROP_OLDEST and put:
        assert events[-1] == put - 1  # the newest is never dropped, and each gap is in its place
        at = 0
        for item in got:
            if isinstance(item, Lagged):
                at += item.missed
            else:
                assert item == at
                at += 1


@pytest.mark.parametrize(
    ("overflow", "expected"),
    [
        (Overflow.DROP_OLDEST, [Lagged(3), 3, 4]),
        (Overflow.DROP_NEWEST, [0, 1, Lagged(3)]),
    ],
)
def test_the_gap_stands_where_the_events_are_missing(
    overflow: Overflow, expected: list[int | Lagged]
) -> None:
    assert run([0, 1, 2, 3, 4], 2, overflow) == expected


def test_a_queue_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 event, not -1"):
        subscription(-1, Overflow.DROP_OLDEST)


def test_closing_is_told_once() -> None:
    async def main() -> None:
        closed: list[Subscription] = []
        queue = Subscription(None, None, 1, Overflow.DROP_OLDEST, closed.append)
        queue.close()
        queue.close()
        assert closed == [queue]
        assert queue.closed

    asyncio.run(main())
