"""How this process stands in a community, and who comes into its table: `Community.changes()`."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from attrs import frozen

from camcast.arguments import check_whole
from camcast.inbox.received import Lagged
from camcast.inbox.subscription import Feed
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic

# chosen: a reader that sleeps through a renewal of its whole table (3 ln N, twice) misses nothing
QUEUE_LENGTH: Final = 256

Standing = Literal["member", "alone", "degraded"]
ChangeKind = Literal["member", "alone", "degraded", "left", "peer_seen", "peer_gone"]


@frozen
class Change:
    """A change in one community, as this process sees it.

    How the process stands: ``member``, with peers in the topic table; ``alone``, without any;
    ``degraded``, when nothing is heard of any peer any more, so that this process may be cut off;
    ``left``. And who is in its topic table: ``peer_seen`` came in, and ``peer_gone`` is in it no
    more. Of those that are gone the `silent` ones were found dead or cut off. Others have left
    the community, or live on outside this table: it holds some members only.
    """

    kind: ChangeKind
    topic: Topic
    peer: Contact | None = None
    """Of `peer_seen` and `peer_gone`."""
    silent: bool = False


ChangeCallback = Callable[[Change], Awaitable[None] | None]


class ChangeQueue:
    """The changes that nobody has taken yet; when there are too many, the oldest are dropped."""

    def __init__(self, length: int) -> None:
        check_whole("queue_length", length)
        if length < 1:
            raise ValueError(f"a queue of changes holds at least 1, not {length}")
        self._changes: deque[Change] = deque(maxlen=length)
        self._dropped = 0

    def __bool__(self) -> bool:
        return bool(self._changes)

    def put(self, change: Change) -> None:
        """Add a change."""
        self._dropped += len(self._changes) == self._changes.maxlen
        self._changes.append(change)

    def take(self) -> Change | Lagged | None:
        """Remove and return the next change, or say first how many were dropped before it."""
        if self._dropped:
            lagged, self._dropped = Lagged(self._dropped), 0
            return lagged
        return self._changes.popleft() if self._changes else None


class Changes(Feed[ChangeQueue, Change | Lagged]):
    """The changes in one community from now on; made by `Community.changes`.

    Iterate it with ``async for``, which yields `Change`, and `Lagged` where a reader was too slow
    and changes were dropped: `Community.state` and `peers` then say how it is. It ends when it, or
    the manager, is closed. With a callback there is nothing to iterate.
    """

    def __init__(
        self,
        on_close: Callable[[Changes], None],
        callback: ChangeCallback | None,
        queue_length: int,
    ) -> None:
        queue = ChangeQueue(queue_length)
        super().__init__(on_close, queue, callback, queue.take)

    def put(self, change: Change) -> None:
        """Queue a change; called by the community."""
        self._add(self._queue.put, change)
