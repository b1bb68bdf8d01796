"""An application keeps the event loop for seconds: nobody is blamed who answered in time.

The others run in a loop of another thread, which goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from camcast import CommunityManager
from camcast.app.presence import Presence, PresenceChange
from camcast.app.requests import Requests
from tests.patience import eventually, live

TURNS = 10
SECONDS = 3.0  # chosen: longer than a gateway has to answer, and than a peer may be silent

Main = Callable[["Future[str]", asyncio.Event], Coroutine[Any, Any, None]]


@contextmanager
def elsewhere(main: Main) -> Iterator[str]:
    """Run `main` in another thread's loop until the block ends; yield the address that it gives."""
    given: Future[str] = Future()
    ended: Future[Callable[[], object]] = Future()

    async def run() -> None:
        event, loop = asyncio.Event(), asyncio.get_running_loop()
        ended.set_result(lambda: loop.call_soon_threadsafe(event.set))
        try:
            await main(given, event)
        except BaseException as error:
            if not given.done():
                given.set_exception(error)
            raise

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield given.result(60)
    finally:
        ended.result(60)()
        thread.join(60)


def gateway(membership: str) -> Main:
    """Return a process in `.a` that answers questions in `.b` and is present in `.c`."""

    async def main(address: Future[str], ended: asyncio.Event) -> None:
        async def echo(question: bytes) -> bytes:
            return question

        async with (
            CommunityManager(membership) as manager,
            Requests(manager, ".b", echo),
            Presence(manager, ".c", "Ada", beat_seconds=0.5),
        ):
            await manager.join(".a")
            address.set_result(manager.address)
            await ended.wait()

    return main


@pytest.mark.parametrize(
    "membership",
    [
        "scamp",
        "hybrid",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("dht", "cyclon", "hyparview")),
    ],
)
def test_whoever_keeps_the_loop_at_any_moment_of_a_join_joins(membership: str) -> None:
    @live
    async def join() -> None:
        managers = [CommunityManager(membership, gateways=[address]) for _ in range(TURNS)]
        for manager in managers:
            await manager.start()
        joining = []
        for manager in managers:  # each is as many turns into its join as others follow
            joining.append(asyncio.create_task(manager.join(".a")))
            await asyncio.sleep(0)
        time.sleep(SECONDS)
        for community in await asyncio.gather(*joining):
            await eventually(lambda one=community: one.state == "member")
        await asyncio.gather(*(manager.close() for manager in managers))

    with elsewhere(gateway(membership)) as address:
        join()


def test_an_answer_that_came_meanwhile_counts_and_nobody_has_fallen_silent() -> None:
    """A question has less time than the loop stands still, and so has each beat of a presence."""
    changes = list[PresenceChange]()

    @live
    async def ask() -> None:
        async with (
            CommunityManager(gateways=[address]) as manager,
            Requests(manager, ".b") as asking,
            Presence(manager, ".c", "Bob", on_change=changes.append, beat_seconds=0.5),
        ):
            community = await manager.join(".a")
            await community.ready()
            await eventually(lambda: changes)
            asked = asyncio.create_task(asking.ask(b"there?", timeout=SECONDS / 2))
            await asyncio.sleep(0.05)
            time.sleep(SECONDS)
            [answer] = await asked
            assert answer.payload == b"there?"
            await asyncio.sleep(1.0)  # two beats, in which a silence would be noticed
            assert [change.kind for change in changes] == ["came"]
            assert len(community.peers) == 1
            assert manager.stats().liveness.pauses >= 1

    with elsewhere(gateway("scamp")) as address:
        ask()
