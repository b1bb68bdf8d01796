"""A task ends by its own cancellation, and not by one that others' code has raised."""

from __future__ import annotations

import asyncio
import threading

from camcast.inbox.own_exceptions import is_for_task
from tests.patience import live


@live
async def test_a_cancellation_is_the_task_s_own_if_somebody_has_cancelled_it() -> None:
    assert not is_for_task(asyncio.CancelledError())

    async def wait() -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError as error:
            return is_for_task(error)
        return False

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    assert await task


@live
async def test_ctrl_c_strikes_in_the_main_thread() -> None:
    assert is_for_task(KeyboardInterrupt())
    assert is_for_task(GeneratorExit())
    assert not is_for_task(SystemExit())
    assert not is_for_task(ValueError())
    elsewhere: list[bool] = []
    thread = threading.Thread(target=lambda: elsewhere.append(is_for_task(KeyboardInterrupt())))
    thread.start()
    thread.join()
    assert elsewhere == [False]
