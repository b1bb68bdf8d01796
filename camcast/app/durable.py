"""Durable subscriptions: a subscriber that stops goes on where it was, by an archive and a cursor.

Theory of operation
-------------------
A durable subscription takes no events from the wire: it reads the archive of its process
(`camcast.live.archive`), to which everything goes that the community has, in *passes*
(`camcast.live.archive.cursor`). An event goes there when it would be delivered, so that those of a
publisher come in their order. The queue is never overfilled: what has no room waits in the archive,
and nothing is dropped.

A process that has just started fetches what it lacks of the time in which it was down. The first
pass waits until the neighbours have answered what they keep, and until that is there, as long as
something of it comes (`camcast.engine.repair.catching_up`). It has all of that in the order of its
publication; then comes what is published now, as soon as it is written: the writer of the archive
says so.

*The cursor* is moved when the next item is asked for, or by `ack`: whoever dies in the middle of an
item gets that item again. An item is given out only once it is written to the archive, so that no
crash of the process makes two batches share a number.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from attrs import define, evolve
from typing_extensions import override

from camcast.engine.local_group import LocalGroup
from camcast.inbox.deliveries import Deliveries
from camcast.inbox.past import LOOK_SECONDS
from camcast.inbox.received import Gap, Reach, Received, ReceivedBatch
from camcast.inbox.subscription import EventFeed, Subscription
from camcast.interests.interest import Interest
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.cursor import Cursor
from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.batches import EVENTS_MAX, decode_body
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.typed import E
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

_log = Logger(__name__)
T = TypeVar("T")

BEGIN_SECONDS_MAX: Final = 600.0  # chosen: two million events of 256 bytes, at a MiB/s
CLOCK_SECONDS: Final = 1.0  # chosen: publishers' clocks, and events of the last moment
ALONE_SECONDS: Final = 10.0  # chosen: as `join` waits; who cannot join reads what is in its archive
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # it is a part of the name of a file


@define
class _Row:
    """A batch in the queue: the places of the cursor before and after it."""

    before: Cursor
    after: Cursor
    sequences: list[int]
    """The numbers of its events that were queued."""
    done: int = 0


class DurableFeed(EventFeed[E], Generic[E]):
    """The queue of a durable subscription, which it fills itself.

    `since` is the time, in seconds since 1970, from which a new name begins; None: now. `reach`
    says since when members keep events.
    """

    def __init__(
        self,
        name: str,
        archive: FileArchive,
        deliveries: Deliveries[E],
        local_group: Callable[[], LocalGroup | None],
        on_close: Callable[[EventFeed[E]], None],
        *,
        since: float | None,
        reach: Callable[[LocalGroup], float],
        explicit: bool,
        queue_length: int,
        queue_bytes: int,
        where: Interest | None,
        own: bool,
    ) -> None:
        if queue_length < EVENTS_MAX or queue_bytes < PAYLOAD_BYTES_MAX:
            raise ValueError(
                f"the queue of a durable subscription holds at least {EVENTS_MAX} events and"
                f" {PAYLOAD_BYTES_MAX} bytes: a whole batch"
            )
        topic = deliveries.topic
        super().__init__(
            on_close,
            topic,
            queue_length=queue_length,
            queue_bytes=queue_bytes,
            where=where,
            own=own,
        )
        self.name = name
        self.explicit = explicit
        """Whether `ack` alone moves the cursor."""
        self._archive, self._deliveries, self._local_group = archive, deliveries, local_group
        self._file = archive.cursor(name, topic)
        fresh = self._file.fresh
        self._begins_with_reach = fresh and since is not None
        if fresh:
            # What is fetched of the time before comes later, and is not for a new name: the first
            # pass leaves it out.
            base = archive.last() if since is None else 0
            begin = time.time() if since is None else max(0.0, since)
            self._file.move(Cursor(base, published=max(1, int(1000 * begin))))
        elif self._file.cursor.base > archive.last():
            _log.warning("the cursor of %r is of another archive: it begins anew", name)
            self._file.move(Cursor())
        self._reading = self._file.cursor
        """How far the archive was read."""
        self._reach = reach
        self._goes_on = not fresh
        self._rows: deque[_Row] = deque()
        """The batches of which something is queued, or given out and not done."""
        self._put = self._done = 0  # events
        self._filling: list[int] | None = None
        self._begun_at = self.loop.time()
        self._given: int | None = None
        """How many batches had been given to the archive when the past was here."""
        self._full = False  # whether the archive has more than there was room for
        self.take, self.take_batch = self._after(self.take), self._after(self.take_batch)
        self._handle: asyncio.Handle = self.loop.call_soon(self._begin)

    @override
    def put(self, delivery: Received[E] | ReceivedBatch[E]) -> None:
        """Queue what was read from the archive; what comes from the wire is there soon."""
        if self._filling is not None:
            if isinstance(delivery, Received):
                self._filling.append(delivery.sequence)
            else:
                self._filling += delivery.sequences
            super().put(delivery)

    @override
    def close(self) -> None:
        if not self.closed:
            self._handle.cancel()
            self._archive.unwatch(self._read)
            self._file.close()
        super().close()

    def ack(self) -> None:
        """Move the cursor behind all that was given out."""
        if not self.closed:
            self._advance(self._put - self.queue.events)

    def asked_for_next(self) -> None:
        """Note that the reader wants another item: it is done with those that it has."""
        if not self.explicit:
            self.ack()

    def _after(self, take: Callable[[], T]) -> Callable[[], T]:
        """Return what takes the next item, and notes that the reader is done with the others."""

        def take_next() -> T:
            self.asked_for_next()
            taken = take()
            if self._full and self._is_half_empty():
                self._read()
            return taken

        return take_next

    def _advance(self, done: int) -> None:
        """Move the cursor so that so many of the events that were queued are done."""
        cursor = None
        while self._rows:
            row = self._rows[0]
            step = min(len(row.sequences) - row.done, done - self._done)
            row.done += step
            self._done += step
            if row.done < len(row.sequences):
                if row.done and step:
                    cursor = evolve(row.before, sequence=row.sequences[row.done - 1])
                break
            cursor = row.after
            self._rows.popleft()
        if cursor is not None:
            self._move(cursor)

    def _move(self, cursor: Cursor) -> None:
        try:
            self._file.move(cursor)
        except OSError as error:  # a full disk: it is moved with the next item
            _log.warning("the cursor of %r cannot be moved: %s", self.name, error.strerror)

    # -- reading the archive -----------------------------------------------------------------

    def _begin(self) -> None:
        """Begin to read once what this process lacks of the time before its start is here."""
        waited = self.loop.time() - self._begun_at
        group = self._local_group()
        if group is None or not group.joined:
            is_here = waited > ALONE_SECONDS
        else:
            is_here = group.repair is None or group.repair.has_past(self.loop.time())
        if (is_here and self._is_past_written()) or waited > BEGIN_SECONDS_MAX:
            self._tell_reach(group)
            if not self._goes_on:
                self._end_past()
            self._archive.watch(self._read)
            self._read()
        else:
            self._handle = self.loop.call_later(LOOK_SECONDS, self._begin)

    def _is_past_written(self) -> bool:
        """Say whether a new name finds in the archive what was here when the past was."""
        archive = self._archive
        if self._given is None:
            self._given = archive.given()
        return self._goes_on or archive.settled >= self._given or archive.stats().state != "writing"

    def _end_past(self) -> None:
        """Let the first pass of a new name have what is here by now.

        That pass alone leaves out what was published before the name begins: what comes later
        counts, also of a publisher whose clock is behind.
        """
        if not self._begin_pass():
            base = self._reading.base
            self._reading = Cursor(base, base, begun=int(time.time()))
        self._move(self._reading)

    def _tell_reach(self, group: LocalGroup | None) -> None:
        """Queue how far back events are kept, if that was asked for or some may be lost."""
        archive, cursor = self._archive, self._reading
        topic = self._deliveries.topic
        reach = archive.reach(topic) / 1000 if group is None else self._reach(group)
        taken = cursor.published / 1000 or cursor.begun or archive.published(cursor.base) / 1000
        lost = self._goes_on and reach > taken + CLOCK_SECONDS
        if self._begins_with_reach or lost:
            self.tell(Reach(reach))

    def _read(self) -> None:
        """Queue what the archive has, as far as there is room."""
        self._full = False
        while not self.closed and self._fill():
            pass

    def _is_half_empty(self) -> bool:
        queue = self.queue
        events, size = queue.room
        return not queue or (2 * events > queue.events_max and 2 * size > queue.bytes_max)

    def _fill(self) -> bool:
        """Queue the next batches of a pass; say whether there may be more, and room for them."""
        if self._reading.until <= self._reading.base and not self._begin_pass():
            return False
        page = self._archive.passed(self._deliveries.topic, self._reading)
        if not page:
            self._reading = self._reading.after_pass()
            if self._rows:
                self._rows[-1].after = self._reading
            return True
        for published, number, body in page:
            batch = decode_body(body, 0, len(body))
            events, size = self.queue.room
            if self.queue and (batch.count > events or batch.size > size):
                self._full = True
                return False
            before, after = self._reading, self._reading.after_batch(published, number)
            if batch.first <= before.sequence < batch.first + batch.count:
                stop = batch.first + batch.count
                if before.sequence + 1 == stop:
                    self._reading = after
                    continue
                batch = batch.part(before.sequence + 1, stop)
            sequences: list[int] = []
            self._filling = sequences
            try:
                self._deliveries.hand_to([self], batch)
            finally:
                self._filling = None
            self._put += len(sequences)
            self._rows.append(_Row(before, after, sequences))
            self._reading = after
        return True

    def _begin_pass(self) -> bool:
        """Begin to read what was written since the last pass; say whether there is something."""
        until = self._archive.last()
        if until <= self._reading.base:
            return False
        self._reading = evolve(self._reading, until=until)
        return True


class DurableSubscription(Subscription[E], Generic[E]):
    """A subscription that goes on where it was; made by `Community.subscribe(durable=)`.

    Iterate it, in one task, as any other. The cursor is moved when the next item is asked for; with
    ``ack=True`` by `ack` alone.

    Example:
        ::

            async for event in community.subscribe(durable="billing"):
                await book(event)
    """

    _feed: DurableFeed[E]

    @property
    def name(self) -> str:
        """The name by which the subscriber goes on."""
        return self._feed.name

    def ack(self) -> None:
        """Move the cursor behind all items that were given out: they do not come again."""
        self._feed.ack()

    @override
    async def __anext__(self) -> Received[E] | Gap:
        item = await self._feed.next(self._feed.take)  # which notes it, unlike the shorter way
        if item is None:
            raise StopAsyncIteration
        made: Received[E] | Gap = self._feed.made(item)
        return made


def check_name(name: str) -> None:
    """Raise `ValueError` for what cannot be the name of a durable subscription."""
    check_type("durable", name, str, "the name of a subscriber")
    if not NAME.fullmatch(name):
        raise ValueError(
            f"a durable subscription has a name of letters, digits, - and _, 64 at most: {name!r}"
        )
