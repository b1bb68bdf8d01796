"""Samples of this process's Python stack, taken by processor time (`flame.py`)."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType

SAMPLE_SECONDS = 0.001  # chosen: at most; a kernel's timer of processor time has ticks of 1 to 4 ms
DEPTH_MAX = 64  # chosen: asyncio, and a dozen of our layers


class StackSamples:
    """Counts stacks of the main thread from `begin` on, until `write`."""

    def __init__(self) -> None:
        self._stacks = Counter[tuple[str, ...]]()

    def begin(self) -> None:
        """Take samples from now on."""
        signal.signal(signal.SIGPROF, self._take)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def write(self, folder: Path) -> None:
        """Take no more, and write the stacks that were seen to a file of this process."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        lines = (f"{';'.join(stack)} {count}\n" for stack, count in self._stacks.items())
        (folder / str(os.getpid())).write_text("".join(lines))

    def _take(self, _signal: int, frame: FrameType | None) -> None:
        stack = list[str]()
        while frame is not None and len(stack) < DEPTH_MAX:
            code = frame.f_code
            module = str(frame.f_globals.get("__name__", "?")).rpartition(".")[2]
            stack.append(f"{module}.{code.co_qualname}".replace(";", ",").replace(" ", "_"))
            frame = frame.f_back
        self._stacks[tuple(reversed(stack))] += 1
