"""The news of one community: what has changed is told to neighbours and to communities above.

A second after something came it is told to two neighbours; nothing when nothing came
(`camcast.engine.repair.told.Changes`). What was asked for, and came, is told sooner (`News`).

*Upward.* Events climb. A process sends its news with p_sel, four times in eight seconds and each
time to another super-process of each super-topic table: to one, or to several in a community of
fewer than g. It always does so for events that it brought into the community, as its publisher or
from another level, and of this also a tenth of a second after it came. A super-process that is
new to it, or is back, is told all that is kept, unless it came in exchange for another, and so are
all when one has failed, which may have heard nothing. What is told for the last time is told again,
each time to another super-process, until one says that it has come (`Heard`). The super-process
asks for what it lacks, and is told of nothing else below it. What it gets is as fresh as if it had
climbed: it is pushed, and climbs on.

*Members above.* A process that is in the super-community, too, hands events over there, and tells
nothing. What came before it joined there is told on: for `IN_TIME`, and until it is heard.

*Newcomers above.* Nobody asks for what is older than its membership. What was said below while
all members of a community ended and others took their place would stay below, though members
farther up were there for it. A super-topic table knows since when that may be so
(`SuperTable.unserved_since`); the `Have` says it as `history`, and the super-process asks for as
much. It keeps and announces such a batch, for older members and those above, and delivers nothing.
What it carries so it tells as `history` in turn: its own super-processes, too, may be newcomers.

*Older members above.* A super-process that is a newcomer refers to an older member of its community
(`camcast.engine.repair.history`). That one is told of what is kept from before the oldest entry of
the super-topic table came in, or soon after: all who got it there may have died.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import SuperTable
from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.told import (
    CLIMBING_SECONDS,
    FULL_SECONDS,
    NEWS_SECONDS,
    TOLD_AGAIN,
    Haves,
    RepairContext,
    Unheard,
)
from camcast.engine.store import published_at
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic

# chosen: one event in thirty draws no upward message; it is then asked for `ASK_SECONDS` later
CLIMB_SECONDS: Final = 0.1
# chosen: two rounds of news; what is told on its way up asks for a little more than is needed
IN_TIME: Final = TOLD_AGAIN * NEWS_SECONDS
HEARD_SECONDS: Final = 1.5  # chosen: two rounds of news; a `Heard` is sooner, except in a pause
TOLD_AT_ONCE: Final = 2  # chosen: news go to two neighbours, of whom one may be cut off
URGENT_SECONDS: Final = 0.2  # chosen: what was asked for is announced soon, for it is late already


@define(eq=False)
class _Above:
    """The state of the super-processes of one super-topic table."""

    told: dict[PeerId, None] | None = None
    """The super-processes that were told all that is kept, or need not be; None before any news."""
    topic: Topic | None = None
    """The topic of their community: that which is nearest."""
    failures: int = 0
    """How many had failed by then."""
    unheard: dict[int, Unheard] = field(factory=dict)
    """The pages to be told again, by the number that a `Heard` gives."""
    member_since: float = inf
    """Since when this process has been a member of that community itself."""

    def owes(self, now: float, *, member: bool) -> bool:
        """Whether the super-processes are to be told of something.

        A `member` of their community hands over what comes, and owes what came before it was one.
        """
        self.member_since = min(now, self.member_since) if member else inf
        return not member or now - self.member_since < IN_TIME or bool(self.unheard)

    def follow(self, topic: Topic, above: Sequence[Contact], failures: int) -> dict[PeerId, None]:
        """Return `told` for the super-processes of now.

        Who was there before the first news needs not be told all, nor who comes in exchange for
        another: it has been a member for long. When one has failed, all may have heard nothing.
        """
        peers = dict.fromkeys(contact.peer for contact in above)
        if self.told is None:
            self.told = peers
        elif failures != self.failures or topic != self.topic:
            self.told = {}
        else:
            stayed = {peer: None for peer in self.told if peer in peers}
            exchanged = len(self.told) - len(stayed)
            self.told = stayed | dict.fromkeys(list(peers)[len(peers) - exchanged :])
        self.topic, self.failures = topic, failures
        return self.told


class Upward:
    """Tells super-processes what their community may lack."""

    def __init__(self, context: RepairContext, haves: Haves) -> None:
        self._context = context
        self._haves = haves
        self._above: dict[SuperTable, _Above] = {}
        """The state of each super-topic table that there is, or was at the last news."""
        self._climbing: dict[StreamId, None] = {}  # what came in here, and is untold above

    @property
    def waits(self) -> bool:
        """Whether something is to be told until a super-process has heard it."""
        return any(state.unheard for state in self._above.values())

    def add_brought(self, stream: StreamId, history: float) -> None:
        """Add a stream of which this process has brought something into the community.

        `history` is when it was published if that is before this process's time, else infinite.
        """
        brought = self._context.changes.brought
        brought[stream] = min(history, brought.get(stream, inf))
        if self._context.community.super_tables:
            if not self._climbing:
                self._context.outlet.wake(CLIMB_SECONDS, "climb")
            self._climbing[stream] = None

    def climb(self, now: float) -> None:
        """Tell what was brought in since this was last done."""
        climbing, self._climbing = self._climbing, {}
        self.tell([list(climbing), []], now)  # not for the last time

    def on_heard(self, peer: PeerId, number: int) -> None:
        """Forget the page of this number, which a super-process has received."""
        for state in self._above.values():
            page = state.unheard.get(number)
            if page is not None and page.peer == peer:
                del state.unheard[number]

    def tell_elder(self, source: Contact, elder: Contact, now: float) -> bool:
        """Tell an older member above, to which `source` refers, what may have been lost there.

        Returns False, and tells nothing, if `source` is no super-process.
        """
        context = self._context
        for table in context.community.super_tables:
            topic, above = table.nearest()
            if all(one.peer != source.peer for one in above):
                continue
            after, linked = now - context.retention, table.linked_since() + CLIMBING_SECONDS
            agreement = context.neighbour(elder.peer).agreement
            if now - agreement.told_at >= FULL_SECONDS and self._haves.room(now) > 0:
                agreement.told_at = now
                older = [
                    stream
                    for stream in context.heard_after(after)
                    if (kept := context.store.lowest(stream, after)) and published_at(kept) < linked
                ]
                held = self._haves.held(older, after, now, upward=True)
                self._haves.send(elder, held, now, above=topic)
            return True
        return False

    def tell(self, news: Sequence[Sequence[StreamId]], now: float) -> None:
        """Tell super-processes, each time others, with p_sel; surely of what came in here."""
        community = self._context.community
        parameters = community.parameters
        size, brought = community.membership.size(), self._context.changes.brought
        # To a table that stands in for others which have died, all that is kept is news.
        self._above = {
            table: self._above.get(table) or _Above(told={} if table.stands_in else None)
            for table in community.super_tables
        }
        for table, state in self._above.items():
            unheard = state.unheard
            topic, above = table.nearest()
            told_all = state.follow(topic, above, table.failures)
            member = community.groups.membership(topic) is not None
            if not state.owes(now, member=member) or not above:
                for number, page in list(unheard.items()):
                    if now - page.when >= self._context.retention:
                        del unheard[number]
                continue
            unserved = now - table.unserved_since(now) + IN_TIME
            unserved = min(max(0.0, unserved), self._context.retention)
            drawn = community.rng.random() < parameters.selection_probability(size)
            at_once = ceil(len(above) * parameters.link_probability(size, len(above)))
            told: dict[int, list[StreamId]] = {}
            until_heard: dict[int, None] = {}
            since: dict[int, float] = {}
            for often, streams in enumerate(news):
                chosen = [stream for stream in streams if drawn or stream in brought]
                for place in range(at_once) if chosen else ():
                    place = (int(now / NEWS_SECONDS) + often + place) % len(above)
                    told.setdefault(place, []).extend(chosen)
                    if often == len(news) - 1:
                        until_heard[place] = None
            for number, page in list(unheard.items()):
                if now - page.when >= HEARD_SECONDS:
                    del unheard[number]
                    place = int(now / NEWS_SECONDS) % len(above)
                    told.setdefault(place, []).extend(page.streams)
                    since[place] = min(page.since, since.get(place, inf))
                    until_heard[place] = None
            new = [place for place, one in enumerate(above) if one.peer not in told_all]
            if drawn and new:
                place = community.rng.choice(new)
                told_all[above[place].peer] = None
                told[place] = list(self._context.heard_after(now - self._context.retention))
                until_heard[place] = None
            for place, streams in told.items():
                once = dict.fromkeys(streams)
                held = self._haves.held(once, now - self._context.retention, now, upward=True)
                carried = min((brought.get(stream, inf) for stream in once), default=inf)
                history = max(unserved, now - since.get(place, inf), now - carried + IN_TIME)
                again = unheard if place in until_heard else None
                self._haves.send(
                    above[place], held, now, above=topic, history=history, unheard=again
                )


class News:
    """Tells neighbours, and through `Upward` super-processes, what has changed."""

    def __init__(self, context: RepairContext, haves: Haves, upward: Upward) -> None:
        self._context = context
        self._haves = haves
        self._upward = upward
        self._timer = 0  # the number of the timer for news; those before are void
        self._at = inf  # when it ends
        self._urgent: dict[StreamId, None] = {}  # what was asked for, has come, and is untold

    def add_change(self, stream: StreamId, known: KnownRanges, now: float) -> None:
        """Add a stream in which something has changed, which the next news tell."""
        changes = self._context.changes
        if stream not in changes.recent:
            changes.add(stream, known)
            if self._at > now + NEWS_SECONDS:
                self._tell_after(NEWS_SECONDS, now)

    def add_urgent(self, stream: StreamId) -> None:
        """Add a stream of which something came that was asked for."""
        if not self._urgent:
            self._context.outlet.wake(URGENT_SECONDS, "urgent")
        self._urgent[stream] = None

    def tell_urgent(self, now: float) -> None:
        """Tell neighbours what came that was asked for."""
        urgent, self._urgent = self._urgent, {}
        self._tell_neighbours(list(urgent), now)

    def wake(self, number: int, now: float) -> None:
        """Tell the news, if this timer is the latest."""
        if number != self._timer:
            return
        self._at = inf
        self._context.store.expire(now)
        news, upward = self._context.changes.take_news(now)
        self._tell_neighbours(news, now)
        self._upward.tell(upward, now)
        if self._context.changes.active or self._upward.waits:
            self._tell_after(NEWS_SECONDS, now)
        elif self._context.community.super_tables and self._keeps_something(now):
            self._tell_after(self._context.community.parameters.check_seconds, now)

    def _tell_after(self, seconds: float, now: float) -> None:
        self._timer += 1
        self._at = now + seconds
        self._context.outlet.wake(seconds, "news", self._timer)

    def _tell_neighbours(self, news: Sequence[StreamId], now: float) -> None:
        neighbours = self._context.community.membership.neighbours() if news else ()
        held = list(self._haves.held(news, -inf, now)) if neighbours else ()
        for contact in self._context.sample(neighbours, TOLD_AT_ONCE):
            self._haves.send(contact, held, now)

    def _keeps_something(self, now: float) -> bool:
        """Whether a body is still kept here that a super-process could lack."""
        newest = next(self._context.changes.newest_first(), None)
        known = None if newest is None else self._context.streams.known.get(newest)
        return known is not None and now - known.heard < self._context.retention
