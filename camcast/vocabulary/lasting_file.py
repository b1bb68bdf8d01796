"""Files that must last: each is written whole or not at all, and is on the disk afterwards.

Theory of operation
-------------------
*Whole.* The content goes to a temporary file in the same folder, and a rename puts that in the
place of the old one. A reader sees the old content or the new one; a kill, a full disk or an error
of the disk leaves the old one.

*On the disk.* The temporary file is synced before the rename, and the folder, which has the name,
after it. Then the file is read back. A call that returns has done all of this. A folder that files
are written to is itself a name in the folder above, which is synced, too (`make_lasting_folder`).

*A new file*, such as a secret key, must replace no other. Its name is claimed first, by an empty
file: that works on file systems without hard links (FAT), too, and leaves no second name of a
secret. A kill at that moment leaves the empty file, which whoever reads it names.

*Temporary names* are random, since two containers that share a folder may have equal process
numbers. The writer holds a lock on its temporary file; one that nobody holds was left by a kill,
and the next writer of the same file removes it.

*Two writers.* Who reads a file, changes it and writes it again does so within `locked`. The lock is
one on the folder, so that no further file lies there, and ends with the process.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from camcast.vocabulary.given_file import open_to_write
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

# chosen: a holder needs some milliseconds; one that has the lock for so long is stopped, and named
LOCK_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.01  # chosen: between two tries; a system call takes some microseconds
_SUFFIX: Final = ".camcast-new"
# What file systems of networks, of sticks and in user space answer to what they do not have.
_HAS_NOT: Final = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def write_lasting(
    path: Path, content: bytes, mode: int, *, replace: bool = True, owner: Path | None = None
) -> None:
    """Write a file with this mode; links are followed to the file that they name.

    With `replace` it takes the place of a file that is there, and is not open to more users than
    that one was; without, a file that is there raises `FileExistsError`. Where root writes, the
    file belongs to the owner of the file `owner`. What is no regular file, such as a terminal, is
    written to as it is. Raises `OSError`, and then leaves what was there before.
    """
    if not replace:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    elif path.exists():
        if not path.is_file():
            with open(open_to_write(path, os.O_WRONLY, mode), "wb") as special:
                special.write(content)
            return
        mode &= path.stat().st_mode
    target = Path(os.path.realpath(path))
    try:
        _put(target, content, mode, owner)
        if target.read_bytes() != content:
            raise OSError(errno.EIO, "it does not read back as it was written", str(path))
    except BaseException as error:
        if isinstance(error, OSError):  # of the temporary file or the folder: the user named this
            error.filename, error.filename2 = str(path), None
        if not replace:
            with suppress(OSError):
                target.unlink()
        raise


def make_lasting_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above that are not there; nothing happens if it is there.

    Raises `OSError`, as where a file is in its place.
    """
    if path.is_dir():
        return
    make_lasting_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    _sync_folder(path.parent)


def move_lasting(path: Path, target: Path) -> None:
    """Give a file or a folder another name, which is not lost afterwards; raises `OSError`."""
    os.rename(path, target)
    for folder in dict.fromkeys((target.parent, path.parent)):  # two names are better than none
        _sync_folder(folder)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the folder that a file is in, while the block reads and changes the file.

    Links are followed. Raises `OSError`, with `errno.EAGAIN` if another process has had the lock
    for `LOCK_SECONDS`. Where the file system has no locks, the log says so, and the block
    runs without.
    """
    folder = os.path.dirname(os.path.realpath(path))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: str) -> None:
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                raise OSError(
                    errno.EAGAIN,
                    f"another process has locked this folder for {LOCK_SECONDS:g} s (fuser {folder}"
                    " names it); end that one, and try again",
                    folder,
                ) from None
            time.sleep(_LOOK_SECONDS)
        except OSError as error:
            if error.errno not in _HAS_NOT:
                raise
            _log.warning("%s cannot be locked: let no two processes write there at once", folder)
            return


def _put(target: Path, content: bytes, mode: int, owner: Path | None) -> None:
    descriptor, new = _temporary(target)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        _protect(descriptor, mode, owner)
        os.fsync(descriptor)
        os.replace(new, target)
        _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):  # after the rename there is none
            os.unlink(new)
        raise
    finally:
        os.close(descriptor)


def _temporary(target: Path) -> tuple[int, str]:
    """Make a file beside the target, locked for as long as it is open."""
    from tempfile import mkstemp  # when used: it loads eight modules

    _remove_leftovers(target)
    while True:
        descriptor, name = mkstemp(_SUFFIX, f".{target.name}.", target.parent)
        with suppress(OSError):  # where there are no locks, leftovers are not removed either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)  # another writer took it for a leftover, just before it was locked


def _remove_leftovers(target: Path) -> None:
    ours = re.compile(rf"\.{re.escape(target.name)}\.\w{{8}}{re.escape(_SUFFIX)}")
    with suppress(OSError):
        for name in filter(ours.fullmatch, os.listdir(target.parent)):
            _remove_unless_held(target.parent / name)


def _remove_unless_held(leftover: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(leftover, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(leftover)
        finally:
            os.close(descriptor)


def _protect(descriptor: int, mode: int, owner: Path | None) -> None:
    with suppress(PermissionError):  # FAT has no modes; whoever reads a secret there is told so
        os.fchmod(descriptor, mode)
    if owner is not None and os.geteuid() == 0:
        with suppress(OSError):
            given = owner.stat()
            os.fchown(descriptor, given.st_uid, given.st_gid)


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder that may be written to and not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _HAS_NOT:
            raise
    finally:
        os.close(descriptor)
