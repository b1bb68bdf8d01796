"""Announcements between members: tallies in heartbeats, and the ranges that they hold (`Have`).

Tallies
-------
Each process keeps a `Tally` of a community: the hashes of all batches that it knows, combined by
XOR. Two neighbours cannot compare the tallies of all they know at a moment, for something is always
on its way that only one of them has. A heartbeat carries the tally of what was published before
some second, a few seconds back, and says which; the receiver takes its own tally up to the same
second. A batch has the time of its publication in its body, so both count the batch alike.

The XOR of the two tallies, their *difference*, is that of the batches that only one of them knows.
What both learn later does not change it. A difference that remains although both have told all
they know, as between a newcomer and those who know more of the past, needs not be told of again:
the neighbours *agree* but for it (`Agreement`). And what two neighbours know that have just agreed
differs only by what came to one of them since.

Clocks that differ cost messages and nothing else. Of two neighbours the one whose clock is behind
can always compare, though with something on its way. The hash of a batch is counted up to every
second if its publisher's clock is more than a minute off.

Lateness
--------
An event that lies in a queue for seconds looks missing: n+1 has come, a neighbour tells of it, the
tallies of two neighbours differ. To ask for it, and to tell all that is known, makes the queue
longer, and a machine that is too slow for its events ends up repairing. Repair waits in
proportion to what it sees (`Lateness`): how long a hole was there before an ordinary copy filled
it.

Pages
-----
A `Have` of many streams has as many pages of `PAGE_BYTES` as there is room for. Beyond the news of
each second a process says `HAVE_BYTES_MAX` at once and `HAVE_BYTES_A_SECOND` on the whole: where
hundreds of streams begin in each second, everything known would be announced again and again.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil, inf
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import DisseminationContext
from camcast.engine.known_streams import KnownRanges, KnownStreams
from camcast.engine.repair.messages import (
    UNKNOWN,
    Have,
    Held,
    Nonces,
    Offered,
    PiecesWanted,
    Want,
    Wanted,
)
from camcast.engine.repair.retained import Retained
from camcast.engine.store import Store
from camcast.vocabulary.batches import NOT_UPWARD, Batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.penalties import Fault
from camcast.vocabulary.topics import Topic

# Of tallies.
LAG_SECONDS: Final = 3  # chosen: by then the news have brought what was missed to all but 0.01 %
APART_SECONDS: Final = 60  # chosen: clocks are taken for set if they differ by less
FULL_SECONDS: Final = 2.0  # chosen: a hash that differs for two periods, of a second each
FULL_SECONDS_MAX: Final = 16.0  # chosen: where something is late without end, 20 streams a second
TOLD_MAX: Final = 3  # chosen: at 30 % loss one in 250 neighbours does not hear of it, others do
OVERLAP_SECONDS: Final = 10.0  # chosen: what was on its way when two agreed is there by then
HASH_BYTES: Final = 8  # chosen: two states are taken for the same once in 10^19
PART_BYTES: Final = 4  # chosen: two seconds are taken for the same once in 4 * 10^9
_IDENTITY_BYTES: Final = 30  # [docs/wire-format.md] of a body: stream 24, first 4, count 2

# Of lateness.
REORDER_SECONDS: Final = 0.2  # chosen: by then most of what was overtaken has come
REORDER_SECONDS_MAX: Final = 5.0  # chosen: half of the time after which a hole may be given up
LATE_SECONDS_MAX: Final = 5.0  # chosen: a forger can make repair as much slower, and no more
_FACTOR: Final = 2  # chosen: what is as late as ever is not asked for; TCP waits longer still
_HALF_SECONDS: Final = 10.0  # chosen: what is late for longer than that shows so again

# Of changes.
NEWS_SECONDS: Final = 1.0  # chosen: news are told so long after something came
# chosen: what comes between two rounds is told in both. What comes in quiet begins the rounds and
# is told in the first alone, for the second comes when this is over: 13 % of the members are told
# by nobody, and learn it from the hash. Measured, 50 members, 30 % loss: to tell it twice takes
# half as many messages again, and at c = 5 nothing comes sooner (99.9 % within 0.2 s); at c = 0 the
# p99 is 4.3 s in place of 6.3 s.
TOLD_AGAIN: Final = 2
CLIMBING_SECONDS: Final = 8.0  # chosen: at 0, 1, 3 and 7 s, so that a short cut is outlived
_NEWS_AGE_MAX: Final = TOLD_AGAIN * NEWS_SECONDS
_CLIMBING_AGES: Final = (0, 1, 3, 7)
REMEMBERED_SECONDS: Final = 1800.0  # chosen: a partition of half an hour is told of in full

# Of members.
NEIGHBOURS_MAX: Final = 256  # chosen: ten topic tables' worth
# chosen: the age of an event leaves out its ways, of 0.3 s each at most as a rule, of three hops
JOINING_SECONDS: Final = 1.0
# chosen: who asks may have joined between two hops, and is older when its question arrives: by so
# much longer than its membership it is taken for a member
OLDER_SECONDS: Final = 0.5

# Of pages.
PAGE_BYTES: Final = 30_000  # chosen: 32 KiB a page, with what a frame needs besides
HAVE_BYTES_MAX: Final = 240_000  # chosen: at once 6,000 streams, the newest; then the others
HAVE_BYTES_A_SECOND: Final = 28_000  # chosen: at most 32 kB a second and node, over two minutes
HELD_BYTES: Final = 36  # chosen: a stream without holes takes 33 to 38 bytes of MessagePack
RANGE_BYTES: Final = 10  # MessagePack: two numbers of at most five bytes


# chosen: the nodes of a loop count the same batches one soon after the other; 200 kB a process.
@lru_cache(maxsize=1024)
def _part(identity: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(identity, digest_size=HASH_BYTES).digest())


def part_of(batch: Batch) -> int:
    """Return a batch's part of a tally."""
    return _part(batch.body[:_IDENTITY_BYTES])


class Tally:
    """The XOR of the hashes of the batches that a process knows of one community."""

    __slots__ = ("_asked", "_before", "_recent", "_seconds", "_until")

    def __init__(self, seconds: float = APART_SECONDS) -> None:
        """`seconds`: so long at least it is remembered what was published in which second."""
        self._seconds = max(APART_SECONDS, ceil(seconds))
        self._before = 0  # of what was published before the second `_until`, or at a wrong time
        self._until = 0
        self._recent: dict[int, int] = {}  # by the second of the publication
        self._asked = -1, 0  # up to which second it was asked for last, and what came out

    def add(self, batch: Batch, second: int) -> None:
        """Count a batch that is new; it is now this second since 1970 by the own clock."""
        part = _part(batch.body[:_IDENTITY_BYTES])  # `part_of` without its call
        published = batch.published // 1000
        if self._until <= published <= second + APART_SECONDS:
            self._recent[published] = self._recent.get(published, 0) ^ part
        else:
            self._before ^= part
        if published < self._asked[0] or published not in self._recent:
            self._asked = -1, 0
        if self._until < second - 2 * self._seconds:
            self._until = second - self._seconds
            for old in [one for one in self._recent if one < self._until]:
                self._before ^= self._recent.pop(old)

    def clock_set(self, second: int) -> None:
        """Go on from this second since 1970, since the own clock was set.

        What was published after it by more than a minute was so at a wrong time, and is counted up
        to every second, as it is where clocks were right all along. If the clock was ahead, it is
        no longer known which batches the seconds until now had. Tallies that go up to these may
        differ for `APART_SECONDS` at most, which costs messages and nothing else.
        """
        for wrong in [one for one in self._recent if one > second + APART_SECONDS]:
            self._before ^= self._recent.pop(wrong)
        self._until = min(self._until, second - self._seconds)
        self._asked = -1, 0

    def until(self, second: int) -> int | None:
        """Return the tally of what was published before a second; None if it is too long ago."""
        if second < self._until:
            return None
        asked, tally = self._asked
        if asked != second:
            tally = self._before
            for published, part in self._recent.items():
                if published < second:
                    tally ^= part
            self._asked = second, tally
        return tally

    def parts(self, since: int, until: int) -> bytes:
        """Return the tally of each second from one to before another, as `Compare` has them."""
        parts = (self._recent.get(second, 0) for second in range(since, until))
        return b"".join(part.to_bytes(HASH_BYTES)[-PART_BYTES:] for part in parts).rstrip(b"\0")

    def difference(self, parts: bytes, since: int, until: int, member_since: int) -> int:
        """Return how another's `parts` from a second on differ, 0 if nothing is to be told.

        Of seconds before `member_since` they are compared if something of these is known here.
        """
        difference = 0
        for second in range(max(since, self._until, until - 2 * self._seconds), until):
            start = PART_BYTES * (second - since)
            theirs = int.from_bytes(parts[start : start + PART_BYTES].ljust(PART_BYTES, b"\0"))
            own = self._recent.get(second, 0) % (1 << 8 * PART_BYTES)
            if own or second >= member_since:
                difference ^= own ^ theirs
        return difference


@define(eq=False)
class Agreement:
    """The state of one neighbour's tallies, and when everything known is announced to it."""

    known: int = 0
    """The difference that remains although both have told all they know."""
    at: float = -inf
    """When the two last agreed, but for `known`."""
    second: int = -1
    """Up to which second the tallies went that differed last; negative if they agreed since."""
    told: int | None = None
    """The difference when all was last told."""
    times: int = 0
    """How often all was told for that difference."""
    told_at: float = -inf
    pause: float = FULL_SECONDS
    """After how many seconds all is told again."""

    def add_difference(self, difference: int, second: int, now: float) -> bool:
        """Add the difference of the tallies up to a second; say whether all is to be told.

        All is told to a neighbour that is new, and to one whose tally differs twice running.
        """
        is_new = self.at == self.told_at == -inf
        waited = now - self.told_at >= self.pause
        if difference == self.told and self.times == TOLD_MAX and waited:
            self.known = difference
        if difference in (0, self.known):
            self.known, self.at = difference, now
            self.second, self.times, self.pause = -1, 0, FULL_SECONDS
            return False
        if second < self.second - APART_SECONDS:
            self.second = -1  # the neighbour's clock was ahead, and was set right
        again = -1 < self.second < second
        self.second = max(self.second, second)
        return is_new or (again and waited)

    @property
    def differs(self) -> bool:
        """Whether the two are known not to know the same."""
        return self.known != 0 or self.second >= 0

    def add_telling(self, difference: int) -> None:
        """Count that all was told to the neighbour, which was asked to do the same."""
        self.times = self.times + 1 if difference == self.told else 1
        self.told = difference
        self.pause = min(2 * self.pause, FULL_SECONDS_MAX)

    def news_since(self) -> float:
        """Return since when something must have come to one of the two that the other lacks."""
        return self.at - OVERLAP_SECONDS if self.times <= 1 else -inf


@define
class Lateness:
    """How late events have arrived recently that were delayed, not lost: a decaying maximum."""

    _late: float = 0.0
    _at: float = -inf

    def add(self, seconds: float, now: float) -> None:
        """Add that what was missing came by itself, so many seconds after that was noticed."""
        self._late = max(min(seconds, LATE_SECONDS_MAX), self._now(now))
        self._at = now

    def reorder_seconds(self, now: float) -> float:
        """Return for how long to wait for what others have overtaken before it is asked for."""
        return min(max(REORDER_SECONDS, _FACTOR * self._now(now)), REORDER_SECONDS_MAX)

    def second(self, clock: Clock, now: float) -> int:
        """Return up to which second since 1970 all that was published is here, unless it is lost.

        The tallies of neighbours go so far.
        """
        return int(clock.wall(now)) - LAG_SECONDS - self.lag(now)

    def lag(self, now: float) -> int:
        """Return by how many seconds more than usual the tallies of neighbours are to lag."""
        late = _FACTOR * self._now(now)
        return 0 if late < 1.0 else ceil(late)

    def _now(self, now: float) -> float:
        return self._late and self._late * 0.5 ** ((now - self._at) / _HALF_SECONDS)


@define(eq=False)
class Neighbour:
    """The state of another process that repairs with this one."""

    member_since: float = -inf
    """When it became a member, by this process's clock."""
    heard: float = -inf
    """When it last said how long it had been a member."""
    agreement: Agreement = field(factory=Agreement)
    second: float = -inf
    """When the second began in which `answered` bytes went to it."""
    answered: int = 0
    brought: float = -inf
    """When it last sent something that it was asked for."""

    def add_membership(self, seconds: float, now: float) -> None:
        """Add for how long the neighbour says that it has been a member.

        A delayed message makes its sender seem to have joined later, and would keep it from being
        told of what is from its time: the earliest time counts. But a process that became a member
        since it was last heard has joined again.
        """
        # As generously as the neighbour itself counts: it may have joined between two hops.
        since = now - seconds - OLDER_SECONDS
        if since < self.member_since or since > self.heard:
            self.member_since = since
        self.heard = now


class Changes:
    """The streams of one community, by how long they have been quiet.

    A stream that has changed within two rounds of news is *recent*, then it is *settled*, and for
    some seconds it may be *climbing* as well.
    """

    def __init__(self, find: Callable[[StreamId], KnownRanges | None]) -> None:
        self._find = find
        self.recent: dict[StreamId, KnownRanges] = {}
        self._settled: dict[StreamId, None] = {}  # the oldest first
        self._climbing: dict[StreamId, KnownRanges] = {}
        self.brought: dict[StreamId, float] = {}
        """The streams of which this process brought something into the community, while they
        climb, and when the oldest of it was published that this process takes for others only;
        else infinite."""
        self._looked = -inf  # when the round of news before was

    def add(self, stream: StreamId, known: KnownRanges) -> None:
        """Add a stream of which something new came."""
        if stream not in self.recent:
            self.recent[stream] = known
            self._settled.pop(stream, None)

    def take_news(self, now: float) -> tuple[list[StreamId], list[list[StreamId]]]:
        """Return what to tell the neighbours, and what to tell upward, in this round.

        The latter is told several times, and is given by how often it was told before. A round
        that is late, after a pause of this process, skips all times but the last that was due.
        """
        news = [s for s, known in self.recent.items() if now - known.heard < _NEWS_AGE_MAX]
        upward: list[list[StreamId]] = [[] for _ in _CLIMBING_AGES]
        for stream, known in (self._climbing | self.recent).items():
            quiet = now - known.heard
            times = bisect_right(_CLIMBING_AGES, quiet / NEWS_SECONDS)
            if known.heard + _CLIMBING_AGES[times - 1] * NEWS_SECONDS > self._looked:
                upward[times - 1].append(stream)
            if quiet >= CLIMBING_SECONDS:
                self._climbing.pop(stream, None)
                self.brought.pop(stream, None)
            if stream in self.recent and quiet >= _NEWS_AGE_MAX:
                del self.recent[stream]
                self._climbing[stream] = known
                self._settled[stream] = None
        self._looked = now
        self._forget(now)
        return news, upward

    @property
    def active(self) -> bool:
        """Whether there is something that a later round has to tell."""
        return bool(self.recent or self._climbing)

    def newest_first(self) -> Iterator[StreamId]:
        """Yield all streams that are remembered."""
        yield from reversed(self.recent)
        yield from reversed(self._settled)

    def _forget(self, now: float) -> None:
        """Forget the streams that have been quiet for long, or are no longer known."""
        forgotten = []
        for stream in self._settled:  # in one pass: a dict is slow to find a first key after many
            known = self._find(stream)
            if known is not None and now - known.heard <= REMEMBERED_SECONDS:
                break
            forgotten.append(stream)
        for stream in forgotten:
            del self._settled[stream]


@define(eq=False)
class RepairContext:
    """The context of one community's repair in one process."""

    community: DisseminationContext
    """The community as its dissemination sees it."""
    streams: KnownStreams
    store: Store
    """The recent batches."""
    retained: Retained
    """These, and those of the archive, if there is one."""
    outlet: ControlOutlet
    clock: Clock
    """The wall clock, by the time of inputs."""
    lateness: Lateness
    """How late events arrive; that of the whole process."""
    names_are_proved: bool
    """Whether nobody can speak in another process's name (the profile ``signed``)."""
    penalise: Callable[[PeerId, Fault, float], None]
    """Counts a fault of a process, at a time."""
    changes: Changes = field(init=False)
    member_since: float = inf
    """When this process became a member."""
    _neighbours: dict[PeerId, Neighbour] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.changes = Changes(self.streams.known.get)

    @property
    def retention(self) -> float:
        """For how many seconds after its publication a body is kept."""
        return self.community.tuning.settings.retention_seconds  # `parameters` without its call

    def seconds_a_member(self, now: float) -> float:
        """Return for how long this process has been a member; 0 before."""
        return max(0.0, now - self.member_since)

    def sample(self, contacts: Sequence[Contact], wanted: int) -> list[Contact]:
        """Draw so many of the contacts, or all if there are fewer."""
        return self.community.rng.sample(contacts, min(wanted, len(contacts)))

    def neighbour(self, peer: PeerId) -> Neighbour:
        """Return what is remembered of a peer; when there are too many, the oldest entry goes."""
        neighbour = self._neighbours.get(peer)
        if neighbour is None:
            if len(self._neighbours) >= NEIGHBOURS_MAX:
                del self._neighbours[next(iter(self._neighbours))]
            neighbour = self._neighbours[peer] = Neighbour()
        return neighbour

    def teller(self, peer: PeerId) -> PeerId:
        """Return who fills a share of a table with what comes in a peer's name.

        Where names are free, all those outside the topic table are one: they may be one liar.
        """
        known = self.names_are_proved or peer in self.community.membership.peers()
        return peer if known else UNKNOWN_PEER

    def filler(self, stream: StreamId, source: PeerId) -> PeerId:
        """Return who fills a share of a table with a batch of a stream that came from `source`.

        Where it is signed, that is its publisher, whoever has passed it on.
        """
        is_signed = self.names_are_proved and source
        return PeerId(stream[:PEER_ID_BYTES]) if is_signed else self.teller(source)

    def send_want(
        self, contact: Contact, nonce: bytes, below: str, wanted: Sequence[Wanted], seconds: float
    ) -> None:
        """Ask a process for events of the last `seconds`; `below` is its community, as a name.

        That is empty for a member of the same community.
        """
        group = read_topic(below).group if below else None
        into = self.community.group.name if below else ""
        self.outlet.send([contact], Want(nonce, seconds, into, tuple(wanted)), group=group)

    def send_pieces_wanted(
        self,
        contact: Contact,
        nonce: bytes,
        below: str,
        key: tuple[StreamId, int],
        numbers: Sequence[int],
    ) -> None:
        """Ask a process for pieces of a long batch; `below` as in `send_want`."""
        group = read_topic(below).group if below else None
        into = self.community.group.name if below else ""
        self.outlet.send([contact], PiecesWanted(nonce, into, *key, tuple(numbers)), group=group)

    def known(self, stream: StreamId) -> KnownRanges | None:
        """Return what is known of a stream, in memory or else in the archive."""
        return self.streams.known.get(stream) or self.retained.known(stream)

    def published_after(self, when: float) -> Iterator[StreamId]:
        """Yield the streams that `heard_after` yields, and those that only the archive has."""
        heard = dict.fromkeys(self.heard_after(when))
        yield from heard
        for stream in self.retained.streams(when):
            if stream not in heard:
                yield stream

    def heard_after(self, when: float) -> Iterator[StreamId]:
        """Yield the streams of which something new came after a time, the newest first."""
        for stream in self.changes.newest_first():
            known = self.streams.known.get(stream)
            if known is not None and known.heard >= when:
                yield stream


@define
class Unheard:
    """A page that a super-process was told, and has not said to have heard."""

    peer: PeerId
    when: float
    since: float
    """The time after which publications matter, whoever was a member then (`Have.history`)."""
    streams: list[StreamId]


class Haves:
    """Tells others what this process knows."""

    def __init__(self, context: RepairContext, nonces: Nonces) -> None:
        self.sent = 0
        """The pages of `Have`s to other processes."""
        self._context = context
        self._nonces = nonces
        self._bytes = 0.0  # said recently in `Have`s: `HAVE_BYTES_A_SECOND` of it are forgotten
        self._at = 0.0  # when `_bytes` was computed last
        self._pages_told = 0

    def held(
        self, streams: Iterable[StreamId], after: float, now: float, *, upward: bool = False
    ) -> Iterator[Held]:
        """Yield what is known of streams, and from which on the events after a time are kept."""
        for stream in streams:
            known = self._context.known(stream)
            if known is None:
                continue
            if upward:  # of what is too old as well, or it would be asked for again and again
                lowest = self._context.store.lowest(stream, after)
                kept = lowest or self._context.store.lowest(stream)
                if kept is None or kept.flags & NOT_UPWARD:
                    continue
            else:
                lowest = self._context.retained.lowest(stream, after, now)
            offered = 0 if lowest is None else lowest.first
            begun = UNKNOWN if known.begun == -inf else ceil(10 * (now - known.begun))
            yield stream, offered, begun, known.told()

    def send(
        self,
        contact: Contact,
        held: Iterable[Held],
        now: float,
        *,
        after: float = -inf,
        above: Topic | None = None,
        reply: bool = False,
        answer: bool = False,
        history: float = 0.0,
        unheard: dict[int, Unheard] | None = None,
        offers: tuple[Offered, ...] = (),
        sizes: tuple[int, ...] = (),
    ) -> None:
        """Send a `Have` in pages, to a member of the super-community `above` or of this one.

        What is `held` offers only what was published after a time, infinitely long ago if all.
        Without streams nothing is sent, unless it asks for something, or is the `answer` to a
        question for history, which says how much is kept. Of many streams those come
        first that fit, and one page in any case. Each page asks for a `Heard` if it is to be noted
        as `unheard`.
        """
        archived = int(self._context.retained.archive_goes_back(now)) if answer else 0
        nonce, member = self._nonces.issue(contact, now), self._context.seconds_a_member(now)
        kept = min(member, self._context.retained.seconds_kept(self._context.retention, now))
        below = "" if above is None else self._context.community.group.name
        group = None if above is None else above.group
        ask = reply or answer or (history > 0 and above is None)
        for page, size in _pages(held, self.room(now), ask=ask):
            self._bytes += 0 if offers else size  # as few as the bodies, of 64 KiB each, allow
            self.sent += 1
            number = int(reply)
            if unheard is not None:
                self._pages_told = number = self._pages_told + 1
                streams = [StreamId(held[0]) for held in page]
                unheard[number] = Unheard(contact.peer, now, now - history, streams)
            message = Have(
                *(nonce, member, kept, below, number, history, page, now - after),
                *(offers, archived, sizes),
            )
            self._context.outlet.send([contact], message, group=group)
            reply = False

    def send_full(self, contact: Contact, now: float, *, reply: bool) -> bool:
        """Tell a neighbour all that is remembered, is younger than its membership, and may be new.

        Nothing is sent, and False returned, if the news have said too much recently.
        """
        neighbour = self._context.neighbour(contact.peer)
        if self.room(now) <= 0:
            return False
        agreement = neighbour.agreement
        after = max(neighbour.member_since, now - REMEMBERED_SECONDS)
        streams = self._context.heard_after(max(after, agreement.news_since()))
        agreement.told_at = now
        self.send(contact, self.held(streams, after, now), now, after=after, reply=reply)
        return True

    def count_bytes(self, said: int) -> None:
        """Count bytes that other announcements take of the room."""
        self._bytes += said

    def room(self, now: float) -> float:
        """Return how many bytes of `Have` may be said now; the news are said beyond them."""
        said = self._bytes - HAVE_BYTES_A_SECOND * (now - self._at)
        self._bytes, self._at = max(0.0, said), now
        return HAVE_BYTES_MAX - self._bytes


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
