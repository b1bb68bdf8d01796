"""A disk that fails, or a machine that stops, at any one step of an operation on files.

The operation runs in a child, in which the calls that change files are counted. At the given one
the child is killed, the call fails (EIO), or all calls do from then on (ENOSPC); or the power is
cut, and what was not synced is lost: the names of files, which their folder's sync keeps, or the
content of files.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

CALLS: Final = (
    *("open", "write", "fchmod", "fchown", "fsync", "link", "replace", "unlink"),
    *("mkdir", "rename"),  # of folders
)
FAULTS: Final = ("kill", "ENOSPC", "EIO", "names lost", "contents lost")
DONE, FAILED, NOT_REACHED = 0, 3, 7
_KILLED: Final = 9


class FailingDisk:
    """The calls of one child, which writes below `folder` alone; number `at` meets the fault."""

    def __init__(self, folder: Path, fault: str, at: int) -> None:
        self._folder, self._fault, self._at = folder, fault, at
        self.calls = 0
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in CALLS}
        self._before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self._unsynced: dict[int, None] = {}
        """The numbers of files whose content was not synced."""
        self._named: dict[Path, None] = {}
        """The names that were made or replaced since the folder that they are in was synced."""
        self._moved: dict[Path, Path] = {}
        """The same of folders that were moved, and where they were before."""

    def begin(self) -> None:
        """Count the calls of this process from now on."""
        for name in CALLS:
            setattr(os, name, self._counted(name))

    def _counted(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            changes = name != "open" or bool(given[1] & os.O_CREAT)
            if changes:
                self.calls += 1
                if self.calls == self._at or (self.calls > self._at and self._fault == "ENOSPC"):
                    self._fail(name)
            result = self._real[name](*given, **named)
            if changes:
                self._note(name, given, result)
            return result

        return call

    def _fail(self, name: str) -> None:
        if self._fault.startswith("E"):
            if name in ("fchown", "unlink") and self._fault == "ENOSPC":
                return  # these need no room
            number = getattr(errno, self._fault)
            raise OSError(number, os.strerror(number))
        self.cut()
        os._exit(_KILLED)

    def cut(self) -> None:
        """Cut the power, if that is the fault: lose what was not synced."""
        if self._fault == "names lost":
            for path, before in self._moved.items():
                os.rename(path, before)
            for path in self._named:
                if path in self._before:
                    path.write_bytes(self._before[path])
                elif path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        elif self._fault == "contents lost":
            for path in self._folder.rglob("*"):
                if path.stat().st_ino in self._unsynced:
                    os.truncate(path, 0)

    def _note(self, name: str, given: tuple[Any, ...], result: Any) -> None:
        match name:
            case "open" | "mkdir":
                self._named[Path(given[0]).absolute()] = None
            case "write":
                self._unsynced[os.fstat(given[0]).st_ino] = None
            case "link" | "replace":
                self._named[Path(given[1]).absolute()] = None
            case "rename":
                self._moved[Path(given[1]).absolute()] = Path(given[0]).absolute()
            case "fsync":
                found = os.fstat(given[0])
                if stat.S_ISDIR(found.st_mode):
                    self._note_synced(found.st_ino)
                self._unsynced.pop(found.st_ino, None)

    def _note_synced(self, folder: int) -> None:
        """Note that the names in the folder of this number are on the disk."""
        for path in [*self._named, *self._moved]:
            if path.parent.exists() and path.parent.stat().st_ino == folder:
                if path.is_file():
                    self._before[path] = path.read_bytes()
                self._named.pop(path, None)
                self._moved.pop(path, None)


def outcomes(
    make: Callable[[Path], Any], operation: Callable[[Any], bytes], fault: str, folder: Path
) -> Iterator[tuple[Any, bool, bytes]]:
    """Yield, for a fault at each call of an operation, what is left of it.

    `make` prepares a new folder. `operation` returns what it says to the world, and raises what it
    may raise of a failing disk. Yields what `make` returned, whether the operation said that it was
    done, and what it has said.
    """
    at = 0
    while True:
        at += 1
        place = folder / f"{fault}-{at}".replace(" ", "-")
        place.mkdir()
        made = make(place)
        reader, writer = os.pipe()
        if not (child := os.fork()):
            code = FAILED
            try:
                disk = FailingDisk(place, fault, at)
                real_write = os.write
                disk.begin()
                real_write(writer, operation(made))
                code = DONE if disk.calls >= at else NOT_REACHED
                disk.cut()  # at once after the last call
            except (OSError, ValueError):
                pass
            finally:
                os._exit(code)
        os.close(writer)
        with open(reader, "rb") as source:
            said = source.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (DONE, FAILED, NOT_REACHED, _KILLED)
        yield made, code in (DONE, NOT_REACHED), said
        if code == NOT_REACHED:
            assert at > 5  # the calls were counted
            return
