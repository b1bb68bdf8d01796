"""Files that are written whole or not at all, however the process ends meanwhile."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str, mode: int, *, replace: bool) -> None:
    """Write a file with this mode, on the disk when the call returns.

    With `replace` it takes the place of one that is there; without, that raises `FileExistsError`.
    Raises `OSError`, and then leaves nothing behind.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        # Left by a process of this number that crashed; O_EXCL then follows no link of others.
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        if replace:
            new.replace(path)
        else:
            os.link(new, path)  # unlike a rename, it never replaces a file
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
