"""Which exceptions of awaited code of others are meant for the task that awaits it."""

from __future__ import annotations

import asyncio
import threading


def is_for_task(error: BaseException) -> bool:
    """Say whether what was raised in a task ends the task, and was not others' code failing in it.

    That is its own cancellation, Ctrl-C in the main thread, and the end of its coroutine with a
    loop that was closed. A `CancelledError` of a task that nobody cancels comes from something that
    others' code has awaited.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, GeneratorExit)
