"""The signals that end a process politely."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def calling_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Have the running loop call `stop` at SIGTERM and at SIGINT, within the block.

    An ignored SIGINT stays ignored: a shell starts programs in the background in this way, as
    ``nohup`` and ``&`` in a script do, for Ctrl-C is meant for the program in the foreground.
    """
    loop = asyncio.get_running_loop()
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        numbers.append(signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
