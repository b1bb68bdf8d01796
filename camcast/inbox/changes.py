"""The changes in a community that an application has not taken yet: `Community.changes()`."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from sys import maxsize
from typing import ClassVar, Final

from typing_extensions import override

from camcast.inbox.feed import Feed, Reader
from camcast.inbox.received import Lagged
from camcast.vocabulary.arguments import check_whole
from camcast.vocabulary.happenings import Change
from camcast.vocabulary.topics import Topic

# chosen: a reader that sleeps through a renewal of its whole table (3 ln N, twice) misses nothing
QUEUE_LENGTH: Final = 256

ChangeCallback = Callable[[Change], Awaitable[None] | None]


class ChangeQueue:
    """The changes that nobody has taken yet; when there are too many, the oldest are dropped."""

    undecoded: Final = False

    def __init__(self, length: int) -> None:
        check_whole("queue_length", length)
        if length < 1:
            raise ValueError(f"a queue of changes holds at least 1, not {length}")
        self.changes: deque[Change] = deque(maxlen=min(length, maxsize))
        self.gap = 0
        """How many were dropped, and not told of yet."""

    def __bool__(self) -> bool:
        return bool(self.changes or self.gap)

    def put(self, change: Change) -> None:
        """Add a change."""
        self.gap += len(self.changes) == self.changes.maxlen
        self.changes.append(change)

    def put_back(self, taken: Change | Lagged) -> None:
        """Put what was taken back in front of everything; if there is no room, it is dropped."""
        if isinstance(taken, Lagged):
            self.gap += taken.missed
        elif len(self.changes) == self.changes.maxlen:
            self.gap += 1
        else:
            self.changes.appendleft(taken)

    def take(self) -> Change | Lagged | None:
        """Remove and return the next change, or say first how many were dropped before it."""
        if self.gap:
            lagged, self.gap = Lagged(self.gap), 0
            return lagged
        return self.changes.popleft() if self.changes else None


class ChangeFeed(Feed[ChangeQueue]):
    """The changes in one community that one reader, or a callback, gets."""

    _kind: ClassVar[str] = "changes"

    def __init__(
        self,
        on_close: Callable[[ChangeFeed], None],
        callback: ChangeCallback | None,
        queue_length: int,
        topic: Topic,
    ) -> None:
        queue = ChangeQueue(queue_length)
        super().__init__(on_close, queue, callback, queue.take, topic)

    def put(self, change: Change) -> None:
        """Queue a change; called by the community."""
        self._add(self.queue.put, change)

    @override
    def _waiting(self) -> tuple[int, int]:
        return len(self.queue.changes), self.queue.gap


class Changes(Reader[ChangeFeed, Change | Lagged]):
    """The changes in one community from now on; made by `Community.changes`.

    Iterate it with ``async for``, which yields `Change`, and `Lagged` where a reader was too slow
    and changes were dropped: `Community.state` and `peers` then say how it is. It ends when it, or
    the manager, is closed. With a callback there is nothing to iterate.

    Example:
        ::

            async for change in community.changes():
                print(change.kind, change.peer)
    """
