"""SIGTERM, made polite: what began is cleaned up before the program ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Terminated(BaseException):
    """SIGTERM came."""


@contextmanager
def sigterm_stops() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C, and then the program as SIGTERM does.

    Nothing changes outside the main thread, and where SIGTERM is handled or ignored already.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait for us
        raise _Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except _Terminated:
        raise SystemExit(128 + signal.SIGTERM) from None  # the shell's convention for a signal
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
