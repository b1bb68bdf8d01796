"""Nothing lives for ever: the rows of "What grows with what" in docs/bounds.md, again and again."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from attrs import make_class

from camcast import CommunityManager, NotReady, Parameters, Received, topic
from camcast.app import blocking
from camcast.app.presence import Presence
from camcast.app.requests import NoAnswer, Requests
from camcast.live.control_socket import ask
from tests.library.live.communities import OPTIONS
from tests.library.live.rounds import BLOCKS_MAX, Round, assert_nothing_stayed, kept_by
from tests.patience import live

CONTROL: Final = Path("control")

Row = Callable[[CommunityManager], Awaitable[Round]]


async def join_and_leave(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        community = await manager.join(f".user.u{number}")
        await community.publish(b"x")
        await community.leave()

    return once


async def join_linked(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        community = await manager.join(f".user.u{number}", super_topics=[f".all.a{number}"])
        community.link(f".more.m{number}")
        community.tune(g=4)
        await community.leave()

    return once


async def settings(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        community = manager.community(f".user.u{number}", parameters=Parameters(g=number + 1))
        await community.join()
        await community.leave()

    return once


async def last_values(manager: CommunityManager) -> Round:
    kept = await manager.join(".a")

    async def once(number: int) -> None:
        await kept.publish(b"%d" % number, key=b"roof")
        community = await manager.join(f".user.u{number}")
        await community.publish(b"x", key=b"roof")
        await community.leave()

    return once


async def break_out(manager: CommunityManager) -> Round:
    community = await manager.join(".a")
    await community.publish(b"x")

    async def once(number: int) -> None:
        async def first() -> None:
            async for _ in community.subscribe():
                break

        task = asyncio.create_task(first())
        await asyncio.sleep(0)
        await community.publish(b"x")
        await task

    return once


async def filters(manager: CommunityManager) -> Round:
    community = await manager.join(".a")
    await community.publish(b"x")

    async def once(number: int) -> None:
        async with community.subscribe(where=f"mag >= {number}"):
            await community.publish(b'{"mag": 1}')

    return once


async def requests(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        async with Requests(manager, f".plant.p{number % 7}", answer) as plant:
            with suppress(NoAnswer):
                await plant.ask(b"roof", timeout=0.001)

    async def answer(question: bytes) -> bytes:
        return question

    return once


async def presence(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        async with Presence(manager, f".room.r{number}", "Ada"):
            pass

    return once


async def changes(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        async for _ in (await manager.join(f".a{number}")).changes():
            break
        await manager.community(f".a{number}").leave()

    return once


async def callbacks(manager: CommunityManager) -> Round:
    community = await manager.join(".a")
    await community.publish(b"x")

    def plain(_: object) -> None: ...

    async def coroutine(_: object) -> None:
        await asyncio.sleep(0)

    async def once(number: int) -> None:
        async with community.subscribe(plain if number % 2 else coroutine) as subscription:
            await community.publish(b"x")
        assert subscription._feed.running is not None
        await subscription._feed.running

    return once


async def raising_callbacks(manager: CommunityManager) -> Round:
    community = await manager.join(".a")
    await community.publish(b"x")

    def plain(_: object) -> None:
        raise ValueError

    async def coroutine(_: object) -> None:
        raise ValueError

    async def once(number: int) -> None:
        async with community.subscribe(plain if number % 2 else coroutine) as subscription:
            await community.publish(b"x")
        assert subscription._feed.running is not None
        await subscription._feed.running
        assert subscription.errors

    return once


async def failed_joins(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        with suppress(NotReady):
            await manager.join(f".lost.l{number}", timeout=0)

    return once


async def peers(manager: CommunityManager) -> Round:
    await manager.join(".a")

    async def once(number: int) -> None:
        async with CommunityManager(gateways=[manager.address], options=OPTIONS) as other:
            community = await other.join(".a")
            await community.publish(b"x")

    return once


async def classes(manager: CommunityManager) -> Round:
    async def once(number: int) -> None:
        cls: Any = topic(f".plant.p{number}")(
            make_class("Reading", {"celsius": attrs.field(type=float)})
        )
        community = await manager.join(cls)
        events = community.subscribe()
        await community.publish(cls(1.5))
        await community.leave()
        assert isinstance(event := await anext(events), Received)
        assert event.value == cls(1.5)

    return once


async def connections(manager: CommunityManager) -> Round:
    assert manager._control is not None

    async def once(number: int) -> None:
        await asyncio.to_thread(ask, CONTROL, "status")

    return once


async def blocking_managers(_: CommunityManager) -> Round:
    def whole() -> None:
        with blocking.CommunityManager() as other:
            events = other.join(".a").subscribe()
            other.community(".a").publish(b"x")
            assert events.next() is not None
            events.close()

    async def once(_: int) -> None:
        await asyncio.to_thread(whole)

    return once


ROWS: Final[dict[str, Row]] = {
    "topics joined and left": join_and_leave,
    "topics linked, tuned and left": join_linked,
    "settings of topics that are joined and left": settings,
    "last values replaced, and left": last_values,
    "subscriptions left by `break`": break_out,
    "subscriptions with a filter": filters,
    "callbacks": callbacks,
    "callbacks that raise": raising_callbacks,
    "changes": changes,
    "requests": requests,
    "presence": presence,
    "joins that fail": failed_joins,
    "processes that come and go": peers,
    "event classes": classes,
    "connections to the control socket": connections,
    "blocking managers": blocking_managers,
}
DEAR: Final = {"processes that come and go": 50_000, "blocking managers": 10_000}
"""Rounds that open sockets, and say goodbye for up to a second. The blocks are what 500 leave: what
is remembered of each process up to bounds of 4,096 and more, its streams and addresses."""


async def kept_in(row: str, rounds: int, before: int) -> None:
    control = CONTROL if row == "connections to the control socket" else None
    gateways = ["tcp://127.0.0.1:1"] if row == "joins that fail" else []
    # One worker: with more, the pool starts another one whenever the last is not idle just yet.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
    settings: dict[str, Any] = {"retention_seconds": 1, "options": OPTIONS}  # else 120 s of events
    async with CommunityManager(gateways=gateways, control=control, **settings) as manager:
        once = await ROWS[row](manager)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            first, last = await kept_by(manager, once, rounds, before)
    assert_nothing_stayed(first, last, rounds, DEAR.get(row, BLOCKS_MAX))


@pytest.fixture(autouse=True)
def no_log() -> Iterator[None]:
    """Pytest keeps what is logged, with the traceback and all objects in it."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("row", ROWS)
@live
async def test_nothing_stays(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rounds = 8 if row in DEAR else 40
    await kept_in(row, rounds, 2 * rounds)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_nothing_stays_of_ten_thousand_rounds(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After as many rounds as fill every bounded cache; of the dear ones, 500."""
    monkeypatch.chdir(tmp_path)
    rounds = 500 if row in DEAR else 10_000
    asyncio.run(kept_in(row, rounds, rounds // 2))
