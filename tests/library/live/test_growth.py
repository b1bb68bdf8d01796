"""What N joins, leaves and subscriptions cost grows as N does, and no faster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from camcast import Community, CommunityManager
from tests.patience import live
from tests.steps import counted_steps, exponent

FEW = 25
TIMES = 4
EXPONENT_MAX = 1.2
WHERE = "mag >= 5"

Work = Callable[[CommunityManager, int], Awaitable[float]]
"""Does something so many times in a process that has just started; returns the steps of that."""


async def _joined(manager: CommunityManager, count: int) -> list[Community]:
    return [await manager.join(f".t{number}", super_topics=()) for number in range(count)]


async def _joins(manager: CommunityManager, count: int) -> float:
    with counted_steps() as steps:
        await asyncio.create_task(_joined(manager, count))
    return steps.count


async def _joins_at_once(manager: CommunityManager, count: int) -> float:
    async def join() -> None:
        topics = (f".t{number}" for number in range(count))
        await asyncio.gather(*(manager.join(topic, super_topics=()) for topic in topics))

    with counted_steps() as steps:
        await asyncio.create_task(join())
    return steps.count


async def _leaves(manager: CommunityManager, count: int) -> float:
    communities = await _joined(manager, count)

    async def leave() -> None:
        for community in communities:
            await community.leave()

    with counted_steps() as steps:
        await asyncio.create_task(leave())
    return steps.count


def _subscriptions(where: Callable[[int], str | None]) -> Work:
    async def work(manager: CommunityManager, count: int) -> float:
        (community,) = await _joined(manager, 1)

        async def subscribe() -> None:
            made = [community.subscribe(where=where(number)) for number in range(count)]
            for subscription in made:
                subscription.close()

        with counted_steps() as steps:
            await asyncio.create_task(subscribe())
        return steps.count

    return work


WORKS: dict[str, Work] = {
    "joins": _joins,
    "joins at once": _joins_at_once,
    "leaves": _leaves,
    "subscriptions": _subscriptions(lambda _: None),
    "subscriptions with one where": _subscriptions(lambda _: WHERE),
    "subscriptions with a where each": _subscriptions(lambda number: f"mag >= {number}"),
}


async def _exponent(work: Work, few: int, times: int) -> float:
    steps = []
    for count in (few, times * few):
        async with CommunityManager() as manager:
            steps.append(await work(manager, count))
    return exponent(steps, times)


@live
@pytest.mark.parametrize("work", WORKS)
async def test_what_is_done_so_often_costs_so_much(work: str) -> None:
    assert await _exponent(WORKS[work], FEW, TIMES) <= EXPONENT_MAX
