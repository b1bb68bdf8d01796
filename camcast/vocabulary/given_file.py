"""Files that a process is given: neither reading nor writing one waits for ever.

A path may lead to a named pipe, by mistake or by design, and `open` waits there until somebody
comes to the other end. A service would then hang at its start, without a word. Here a pipe is read
for as long as a password manager may take, and is written only if somebody reads it.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

# chosen: the program in ``<(pass show group)`` may ask for a PIN first; a supervisor waits longer
PIPE_SECONDS: Final = 30.0
_PART_BYTES: Final = 65_536  # [pipe(7)] what a pipe holds


def read_given(path: Path, bytes_max: int) -> tuple[bytes, os.stat_result]:
    """Return what a file has, or what comes through a pipe, and the state of the file.

    Of what is longer than `bytes_max`, it is one byte more. Raises `OSError`, with `ETIMEDOUT` for
    a pipe into which nobody has written for `PIPE_SECONDS`.
    """
    with _opened(path) as descriptor:
        return _read(descriptor, path, bytes_max), os.fstat(descriptor)


def read_regular(path: Path, bytes_max: int) -> bytes:
    """Return what a file has that is read more than once, and therefore is no pipe or device.

    Of what is longer than `bytes_max`, it is one byte more. Raises `OSError`.
    """
    with _opened(path) as descriptor:
        _check_regular(descriptor, path)
        return _read(descriptor, path, bytes_max)


def open_regular(path: Path, flags: int, mode: int) -> int:
    """Return a descriptor of a file that is no pipe or device; raises `OSError`."""
    descriptor = _open(path, flags, mode)
    try:
        _check_regular(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(descriptor: int, path: Path) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise OSError(errno.EINVAL, f"it is {kind}, and no file", str(path))


def open_to_write(path: Path | str, flags: int, mode: int) -> int:
    """Return a descriptor of a file, made with this mode; its writes block, as those of files do.

    Raises `OSError`, with `ENXIO` for a pipe that nobody reads.
    """
    try:
        descriptor = _open(path, flags, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:
            says = "it is a pipe that nobody reads, or a socket"
            raise OSError(errno.ENXIO, says, str(path)) from None
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def _open(path: Path | str, flags: int, mode: int = 0o777) -> int:
    """Open a file without waiting; raises `OSError`, also for what cannot be a path at all."""
    try:
        return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except ValueError as error:  # Python's own, of a NUL, and of characters that are no text
        raise OSError(errno.EINVAL, f"it cannot be a path: {error}", str(path)) from None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = _open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a socket, and no file", str(path)) from None
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path, bytes_max: int) -> bytes:
    data = bytearray()
    ready = select.poll()  # of a pipe that nobody has opened to write, a read says that it is ended
    ready.register(descriptor, select.POLLIN)
    end = monotonic() + PIPE_SECONDS
    while len(data) <= bytes_max:
        if not ready.poll(max(0.0, end - monotonic()) * 1000):
            says = f"it is a pipe into which nobody has written for {PIPE_SECONDS:g} s"
            raise OSError(errno.ETIMEDOUT, says, str(path))
        try:
            part = os.read(descriptor, min(_PART_BYTES, bytes_max + 1 - len(data)))
        except BlockingIOError:  # somebody else took it
            continue
        if not part:
            break
        data += part
    return bytes(data)
