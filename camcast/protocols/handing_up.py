"""Handing up: a busy stream enters each community above at one process, and has a tree there.

Theory of operation
-------------------
Infect and die lets an event climb by g·a copies on average (`camcast.protocols.camcast.Upward`),
so that it enters the community above at several processes. A stream that has a tree
(`camcast.protocols.tree`) climbs along one edge of that tree in place of these.

*Entry.* The process at which a stream enters a community - its publisher, or one that has it from
below - hands it up: it offers each batch to one super-process of each super-topic table
(`camcast.engine.repair.offers`), and to the next one after `OFFERED_SECONDS`.

*Taker.* A super-process that gets a batch so, and has no other way to the stream, is the entry of
its own community, and grafts to the process that it has the batch from. That one pushes the stream
to it from then on. A super-process that has another way says so (`Prune`), and is offered no more.
Who uses infect and die above does neither, and is offered each batch.

*Takeover.* The other members announce the stream upward as they do all events
(`camcast.engine.repair.upward`). Where a taker falls silent, or who hands up to it, super-processes
lack what is announced. They ask for it once their own parent has been silent for long enough, and
the first that is answered becomes the entry, as inside a community another neighbour takes the
place of a parent.

Messages to a process of a community below go to that community, whose name a `Have` tells
(`HandingUp.add_teller`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, NamedTuple, TypeVar

from attrs import define

from camcast.doors.dissemination import DisseminationContext, SuperTable
from camcast.doors.repair import Repairs
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic

# chosen: some round trips around the world; a dead super-process takes no more events than that
OFFERED_SECONDS: Final = 1.0
TAKERS_MAX: Final = 16  # chosen: more than the super-topic tables of a process hold at a time
REMEMBERED_MAX: Final = 1024  # chosen: 64 streams, of each of which sixteen processes tell or ask


_T = TypeVar("_T")
_Key = tuple[StreamId, PeerId]


class Above(NamedTuple):
    """A process of a community above this one."""

    contact: Contact
    topic: Topic


class Below(NamedTuple):
    """A process of a community below this one."""

    contact: Contact
    group: GroupId


@define(eq=False)
class _Way:
    """How one stream climbs by one super-topic table."""

    offered_to: Contact | None = None
    topic: Topic | None = None
    """The topic of the community of that process."""
    since: float = -inf
    """Since when it is offered the stream."""
    refused: bool = False
    """Whether a process above has said that it gets the stream in another way."""


class HandingUp:
    """The edges between communities of the trees of one process."""

    def __init__(self, context: DisseminationContext, repair: Repairs) -> None:
        self._context = context
        self._repair = repair
        self._ways: dict[StreamId, dict[SuperTable, _Way]] = {}
        self._takers: dict[StreamId, dict[PeerId, Above]] = {}
        """The super-processes to which this process pushes each stream."""
        self._askers: dict[_Key, Above] = {}
        """The processes above that were sent what they asked for of a stream; the latest last."""
        self._tellers: dict[_Key, Below] = {}
        """The processes below that have told of a stream; the latest last."""

    # -- upward ----------------------------------------------------------------------------

    def hand_up(
        self, batch: Batch, tables: Iterable[SuperTable], now: float, *, is_entry: bool
    ) -> int:
        """Push a batch to those who take its stream, or offer it; return to how many it went."""
        takers = self._takers.get(batch.stream, {})
        by_topic: dict[Topic, list[Contact]] = {}
        for contact, topic in takers.values():
            by_topic.setdefault(topic, []).append(contact)
        for topic, contacts in by_topic.items():
            if batch.is_long:
                self._repair.offer(batch, contacts, now, topic)
            else:
                self._context.events.send_upward(batch, topic, contacts, now)
        offered = 0
        for table in tables if is_entry else ():
            if any(topic in by_topic for topic in table.topics):
                continue
            way = self._ways.setdefault(batch.stream, {}).setdefault(table, _Way())
            if not way.refused and (one := self._offered_to(way, table, now)) is not None:
                self._repair.offer(batch, [one], now, way.topic)
                offered += 1
        return len(takers) + offered

    def _offered_to(self, way: _Way, table: SuperTable, now: float) -> Contact | None:
        """Return the super-process that is offered a stream, after some time another one."""
        topic, above = table.nearest()
        if now - way.since >= OFFERED_SECONDS or topic != way.topic:
            others = [one for one in above if one != way.offered_to] or above
            way.offered_to = self._context.rng.choice(list(others)) if others else None
            way.topic, way.since = topic, now
        return way.offered_to

    def take(self, stream: StreamId, source: Contact, now: float) -> bool:
        """Push a stream to a process from now on, if it is one above that has asked for it."""
        asker = self._askers.get((stream, source.peer))
        if asker is None:
            return False
        takers = self._takers.setdefault(stream, {})
        if len(takers) < TAKERS_MAX:
            takers[source.peer] = asker
            # Not `watch`, which asks whether it is in this community.
            self._context.liveness.listen(source, now)
        return True

    def takers(self, stream: StreamId) -> Iterable[Above]:
        """Return the processes above to which a stream is pushed."""
        return self._takers.get(stream, {}).values()

    def add_asker(self, stream: StreamId, above: Above) -> None:
        """Remember that a process above has asked for a stream, and got some of it."""
        _remember(self._askers, (stream, above.contact.peer), above)

    def refuse(self, stream: StreamId, peer: PeerId) -> None:
        """Hand a stream up to a process no more, which gets it in another way."""
        self.lose(peer, [stream])
        for table, way in self._ways.get(stream, {}).items():
            if any(one.peer == peer for one in table.nearest()[1]):
                way.refused = True

    def lose(self, peer: PeerId, streams: Sequence[StreamId] | None = None) -> None:
        """Push these streams, or all, no more to a process that is gone; offer them to another."""
        for stream in list(self._takers) if streams is None else streams:
            taken = self._takers.get(stream, {}).pop(peer, None)
            if taken is None:
                continue
            if not self._takers[stream]:
                del self._takers[stream]
            for table, way in self._ways.get(stream, {}).items():
                if taken.topic in table.topics:
                    way.offered_to, way.since, way.refused = taken.contact, -inf, False

    def forget(self, stream: StreamId) -> list[PeerId]:
        """Forget a stream that has no tree any longer; return those that it was pushed to."""
        self._ways.pop(stream, None)
        return list(self._takers.pop(stream, {}))

    def pushes_to(self, peer: PeerId) -> bool:
        """Whether some stream is pushed to a super-process."""
        return any(peer in takers for takers in self._takers.values())

    # -- from below ------------------------------------------------------------------------

    def add_teller(self, stream: StreamId, below: Below) -> None:
        """Remember that a process below has a stream."""
        _remember(self._tellers, (stream, below.contact.peer), below)

    def teller(self, stream: StreamId, peer: PeerId) -> Below | None:
        """Return a process below that has told of a stream, with its community."""
        return self._tellers.get((stream, peer))


def _remember(known: dict[_Key, _T], key: _Key, what: _T) -> None:
    known.pop(key, None)
    known[key] = what
    if len(known) > REMEMBERED_MAX:
        del known[next(iter(known))]
