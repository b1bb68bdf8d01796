"""The past of a subscription with `since`: what comes before it is whole is held, and then ordered.

Theory of operation
-------------------
Neighbours answer in any order, and new events come meanwhile. A subscription that has asked for the
past gets nothing until the past is here, as far as members keep it. It then gets `Reach`, which
says how far back that is, and all that was held in the order of its publication; what comes later
it gets as everybody does.

Nothing waits for long: after `PAST_SECONDS_MAX`, or once the queue would be full, what is held is
handed over as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import Final, Generic

from msgspec.structs import replace

from camcast.inbox.received import Reach, Received, ReceivedBatch
from camcast.vocabulary.typed import E

PAST_SECONDS_MAX: Final = 10.0  # chosen: as long as neighbours are asked that do not answer
LOOK_SECONDS: Final = 0.1  # chosen: half of the time after which what is missing is asked for


class Past(Generic[E]):
    """The events that one subscription gets until its past is here, held back.

    `is_here` says whether it is, and `since` from when on, in seconds since 1970, members keep
    events. `hand_over` is called once, with what is to be queued then.
    """

    def __init__(
        self,
        is_here: Callable[[], bool],
        since: Callable[[], float],
        hand_over: Callable[[Reach, list[Received[E] | ReceivedBatch[E]]], None],
        room: tuple[int, int],
    ) -> None:
        self._is_here, self._since, self._hand_over = is_here, since, hand_over
        self._events_left, self._bytes_left = room
        self._held: list[Received[E] | ReceivedBatch[E]] = []
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + PAST_SECONDS_MAX
        self._handle: asyncio.TimerHandle | None = None
        self._over = False

    def add(self, delivery: Received[E] | ReceivedBatch[E]) -> None:
        """Hold an event or a batch."""
        self._held.append(delivery)
        if isinstance(delivery, Received):
            self._events_left -= 1
            self._bytes_left -= len(delivery.payload)
        else:
            self._events_left -= len(delivery)
            self._bytes_left -= delivery.size
        if self._events_left <= 0 or self._bytes_left <= 0:
            self.end()

    def look(self) -> None:
        """Hand over what is held if the past is here, or it is time; else look again later."""
        if self._is_here() or self._loop.time() >= self._until:
            self.end()
        elif not self._over:
            self._handle = self._loop.call_later(LOOK_SECONDS, self.look)

    def end(self) -> None:
        """Hand over what is held, whether the past is here or not."""
        if self._over:
            return
        self._over = True
        if self._handle is not None:
            self._handle.cancel()
        held, self._held = self._held, []
        held.sort(key=lambda one: (one.published, one.stream, _first(one)))
        self._hand_over(Reach(self._since()), [_in_order(one) for one in held])


def _first(one: Received[E] | ReceivedBatch[E]) -> int:
    return one.sequence if isinstance(one, Received) else one.sequences[0]


def _in_order(one: Received[E] | ReceivedBatch[E]) -> Received[E] | ReceivedBatch[E]:
    """Return what came late as what is not: nothing that was published later was handed out."""
    if not one.late:
        return one
    if isinstance(one, Received):
        return replace(one, late=False)
    batch = copy(one)  # other subscriptions have this one
    batch.late = False
    return batch
