"""The past of a subscription comes whole and in order, or after a while as it is."""

from __future__ import annotations

import asyncio

from camcast.inbox import past
from camcast.inbox.past import Past
from camcast.inbox.received import DeliveryQueue, Overflow, Reach, Received, ReceivedBatch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic
from tests.patience import eventually, live

A = Topic.parse(".a")
Handed = list[tuple[Reach, list[Received[bytes] | ReceivedBatch[bytes]]]]


def event(
    sequence: int, published: float, of: bytes = b"p", *, late: bool = False
) -> Received[bytes]:
    return Received(StreamId(of * 24), sequence, A, b"x", b"x", 1, published, late)


def of_the_past(
    is_here: list[bool], room: tuple[int, int] = (10, 100)
) -> tuple[Past[bytes], Handed]:
    handed: Handed = []
    held = Past[bytes](lambda: is_here[-1], lambda: 5.0, lambda *one: handed.append(one), room)
    return held, handed


@live
async def test_it_comes_in_the_order_of_publication_when_it_is_here_and_nothing_of_it_is_late() -> (
    None
):
    is_here = [False]
    held, handed = of_the_past(is_here)
    events = [event(2, 7.0), event(1, 6.0, late=True), event(9, 6.5, b"q"), event(3, 7.0)]
    for one in events:
        held.add(one)
    held.look()
    assert not handed
    is_here.append(True)
    await eventually(lambda: handed)
    [(reach, items)] = handed
    assert reach == Reach(5.0)
    assert [(one.published, one.late) for one in items] == [
        *((6.0, False), (6.5, False), (7.0, False), (7.0, False))
    ]
    assert [one.sequence for one in items if isinstance(one, Received)] == [1, 9, 2, 3]
    held.end()
    assert len(handed) == 1


@live
async def test_a_batch_that_others_have_as_well_stays_late_for_these() -> None:
    held, handed = of_the_past([False])
    batch = ReceivedBatch[bytes](StreamId(b"p" * 24), [1, 2], A, 1, 6.0, 2, (b"x", b"y"), late=True)
    held.add(batch)
    held.end()
    [(_, [item])] = handed
    assert (item.late, batch.late) == (False, True)


@live
async def test_where_the_queue_would_be_full_or_the_time_is_over_it_comes_as_it_is() -> None:
    held, handed = of_the_past([False], room=(3, 100))
    for number in range(3):
        assert not handed
        held.add(event(number + 1, 1.0))
    assert len(handed) == 1
    held, handed = of_the_past([False])
    held._until = asyncio.get_running_loop().time() + past.LOOK_SECONDS / 2
    held.look()
    assert not handed
    await eventually(lambda: handed)


def test_a_queue_drops_no_reach_and_gives_it_before_what_follows() -> None:
    queue = DeliveryQueue[bytes](2, 100, Overflow.DROP_OLDEST)
    queue.tell(Reach(5.0))
    for number in range(4):
        queue.put(event(number + 1, 1.0))
    taken = []
    while (item := queue.take_event()) is not None:
        taken.append(item)
    assert queue.missed == 2
    assert Reach(5.0) in taken
    assert [one.sequence for one in taken if isinstance(one, Received)] == [3, 4]
    queue.put_back(Reach(6.0))
    assert queue.take_batch() == Reach(6.0)
