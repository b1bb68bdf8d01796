"""What tests of running processes wait with: they wait for what must come, never for a while."""

import asyncio
import functools
import gc
import subprocess
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

PATIENCE_SECONDS: Final = 120.0
"""Until what must come counts as never. chosen: idle, none takes a sixth of it, and on a CI with
ten times as much to do as it has cores everything took ten times as long."""
_LOOK_SECONDS: Final = 0.005  # chosen: often enough that nobody waits for it


def live(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a loop of its own; no task may be left, and nothing fail unnoticed."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        failures: list[Any] = []

        async def whole() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, c: failures.append(c))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await test(*args, **kwargs)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            gc.collect()  # a forgotten task would complain, and so would an open socket
            await asyncio.sleep(0)
            assert failures == []

        asyncio.run(whole())
        gc.collect()  # a ZeroMQ context left open is a ResourceWarning, hence an error

    return run


async def eventually(holds: Callable[..., Any], *given: Any) -> None:
    """Let the loop run until something holds; the limit is that of the whole test."""
    while not holds(*given):
        await asyncio.sleep(_LOOK_SECONDS)


def wait_until(holds: Callable[[], Any], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until something holds; if a process brings it about, as long as that one runs."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert process is None or process.poll() is None, process.communicate()
        if time.monotonic() >= deadline:
            if process is not None:
                process.kill()  # or whoever waits for its end would do so for ever
            raise AssertionError("it never came")
        time.sleep(_LOOK_SECONDS)
