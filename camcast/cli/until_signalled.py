"""Runs a command's work until it ends or a person ends it: Ctrl-C and SIGTERM are polite."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def run_until_signalled(work: Coroutine[Any, Any, _T]) -> _T | None:
    """Run `work` in a new event loop; a signal cancels it, so that its blocks clean up.

    Returns None after a signal. A second signal ends the process at once.
    """

    async def supervise() -> _T | None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        signalled = False

        def stop() -> None:
            nonlocal signalled
            signalled = True
            for number in _SIGNALS:  # back to what the system does by itself
                loop.remove_signal_handler(number)
            task.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, stop)
        try:
            return await task
        except asyncio.CancelledError:
            if signalled:
                return None
            raise

    return asyncio.run(supervise())
