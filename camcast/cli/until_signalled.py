"""Runs a command's work until it ends, or until Ctrl-C or SIGTERM ends it politely."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, TypeVar

from camcast.live.signals import calling_at_signals

_T = TypeVar("_T")


def run_until_signalled(work: Coroutine[Any, Any, _T]) -> _T | None:
    """Run `work` in a new event loop; a signal cancels it, so that its blocks clean up.

    Returns None after a signal. A second signal ends the process at once.
    """

    async def supervise() -> _T | None:
        task = asyncio.get_running_loop().create_task(work)
        signalled = False

        def stop() -> None:
            nonlocal signalled
            signalled = True
            handlers.close()  # back to what the system does by itself
            task.cancel()

        with ExitStack() as handlers:
            handlers.enter_context(calling_at_signals(stop))
            try:
                return await task
            except asyncio.CancelledError:
                if signalled:
                    return None
                raise

    return asyncio.run(supervise())
