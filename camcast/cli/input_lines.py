"""Lines from a file or pipe, read so that neither the loop nor the process's end waits."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from camcast.cli.failure import CommandError

_CHUNK_BYTES: Final = 2**16  # [pipe(7)] what a pipe of Linux holds


async def input_lines(descriptor: int, bytes_max: int) -> AsyncIterator[bytes | None]:
    """Yield line after line without its newline; None for one of more than `bytes_max` bytes.

    Raises `CommandError` if the descriptor cannot be read.
    """
    line = bytearray()
    too_long = False
    while chunk := await _read(descriptor):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            yield None if too_long or len(line) > bytes_max else bytes(line)
            line.clear()
            too_long = False
        line += rest
        if len(line) > bytes_max:  # nothing of it is kept, however long it becomes
            too_long = True
            line.clear()
    if too_long:
        yield None
    elif line:
        yield bytes(line)


async def _read(descriptor: int) -> bytes:
    """Read a chunk in a daemon thread: an executor's would hold up Ctrl-C until Enter."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bytes] = loop.create_future()

    def settle(chunk: bytes, error: OSError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(chunk)
        else:
            future.set_exception(CommandError(f"cannot read the input: {error.strerror}"))

    def read() -> None:
        chunk, error = b"", None
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except OSError as caught:
            error = caught
        with suppress(RuntimeError):  # the loop has ended by now
            loop.call_soon_threadsafe(settle, chunk, error)

    threading.Thread(target=read, name="camcast-input", daemon=True).start()
    return await future
