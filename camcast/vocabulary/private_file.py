"""Files that only their owner can read, such as traces, which say which processes talk."""

from __future__ import annotations

import os


def private(name: str, flags: int) -> int:
    """Open a file, which is made with mode 0600; the ``opener`` of `open`."""
    return os.open(name, flags, 0o600)
