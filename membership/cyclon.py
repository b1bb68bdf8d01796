"""Cyclon: views of a fixed size, of which pairs of processes exchange a part each period.

Source: S. Voulgaris, D. Gavidia, M. van Steen, "CYCLON: Inexpensive membership management for
unstructured P2P overlays", Journal of Network and Systems Management 13(2), 2005. The text of the
paper was not available, so no section is cited. The steps of a shuffle are those that
jvf/peersim-cyclon's `Cyclon.java` quotes; the numbers are those of its configurations. Joining is
described from memory.

Theory of operation
-------------------
A process holds a *view* of at most `view` other processes: the topic table. Each entry has an
*age*, the number of periods since its process created the entry.

*Shuffling* ("enhanced", with ages). Once a period a process P takes the oldest entry Q of its view,
and sends Q a new entry of itself, of age 0, and `shuffle - 1` random other entries. Q answers
with as many random entries of its own. Both discard entries of themselves and entries that they
hold already, and put the rest first into free slots and then into the slots of the entries that
they sent; P counts Q's slot among these. P's arc to Q is reversed: Q holds P. A process that
many hold is asked by many, and each time loses a holder, while every process gains one holder a
period. Therefore in-degrees lie closely around the size of the view, closer than in a random
graph, and no process needs to know its in-degree.

*Departures.* An entry that is not renewed gets older until it is the oldest of its view, and is
dropped if its process then does not answer. All entries of a dead process are gone after some
`view` periods, although few processes watch it. A process that leaves tells its view, and answers
with a goodbye to every later message.

*Heartbeats*, which the paper does not have, go to `watched` processes of the view, to each for a
while. They serve the repair of events: along with heartbeats two processes compare which events
they know, and so find out what one of them missed while it was cut off. The liveness service
(`camcast.doors.liveness`) may also find out by them that a process is dead.

*Joining*. The contact starts `view` random walks for a newcomer. At the end of each walk the
newcomer takes the place of a random entry, and gets that entry for its own view. No other
in-degree changes, and the newcomer has the mean in-degree at once.

*Isolation and healing.* A process that did not answer goes to a *cold list*
(`camcast.vocabulary.cold_list`). Every `probe_seconds` a process shuffles with some processes of
its cold list, and every `SEEK_SECONDS` with one that the discovery names: an answer joins the
halves of a healed partition, and communities that were founded twice. A process whose view is empty
joins again.

*Processes that nobody can dial.* A table has places of its own for them
(`camcast.doors.table_membership`), and their entries are given to nobody: such a process is held by
those that it has shuffled with in the last `view` periods, as many as hold any other process. Who
holds it does not shuffle with it, and drops its entry when that is older.

*The size.* Shuffles carry the samples of `camcast.vocabulary.size_estimate`.

Deviations from the source. A free slot costs no process an entry: a walk that ends at a process
with a free slot gives the newcomer an entry of that process itself, and a partner that answers
stays in the view if no received entry takes its slot; hence communities of up to `view` + 1
processes know each other completely. A process that shuffles is of age 0 in the view of its
partner, if the partner holds it already. (For other known entries the lesser of two ages must not
be taken: ages leave out the ways, so each shuffle would make the entries of dead processes
younger.) An age that is sent is rounded up: periods begin at different times in each process, so
one that is counted may seem to begin later with each exchange. A shuffle without an answer is tried
a second time before the partner is dropped, since packets get lost. An entry that was created
before the last attempt to reach its process failed is not taken again, nor one that was created up
to `WAYS_SECONDS` after it.

Hostile peers. The cost of a message is bounded by `shuffle`; a Join costs `view` walks, and no more
than `WALKS_A_PERIOD` walks are started in a period. A process can spread as many entries of itself
and of accomplices as it likes, for which the paper has no remedy. Here a share of each view
(`drawn_share`) does not depend on how often a process is named (`membership.lasting_entries`):
these entries are shuffled and checked like all others, but an exchange does not cost them their
places. Processes that the discovery names may get such a place, too, once they have answered: a
discovery names the dead for a while, and each would be taken for one that has just been heard.
In-degrees are then spread about as in a random graph, where they were narrower; `drawn_share=0`
leaves this out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from math import ceil
from typing import ClassVar, Final, NamedTuple

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.first_contacts import ANSWER_SECONDS
from camcast.doors.membership import Backend, MembershipContext
from camcast.doors.table_membership import TableMembership
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from membership.lasting_entries import LastingEntries

AGE_MAX: Final = 2**16  # chosen: 18 hours of periods; what is clamped is the oldest anyway
# chosen: what an age leaves out: ten exchanges over ways of a tenth of a second
WAYS_SECONDS: Final = 1.0
VIEW_MAX: Final = 200  # chosen: ten times the default; bounds what a user may set
# chosen: with one entry a process, 6 processes are apart for good in 3 of 6 runs (measured); with
# two, an event misses some of them for a while
VIEW_MIN: Final = 3
WALKS_A_PERIOD: Final = 2**14  # chosen: as SCAMP; 800 joins in a period at a view of 20
STEPS_MAX: Final = 64  # chosen: as SCAMP; a walk of a forged length is not longer


class Entry(NamedTuple):
    """A process in a view, and how many periods ago the process created this entry."""

    contact: Contact
    age: int


class Join(Message, tag=1, frozen=True):
    """A newcomer asks its contact to start the walks that make it a member."""

    mandate: ClassVar[str] = "join"


class Walk(Message, tag=2, frozen=True):
    """A newcomer's walk: the process at its end, after `steps` more steps, holds the newcomer."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "join"
    steps: int


class Given(Message, tag=3, frozen=True):
    """The sender holds the newcomer, and gives it an entry for its view."""

    entry: Entry


class Shuffle(Message, tag=4, frozen=True):
    """Some entries of the sender in exchange for some of the receiver; the first is of itself."""

    number: int
    """A random name of the exchange, which the answer repeats."""
    entries: tuple[Entry, ...]
    sample: bytes
    """The sample of the size estimate."""


class Answer(Message, tag=5, frozen=True):
    """The answer to `Shuffle`: entries of the receiver."""

    number: int
    entries: tuple[Entry, ...]
    sample: bytes


class Bye(Message, tag=6, frozen=True):
    """The sender has left the community."""


# chosen, since the paper's value was not found: at least the average path length, which is
# ln N / ln view = 4.6 in a random graph of 10^6 processes and the default view, so that a walk can
# end at any process
WALK_STEPS: Final = 5


@frozen(kw_only=True)
class CyclonOptions:
    """The parameters of Cyclon. Raises `ValueError` for a value outside its range."""

    view: int = field(default=20, validator=[validators.ge(VIEW_MIN), validators.le(VIEW_MAX)])
    """Entries in a view. [jvf/peersim-cyclon, config/cyclon-indegree20.conf; 50 in
    cyclon-indegree50.conf]"""

    shuffle: int = field(default=8, validator=[validators.ge(1), validators.le(VIEW_MAX)])
    """Entries that each side of a shuffle sends. [jvf/peersim-cyclon: 8 in both configurations]"""

    shuffle_seconds: float = field(default=1.0, validator=validators.gt(0))
    """The period. chosen: dead processes are out of all views after some 20 periods; as long as
    SCAMP's period of heartbeats, at a tenth of the records"""

    drawn_share: float = field(default=0.6, validator=[validators.ge(0), validators.le(1)])
    """The share of a view that lasts (`membership.lasting_entries`). chosen: with 6 liars of 42
    and views of 10, newcomers have 26 % liars and members 22 %, without it 39 and 36 %, with 0.5
    27 and 25 %; fair are 14 %. In-degrees are then spread about as in a random graph."""

    watched: int = field(default=3, validator=[validators.ge(0), validators.le(VIEW_MAX)])
    """How many processes of the view get heartbeats. chosen: a random graph with 3 arcs a process
    is connected, and each shuffle changes the arcs"""

    suspect_after: int = field(default=3, validator=validators.ge(1))
    """Silent periods until a watched process is suspect, and other processes are asked about it.
    chosen: as SCAMP"""

    def __attrs_post_init__(self) -> None:
        if self.shuffle > self.view:
            raise ValueError(f"shuffle={self.shuffle} is above view={self.view}")


class _Exchange(NamedTuple):
    """A shuffle that is not answered yet."""

    partner: Contact
    request: Shuffle


class Cyclon(TableMembership):
    """The view of one process in one community; see the module's theory of operation."""

    decoder = Decoder(Join | Walk | Given | Shuffle | Answer | Bye)
    goodbye = Bye()

    def __init__(self, context: MembershipContext, options: CyclonOptions) -> None:
        self.refused = 0
        """Joins that were refused because of too many walks in one period."""
        super().__init__(
            context,
            options.view,
            options.shuffle_seconds,
            options.suspect_after,
            watched=options.watched,
        )
        self._options = options
        self._born: dict[PeerId, float] = {}
        """When each entry of the view was of age 0."""
        self._exchanges: dict[int, _Exchange] = {}
        self._walks_left = WALKS_A_PERIOD
        self._lasting = LastingEntries(options.drawn_share, options.view, self._table, self._rng)

    # -- inputs ----------------------------------------------------------------------------

    @override
    def greeting(self, now: float) -> Join:
        return Join()

    @override
    def on_message(self, source: Contact, message: Message, now: float) -> None:
        match message:
            case Shuffle():
                self._on_shuffle(source, message, now)
            case Answer():
                self._on_answer(source, message, now)
            case Walk(steps=steps):
                self._walk(source, max(0, min(steps, STEPS_MAX)), now)
            case Given(entry=entry):
                self.become_member(now)
                self._merge((entry,), [], now)
            case Join():
                self._liveness.prove(source, now, partial(self._on_join, source))

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("again", int(number)) if exchange := self._exchanges.get(number):
                self._outlet.send([exchange.partner], exchange.request)
            case _:
                super().wake(name, now)

    @override
    def let_go(self, contact: Contact, now: float) -> None:
        super().let_go(contact, now)
        for number, exchange in list(self._exchanges.items()):
            if exchange.partner == contact:
                del self._exchanges[number]

    # -- joining ---------------------------------------------------------------------------

    def _on_join(self, newcomer: Contact, now: float) -> None:
        self.become_member(now)  # two processes that still join found the community together
        self._estimate.note(newcomer.peer, now)
        if self._has_room_for(newcomer):  # in a small community everybody knows everybody
            self._hold(newcomer, now)
        if len(self._table) < 2:
            return
        if self._options.view > self._walks_left:
            self.refused += 1
            return
        self._walks_left -= self._options.view
        for _ in range(self._options.view):
            self._walk(newcomer, WALK_STEPS, now)

    def _walk(self, newcomer: Contact, steps: int, now: float) -> None:
        """Take a step of a walk, or end it here."""
        goes_on = steps or not self._me.meets(newcomer)
        onward = self._table.choose(self._rng, newcomer.peer) if goes_on else None
        if onward is None:
            self._hold(newcomer, now)
        else:
            self._outlet.send([onward], Walk(max(0, steps - 1)), reply_to=newcomer)

    def _hold(self, newcomer: Contact, now: float) -> None:
        """Hold a newcomer, and give it the entry whose place it takes, else an own entry."""
        given = Entry(self._me, 0)
        if newcomer.peer not in self._table and newcomer.is_dialable and not self._has_room:
            others = self._lasting.others(self._dialled) or self._dialled
            evicted = others[int(self._rng.random() * len(others))]
            given = self._entry(evicted, now)
            self.drop(evicted.peer)
        self._note_alive(newcomer, now)
        self._outlet.send([newcomer], Given(given))

    # -- shuffling -------------------------------------------------------------------------

    @override
    def tick(self, now: float) -> None:
        unanswered, self._exchanges = self._exchanges, {}
        for exchange in unanswered.values():
            self._give_up(exchange.partner, now)
        self._walks_left = WALKS_A_PERIOD
        self._drop_unheard(now)
        oldest = min(self._dialled, key=lambda c: self._born[c.peer], default=None)
        if oldest is not None:
            self._shuffle_with(oldest, now)

    @override
    def meet(self, strangers: list[Contact], now: float) -> None:
        for stranger in strangers if self._options.drawn_share else strangers[:1]:
            self._shuffle_with(stranger, now)

    @override
    def keep(self, contact: Contact, now: float) -> None:
        super().keep(contact, now)
        if contact.peer in self._table:
            self._born[contact.peer] = now

    @override
    def try_again(self, contact: Contact, now: float) -> None:
        self._shuffle_with(contact, now)

    def _shuffle_with(self, partner: Contact, now: float) -> None:
        number = self._rng.getrandbits(32)
        others = self._drawn_for(partner, self._options.shuffle - 1)
        entries = (Entry(self._me, 0), *(self._entry(one, now) for one in others))
        request = Shuffle(number, entries, self._estimate.encode(now))
        self._exchanges[number] = _Exchange(partner, request)
        self._outlet.send([partner], request)
        self._outlet.wake(ANSWER_SECONDS, "again", number)

    def _drawn_for(self, partner: Contact, count: int) -> list[Contact]:
        """Draw entries for a partner, of processes that can be dialled."""
        if self._options.drawn_share:
            return self._lasting.draw(count, partner.peer)
        if not self._table.attached:
            return self._table.sample(count, self._rng, partner.peer)
        usable = [one for one in self._dialled if one.peer != partner.peer]
        return self._rng.sample(usable, min(count, len(usable)))

    def _on_shuffle(self, source: Contact, request: Shuffle, now: float) -> None:
        self.become_member(now)  # the partner holds this process
        others = self._drawn_for(source, self._options.shuffle)
        entries = tuple(self._entry(one, now) for one in others)
        self._outlet.send([source], Answer(request.number, entries, self._estimate.encode(now)))
        self.learn_size(source, request.sample, now)
        self._merge(request.entries, others, now)
        self._note_alive(source, now)

    def _on_answer(self, source: Contact, answer: Answer, now: float) -> None:
        exchange = self._exchanges.pop(answer.number, None)
        if exchange is None:
            return
        partner = exchange.partner.peer
        if partner not in (source.peer, UNKNOWN_PEER):  # another process took over its address
            self.drop(partner)
        sent = [entry.contact for entry in exchange.request.entries]
        self.learn_size(source, answer.sample, now)
        self._merge(answer.entries, [exchange.partner, *sent], now)
        self._note_alive(source, now)

    def _merge(self, entries: Iterable[Entry], replaceable: list[Contact], now: float) -> None:
        """Take unknown entries into free slots, then into the slots of `replaceable` ones.

        No lasting entry is replaced, but by one of a lower rank.
        """
        slots = self._lasting.others(replaceable)
        for contact, said in list(entries)[: self._options.shuffle]:
            created = now - max(0, min(said, AGE_MAX)) * self._options.shuffle_seconds
            self._lasting.note_named(contact.peer)
            if contact.peer in (self._me.peer, UNKNOWN_PEER) or contact.peer in self._table:
                continue
            if self.is_gone(contact.peer, created - WAYS_SECONDS):
                continue
            if not self._has_room_for(contact):
                if not contact.is_dialable:
                    return
                replaced = slots.pop(0) if slots else self._lasting.outranked_by(contact.peer)
                if replaced is None:
                    continue
                self.drop(replaced.peer)
            self.hold(contact, now)
            self._born[contact.peer] = created

    def _note_alive(self, contact: Contact, now: float) -> None:
        """Set the age of a process that has just sent a message to 0; hold it if there is room."""
        self._gone.pop(contact.peer, None)  # it speaks itself, which is no hearsay
        self._merge((Entry(contact, 0),), [], now)
        if contact.peer in self._table:
            self._born[contact.peer] = now

    # -- the view --------------------------------------------------------------------------

    def _entry(self, contact: Contact, now: float) -> Entry:
        age = (now - self._born[contact.peer]) / self._options.shuffle_seconds
        return Entry(contact, min(AGE_MAX, ceil(age)))

    @override
    def drop(self, peer: PeerId) -> None:
        super().drop(peer)
        self._born.pop(peer, None)

    def _drop_unheard(self, now: float) -> None:
        """Drop the processes that nobody can dial and that have not shuffled for `view` periods."""
        for contact in list(self._table) if self._table.attached else ():
            age = now - self._born[contact.peer]
            if age > self._options.view * self._options.shuffle_seconds and not contact.is_dialable:
                self.drop(contact.peer)

    def _give_up(self, partner: Contact, now: float) -> None:
        """Drop a partner that has not answered."""
        if self._table.get(partner.peer) == partner:
            self.peer_silent(partner, now)


BACKEND = Backend(
    name="cyclon",
    keeper=Cyclon,
    options=CyclonOptions,
    discovery="gateways",
    expected_view=lambda options, size: min(size - 1, float(options.view)),
    as_printed={"drawn_share": 0.0},
)
