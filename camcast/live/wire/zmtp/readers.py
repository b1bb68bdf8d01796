"""One epoll set for the sockets of an event loop.

asyncio makes an object for each socket that is readable, then calls through three more functions
and a context. An epoll set is itself a descriptor that is readable while one of its sockets is: the
loop watches the set alone, and each turn reads all that is readable in one call. Systems without
epoll have the loop's own readers.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from attrs import define, field

_HAS_EPOLL: Final = hasattr(select, "epoll")

Read = Callable[[], None]
"""Reads a socket once; whatever is left makes it readable again in the next turn."""


@define(eq=False)
class Readers:
    """The sockets of one event loop that are read when something has come."""

    _loop: asyncio.AbstractEventLoop
    _read_ended: Callable[[], None] = lambda: None
    """Called when all that was readable in a turn has been read."""
    _reads: dict[int, Read] = field(factory=dict)
    _poll: select.epoll | None = None

    def add(self, one: socket.socket, read: Read) -> None:
        """Have a socket read, each turn in which it is readable."""
        if not _HAS_EPOLL:
            self._loop.add_reader(one, read)
            return
        if self._poll is None:
            self._poll = select.epoll()
            self._loop.add_reader(self._poll.fileno(), self._read_all)
        self._reads[one.fileno()] = read
        self._poll.register(one, select.EPOLLIN)

    def remove(self, one: socket.socket) -> None:
        """Read a socket no more; it is still open."""
        if self._poll is None:
            self._loop.remove_reader(one)
        elif self._reads.pop(one.fileno(), None) is not None:
            with suppress(OSError):  # whoever closed it took it out
                self._poll.unregister(one)

    def has_more(self) -> bool:
        """Say whether something is readable at this moment."""
        return self._poll is not None and bool(self._poll.poll(0, 1))

    def close(self) -> None:
        """Stop reading."""
        if self._poll is not None:
            self._loop.remove_reader(self._poll.fileno())
            self._poll.close()
            self._poll = None
        self._reads.clear()

    def _read_all(self) -> None:
        assert self._poll is not None
        for descriptor, _ in self._poll.poll(0):
            read = self._reads.get(descriptor)
            if read is not None:  # one that was read before it may have removed it, or all
                read()
        self._read_ended()
