"""Deliveries: a batch of one community goes to each subscription that wants it.

The topic alone decides whether a subscription wants a batch, or the attributes of each event do;
the subscription then gets the batch, a part of it, or nothing. Typed events are decoded once for
all subscriptions.

The latency of a batch is the time from the publication, by the publisher's clock, to the delivery,
by this process's clock: between two machines it is as exact as their clocks agree, and a negative
one counts as 0. Latencies are kept only with a control socket, at which somebody may ask.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final, Generic

from camcast.inbox.received import Received, ReceivedBatch, received_of
from camcast.inbox.subscription import EventFeed
from camcast.interests.attributes import EventAttributes, matches_by_topic
from camcast.interests.bounded import union_of
from camcast.interests.interest import Interest
from camcast.vocabulary import typed
from camcast.vocabulary.batches import KEYED, TYPED, Batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import EventId, Missed
from camcast.vocabulary.happenings import EventKind
from camcast.vocabulary.hierarchy import Hierarchy
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.topics import PROBE, GroupId, Topic
from camcast.vocabulary.typed import E, Sent

LATENCIES_MAX: Final = 512  # chosen: 50 kB a community; five of them are above the 99th percentile
LATENCY_WINDOW_SECONDS: Final = 60.0  # chosen: what a dashboard's reader calls now

NoteEvent = Callable[[float, EventKind, str, EventId], None]
"""Notes what happened to an event: the time, the kind, the community's name, the event."""


class Latencies:
    """The latencies of the last batches of other processes in one community."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, int]] = deque(maxlen=LATENCIES_MAX)
        """The time of the delivery, the latency in seconds, the number of events."""

    def note(self, batch: Batch, clock: Clock, now: float) -> None:
        """Note a batch that was delivered now."""
        if batch.hops:  # else this process published it
            taken = max(0.0, clock.wall(now) - batch.published / 1000)
            self._batches.append((now, taken, batch.count))

    def milliseconds(self, share: float, now: float) -> float | None:
        """Return the latency that a share of the events had at most; None without events."""
        since = now - LATENCY_WINDOW_SECONDS
        late = sorted((taken, count) for when, taken, count in self._batches if when >= since)
        rank = ceil(share * sum(count for _, count in late))
        for taken, count in late:
            rank -= count
            if rank <= 0:
                return taken * 1000
        return None


class Inbox:
    """The inbox of one process: the deliveries of each community, and the state that they share.

    `note` notes what became of each event; with it, latencies are kept.
    """

    def __init__(self, note: NoteEvent | None = None) -> None:
        self.me = PeerId(b"")
        """The peer id of this process, from the start of its runner; each start has a new one."""
        self.clock = Clock()
        """The wall clock, by the time of the loop; from then on."""
        self.hierarchy = Hierarchy()
        """The super-topics of topics, as this process knows them."""
        self.attributes = EventAttributes()
        """Reads the attributes of events, for the filters of all subscriptions."""
        self.note = note
        self.communities: dict[GroupId, Deliveries[Any]] = {}
        """Those that somebody may subscribe to at present."""
        self.missed_before = 0
        """The events that subscriptions have missed which have ended."""

    def begin(self, me: PeerId, clock: Clock) -> None:
        """Deliver for a process that has just started."""
        self.me, self.clock = me, clock

    @property
    def missed(self) -> int:
        """How many events all subscriptions have missed so far."""
        return self.missed_before + sum(
            subscription.missed
            for deliveries in self.communities.values()
            for subscription in deliveries.subscriptions
        )

    def room(self, topics: Iterable[Topic]) -> tuple[int, int]:
        """Return how many more events, and bytes of their payloads, some queue may hold.

        What is held back counts in the bounds of the queues. The one with most room decides: a
        slow subscriber, whose queue is full, costs the others no order.
        """
        rooms = [
            subscription.queue.room
            for topic in topics
            if (deliveries := self.communities.get(topic.group)) is not None
            for subscription in deliveries.subscriptions
        ]
        return (
            max((events for events, _ in rooms), default=0),
            max((size for _, size in rooms), default=0),
        )

    def deliver(self, delivered: Deliver) -> None:
        """Hand a batch to the subscriptions of its community."""
        deliveries = self.communities.get(delivered.group)
        if deliveries is not None:
            if delivered.last_value:
                deliveries.deliver_last_value(delivered.batch)
            else:
                deliveries.deliver(delivered.batch, history=delivered.history)

    def tell(self, told: Iterable[Tell]) -> None:
        """Report to subscriptions the events that can no longer be had."""
        for group, missed in told:
            deliveries = self.communities.get(group)
            if deliveries is not None:
                deliveries.tell(missed)


class Deliveries(Generic[E]):
    """The subscriptions to one community, and what they got."""

    def __init__(self, topic: Topic, inbox: Inbox) -> None:
        self.topic = topic
        self._inbox = inbox
        self.subscriptions: dict[EventFeed[E], None] = {}
        self._wheres: dict[Interest | None, int] = {}
        """The filters of the subscriptions, and how many have each."""
        self.delivered = 0
        """Events received while at least one subscription existed."""
        self.latencies = None if inbox.note is None else Latencies()
        self._decoder: typed.EventDecoder[E] | None = None
        self._missed_before = self._errors_before = 0  # those of subscriptions that have ended

    @property
    def missed(self) -> int:
        """How many events the subscriptions have dropped, those that have ended included."""
        return self._missed_before + sum(one.missed for one in self.subscriptions)

    @property
    def errors(self) -> int:
        """How often callbacks have raised, those of ended subscriptions included."""
        return self._errors_before + sum(one.errors for one in self.subscriptions)

    def learn_class(self, cls: type[E]) -> None:
        """Decode typed events as instances of a class, in place of the one that it defines again.

        Raises `TypedEventError` for another class than before.
        """
        before = None if self._decoder is None else self._decoder.cls
        if before is cls:
            return
        if before is not None and not typed.is_same_class(before, cls):
            raise typed.TypedEventError(typed.two_classes(self.topic.name, before, cls))
        self._decoder = typed.EventDecoder(cls)

    def interest(self) -> Interest | None:
        """Return the union of what the subscriptions want; None if it is all, or there are none."""
        precise = [where for where in self._wheres if where is not None]
        return union_of(precise) if precise and None not in self._wheres else None

    def begin(self, subscription: EventFeed[E]) -> None:
        """Let a subscription get what is delivered."""
        self.subscriptions[subscription] = None
        self._wheres[subscription.where] = self._wheres.get(subscription.where, 0) + 1

    def end(self, subscription: EventFeed[E]) -> bool:
        """Count what an ended subscription has missed; say whether it was in `subscriptions`."""
        self._missed_before += subscription.missed
        self._inbox.missed_before += subscription.missed
        self._errors_before += subscription.errors
        if subscription not in self.subscriptions:
            return False
        del self.subscriptions[subscription]
        self._wheres[subscription.where] -= 1
        if not self._wheres[subscription.where]:
            del self._wheres[subscription.where]
        return True

    def close(self) -> None:
        """End all subscriptions."""
        subscriptions, self.subscriptions = self.subscriptions, {}
        self._wheres.clear()
        for subscription in subscriptions:
            subscription.close()

    def tell(self, missed: Missed) -> None:
        """Tell every subscription what can no longer be had."""
        for subscription in self.subscriptions:
            subscription.tell(missed)

    def deliver(self, batch: Batch, *, history: bool) -> None:
        """Hand a batch to all subscriptions; with `history`, to those that asked for its time.

        A probe is for nobody: that it arrived is noted where it was received.
        """
        levels = batch.topic.levels
        if levels and levels[-1] == PROBE:
            return
        subscriptions = list(self.subscriptions)
        if history:
            published = batch.since - batch.age
            subscriptions = [one for one in subscriptions if one.history_from <= published]
        if subscriptions:
            self.delivered += batch.count
            if self.latencies is not None and not history:
                now = asyncio.get_running_loop().time()
                self.latencies.note(batch, self._inbox.clock, now)
            self.hand_to(subscriptions, batch)

    def deliver_last_value(self, batch: Batch) -> None:
        """Hand the last value of a key, which others have kept, to those who want such."""
        if subscriptions := [one for one in self.subscriptions if one.latest]:
            self.delivered += 1
            self.hand_to(subscriptions, batch)

    def hand_to(self, subscriptions: Iterable[EventFeed[E]], batch: Batch) -> None:
        """Put into the queue of each of these subscriptions what it wants of a batch."""
        received = self.received(batch) if batch.flags & TYPED else received_of(batch)
        above: Sequence[Topic] | None = None
        read: list[tuple[Mapping[str, object], Sequence[Topic]]] | None = None
        for subscription in subscriptions:
            if not subscription.own and batch.stream.startswith(self._inbox.me):
                continue
            if batch.flags & KEYED and not subscription.takes(batch):
                continue
            where = subscription.where
            if where is None:
                subscription.put(received)
                continue
            if above is None:
                above = self._above(batch.topic)
            wanted = matches_by_topic(where, batch.topic, above)
            if wanted:
                subscription.put(received)
            elif wanted is False and not batch.typed:
                self._note("filtered", received)
            else:
                if read is None:  # once for all subscriptions of the community
                    reader = self._inbox.attributes
                    read = [
                        (reader.of(event), (*above, *reader.topics_of(event)))
                        for event in batch.events()
                    ]
                matches = [where.matches(batch.topic, *one) for one in read]
                if all(matches):
                    subscription.put(received)
                elif any(matches):
                    assert isinstance(received, ReceivedBatch)  # a part of several matches
                    places = [place for place, one in enumerate(matches) if one]
                    subscription.put(received.part(places))
                    filtered = [place for place, one in enumerate(matches) if not one]
                    self._note("filtered", received.part(filtered))
                else:
                    self._note("filtered", received)

    def received(self, batch: Batch) -> Received[E] | ReceivedBatch[E]:
        """Return what subscribers of the community get of a batch."""
        decode: Callable[[bytes], E | Sent | bytes] | None = None
        if batch.typed:
            decode = typed.read_sent if self._decoder is None else self._decoder.decode
        return received_of(batch, decode)

    def _above(self, topic: Topic) -> Sequence[Topic]:
        """Return the topics that include a topic of the events here, beside those of its name.

        An event is in this community because the community's topic includes its own.
        """
        hierarchy = self._inbox.hierarchy
        if hierarchy.is_plain and self.topic.includes(topic):
            return ()
        return (self.topic, *hierarchy.ancestors(self.topic), *hierarchy.ancestors(topic))

    def note_lagged(self, dropped: Received[E] | ReceivedBatch[E]) -> None:
        """Note what was dropped because the queue of a subscription was full."""
        self._note("lagged", dropped)

    def _note(self, kind: EventKind, events: Received[E] | ReceivedBatch[E]) -> None:
        note = self._inbox.note
        if note is not None:
            now = asyncio.get_running_loop().time()
            for event_id in [events.id] if isinstance(events, Received) else events.ids:
                note(now, kind, self.topic.name, event_id)
