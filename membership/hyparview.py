"""HyParView: a small symmetric view to send to, and a large view from which it is repaired.

Source: J. Leitão, J. Pereira, L. Rodrigues, "HyParView: a membership protocol for reliable
gossip-based broadcast", DSN 2007. The text of the paper was not available: sections are cited from
memory, and the numbers of its section 5.1 are those of n0-computer/iroh-gossip's `hyparview.rs`,
which marks each "from the paper (p9)". The first version of lasp-lang/partisan (views, walks) and
hashicorp/hyparview (all but kp, which is 6 there) have the same numbers.

Theory of operation
-------------------
*The active view* (4.1) is the topic table: `active` neighbours, each of which has this process in
its own active view. The overlay is an undirected graph of nearly constant degree, along which
events go to all neighbours. The fan-out is small, and reliability comes from replacing failed
neighbours at once. *The passive view* holds `passive` other processes, to which events are not
sent.

*Joining* (4.2). The contact takes a newcomer as a neighbour, in place of a random one if its view
is full, and sends ForwardJoin on random walks along all other links. The process at the end of a
walk asks the newcomer to be its neighbour, too; the process `PASSIVE_WALK` steps before the end
puts the newcomer into its passive view. A neighbour that is removed to make room is told so
(Disconnect), and both processes keep each other in their passive views.

*Repair* (4.3). The process's liveness service (`camcast.doors.liveness`) watches the neighbours, in
place of the paper's TCP connections. When a neighbour fails, random processes of the passive view
are asked until one accepts to replace it. A process without neighbours asks with high priority,
which is never refused; other requests are accepted only by a process with room, or by one that has
long heard nothing of the asker and its neighbours (`SizeEstimate.is_stranger`). A process that does
not answer is forgotten, as is one at whose address another process answers, and one that refuses is
kept. Each is asked once between two shuffles.

*Shuffles* (4.4) keep the passive views fresh. Every `shuffle_seconds` a process sends itself, some
of its neighbours and some of its passive view on a random walk; the process at the end sends back
as many of its passive view. Both put what they received into their passive views, in place of what
they sent.

*Both ends agree.* Answers get lost, so now and then a heartbeat tells its receiver that it is a
neighbour (Holding). A receiver that does not hold the sender accepts if it has room, and otherwise
answers that it is no neighbour.

*Isolation and healing.* Neighbours that fell silent go to a *cold list*
(`camcast.vocabulary.cold_list`). Every `probe_seconds` some of them are asked with high priority to
be neighbours again, which joins the halves of a healed partition. Every `SEEK_SECONDS` a process
writes to one that the discovery names; if that one has not met this community
(`SizeEstimate.is_stranger`), both take each other in like newcomers, so that communities that were
founded twice become one. A process whose views are both empty joins again.

*Processes that nobody can dial* have neighbours that can be dialled alone, and would find these
full: whoever can be dialled takes them in beside its other neighbours, and never one in place of
another (`camcast.doors.table_membership`). As few processes send to them, they come first in a
fan-out.

*The size.* Holding carries the sample of `camcast.vocabulary.size_estimate`.

Deviations from the source. Processes that are full and have each other as neighbours would refuse
all others for ever, and a few that have each other would stay an island (measured: with three
neighbours in 1 of 40 communities of six); so strangers are not refused. After a failed round of
requests a process with room asks again at its next shuffle. A process all of whose neighbours are
silent, and which may therefore be cut off, also asks with high priority.

Hostile peers. A request of high priority takes the place of a neighbour, so a process that sends
many of them can drive out the other neighbours; and a walk that comes to a liar ends at an
accomplice, who then asks the newcomer. The paper has no remedy. Here a newcomer draws a share of
its neighbours itself (`drawn_share`), among the members that the discovery names: it asks these
with high priority, and no request takes their places, as with the `D_out` of gossipsub. It does so
once, since each link that is made so costs another process a neighbour. Each request costs its
sender a message, and the answers to it are bounded by the view.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.first_contacts import ANSWER_SECONDS
from camcast.doors.membership import Backend, MembershipContext
from camcast.doors.table_membership import TableMembership
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.streams import jittered
from membership.hyparview_messages import (
    DECODER,
    Accepted,
    Disconnect,
    ForwardJoin,
    Holding,
    Join,
    Meet,
    Neighbor,
    Refused,
    Shuffle,
    ShuffleReply,
)
from membership.passive_view import PassiveView

VIEW_MAX: Final = 200  # chosen: as Cyclon's; bounds what a user may set
# chosen: a random graph of degree 2 is a number of rings, none of which has room to meet another
# (measured: 6 processes with 2 neighbours are apart for good in 1 of 15 runs)
ACTIVE_MIN: Final = 3
STEPS_MAX: Final = 64  # chosen: as SCAMP's walks
ACTIVE_WALK: Final = 6  # [HyParView 5.1] ARWL, steps of ForwardJoin, Shuffle; as in iroh-gossip
# [HyParView 5.1] PRWL, steps before the end of ForwardJoin at which the newcomer gets into a
# passive view
PASSIVE_WALK: Final = 3
SHUFFLE_ACTIVE: Final = 3  # [HyParView 5.1] ka, neighbours in a shuffle; as in iroh-gossip
SHUFFLE_PASSIVE: Final = 4  # [HyParView 5.1] kp, processes of the passive view in a shuffle
ASKED_PERIODS: Final = 10  # chosen: heartbeats after which an answer to a request is too late


@frozen(kw_only=True)
class HyParViewOptions:
    """The parameters of HyParView. Raises `ValueError` for a value outside its range."""

    active: int = field(default=5, validator=[validators.ge(ACTIVE_MIN), validators.le(VIEW_MAX)])
    """Neighbours: log10(10,000) + 1. [5.1, as in iroh-gossip, partisan and
    hashicorp/hyparview]"""

    passive: int = field(default=30, validator=[validators.ge(1), validators.le(VIEW_MAX)])
    """Processes in the passive view. [5.1, as in the same three]"""

    drawn_share: float = field(default=0.6, validator=[validators.ge(0), validators.le(1)])
    """The share of its neighbours that a newcomer draws itself. chosen: with 6 liars of 42, 21 % of
    a newcomer's neighbours are liars, without it 34 to 37 %; fair are 14 %. Two neighbours are left
    to walks."""

    shuffle_seconds: float = field(default=5.0, validator=validators.gt(0))
    """The period of shuffles. chosen: 1.4 records a second; with 7 processes in each shuffle, a
    passive view is replaced in half a minute."""

    heartbeat_seconds: float = field(default=1.0, validator=validators.gt(0))
    """Period of heartbeats. chosen: as SCAMP"""

    suspect_after: int = field(default=3, validator=validators.ge(1))
    """Silent periods until a neighbour is suspect, and others are asked. chosen: as SCAMP"""


class HyParView(TableMembership):
    """The views of one process in one community; see the module's theory of operation."""

    decoder = DECODER
    goodbye = Disconnect(left=True)

    def __init__(self, context: MembershipContext, options: HyParViewOptions) -> None:
        super().__init__(context, options.active, options.heartbeat_seconds, options.suspect_after)
        self._options = options
        self._shuffled_max = SHUFFLE_ACTIVE + SHUFFLE_PASSIVE + 1
        """Processes in a shuffle, its sender included."""
        self._passive = PassiveView(
            *(context.me.peer, self._table, options.passive, self._shuffled_max, context.rng),
            self._liveness.can_hold,
        )
        self._asked: dict[str, float] = {}
        """The open requests to be a neighbour: when each address was asked."""
        self._candidate: Contact | None = None
        """The process of the passive view that was asked last, while it has time to answer."""
        self._attempt = 0
        self._to_draw = round(options.drawn_share * options.active)
        """How many neighbours this process has still to draw."""
        self._named: dict[PeerId, Contact] = {}
        """The members that the discovery named last, until they are neighbours."""
        self._drawn: dict[PeerId, None] = {}
        """The neighbours that were drawn; some may have left the view."""
        self._last_tick = 0.0
        self._cut_off_until = 0.0  # renewed each period while all peers are silent
        self._next_shuffle = 0.0

    # -- what others read ------------------------------------------------------------------

    @override
    def in_view(self) -> list[Contact]:
        """Return the active view: it is symmetric; see `Membership`."""
        return list(self._table)

    # -- inputs: joining and leaving ---------------------------------------------------------

    @override
    def greeting(self, now: float) -> Join:
        return Join()

    @override
    def on_message(self, source: Contact, message: Message, now: float) -> None:
        match message:
            case Holding(sample=sample):
                self._on_holding(source, sample, now)
            case Shuffle():
                self._on_shuffle(source, message, now)
            case ShuffleReply(contacts=contacts):
                self._passive.put(contacts)
            case Neighbor(high=high, sample=sample):
                self._on_neighbor(source, sample, now, high=high)
            case Meet(sample=sample):
                self._on_meet(source, sample, now)
            case Accepted(sample=sample):
                self._on_accepted(source, sample, now)
            case Refused():
                self._on_no(source, now)
            case Disconnect():
                self._on_disconnect(source, now)
            case ForwardJoin():
                self._on_forward_join(source, message, now)
            case Join():
                self._liveness.prove(source, now, partial(self._on_join, source))

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("answer", attempt) if attempt == self._attempt and self._candidate:
                self._passive.discard(self._candidate.peer)  # taken to be dead
                self._candidate = None
                self._fill_up(now)
            case _:
                super().wake(name, now)

    # -- inputs: liveness --------------------------------------------------------------------

    @override
    def let_go(self, contact: Contact, now: float) -> None:
        """Replace a neighbour that has failed or left."""
        super().let_go(contact, now)
        self._passive.discard(contact.peer)
        self._on_no(contact, now)
        self._fill_up(now)

    @override
    def all_silent(self, now: float) -> None:
        """See `Watcher`: ask other processes before the neighbours are taken to be dead."""
        self._cut_off_until = now + 2 * self._options.heartbeat_seconds

    @override
    def heartbeat(self, contact: Contact, now: float) -> Holding | None:
        held = contact.peer in self._table
        return Holding(self._estimate.encode(now)) if held else None

    # -- joining -----------------------------------------------------------------------------

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        known = list(contacts)
        self._named = {contact.peer: contact for contact in known}
        super().join(known, now)

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        found = list(contacts)
        super().contacts_found(found, now, size)
        if self._joined:
            self._named = {contact.peer: contact for contact in found}
            self._draw(now)

    def _draw(self, now: float) -> None:
        """Ask members that the discovery has named to be neighbours, as many as are to be drawn."""
        others = [contact for peer, contact in self._named.items() if peer not in self._table]
        for contact in others[: self._to_draw]:
            self._ask(contact, now, high=True)

    def _note_drawn(self, peer: PeerId, now: float) -> None:
        """Note a neighbour that was drawn; after the first, the contact, ask the others."""
        del self._named[peer]
        self._drawn[peer] = None
        self._to_draw -= 1
        if len(self._drawn) == 1:
            self._draw(now)

    @override
    def become_member(self, now: float) -> None:
        if not self._joined:
            self._last_tick = now
            self._next_shuffle = now + jittered(self._options.shuffle_seconds, self._rng)
        super().become_member(now)

    def _on_join(self, newcomer: Contact, now: float) -> None:
        self.become_member(now)  # two processes that still join found the community together
        self._estimate.note(newcomer.peer, now)
        if self._take_in(newcomer, now):
            self._outlet.send([newcomer], Accepted(self._estimate.encode(now)))

    def _take_in(self, newcomer: Contact, now: float) -> bool:
        """Make a newcomer a neighbour, and start the walks that find it other neighbours.

        False if this process holds as many as it can that nobody can dial.
        """
        held = self.hold(newcomer, now)
        others = [contact for contact in self._table if contact.peer != newcomer.peer]
        walk = ForwardJoin(ACTIVE_WALK, self._me.peer)
        self._outlet.send(others, walk, reply_to=newcomer)
        return held

    def _on_forward_join(self, newcomer: Contact, walk: ForwardJoin, now: float) -> None:
        steps = max(0, min(walk.steps, STEPS_MAX))
        goes_on = steps or not self._me.meets(newcomer)
        onward = self._onward(newcomer.peer, walk.via) if goes_on else None
        if steps == PASSIVE_WALK:
            self._passive.put((newcomer,))
        if onward is not None:
            passed_on = ForwardJoin(max(0, steps - 1), self._me.peer)
            self._outlet.send([onward], passed_on, reply_to=newcomer)
        elif newcomer.peer not in self._table and newcomer.peer != self._me.peer:
            self._ask(newcomer, now, high=True)

    def _onward(self, origin: PeerId, via: bytes) -> Contact | None:
        """Draw the neighbour that a walk goes on to; None if there is none and the walk ends."""
        others = [contact for contact in self._table if contact.peer not in (origin, via)]
        return self._rng.choice(others) if others else None

    @override
    def meet(self, strangers: list[Contact], now: float) -> None:
        """Ask one stranger whether it has met this community; fill the views with all of them."""
        if self._has_room or self._lonely:
            self._passive.put(strangers)
            self._fill_up(now)
        self._outlet.send(strangers[:1], Meet(self._estimate.encode(now)))

    # -- the active view -----------------------------------------------------------------------

    @property
    @override
    def _lonely(self) -> bool:
        """Whether this process has no neighbour, or may be cut off from all of them."""
        return not len(self._table) or self._last_tick < self._cut_off_until

    @property
    @override
    def _lost(self) -> bool:
        return not len(self._table) and not len(self._passive)

    @override
    def hold(self, contact: Contact, now: float) -> bool:
        """Make a process a neighbour, in place of a random neighbour if there is no room."""
        if contact.peer in (self._me.peer, UNKNOWN_PEER):
            return False
        known = contact.peer in self._table
        if not known and contact.is_dialable and not self._has_room:
            dialled = self._dialled
            lasting = (*self._drawn, *self._table.kept)
            others = [one for one in dialled if one.peer not in lasting] or dialled
            evicted = others[int(self._rng.random() * len(others))]
            self.drop(evicted.peer)
            self._passive.put((evicted,))
            self._outlet.send([evicted], Disconnect(left=False))
        self._passive.discard(contact.peer)
        held = super().hold(contact, now)
        self._table.pin(contact.peer, pinned=not contact.is_dialable)
        return held

    def _ask(self, contact: Contact, now: float, *, high: bool) -> None:
        """Ask a process to be a neighbour."""
        self._asked[contact.address] = now
        self._outlet.send([contact], Neighbor(high, self._estimate.encode(now)))

    def _fill_up(self, now: float) -> None:
        """If a neighbour is missing, ask a process of the passive view to be one."""
        if self._candidate is not None or not (self._has_room or self._lonely):
            return
        self._candidate = self._passive.candidate()
        if self._candidate is not None:
            self._attempt += 1
            self._ask(self._candidate, now, high=self._lonely)
            self._outlet.wake(ANSWER_SECONDS, "answer", self._attempt)

    def _on_neighbor(self, source: Contact, sample: bytes, now: float, *, high: bool) -> None:
        self.become_member(now)  # a member wants to hold this process
        stranger = self._estimate.is_stranger(sample)
        wanted = high or stranger or source.peer in self._table or self._has_room_for(source)
        if wanted and self.hold(source, now):
            self.learn_size(source, sample, now)
            self._outlet.send([source], Accepted(self._estimate.encode(now)))
        else:
            self._outlet.send([source], Refused())

    def _on_meet(self, source: Contact, sample: bytes, now: float) -> None:
        """Take in a member of a community that was founded apart; it takes this process in, too."""
        if self._estimate.is_stranger(sample):
            self._outlet.send([source], Accepted(self._estimate.encode(now)))
            self._take_in(source, now)
            self.learn_size(source, sample, now)

    def _on_accepted(self, source: Contact, sample: bytes, now: float) -> None:
        stranger = self._estimate.is_stranger(sample)
        self.become_member(now)
        self.learn_size(source, sample, now)
        self._cut_off_until = 0.0
        asked = self._asked.pop(source.address, None) is not None
        if stranger and not self._has_room_for(source):
            self._take_in(source, now)
        elif asked or self._has_room_for(source) or source.peer in self._table:
            self.hold(source, now)
        else:
            self._outlet.send([source], Disconnect(left=False))
        self._on_no(source, now)
        if self._to_draw and source.peer in self._named and source.peer in self._table:
            self._note_drawn(source.peer, now)

    def _on_no(self, source: Contact, now: float) -> None:
        """End the request to a process that has answered, and ask the next candidate."""
        self._asked.pop(source.address, None)
        if self._candidate is not None and self._candidate.address == source.address:
            if self._candidate.peer != source.peer:  # another process took over its address
                self._passive.discard(self._candidate.peer)
            self._candidate = None
            self._fill_up(now)

    def _on_disconnect(self, source: Contact, now: float) -> None:
        """Let go of a neighbour that has made room for another; an explicit peer is asked again."""
        if source.peer in self._table.kept and source.peer in self._table:
            self._ask(source, now, high=True)
            return
        self.drop(source.peer)
        self._passive.put((source,))
        self._passive.leave_out(source.peer)
        self._on_no(source, now)
        self._fill_up(now)

    def _on_holding(self, source: Contact, sample: bytes, now: float) -> None:
        """Take a process that holds this one as a neighbour, or tell it that it is none."""
        self.learn_size(source, sample, now)
        if source.peer in self._table or self._has_room_for(source):
            self.hold(source, now)
        else:
            self._outlet.send([source], Disconnect(left=False))

    # -- the passive view ----------------------------------------------------------------------

    def _shuffle(self) -> None:
        partner = self._table.choose(self._rng)
        if partner is None:
            return
        neighbours = self._table.sample(SHUFFLE_ACTIVE, self._rng, partner.peer)
        others = self._passive.draw(SHUFFLE_PASSIVE)
        shuffle = Shuffle(ACTIVE_WALK, self._me.peer, (*neighbours, *others))
        self._outlet.send([partner], shuffle)

    def _on_shuffle(self, origin: Contact, shuffle: Shuffle, now: float) -> None:
        steps = max(0, min(shuffle.steps, STEPS_MAX)) - 1
        goes_on = steps > 0 or not self._me.meets(origin)
        onward = self._onward(origin.peer, shuffle.via) if goes_on else None
        if onward is not None:
            passed_on = Shuffle(max(0, steps), self._me.peer, shuffle.contacts)
            self._outlet.send([onward], passed_on, reply_to=origin)
        elif origin.peer != self._me.peer:
            count = min(len(shuffle.contacts) + 1, self._shuffled_max)
            own = self._passive.draw(count, origin.peer)
            self._outlet.send([origin], ShuffleReply(tuple(own)))
            self._passive.put((origin, *shuffle.contacts))

    # -- the period ------------------------------------------------------------------------------

    @override
    def tick(self, now: float) -> None:
        self._last_tick = now
        told = self._table.choose(self._rng)
        if told is not None:
            self._liveness.tell(told.peer)
        lately = now - ASKED_PERIODS * self._options.heartbeat_seconds
        self._asked = {who: when for who, when in self._asked.items() if when > lately}
        if now >= self._next_shuffle:
            self._next_shuffle = now + jittered(self._options.shuffle_seconds, self._rng)
            self._passive.forget_asked()
            self._shuffle()
        self._fill_up(now)

    @override
    def keep(self, contact: Contact, now: float) -> None:
        self._table.keep(contact.peer)
        if contact.peer not in self._table:
            self._ask(contact, now, high=True)

    @override
    def try_again(self, contact: Contact, now: float) -> None:
        self._ask(contact, now, high=True)


BACKEND = Backend(
    name="hyparview",
    keeper=HyParView,
    options=HyParViewOptions,
    discovery="gateways",
    expected_view=lambda options, size: min(size - 1, float(options.active)),
    as_printed={"drawn_share": 0.0},
)
