"""The signals that end a process politely."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def calling_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Have the running loop call `stop` at SIGTERM, SIGINT and SIGHUP, within the block.

    SIGHUP says that the terminal was closed. An ignored SIGINT or SIGHUP stays ignored: a shell
    starts programs in the background in this way, as ``nohup`` and ``&`` in a script do, for both
    are meant for the program in the foreground.
    """
    loop = asyncio.get_running_loop()
    ignorable = (signal.SIGINT, signal.SIGHUP)
    heeded = [one for one in ignorable if signal.getsignal(one) is not signal.SIG_IGN]
    numbers = [signal.SIGTERM, *heeded]
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
