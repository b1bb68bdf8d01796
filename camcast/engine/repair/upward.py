"""What one community's repair tells the communities above it, since events climb.

A process sends its news with p_sel, four times in eight seconds and each time to another
super-process of each super-topic table: to one, or to several in a community of fewer than g. It
surely does so with what it has brought into the community itself, as its publisher or from another
level, and of this also a tenth of a second after it came. A super-process that is new to it, or is
back, is told all that is kept, unless it came in exchange for another, and so are all when one has
failed, which may have heard nothing. What is told for the last time is told again, each time to
another super-process, until one says that it has come (`Heard`). The super-process asks for what it
lacks, and is told of nothing else below it. What it gets is as fresh as if it had climbed: it is
pushed, and climbs on.

*Newcomers above.* Nobody asks for what is older than its membership. So what was said below while
all members of a community ended and others took their place would stay below, though members
farther up were there for it. A super-topic table knows since when that may be so
(`SuperTable.unserved_since`); the `Have` says it as `history`, and the super-process asks for as
much. It keeps and announces such a batch, for older members and those above, and delivers nothing.
What it carries so it tells as `history` in turn: its own super-processes, too, may be newcomers.

*Older members above.* A super-process that is a newcomer refers to an older member of its community
(`camcast.engine.repair.referring`). That one is told of what is kept from before the oldest entry
of the super-topic table came in, or soon after: all who got it there may have died.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Final

from attrs import define

from camcast.engine.repair.agreement import FULL_SECONDS
from camcast.engine.repair.changes import CLIMBING_SECONDS, NEWS_SECONDS, TOLD_AGAIN
from camcast.engine.repair.haves import Haves, Unheard
from camcast.engine.repair.shared import Shared
from camcast.engine.store import published_at
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic

# chosen: one event in thirty draws no upward message; it is then asked for `ASK_SECONDS` later
CLIMB_SECONDS: Final = 0.1
# chosen: two rounds of news; what is told on its way up asks for a little more than is needed
IN_TIME: Final = TOLD_AGAIN * NEWS_SECONDS
HEARD_SECONDS: Final = 1.5  # chosen: two rounds of news; a `Heard` is sooner, except in a pause


@define(eq=False)
class _Above:
    """What is remembered of the super-processes of one super-topic table."""

    told: dict[PeerId, None] | None = None
    """The super-processes that were told all that is kept, or need not be; None before any news."""
    topic: Topic | None = None
    """The topic of their community: that which is nearest."""
    failures: int = 0
    """How many had failed by then."""

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

    def __init__(self, shared: Shared, haves: Haves) -> None:
        self._shared = shared
        self._haves = haves
        tables = shared.context.super_tables
        self._above = [_Above() for _ in tables]
        self._unheard: list[dict[int, Unheard]] = [{} for _ in tables]
        """For each super-topic table, the pages to be told again, by the number that a `Heard`
        gives."""
        self._climbing: dict[StreamId, None] = {}  # what came in here, and is untold above

    @property
    def waits(self) -> bool:
        """Whether something is to be told until a super-process has heard it."""
        return any(self._unheard)

    def brought(self, stream: StreamId, history: float) -> None:
        """Note that this process has brought something of a stream into the community.

        `history` is when it was published if that is before this process's time, else infinite.
        """
        brought = self._shared.changes.brought
        brought[stream] = min(history, brought.get(stream, inf))
        if self._shared.context.super_tables:
            if not self._climbing:
                self._shared.outlet.wake(CLIMB_SECONDS, "climb")
            self._climbing[stream] = None

    def climb(self, now: float) -> None:
        """Tell what was brought in since this was last done."""
        climbing, self._climbing = self._climbing, {}
        self.tell([list(climbing), []], now)  # not for the last time

    def heard(self, peer: PeerId, number: int) -> None:
        """Take it that a super-process has heard what it was told under a number."""
        for unheard in self._unheard:
            page = unheard.get(number)
            if page is not None and page.peer == peer:
                del unheard[number]

    def tell_elder(self, source: Contact, elder: Contact, now: float) -> bool:
        """Tell an older member above, to which `source` refers, what may have been lost there.

        Returns False, and tells nothing, if `source` is no super-process.
        """
        shared = self._shared
        for table in shared.context.super_tables:
            topic, above = table.nearest()
            if all(one.peer != source.peer for one in above):
                continue
            after, linked = now - shared.retention, table.linked_since() + CLIMBING_SECONDS
            agreement = shared.neighbour(elder.peer).agreement
            if now - agreement.told_at >= FULL_SECONDS and self._haves.room(now) > 0:
                agreement.told_at = now
                older = [
                    stream
                    for stream in shared.heard_after(after)
                    if (kept := shared.store.lowest(stream, after)) and published_at(kept) < linked
                ]
                held = self._haves.held(older, after, now, upward=True)
                self._haves.send(elder, held, now, above=topic)
            return True
        return False

    def tell(self, news: Sequence[Sequence[StreamId]], now: float) -> None:
        """Tell super-processes, each time others, with p_sel; surely of what came in here."""
        context, parameters = self._shared.context, self._shared.context.parameters
        size, brought = context.membership.size(), self._shared.changes.brought
        tables = zip(context.super_tables, self._above, self._unheard, strict=True)
        for table, state, unheard in tables:
            topic, above = table.nearest()
            told_all = state.follow(topic, above, table.failures)
            if not above or context.groups.membership(topic) is not None:
                for number, page in list(unheard.items()):
                    if now - page.when >= self._shared.retention:
                        del unheard[number]
                continue
            unserved = now - table.unserved_since(now) + IN_TIME
            unserved = min(max(0.0, unserved), self._shared.retention)
            drawn = context.rng.random() < parameters.selection_probability(size)
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
                place = context.rng.choice(new)
                told_all[above[place].peer] = None
                told[place] = list(self._shared.heard_after(now - self._shared.retention))
                until_heard[place] = None
            for place, streams in told.items():
                once = dict.fromkeys(streams)
                held = self._haves.held(once, now - self._shared.retention, now, upward=True)
                carried = min((brought.get(stream, inf) for stream in once), default=inf)
                history = max(unserved, now - since.get(place, inf), now - carried + IN_TIME)
                again = unheard if place in until_heard else None
                self._haves.send(
                    above[place], held, now, above=topic, history=history, unheard=again
                )
