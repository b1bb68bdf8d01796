"""A forked process keeps no socket of CAMCAST: what the parent closes is closed.

A child of ``fork`` inherits the sockets of its parent. While it lives, a port that the parent has
closed would not be free, connections to it would be taken and never answered, and peers would not
notice the end of theirs. Sockets are therefore closed in the child, which must not touch the event
loop that it inherits: its selector is the parent's, too.

ZeroMQ's own sockets are out of reach; with that transport, fork before the manager is started.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from weakref import WeakSet

_open: WeakSet[socket.socket] = WeakSet()


def close_in_forks(made: socket.socket) -> None:
    """Close a socket in each process that is forked while it is open."""
    _open.add(made)


def _close() -> None:
    for made in list(_open):
        with suppress(OSError):
            made.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close)
