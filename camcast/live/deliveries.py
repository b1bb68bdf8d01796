"""Deliveries: a batch of one community goes to each subscription that wants it.

The topic alone decides whether a subscription wants a batch, or the attributes of each event do;
the subscription then gets the batch, a part of it, or nothing. Typed events are decoded once for
all subscriptions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Generic

from camcast import typed
from camcast.interests.attributes import matches_by_topic
from camcast.interests.bounded import union_of
from camcast.interests.interest import Interest
from camcast.live.latencies import Latencies
from camcast.live.recent import Recent
from camcast.live.runner import Runner
from camcast.received import Received, ReceivedBatch, received_of
from camcast.subscription import Subscription
from camcast.typed import E, Sent
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import Missed
from camcast.vocabulary.topics import Topic


class Deliveries(Generic[E]):
    """The subscriptions to one community, and what they got.

    With `recent`, what became of each event is noted, and how long events took.
    """

    def __init__(self, topic: Topic, recent: Recent | None) -> None:
        self.topic = topic
        self._recent = recent
        self.subscriptions: list[Subscription[E]] = []
        self.delivered = 0
        """The events that came while there was a subscription."""
        self.latencies = None if recent is None else Latencies()
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
        """Decode typed events as instances of a class; the first one that is named stays."""
        if self._decoder is None:
            self._decoder = typed.EventDecoder(cls)

    def interest(self) -> Interest | None:
        """Return the union of what the subscriptions want; None if it is all, or there are none."""
        wheres = [subscription.where for subscription in self.subscriptions]
        precise = [where for where in wheres if where is not None]
        return union_of(precise) if precise and len(precise) == len(wheres) else None

    def end(self, subscription: Subscription[E]) -> bool:
        """Count what an ended subscription has missed; say whether it was in `subscriptions`."""
        self._missed_before += subscription.missed
        self._errors_before += subscription.errors
        if subscription not in self.subscriptions:
            return False
        self.subscriptions.remove(subscription)
        return True

    def close(self) -> None:
        """End all subscriptions."""
        subscriptions, self.subscriptions = self.subscriptions, []
        for subscription in subscriptions:
            subscription.close()

    def tell(self, missed: Missed) -> None:
        """Tell every subscription what can no longer be had."""
        for subscription in self.subscriptions:
            subscription.tell(missed)

    def deliver(self, batch: Batch, runner: Runner, *, history: bool) -> None:
        """Hand a batch to all subscriptions; with `history`, to those that asked for the past."""
        subscriptions = self.subscriptions
        if history:
            subscriptions = [one for one in subscriptions if one.wants_history]
        if subscriptions:
            self.delivered += batch.count
            if self.latencies is not None and not history:
                self.latencies.note(batch)
            self.hand_to(subscriptions, batch, runner)

    def hand_to(
        self, subscriptions: Iterable[Subscription[E]], batch: Batch, runner: Runner
    ) -> None:
        """Put into the queue of each of these subscriptions what it wants of a batch."""
        decode: Callable[[bytes], E | Sent | bytes] | None = None
        if batch.typed:
            decode = typed.read_sent if self._decoder is None else self._decoder.decode
        received = received_of(batch, decode)
        attributes: list[Mapping[str, object]] | None = None
        for subscription in subscriptions:
            if not subscription.own and batch.stream.startswith(runner.node.me.peer):
                continue
            where = subscription.where
            wanted = True if where is None else matches_by_topic(where, batch.topic)
            if wanted:
                subscription.put(received)
            elif wanted is False:
                self._note("filtered", received)
            elif where is not None:
                if attributes is None:  # read once for all subscriptions of the community
                    of = runner.node.attributes.of
                    attributes = [of(event) for event in batch.events()]
                matches = [where.matches(batch.topic, one) for one in attributes]
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

    def note_lagged(self, dropped: Received[E] | ReceivedBatch[E]) -> None:
        """Note what was dropped because the queue of a subscription was full."""
        self._note("lagged", dropped)

    def _note(self, kind: str, events: Received[E] | ReceivedBatch[E]) -> None:
        if self._recent is not None:
            now = asyncio.get_running_loop().time()
            for event_id in [events.id] if isinstance(events, Received) else events.ids:
                self._recent.note(now, kind, self.topic.name, event_id)
