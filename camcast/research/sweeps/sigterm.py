"""SIGTERM and SIGHUP, made polite: what began is cleaned up before the program ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

TERMINATING: Final = (signal.SIGTERM, signal.SIGHUP)
"""The signals by which a service manager, and a terminal that is closed, end a program."""


class _Terminated(BaseException):
    """The signal `number` came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def sigterm_stops() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block like Ctrl-C, and then the program as the signal does.

    Nothing changes outside the main thread, and for a signal that is handled or ignored already, as
    ``nohup`` ignores SIGHUP.
    """
    in_main = threading.current_thread() is threading.main_thread()
    numbers = [one for one in TERMINATING if in_main and signal.getsignal(one) is signal.SIG_DFL]

    def back_to_default() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)

    def stop(number: int, _frame: FrameType | None) -> None:
        back_to_default()  # a second one does not wait for us
        raise _Terminated(number)

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    except _Terminated as ended:
        raise SystemExit(128 + ended.number) from None  # the shell's convention for a signal
    finally:
        back_to_default()
