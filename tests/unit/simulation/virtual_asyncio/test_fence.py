"""The fence of asyncio on virtual time: what leaves the simulation is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from camcast.simulation.virtual_asyncio.fence import FencedLoop, LeavesSimulationError
from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from camcast.simulation.virtual_asyncio.watch import UnhandledError
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import new_loop

REFUSED = [name for name, value in vars(FencedLoop).items() if callable(value)]


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_the_simulation_is_refused_by_name(loop: VirtualLoop, name: str) -> None:
    with pytest.raises(LeavesSimulationError, match=rf"^{name} leaves the simulation"):
        getattr(loop, name)(None, None, key=1)


def test_every_call_of_an_event_loop_is_answered_or_refused() -> None:
    calls = [name for name in dir(asyncio.AbstractEventLoop) if not name.startswith("_")]
    undecided = [
        name
        for name in [*calls, "_timer_handle_cancelled"]
        if getattr(VirtualLoop, name) is getattr(asyncio.AbstractEventLoop, name)
    ]
    assert undecided == []
    assert len(REFUSED) >= 29


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: asyncio.open_connection("10.0.0.1", 80),
        lambda: asyncio.start_server(print, "10.0.0.1", 80),
        lambda: asyncio.to_thread(print),
        lambda: asyncio.create_subprocess_exec("true"),
        lambda: asyncio.get_running_loop().getaddrinfo("example.org", 80),
    ],
)
def test_what_parts_call_leaves_too(loop: VirtualLoop, attempt: Callable[[], Any]) -> None:
    async def main() -> None:
        await attempt()

    with pytest.raises(LeavesSimulationError):
        loop.run_until_complete(main())


def test_a_numeric_address_is_looked_up_without_leaving(loop: VirtualLoop) -> None:
    [answer] = loop.run_until_complete(loop.getaddrinfo("10.0.0.7", 80))
    assert answer[-1] == ("10.0.0.7", 80)


def test_another_thread_fails_the_run_and_this_one_may_call() -> None:
    raised: list[BaseException] = []

    def call(loop: VirtualLoop) -> None:
        try:
            loop.call_soon_threadsafe(print)
        except LeavesSimulationError as error:
            raised.append(error)

    with new_loop() as loop:
        seen: list[int] = []
        loop.call_soon_threadsafe(seen.append, 1)
        loop.run_until_complete(asyncio.sleep(0))
        assert seen == [1]
        thread = threading.Thread(target=call, args=(loop,))
        thread.start()
        thread.join()
        with pytest.raises(UnhandledError, match="from another thread"):
            loop.run_until_complete(asyncio.sleep(0))
    assert "threads run in any order" in str(raised[0])
