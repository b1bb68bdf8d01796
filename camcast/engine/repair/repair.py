"""Repair: every live, connected member gets every event, or is told which it cannot (PROTOCOLS 8).

Theory of operation
-------------------
Infect and die misses e^(-c) of a community, and what is published through a partition or a pause
misses half of it. `Repair` is the part of one community in one process that finds out what is
missing, and asks for it. It needs two messages over streams with ranges
(`camcast.engine.repair.messages`): `Have` tells what its sender knows of some streams, and from
which number on it keeps the bodies; `Want` asks for ranges, and is answered by the batches as they
were published, flagged as repaired. Nothing that a `Have` says counts as known: a forged one costs
a question.

*What is missing* shows in three ways. A received batch leaves a hole below it, which is asked for
after `REORDER_SECONDS`, since n+1 often overtakes n, and later where processes are short of CPU
(`camcast.engine.repair.lateness`). The *news* tell of the streams that have
changed: a second after something came to two neighbours, and a second later to two more; nothing
when nothing came (`camcast.engine.repair.changes`). And a heartbeat carries a *tally*, a hash of
what its sender knows of a few seconds ago and before (`camcast.engine.repair.agreement`): one that
differs twice running makes the *full* `Have`, in pages, which the other side answers with its own.
A difference that three full `Have`s did not remove is left at that: a newcomer knows less of the
past for good.

*Upward*, a process sends its news with p_sel, four times in eight seconds and each time to another
super-process of each super-topic table: to one, or to several in a community of fewer than g. It
surely does so with what it has brought into the community itself, as its publisher or from another
level, and of this also a tenth of a second after it came. A super-process that is new to it, or is
back, is told all that is kept, unless it came in exchange for another, and so are all when one has
failed, which may have heard nothing. What is told for the last time is told again, each time to
another super-process, until one says that it has come (`Heard`). The super-process asks for what it
lacks, and is told of nothing else below it. What it gets is as fresh as if it had climbed: it is
pushed, and climbs on. Inside a community, a batch that was asked for is delivered, kept and
announced, and not pushed.

*Newcomers above.* Nobody asks for what is older than its membership. So what was said below while
all members of a community ended and others took their place would stay below, though members
farther up were there for it. A super-topic table knows since when that may be so
(`SuperTable.unserved_since`); the `Have` says it as `history`, and the super-process asks for as
much. It keeps and announces such a batch, for older members and those above, and delivers nothing.

*Giving up.* A hole that is older than the retention, or that three neighbours have passed and keep
nothing of (`camcast.engine.repair.lack`) ten seconds after it was noticed, is told to the
subscribers as `Missed`, and not asked for again. It does not count as known, so that an event which
comes all the same is delivered: a forged jump makes a false `Missed` at worst, and silences nobody.
What was published before this process became a member is not missed; the age of a stream, which
`Have` tells, says so, and each batch that is older: all that its publisher said before it is older
as well. What seems to be from just after that time may be from before, since no age counts the ways
of the messages that tell it: that is not told either.

*Hostile.* A `Want` is answered with batches only if it has a nonce that was sent to the same
contact of late, and else with the `Have` that brings one. Bytes a peer and second are bounded, and
so is everything that is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from math import ceil, inf
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import DisseminationContext
from camcast.doors.repair import Repairs, RepairWatcher
from camcast.engine.known_streams import KnownRanges, KnownStreams
from camcast.engine.repair.agreement import (
    FULL_SECONDS,
    HASH_BYTES,
    Agreement,
    Tally,
)
from camcast.engine.repair.changes import NEWS_SECONDS, REMEMBERED_SECONDS, TOLD_AGAIN, Changes
from camcast.engine.repair.lack import (
    Holder,
    Lack,
    check_held,
    flat,
    missing_of,
)
from camcast.engine.repair.lateness import REORDER_SECONDS, Lateness
from camcast.engine.repair.messages import UNKNOWN, Have, Heard, Held, Nonces, Want, Wanted
from camcast.engine.store import Store, published_at
from camcast.vocabulary.batches import NOT_UPWARD, Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, Missed, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import OTHER_LEVEL, MalformedError

TOLD_AT_ONCE: Final = 2  # [PROTOCOLS 8] news go to one or two neighbours
# chosen: one event in thirty draws no upward message; it is then asked for `ASK_SECONDS` later
CLIMB_SECONDS: Final = 0.1
URGENT_SECONDS: Final = 0.2  # chosen: what was asked for is announced soon, for it is late already
ASK_SECONDS: Final = REORDER_SECONDS
GIVE_UP_SECONDS: Final = 10.0  # [issue 14] by then what a partition held back is there
PAGE_BYTES: Final = 30_000  # [PROTOCOLS 8] 32 KiB a page, with what a frame needs besides
HAVE_BYTES_MAX: Final = 240_000  # chosen: at once 6,000 streams, the newest; then the others
HAVE_BYTES_A_SECOND: Final = 28_000  # [issue 14] at most 32 kB a second and node, in two minutes
HELD_BYTES: Final = 36  # chosen: a stream without holes takes 33 to 38 bytes of MessagePack
RANGE_BYTES: Final = 10  # two numbers of at most five bytes
LACKS_MAX: Final = 4096  # chosen: the streams of a minute of partition at 60 new streams a second
STREAMS_A_MESSAGE_MAX: Final = 4096  # chosen: more than a page holds
NEIGHBOURS_MAX: Final = 256  # chosen: ten topic tables' worth
ANSWER_BYTES: Final = 1 << 22  # chosen: 4 MiB a peer and second: a minute of 60 kB/s, at once
# chosen: the age of an event leaves out its ways, of 0.3 s each at most as a rule, of three hops
JOINING_SECONDS: Final = 1.0
HEIRS: Final = 3  # chosen: one that lives among them at 80 % dead, half the time
LATE_SECONDS: Final = 3.0  # chosen: by then the news were told, to four neighbours
HEARD_SECONDS: Final = 1.5  # chosen: two rounds of news; a `Heard` is there sooner but in a pause
HISTORY_SECONDS: Final = 10.0  # chosen: so long answers are taken for the history asked for


@define
class _Unheard:
    """A page that a super-process was told, and has not said to have heard."""

    peer: PeerId
    when: float
    since: float
    """From when on it matters whoever was a member then, as the page said."""
    streams: list[StreamId]


SendAgain = Callable[[Batch, Contact, float, Topic | None], None]
"""Sends a batch to who asked for it, in its own super-community if that is given."""


@define(eq=False)
class _Neighbour:
    """What is remembered of another process that repairs with this one."""

    member_since: float = -inf
    """When it became a member, by this process's clock."""
    agreement: Agreement = field(factory=Agreement)
    second: float = -inf
    """When the second began in which `answered` bytes went to it."""
    answered: int = 0


@define(eq=False)
class _Above:
    """What is remembered of the super-processes of one super-topic table."""

    told: dict[PeerId, None] | None = None
    """Those that have been told all that is kept, or need not be; None before the first news."""
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


class Repair(Repairs):
    """One community's repair in one process; see the module's theory of operation."""

    def __init__(
        self,
        context: DisseminationContext,
        streams: KnownStreams,
        store: Store,
        nonces: Nonces,
        send_again: SendAgain,
        outlet: ControlOutlet,
        tell_missed: Callable[[Missed, float], None],
        since_1970: float,
        lateness: Lateness,
    ) -> None:
        self.haves_sent = 0
        """The pages of `Have`s to other processes."""
        self.wants_sent = 0
        """The `Want`s to other processes."""
        self.told_missed = 0
        """The events that were given up, and of which subscribers were told."""
        self._context = context
        self._streams = streams
        self._store = store
        self._nonces = nonces
        self._send_again = send_again
        self._outlet = outlet
        self._tell_missed = tell_missed
        self._since_1970 = since_1970  # in seconds, when the clock was at 0
        self._lateness = lateness
        self._watcher = RepairWatcher()
        self._retention = context.parameters.retention_seconds
        self._member_since = inf
        self._changes = Changes(streams.known.get)
        self._tally = Tally()
        self._changed = -inf  # when the tally last did
        self._lacks: dict[StreamId, Lack] = {}
        self._neighbours: dict[PeerId, _Neighbour] = {}
        self._above = [_Above() for _ in context.super_tables]
        self._unheard: list[dict[int, _Unheard]] = [{} for _ in context.super_tables]
        """By super-topic table, what is to be told again, by the number that a `Heard` gives."""
        self._pages_told = 0
        self._have_bytes = 0.0  # said of late in `Have`s: `HAVE_BYTES_A_SECOND` of it are forgotten
        self._have_at = 0.0  # when that was reckoned
        self._timer = 0  # the number of the timer for news; those before are void
        self._news_at = inf
        self._climbing: dict[StreamId, None] = {}  # what came in here, and is untold above
        self._urgent: dict[StreamId, None] = {}  # what was asked for, has come, and is untold
        self._asking = False  # whether a timer for asking is set
        self._history = 0.0  # the history that is asked for, in seconds before the membership
        self._history_until = -inf

    # -- what others read ------------------------------------------------------------------

    def tally(self, second: int) -> bytes:
        """Return the tally up to a second, for heartbeats; empty if nothing is known."""
        tally = self._tally.until(second)
        return tally.to_bytes(HASH_BYTES) if tally else b""

    def is_changing(self, now: float) -> bool:
        """Whether something came within the retention, so that neighbours may lack it."""
        return now - self._changed < self._retention

    @property
    def incomplete_streams(self) -> int:
        """How many streams something is asked for of."""
        return len(self._lacks)

    def holes(self) -> int:
        """Count the ranges that are missing in these, as far as the streams are known here."""
        known = map(self._streams.known.get, self._lacks)
        return sum(len(one.holes()) for one in known if one is not None)

    def expects(self, stream: StreamId) -> bool:
        """Whether something of this stream was asked for in this community."""
        lack = self._lacks.get(stream)
        return lack is not None and lack.asked > 0

    def is_history(self, batch: Batch) -> bool:
        """Whether a batch was published before this process became a member."""
        return published_at(batch) < self._member_since - REORDER_SECONDS

    def wants_history(self, batch: Batch, now: float) -> bool:
        """Whether a batch from before the membership is for a subscription that asked for it."""
        return (
            now < self._history_until
            and published_at(batch) >= self._member_since - self._history - REORDER_SECONDS
        )

    # -- what the dissemination asks: `camcast.doors.repair.Repairs` ------------------------

    def report_to(self, watcher: RepairWatcher) -> None:
        """See `camcast.doors.repair.Repairs`."""
        self._watcher = watcher

    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        """See `camcast.doors.repair.Repairs`."""
        held = list(self._held(streams, -inf, now))
        for contact in contacts:
            self._send_have(contact, held, now)

    # -- inputs ----------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Begin: this process has become a member."""
        self._member_since = now
        if self._history:
            self._ask_history(now)

    def took(self, batch: Batch, known: KnownRanges, source: PeerId, now: float) -> None:
        """Take note of a batch that is new to the community; `source` sent it."""
        self._store.put(batch, self._retention, now)
        stream = batch.stream
        if batch.first == 1:
            known.begun = published_at(batch)
        if published_at(batch) < self._member_since + JOINING_SECONDS:
            known.before = max(known.before, batch.first + batch.count)
        self._tally.add(batch, int(self._since_1970 + now))
        self._changed = now
        if stream not in self._changes.recent:
            self._note(stream, known, now)
        if batch.head_flags & OTHER_LEVEL or not source:
            self._changes.brought[stream] = None
            if self._context.super_tables:
                if not self._climbing:
                    self._outlet.wake(CLIMB_SECONDS, "climb")
                self._climbing[stream] = None
        bounds = known.bounds
        lack = self._lacks.get(stream)
        if lack is not None:
            # What others had to ask for is as old as it says, what lay in queues seems younger.
            if lack.fills_hole(batch) and published_at(batch) > lack.since:
                self._lateness.came(now - lack.since, now)
        elif bounds and (bounds[0] > known.floor or len(bounds) > 2):
            sender = self._context.membership.peers().get(source)
            self._lack(stream, now, sender)

    def _note(self, stream: StreamId, known: KnownRanges, now: float) -> None:
        """Note that something has changed in a stream, which the next news tell."""
        if stream not in self._changes.recent:
            self._changes.note(stream, known)
            if self._news_at > now + NEWS_SECONDS:
                self._tell_after(NEWS_SECONDS, now)

    def took_repaired(self, batch: Batch, now: float) -> None:
        """Take note, after `took`, that a batch is one that was asked for."""
        lack = self._lacks.get(batch.stream)
        if lack is not None:
            lack.came(now)
        if not self._urgent:
            self._outlet.wake(URGENT_SECONDS, "urgent")
        self._urgent[batch.stream] = None

    def hear_tally(self, source: Contact, tally: bytes, second: int, now: float) -> None:
        """Take the tally of a neighbour up to a second, empty if it knows nothing."""
        late = self._lateness
        if late.lag(now) and second > late.second(self._since_1970, now):
            return  # what was published by then is still on its way
        own = self._tally.until(second)
        if own is None:
            return  # the neighbour's clock is far behind, so it can compare
        if not own and not tally:
            return
        difference = own ^ int.from_bytes(tally[:HASH_BYTES])
        agreement = self._neighbour(source.peer).agreement
        if agreement.hear(difference, second, now) and self._send_full(source, now, reply=True):
            agreement.tell(difference)

    def leave(self, now: float) -> None:
        """Give what this process published of late to others, who cannot ask it any more.

        Those are some of its community and some above, for the community may leave as one.
        """
        context = self._context
        neighbours = self._sample(context.membership.neighbours(), HEIRS)
        heirs: list[tuple[Contact, Topic | None]] = [(contact, None) for contact in neighbours]
        for topic, above in (table.nearest() for table in context.super_tables):
            if context.groups.membership(topic) is None:
                heirs += [(contact, topic) for contact in self._sample(above, HEIRS)]
        for stream, known in self._changes.recent.items():
            if stream[:PEER_ID_BYTES] == context.me.peer:
                for batch in self._store.batches(stream, 1, known.stop, now - LATE_SECONDS):
                    for contact, upward in heirs:
                        if upward is None or not batch.flags & NOT_UPWARD:
                            self._send_again(batch, contact, now, upward)

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a message of repair."""
        match message:
            case Have():
                self._take_have(source, message, now)
            case Want():
                self._take_want(source, message, now)
            case Heard():
                for unheard in self._unheard:
                    page = unheard.get(message.reply)
                    if page is not None and page.peer == source.peer:
                        del unheard[message.reply]

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take the timer of the news, or that of asking."""
        match name:
            case ("news", number) if number == self._timer:
                self._news_at = inf
                self._store.expire(now)
                self._tell_news(now)
            case ("climb",):
                climbing, self._climbing = self._climbing, {}
                self._tell_upward([list(climbing), []], now)  # not for the last time
            case ("urgent",):
                urgent, self._urgent = self._urgent, {}
                self._tell_neighbours(list(urgent), now)
            case ("ask",):
                self._asking = False
                self._ask(now)

    def history(self, seconds: float, now: float) -> list[Batch]:
        """Return what is kept here of the last `seconds`, and ask others for the rest.

        The rest arrives as batches that `wants_history`.
        """
        kept = [
            batch
            for stream, known in self._streams.known.items()
            for batch in self._store.batches(StreamId(stream), 1, known.stop, now - seconds)
            if known.knows(batch.first, batch.count)
        ]
        before = seconds if self._member_since == inf else seconds - (now - self._member_since)
        if before > 0:
            self._history = max(self._history, before)
            if self._member_since < inf:
                self._ask_history(now)
        return sorted(kept, key=published_at)

    # -- telling ---------------------------------------------------------------------------

    def _tell_after(self, seconds: float, now: float) -> None:
        self._timer += 1
        self._news_at = now + seconds
        self._outlet.wake(seconds, "news", self._timer)

    def _tell_news(self, now: float) -> None:
        news, upward = self._changes.take_news(now)
        self._tell_neighbours(news, now)
        self._tell_upward(upward, now)
        if self._changes.active or any(self._unheard):
            self._tell_after(NEWS_SECONDS, now)
        elif self._context.super_tables and self._keeps_something(now):
            self._tell_after(self._context.parameters.check_seconds, now)

    def _tell_neighbours(self, news: Sequence[StreamId], now: float) -> None:
        neighbours = self._context.membership.neighbours() if news else ()
        held = list(self._held(news, -inf, now)) if neighbours else ()
        for contact in self._sample(neighbours, TOLD_AT_ONCE):
            self._send_have(contact, held, now)

    def _tell_upward(self, news: Sequence[Sequence[StreamId]], now: float) -> None:
        """Tell super-processes, each time others, with p_sel; surely of what came in here."""
        context, parameters = self._context, self._context.parameters
        size, brought = context.membership.size(), self._changes.brought
        tables = zip(context.super_tables, self._above, self._unheard, strict=True)
        for table, state, unheard in tables:
            topic, above = table.nearest()
            told_all = state.follow(topic, above, table.failures)
            if not above or context.groups.membership(topic) is not None:
                for number, page in list(unheard.items()):
                    if now - page.when >= self._retention:
                        del unheard[number]
                continue
            unserved = now - table.unserved_since(now) + TOLD_AGAIN * NEWS_SECONDS
            unserved = min(max(0.0, unserved), self._retention)
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
                told[place] = list(self._heard_after(now - self._retention))
                until_heard[place] = None
            for place, streams in told.items():
                once = dict.fromkeys(streams)
                held = self._held(once, now - self._retention, now, upward=True)
                history = max(unserved, now - since.get(place, inf))
                again = unheard if place in until_heard else None
                self._send_have(
                    above[place], held, now, above=topic, history=history, unheard=again
                )

    def _keeps_something(self, now: float) -> bool:
        """Whether a body is still kept here that a super-process could lack."""
        newest = next(self._changes.newest_first(), None)
        known = None if newest is None else self._streams.known.get(newest)
        return known is not None and now - known.heard < self._retention

    def _send_full(self, contact: Contact, now: float, *, reply: bool) -> bool:
        """Tell a neighbour all that is remembered, is younger than its membership, and may be new.

        Nothing is sent, and False returned, if the news have said too much of late.
        """
        neighbour = self._neighbour(contact.peer)
        if self._have_room(now) <= 0:
            return False
        agreement = neighbour.agreement
        after = max(neighbour.member_since, now - REMEMBERED_SECONDS)
        streams = self._heard_after(max(after, agreement.news_since()))
        agreement.told_at = now
        self._send_have(contact, self._held(streams, after, now), now, reply=reply)
        return True

    def _ask_history(self, now: float) -> None:
        """Ask two neighbours for what is older than this process's membership."""
        self._history_until = now + HISTORY_SECONDS
        seconds = self._history + now - self._member_since
        for contact in self._sample(self._context.membership.neighbours(), TOLD_AT_ONCE):
            self._send_have(contact, (), now, history=seconds)

    def _heard_after(self, when: float) -> Iterator[StreamId]:
        """Yield the streams of which something new came after a time, the newest first."""
        for stream in self._changes.newest_first():
            known = self._streams.known.get(stream)
            if known is not None and known.heard >= when:
                yield stream

    def _held(
        self, streams: Iterable[StreamId], after: float, now: float, *, upward: bool = False
    ) -> Iterator[Held]:
        """Yield what is known of streams, and from which on the events after a time are kept."""
        for stream in streams:
            known = self._streams.known.get(stream)
            if known is None:
                continue
            lowest = self._store.lowest(stream, after)
            if upward:  # of what is too old as well, or it would be asked for again and again
                kept = lowest or self._store.lowest(stream)
                if kept is None or kept.flags & NOT_UPWARD:
                    continue
            offered = 0 if lowest is None else lowest.first
            begun = UNKNOWN if known.begun == -inf else ceil(10 * (now - known.begun))
            yield stream, offered, begun, known.told()

    def _send_have(
        self,
        contact: Contact,
        held: Iterable[Held],
        now: float,
        *,
        above: Topic | None = None,
        reply: bool = False,
        history: float = 0.0,
        unheard: dict[int, _Unheard] | None = None,
    ) -> None:
        """Send a `Have` in pages, to a member of the super-community `above` or of this one.

        Without streams nothing is sent, unless it asks for something. Of many streams those come
        first that fit, and one page in any case. Each page asks for a `Heard` if it is to be noted
        as `unheard`.
        """
        nonce, member = self._nonces.issue(contact, now), self._seconds_a_member(now)
        kept = min(member, self._retention, self._store.retention_reached(now))
        below = "" if above is None else self._context.group.name
        group = None if above is None else above.group
        ask = reply or (history > 0 and above is None)
        for page, size in _pages(held, self._have_room(now), ask=ask):
            self._have_bytes += size
            self.haves_sent += 1
            number = int(reply)
            if unheard is not None:
                self._pages_told = number = self._pages_told + 1
                streams = [StreamId(held[0]) for held in page]
                unheard[number] = _Unheard(contact.peer, now, now - history, streams)
            message = Have(nonce, member, kept, below, number, history, page)
            self._outlet.send([contact], message, group=group)
            reply = False

    # -- being told ------------------------------------------------------------------------

    def _take_have(self, source: Contact, have: Have, now: float) -> None:
        if not (have.member >= 0 and have.history >= 0 and have.kept >= 0):  # NaN is refused
            raise MalformedError("a Have tells of a negative time")
        neighbour = self._neighbour(source.peer)
        if not have.below:
            # As generously as the neighbour itself counts: it may have joined between two hops.
            neighbour.member_since = now - have.member - REORDER_SECONDS
        since = now - have.history if have.below and have.history > 0 else inf
        for held in have.streams[:STREAMS_A_MESSAGE_MAX]:
            if not check_held(held):
                raise MalformedError("a Have tells of ranges that cannot be")
            stream, _, _, bounds = held
            known = self._streams.known.get(stream)
            if known is not None and bounds[-1] <= known.low and stream not in self._lacks:
                continue  # settled here, as nearly all is of a stream that flows
            one = Holder(source, have.nonce, have.below, held, have.kept, now, since)
            self._take_held(one, now)
        if have.below:
            if have.reply:
                group = read_topic(have.below).group
                self._outlet.send([source], Heard(have.reply), group=group)
            return
        if have.history > 0:
            if self._have_room(now) <= 0:
                return  # a stranger can ask for another as often as it likes
            after = now - have.history
            history = self._held(self._heard_after(after), after, now)
            self._send_have(source, history, now)
        elif have.reply and now - neighbour.agreement.told_at >= FULL_SECONDS:
            self._send_full(source, now, reply=False)

    def _take_held(self, holder: Holder, now: float) -> None:
        stream = StreamId(holder.held[0])
        if len(stream) != STREAM_ID_BYTES or stream[:PEER_ID_BYTES] == self._context.me.peer:
            return
        known = self._streams.known.get(stream)
        lack = self._lacks.get(stream)
        offers = bool(missing_of(holder.held, known))
        if lack is None:
            passed_all = holder.held[3][0]  # what is kept nowhere any more shows in this alone
            behind = not holder.below and (known is None or known.misses_below(passed_all))
            if not offers and not behind:
                return
            lack = self._lack(stream, now)
            if lack is None:
                return
            neighbour = self._neighbour(holder.contact.peer)
            neighbour.agreement.pause = FULL_SECONDS  # it had something to tell
        stop = holder.held[3][-1]
        if known is None or stop > known.stop:
            self._watcher.told(stream, stop, holder.contact.peer, now)
        if lack.hear(holder, offers=offers):
            lack.due = now  # those before may be silent
            self._ask_after(0.0)

    def _lack(self, stream: StreamId, now: float, sender: Contact | None = None) -> Lack | None:
        """Begin to ask for what is missing of a stream; None if too much is missing already."""
        if len(self._lacks) >= LACKS_MAX:
            return None
        lack = self._lacks[stream] = Lack(now, now + self._lateness.reorder_seconds(now), sender)
        lack.note_lowest(self._streams.known.get(stream), now)
        self._ask_after(ASK_SECONDS)
        return lack

    # -- asking ----------------------------------------------------------------------------

    def _ask_after(self, seconds: float) -> None:
        if not self._asking:
            self._asking = True
            self._outlet.wake(seconds, "ask")

    def _ask(self, now: float) -> None:
        """Ask for what is missing and due, each stream of one process; give up what nobody has."""
        neighbours = self._context.membership.neighbours()
        asked: dict[tuple[Contact, bytes, str], list[Wanted]] = {}
        since: dict[tuple[Contact, bytes, str], float] = {}
        for stream, lack in list(self._lacks.items()):
            if lack.due > now:
                continue
            known = self._streams.known.get(stream)
            lack.note_lowest(known, now)
            self._give_up(stream, lack, known, len(neighbours), now)
            known = self._streams.known.get(stream)
            lack.holders = [one for one in lack.holders if missing_of(one.held, known)]
            patience = self._watcher.patience(stream, lack.since, now)
            awaited = SEQUENCE_MAX + 1 if known is None or patience <= 0 else known.stop
            holder = lack.next_holder() if lack.holders else None
            if holder is not None and (missing := missing_of(holder.held, known, awaited)):
                holder.asked = now
                key = holder.contact, holder.nonce, holder.below
                since[key] = min(holder.since, since.get(key, inf))
            elif holder is not None and known is not None and not known.holes():
                continue  # with patience, which the next look need not have any more
            elif now - lack.since > self._retention or not (missing := lack.missing_here(known)):
                del self._lacks[stream]
                continue
            elif neighbours:
                contact = lack.sender
                if lack.asked or contact is None:
                    silent = [one for one in neighbours if one.peer not in lack.passed]
                    contact = self._context.rng.choice(silent or neighbours)
                key = contact, b"", ""
            else:
                continue  # nobody can be asked for now
            asked.setdefault(key, []).append((stream, flat(missing)))
            lack.asked_at(now)
        for key, wanted in asked.items():
            self._send_want(*key, wanted, since.get(key, inf), now)
        if self._lacks:
            self._ask_after(ASK_SECONDS)

    def _send_want(
        self,
        contact: Contact,
        nonce: bytes,
        below: str,
        wanted: Sequence[Wanted],
        since: float,
        now: float,
    ) -> None:
        self.wants_sent += 1
        seconds = max(self._seconds_a_member(now) + REORDER_SECONDS, now - since)
        if not below and now < self._history_until:
            seconds += self._history
        into, group = ("", None) if not below else (self._context.group.name, read_topic(below))
        self._outlet.send(
            [contact],
            Want(nonce, seconds, into, tuple(wanted)),
            group=None if group is None else group.group,
        )

    def _give_up(
        self, stream: StreamId, lack: Lack, known: KnownRanges | None, neighbours: int, now: float
    ) -> None:
        """Tell of what cannot be had any more, and do not ask for it again."""
        member = self._member_since
        wants_history = now < self._history_until
        if not wants_history and (known is None or (known.low == 1 and known.bounds)):
            # Who keeps all from before this process's time would have offered what is not older.
            # But one that has taken this process for younger does not, and another may offer it.
            before = max((p.below for p in lack.passed.values() if p.kept <= member), default=1)
            offers = (missing_of(one.held, known) for one in lack.holders)
            before = min([before, *(missing[0][0] for missing in offers if missing)])
            if known is None:
                lack.before = max(lack.before, before)
            else:
                known.floor = max(known.floor, min(before, known.bounds[0]))
        out_of_reach = 0
        if now - lack.since > self._retention:
            out_of_reach = 1 if known is None else known.stop
        if now - lack.since > GIVE_UP_SECONDS:
            out_of_reach = max(out_of_reach, lack.out_of_reach(neighbours))
        if out_of_reach <= (1 if known is None else known.floor):
            return
        # Who keeps everything since before this process was a member would have offered it.
        lived_longer = all(one.kept > member for one in lack.passed.values())
        joined = member + JOINING_SECONDS
        in_my_time = lived_longer and any(p.begun > joined for p in lack.passed.values())
        if known is None:
            if not in_my_time:
                return
            known = self._streams.introduce(stream, self._context.me.peer, now)
            if known is None:
                return
        start = max(known.floor, known.before)
        for first, stop in known.missing(start, out_of_reach - start):
            if in_my_time or (lived_longer and first > 1):
                self.told_missed += stop - first
                self._tell_missed(Missed(stream, self._context.group, first, stop - 1), now)
        known.floor = out_of_reach
        self._note(stream, known, now)

    # -- answering -------------------------------------------------------------------------

    def _take_want(self, source: Contact, want: Want, now: float) -> None:
        if not want.seconds >= 0:
            raise MalformedError("a Want asks for a negative time")
        above = self._topic_above(want.into) if want.into else None
        if want.into and above is None:
            return  # events go to no community that this one is not linked to
        wanted = want.streams[:STREAMS_A_MESSAGE_MAX]
        after = now - want.seconds
        unanswered = [StreamId(stream) for stream, _ in wanted]
        if self._nonces.check(want.nonce, source, now):
            unanswered = [
                StreamId(stream)
                for stream, bounds in wanted
                if not self._answer(source, StreamId(stream), bounds, after, above, now)
            ]
        held = self._held(unanswered, after, now, upward=above is not None)
        # As long as the question at most, when nobody has proved to be there.
        self._send_have(source, islice(held, len(wanted)), now, above=above)

    def _answer(
        self,
        contact: Contact,
        stream: StreamId,
        bounds: Sequence[int],
        after: float,
        above: Topic | None,
        now: float,
    ) -> bool:
        """Send the batches that are asked for, as many as the peer may have in a second."""
        known = self._streams.known.get(stream)
        if known is None:
            return True  # and there is nothing to tell of it, either
        neighbour = self._neighbour(contact.peer)
        if now - neighbour.second >= 1.0:
            neighbour.second, neighbour.answered = now, 0
        answered = False
        sent = 0
        for start, stop in zip(bounds[::2], bounds[1::2], strict=False):
            for batch in self._store.batches(stream, max(start, sent), stop, after):
                if not known.knows(batch.first, batch.count):
                    continue
                if above is not None and batch.flags & NOT_UPWARD:
                    continue
                answered = True
                if neighbour.answered >= ANSWER_BYTES:
                    return True  # it asks again for what it does not get
                neighbour.answered += len(batch.body)
                neighbour.agreement.pause = FULL_SECONDS  # it had something to hear
                self._send_again(batch, contact, now, above)
                sent = batch.first + batch.count
        return answered

    def _topic_above(self, name: str) -> Topic | None:
        """Return the super-topic of this name that the community is linked to, or None."""
        for table in self._context.super_tables:
            for topic in (table.super_topic, *table.super_topic.ancestors()):
                if topic.name == name:
                    return topic
        return None

    def _have_room(self, now: float) -> float:
        """Return how many bytes of `Have` may be said now; the news are said beyond them."""
        said = self._have_bytes - HAVE_BYTES_A_SECOND * (now - self._have_at)
        self._have_bytes, self._have_at = max(0.0, said), now
        return HAVE_BYTES_MAX - self._have_bytes

    # -- inside ----------------------------------------------------------------------------

    def _seconds_a_member(self, now: float) -> float:
        return max(0.0, now - self._member_since)

    def _sample(self, contacts: Sequence[Contact], wanted: int) -> list[Contact]:
        return self._context.rng.sample(contacts, min(wanted, len(contacts)))

    def _neighbour(self, peer: PeerId) -> _Neighbour:
        neighbour = self._neighbours.get(peer)
        if neighbour is None:
            if len(self._neighbours) >= NEIGHBOURS_MAX:
                del self._neighbours[next(iter(self._neighbours))]
            neighbour = self._neighbours[peer] = _Neighbour()
        return neighbour


def _pages(
    held: Iterable[Held], room: float, *, ask: bool
) -> Iterator[tuple[tuple[Held, ...], int]]:
    """Cut what is held into pages, of so many bytes each, as long as there is `room`.

    There is one page at least, an empty one if there is nothing to tell but to `ask`.
    """
    page: list[Held] = []
    size = said = 0
    for one in held:
        size += HELD_BYTES + RANGE_BYTES * (len(one[3]) // 2)
        page.append(one)
        if size >= PAGE_BYTES:
            yield tuple(page), size
            page, size, said = [], 0, said + size
            if said >= room:
                return
    if page or (ask and not said):
        yield tuple(page), size
