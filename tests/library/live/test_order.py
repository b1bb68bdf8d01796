"""What overtakes waits, once for all subscriptions of a community and before their filters."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from camcast import (
    Community,
    CommunityManager,
    Lagged,
    OptionError,
    Overflow,
    Received,
    Subscription,
)
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from tests.patience import live

STREAM = stream_id(PeerId(b"p" * 16), 1)


def arrive(community: Community, *numbers: int) -> None:
    """Let events of a stream arrive, from a stranger, which say their numbers."""
    runner = community._lifetime.running()
    for number in numbers:
        payload = json.dumps({"n": number}).encode()
        batch = make_batch(STREAM, number, [payload], community.topic)
        sender = PeerId(b"s" * 16)
        head = wire.event_head(len(batch.body), 1, 0.0, community.topic.group, sender)
        runner._receive(wire.FRAME_HEADER + head + batch.body)


async def rest(subscription: Subscription) -> list[object]:
    """Close a subscription, and return the numbers and gaps that it still has."""
    subscription.close()
    return [
        json.loads(item.payload)["n"] if isinstance(item, Received) else item
        async for item in subscription
    ]


async def joined(manager: CommunityManager) -> Community:
    """Return a community that the process seems to have been in for ten seconds."""
    community = await manager.join(".a")
    (local_group,) = community._lifetime.running().node.local_groups
    assert local_group.repair is not None
    local_group.repair._context.member_since -= 10.0
    return community


async def numbers_of(order: Literal["fifo", "arrival"]) -> list[list[object]]:
    async with CommunityManager(order=order) as manager:
        community = await joined(manager)
        wheres = (None, "n >= 3", "n != 2")
        subscriptions = [community.subscribe(where=where) for where in wheres]
        arrive(community, 1, 3, 4, 2, 5)
        return [await rest(subscription) for subscription in subscriptions]


@live
async def test_all_subscriptions_get_one_order_and_what_a_filter_drops_is_no_hole() -> None:
    assert await numbers_of("fifo") == [[1, 2, 3, 4, 5], [3, 4, 5], [1, 3, 4, 5]]
    assert await numbers_of("arrival") == [[1, 3, 4, 2, 5], [3, 4, 5], [1, 3, 4, 5]]


@live
async def test_an_application_says_for_how_long_a_hole_holds() -> None:
    async with CommunityManager(hold_seconds=0.2) as manager:
        community = await joined(manager)
        subscription = community.subscribe()
        arrive(community, 1, 3)
        came = [await anext(subscription), await anext(subscription)]
        arrive(community, 2)
        came.append(await anext(subscription))
        assert [(one.sequence, one.late) for one in came if isinstance(one, Received)] == [
            *((1, False), (3, False), (2, True))
        ]


def test_a_time_for_which_a_hole_holds_is_refused_where_none_does() -> None:
    for wrong in (0, -1.0, float("nan"), 601):
        with pytest.raises(ValueError, match=r"hold_seconds is 0\.1 to 600 seconds, and"):
            CommunityManager(hold_seconds=wrong)
    with pytest.raises(TypeError, match="hold_seconds"):
        CommunityManager(hold_seconds="5")  # type: ignore[arg-type]  # no number, on purpose
    with pytest.raises(OptionError, match="goes with the order fifo"):
        CommunityManager(hold_seconds=2.0, order="arrival")
    with pytest.raises(OptionError, match="with repair"):
        CommunityManager(hold_seconds=2.0, repair=False)


@live
async def test_what_is_held_back_counts_in_the_bounds_of_the_queues() -> None:
    """Where it does not fit, the stream goes on: nothing stands still, and nothing is dropped."""
    async with CommunityManager() as manager:
        community = await joined(manager)
        subscription = community.subscribe(queue_length=4)
        arrive(community, 1)
        assert isinstance(await anext(subscription), Received)
        arrive(community, 3, 4, 5)
        assert subscription.stats().queued_events == 0
        (stats,) = manager.stats().communities
        assert stats.repair is not None
        assert stats.repair.held_back == 3
        arrive(community, 6)
        assert subscription.stats().queued_events == 4
        taken = [await anext(subscription) for _ in range(4)]
        arrive(community, 2)
        taken.append(await anext(subscription))
        came = [(one.sequence, one.late) for one in taken if isinstance(one, Received)]
        assert came == [(3, False), (4, False), (5, False), (6, False), (2, True)]


@live
async def test_a_full_queue_costs_the_others_no_order() -> None:
    async with CommunityManager() as manager:
        community = await joined(manager)
        full = community.subscribe(queue_length=1, overflow=Overflow.DROP_NEWEST)
        subscription = community.subscribe()
        arrive(community, 1, 3, 4, 2)
        assert await rest(subscription) == [1, 2, 3, 4]
        assert await rest(full) == [1, Lagged(3)]
