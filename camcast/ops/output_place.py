"""Places for results: one that cannot be written is refused before the work, not after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import open_to_write


class OutputError(CamcastError, OSError):
    """A file or folder of ``--output`` cannot be used; `strerror` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(None, message)


@contextmanager
def output_file(path: Path | None, option: str = "--output") -> Iterator[None]:
    """Enter a block that writes a file, or raise `OutputError` if it could not; None: no file.

    `option` named the file. What is in the file stays until the block writes it. A new file that
    is still empty after the block is removed.
    """
    if path is None:
        yield
        return
    is_new = not path.exists()
    try:
        os.close(open_to_write(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666))
    except OSError as error:
        raise OutputError(
            f"{option} {path}: {error.strerror}; give a file in a folder that can be written"
        ) from None
    try:
        yield
    finally:
        if is_new and not path.stat().st_size:
            path.unlink()


def make_output_folder(path: Path) -> None:
    """Make a folder, if it is not there; raises `OutputError` if nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise OutputError(
            f"--output {path}: {error.strerror}; give a folder that can be written"
        ) from None
