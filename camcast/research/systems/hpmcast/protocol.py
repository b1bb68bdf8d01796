"""hpmcast: gossip level by level in a hierarchy of delegates (002, sections 3 to 6; Figure 6).

Everybody is in one group, whose membership (`camcast.research.systems.hpmcast`) keeps the views;
Figure 6 says what is sent when (`camcast.research.systems.hpmcast.rounds`). It is a feigned
multicast: delegates may receive events that do not interest them. Such events are counted as
parasites, and gossiped on. Interests compare topics and attributes (`camcast.interests.interest`);
tables above level 1 have them less precisely (`camcast.research.systems.hpmcast.coverage`).

Theory of operation
-------------------
Events travel as event records like those of all protocols. The numbers that Figure 6 sends along
(level, prob and rounds) go in a `Herald` before each event, in the same frame. Where the two arrive
apart, the event waits for its herald until the next gossip period, and a herald for its event. An
event whose herald is lost counts as one of the highest level at which this process is a delegate,
in its first round, so that no subsystem is left out.

The gossip period begins at random when there is something to gossip, and ends when there is
nothing: processes are not synchronised (5.1.2, "does not require participants to be synchronized").
A published event leaves for its first F processes at once, not after a period, so that the
publisher may leave soon, and learns whether the event left for anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Final

import attrs
from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.membership import Membership
from camcast.doors.options import OptionError
from camcast.doors.protocol import Group, Protocol
from camcast.research.systems.hpmcast.address import Address, distance
from camcast.research.systems.hpmcast.audience import Audiences
from camcast.research.systems.hpmcast.hierarchy import HierarchicalViews, Hierarchy
from camcast.research.systems.hpmcast.rounds import Copy, LevelGossip
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import Event, EventId, StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.topics import ROOT, Topic

HERALDS_MAX: Final = 4096  # chosen: heralds without their events; a bound, as peers send them
# chosen: events gossiped at a time, with as many audiences; a bound, as peers send them. Measured:
# 4 MB in all for tables of 40 lines.
BUFFERED_MAX: Final = 4096

_DEFAULT: Final = Hierarchy()


class Herald(Message, tag=1, frozen=True):
    """The message that Figure 6 sends along with an event (line 14)."""

    stream: StreamId
    sequence: int
    share: float
    rounds: int
    level: int


class LevelWise(Dissemination):
    """The dissemination of Figure 6, for one process; see the module's theory of operation.

    Raises `OptionError` for a membership without hierarchical views.
    """

    decoder = Decoder(Herald)

    def __init__(
        self,
        fan_out: int,
        period_seconds: float,
        context: DisseminationContext,
        threshold: int = 0,
        constant: float = 0.0,
    ) -> None:
        self._views = hierarchical(context.membership)
        self._views.announce(context.interest)
        self._context = context
        self._period = period_seconds
        hierarchy = self._views.hierarchy
        self._audiences = Audiences(self._views, context.attributes, threshold)
        self._address = hierarchy.address_of(context.me.peer)
        self._levels = hierarchy.depth
        self._gossip: LevelGossip[EventId, Address] = LevelGossip(
            me=self._address,
            levels=self._levels,
            redundancy=hierarchy.redundancy,
            fan_out=fan_out,
            audience=lambda level, event: self._audiences.of(level, self._event(event)),
            rng=context.rng,
            constant=constant,
        )
        self._events: dict[EventId, Batch] = {}
        """The events that are gossiped, or wait for their heralds."""
        self._waiting: dict[EventId, None] = {}
        self._heralds: dict[EventId, Herald] = {}
        self._awake = False

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """See `Dissemination`; counts the copies that leave at once, none of events received."""
        if len(self._events) >= BUFFERED_MAX:
            self._forget(next(iter(self._events)))
        event = batch.id
        self._events[event] = batch
        sent = 0
        if source is None:
            self._gossip.begin(event, self._levels, self._unasked(self._event(event)))
            sent = self._send(self._gossip.gossip_of(event), now)
        elif herald := self._heralds.pop(event, None):
            self._enter(event, herald)
        else:
            self._waiting[event] = None
        self._begin()
        return Sent(sent)

    @override
    def receive(self, source: Contact, message: Herald, now: float) -> None:
        event = EventId(message.stream, message.sequence)
        if event in self._waiting:
            del self._waiting[event]
            self._enter(event, message)
        elif not self._gossip.knows(event):
            if len(self._heralds) >= HERALDS_MAX:
                del self._heralds[next(iter(self._heralds))]
            self._heralds.setdefault(event, message)

    @override
    def wake(self, name: tuple[Any, ...], now: float) -> None:
        """Execute the task of a gossip period (Figure 6, line 4)."""
        self._awake = False
        for event in self._waiting:
            self._gossip.begin(event, self._top())
        self._waiting.clear()
        self._send(self._gossip.gossip(), now)
        for known in [known for known in self._events if not self._gossip.holds(known)]:
            self._forget(known)
        if self._events:
            self._awake = True
            self._context.outlet.wake(self._period, "gossip")

    def _unasked(self, event: Event) -> int:
        """Return 1 if a published event interests no process of this one's own subsystem, else 0.

        Equation 9's n p_1 are all processes among which an event spreads, the publisher too.
        Without the publisher, pmcast would not send at all an event that interests a single other
        process: "becoming 0 in p1 n = 1" (5.3.1).
        """
        at = self._audiences.of(self._levels, event)
        own = (
            want
            for one, want in zip(at.processes, at.wanted, strict=True)
            if distance(one, self._address) < self._levels
        )
        return 0 if any(own) else 1

    def _event(self, known: EventId) -> Event:
        (event,) = self._events[known].events()  # a batch has one event here
        return event

    def _begin(self) -> None:
        if not self._awake:
            self._awake = True
            self._context.outlet.wake(self._period * self._context.rng.random(), "gossip")

    def _enter(self, event: EventId, herald: Herald) -> None:
        try:
            self._gossip.receive(event, herald.share, herald.rounds, herald.level)
        except ValueError:  # numbers that no process of this hierarchy sends
            self._gossip.begin(event, self._top())

    def _forget(self, event: EventId) -> None:
        self._gossip.forget(event)
        self._audiences.forget(event)
        self._waiting.pop(event, None)
        del self._events[event]

    def _send(self, copies: Sequence[Copy[EventId, Address]], now: float) -> int:
        context, views = self._context, self._views
        for (event, level), group in groupby(copies, key=lambda copy: (copy.event, copy.level)):
            same = list(group)
            contacts = [views.contact(copy.to) for copy in same]
            share, rounds = same[0].share, same[0].rounds
            herald = Herald(event.stream, event.sequence, share, rounds, level)
            context.outlet.send(contacts, herald)
            context.events.send(self._events[event], contacts, now)
            views.gossip_along(contacts, now)
        return len(copies)

    def _top(self) -> int:
        """Return the highest level in whose table this process is."""
        level = 1
        while level < self._levels and any(
            self._address in line.delegates for line in self._views.table(level + 1)
        ):
            level += 1
        return level


def hierarchical(membership: Membership) -> HierarchicalViews:
    """Return a membership as one with hierarchical views; raises `OptionError` if it is none."""
    if not isinstance(membership, HierarchicalViews):
        raise OptionError(
            "hpmcast and pmcast need a membership that keeps hierarchical views, such as"
            f" 'hpmcast'; a {membership.__class__.__name__} keeps none"
        )
    return membership


@frozen(kw_only=True)
class Hpmcast(Protocol):
    """One group of everybody, in a hierarchy."""

    name: ClassVar[str] = "hpmcast"
    source: ClassVar[str] = "002, sections 3 to 6"
    # chosen: by half a step of what the paper varies
    efforts: ClassVar[Sequence[Mapping[str, float]]] = tuple(
        {"fan_out": f} for f in (2, 3, 4, 5, 6, 8)
    )
    membership: ClassVar[str | None] = "hpmcast"
    parasitic: ClassVar[bool] = True
    selective: ClassVar[bool] = True

    arity: int = _DEFAULT.arity
    """a; see `Hierarchy`."""
    depth: int = _DEFAULT.depth
    """l."""
    redundancy: int = _DEFAULT.redundancy
    """R."""
    fan_out: int = field(default=3, validator=validators.ge(1))
    """F: processes chosen in a period, of whom the interested get a copy. chosen: 2 of Figures 7
    and 8 is for views of 66 and 22; in smaller ones 3 halves what is missed after crashes"""
    threshold: int = field(default=0, validator=validators.ge(0))
    """D: a smaller audience of a view is made this large. [hpmcast 5.4] an option; 0 is none"""
    period_seconds: float = field(default=0.1, validator=validators.gt(0))
    """P. chosen: above most delays, as the analysis asks (2.1.2), and a second for ten rounds"""

    def __attrs_post_init__(self) -> None:
        self.hierarchy  # noqa: B018  # raises what is out of range

    @property
    def hierarchy(self) -> Hierarchy:
        """How the processes are arranged."""
        return Hierarchy(arity=self.arity, depth=self.depth, redundancy=self.redundancy)

    @override
    def membership_options(self) -> Mapping[str, object]:
        """Return the hierarchy."""
        return attrs.asdict(self.hierarchy)

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the group of everybody."""
        spread = partial(LevelWise, self.fan_out, self.period_seconds, threshold=self.threshold)
        return (Group(ROOT, spread),)
