"""SCAMP: partial views whose size follows (c+1) ln N without anybody knowing N.

Source: A. J. Ganesh, A.-M. Kermarrec, L. Massoulié, "Peer-to-peer membership management for
gossip-based protocols", IEEE Transactions on Computers 52(2), 2003; it is the membership
that CAMCAST's V1 and V2 use (paper 000, 5.2.1 and 5.2.2).

Theory of operation
-------------------
A process holds a *view* (its arcs to others: the topic table, to which it gossips) and an
*in-view* (who holds an arc to it). Every arc is known at both ends.

*Subscription.* A newcomer sends SUBSCRIBE to a contact. The request first walks a few steps
along weighted arcs (*indirection*), so that a gateway through which all join does not become
a hub. The process at the end of this walk welcomes the newcomer, whose view starts with that
process, and sends a copy of the subscription to every member of its view and c further copies to
random members. A process that receives a copy keeps it with probability 1/(1 + |view|), unless it
is the subscriber or holds the subscriber already, and otherwise passes it on to a random member. A
keeper tells the newcomer, which notes the keeper in its in-view. In the mean a newcomer adds
|view| + c + 1 arcs, from which the law (c+1) ln N follows. Every walk has a random name, and no
process takes the same step of a walk twice (`membership.scamp.walks`): where the network
duplicates one message in ten, a walk of twenty steps would become seven walks.

*Unsubscription.* Of l holders, the leaver asks the first l - c - 1 to replace it by a process of
its own view, and the other holders to drop it: the law holds after departures, too.

*Leases.* Each process renews a tenth of its in-arcs once a lease: it sends a RENEW for that many
copies, and for those that it lacks by the law. When the new holders have answered, it asks as many
random old holders to drop it as the law says are too many. A renewal replaces arcs and never adds
any (renewals that add c copies each grow views without end: measured 16.8 to 78.4 in 12 cycles).
The same message repairs an in-view that crashes have thinned out, and surplus holders are asked to
drop their arcs. No timer drops an arc whose target answers: in a community of three to six every
process holds every other, so a renewal finds no new holder, and arcs that expired would all expire
together (measured: events lost every two leases). A process that more than `DENSE` of the other
processes hold renews only the arcs that it lacks.

*Heartbeats.* The process's liveness service (`camcast.doors.liveness`) sends one heartbeat a
period along every arc, and finds out which ends of arcs are dead; `suspect_after` periods of
silence make an end suspect. An `Arc` goes along with these heartbeats and their answers. It says
that the sender holds the receiver, without which a holder is forgotten. It has the arc weights of
the indirection, normalised in turn by the holder (its arcs sum to 1) and by the target (its holders
sum to 1), so that the weighted walk tends to visit every process alike. And to one random member
every few periods it takes the sample of the size estimate (`camcast.vocabulary.size_estimate`),
which that member answers with its own.

*Sponsors.* One of the holders of each process always includes it in its fan-out
(`membership.scamp.sponsorship`). `sponsors=False` gives the plain choice of the paper.

*Drawn arcs.* A process draws half of its view itself, among the members that the discovery names
(`membership.scamp.drawn_arcs`), so that liars who let only their own subscriptions spread do not
fill it. `drawn_share=0` leaves this out.

*Isolation and healing.* A process without holders subscribes again through any process it knows, or
asks the discovery. Peers that fell silent without a goodbye go to a *cold list*
(`camcast.vocabulary.cold_list`); every `probe_seconds` one of them is probed, and an answer makes
arcs both ways. Halves that never knew each other (a community founded twice) meet because every
process asks the discovery for members once a lease, and probes one that is not in its view.

*Hostile peers.* One small message draws as many copies as the view has members. A process makes
at most `COPIES_A_PERIOD` copies in a period; it refuses a subscription or renewal beyond that, and
an honest sender asks again. A process can say goodbye in another's name, or name another address
for it. The liveness service asks the process at the known address first (`Liveness.doubt`), and
SCAMP forgets the peer only if that process does not answer: a forged goodbye changes no table.

Deviations from the source: the view is capped at 3(c+1) ln N; walks carry a TTL, and the process
where it ends keeps the copy if it can (lost copies are counted); renewals state their number of
copies; an in-view that differs from the law by more than a quarter is corrected.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from math import ceil, fsum, log
from typing import ClassVar, Final

from attrs import evolve
from typing_extensions import override

from camcast.doors.first_contacts import CONTACTS_WANTED
from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.vocabulary.cold_list import ColdList
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.size_estimate import SAMPLE_PACE, SizeEstimate
from camcast.vocabulary.streams import jittered
from membership.scamp.drawn_arcs import DrawnArcs
from membership.scamp.messages import (
    DECODER,
    Arc,
    Copy,
    Drawn,
    Drop,
    Kept,
    Probe,
    Renew,
    Replace,
    Subscribe,
    Welcome,
)
from membership.scamp.options import ScampOptions, expected_view, is_dense
from membership.scamp.sponsorship import Holder, Sponsorship
from membership.scamp.walks import WALK_BITS, WalkSteps

WALK_TTL: Final = 64  # chosen: a copy is kept after 1 + |view| steps on average, some 10 to 40
WALK_PATIENCE: Final = 4  # chosen: times that average; 2 % of the walks take longer (e^-4)
INDIRECTION_MAX: Final = 16  # chosen: ln N + 1 steps mix a random graph; ln 10^6 + 1 = 15
CAP_FACTOR: Final = 3  # chosen: a view holds at most 3(c+1) ln N, three times its mean
CAP_SIZE_MIN: Final = 64  # chosen: while N is still being learned the cap assumes at least this
# chosen: an in-view that differs more from the law is corrected, and a view above it gives up arcs
SLACK: Final = 0.25
# chosen: below SLACK. When a lease renewed all arcs, walks were 4.0 of the 18.4 records a second of
# each of 20 idle processes; with a tenth of the arcs they are 0.6.
RENEWED: Final = 0.1
WEIGHT_MIN: Final = 1e-6  # chosen: far below 1/view, and above what sums of floats lose
# chosen: periods until a holder that does not say so in an `Arc` is forgotten. An `Arc` goes along
# with one heartbeat of ten: at 30 % loss all six are missing with probability 0.3^6.
FORMER_PERIODS: Final = 60
REVIEW_TICKS: Final = 10  # chosen: periods between two reviews of the holders
# chosen: the relative change of a weight that is told to the other end of the arc. Walks then visit
# a process at most a tenth too often.
CHANGED: Final = 0.1
COPIES_A_PERIOD: Final = 2**14  # chosen: 800 joins in a period at a view of 20; 1.6 MB of records
SEEK_SECONDS_MAX: Final = 15.0  # chosen: an isolated process asks the discovery that often


class Scamp(Membership):
    """SCAMP for one community of one process; see the module's theory of operation."""

    decoder: ClassVar[Decoder[Message]] = DECODER

    def __init__(self, context: MembershipContext, options: ScampOptions) -> None:
        self.lost_copies = 0
        self.refused = 0
        """Subscriptions and renewals that were refused because of too many copies in one period."""
        self._copies_left = COPIES_A_PERIOD
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._liveness = context.liveness
        self._options = options
        self._liveness.report_to(
            self, options.heartbeat_seconds, options.suspect_after * options.heartbeat_seconds
        )
        self._view = PeerTable(context.watch)
        self._weights: dict[PeerId, float] = {}
        """The weights of the arcs to the members of the view."""
        self._told: dict[PeerId, float] = {}
        """The weights that the members of the view were told last."""
        self._in_view: dict[PeerId, Holder] = {}
        self._holders_weight = 1.0
        """The sum of the holders' weights, as of the last tick."""
        self._sponsors = Sponsorship(
            self._view, self._weights, self._in_view, self._liveness, self._rng
        )
        self._drawn_arcs = DrawnArcs(options.drawn_share, self._view, self._rng)
        self._sampled: dict[PeerId, bool] = {}
        """The peers that get a sample with the next heartbeat; True if theirs is wanted back."""
        self._cold = ColdList()
        self._estimate = SizeEstimate(context.me.peer, options.heartbeat_seconds, context.certified)
        self._joined = False
        self._leaving = False
        self._forsaken = False
        """Whether a peer has left since any peer of the view was heard of."""
        self._contacts: list[Contact] = []  # to be asked while joining
        self._attempt = 0
        self._asking = False  # whether a contact has been asked and still has time to answer
        self._last_tick = 0.0
        self._ticks = 0
        self._sample_at = 0  # the tick of the next sample
        self._balanced = False  # whether no weight has changed since the last tick
        self._cut_off_until = 0.0  # renewed each period while all peers are silent
        self._next_probe = 0.0
        self._next_reconnect = 0.0
        self._next_repair = 0.0
        self._repair_pause = options.heartbeat_seconds
        self._next_seek = 0.0
        self._seek_pause = options.heartbeat_seconds
        self._renew_at = 0.0
        self._replaced: list[PeerId] = []  # the holders from before a renewal under way
        self._steps = WalkSteps()

    # -- what others read ------------------------------------------------------------------

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @override
    def peers(self) -> PeerTable:
        """Return the view; see `Membership`."""
        return self._view

    @override
    def in_view(self) -> list[Contact]:
        """Return the in-view, the processes that hold an arc to this one; see `Membership`."""
        return [holder.contact for holder in self._in_view.values()]

    @override
    def size(self) -> float:
        """See `Membership`: the estimate, but at least the view and this process.

        It is 1 if the view is empty, and if all peers that this process ever heard of have left and
        those in the view were named by walks: that is certain, the estimate of earlier days is not.
        """
        known = len(self._weights) + 1.0  # one arc a member of the view
        if known == 1.0 or self._forsaken:
            return 1.0
        estimate = self._estimate.size  # as in `_counted`, whose call each event would pay for
        return estimate if estimate > known else known

    @property
    def _counted(self) -> float:
        """The estimate, but at least the view and this process: what views are fitted to."""
        return max(self._estimate.size, len(self._weights) + 1.0)

    @property
    def _law(self) -> float:
        """The size that views and in-views should have."""
        return expected_view(self._options, self._counted)

    def _hears_nobody(self) -> bool:
        return not any(map(self._liveness.met, self._weights))

    # -- inputs: joining and leaving ---------------------------------------------------------

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        self._estimate.refresh(now)
        self._contacts = list(contacts)
        if self._contacts:
            self._subscribe_next()
        else:
            self._become_member(now)

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: join through the contacts; an isolated member joins again.

        SCAMP has an estimate of its own, and ignores the discovery's `size`.
        """
        named = list(contacts)
        found = [contact for contact in named if contact.peer not in self._view]
        if not self._joined:
            if found or not self._asking:  # an empty answer while a contact is still being asked
                self.join(found, now)
        elif found and self._isolated:
            self._contacts = found
            self._subscribe_next()
        elif named:
            self._outlet.send(found[:1], Probe(self._estimate.encode(now), cold=False))
            places = (self._law, is_dense(self._options, self._counted))
            self._outlet.send(self._drawn_arcs.draw(named, *places), Drawn())

    @override
    def keep(self, contact: Contact, now: float) -> None:
        """See `Membership`: the peer is told that this process has drawn it, and then held."""
        super().keep(contact, now)
        if contact.peer not in self._view:
            self._outlet.send([contact], Drawn())

    @override
    def leave(self, now: float) -> None:
        """Unsubscribe: the first l - c - 1 holders replace this process, the rest drop it."""
        if self._leaving:
            return
        self._leaving = True
        holders = self.in_view()
        view = list(self._view)
        replacing = max(0, len(holders) - self._options.c - 1) if view else 0
        for number, holder in enumerate(holders):
            # Nobody can replace the leaver by itself.
            others = [c for c in view if c.peer != holder.peer] if number < replacing else []
            told = Replace(others[number % len(others)]) if others else Drop(left=True)
            self._outlet.send([holder], told)
        told_already = self._in_view
        self._outlet.send([c for c in view if c.peer not in told_already], Drop(left=True))

    @override
    def receive(self, source: Contact, message: Message, now: float) -> None:
        if self._leaving:
            # The sender, such as a holder that was not known yet, has not heard of the leave.
            if not isinstance(message, Drop):
                self._outlet.send([source], Drop(left=True))
            return
        known = self._known(source.peer)
        if known is not None and known.address != source.address:
            self._liveness.doubt(known, now)
            return
        match message:  # the frequent ones first
            case Arc():
                self._on_arc(source, message, now)
            case Copy(ttl=ttl, walk=walk):
                if self._steps.first_time(source.peer, walk, ttl):
                    self._estimate.note(source.peer, now)
                    self._on_copy(source, min(ttl, WALK_TTL), walk, now)
            case Subscribe(steps=steps, walk=walk):
                if self._steps.first_time(source.peer, walk, steps):
                    self._on_subscribe(source, steps, walk, now)
            case Welcome(sample=sample):
                self._estimate.merge(sample, source, now)
                self._hold(source, now)
                self._become_member(now)
            case Kept():
                self._held_by(source, now)
                self._become_member(now)
                self._warm(source, now)
            case Drawn():
                self._on_drawn(source, now)
            case Renew(copies=copies, walk=walk):
                if self._steps.first_time(source.peer, walk, copies):
                    renewed = partial(self._on_renew, source, max(0, min(copies, self._cap())))
                    self._liveness.prove(source, now, renewed)
            case Replace(by=by):
                self._on_replace(source, by, now)
            case Drop(left=left):
                self._on_drop(source, now, left=left)
            case Probe():
                self._on_probe(source, message, now)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("tick",):
                self._tick(now)
            case ("subscribe", attempt) if attempt == self._attempt:
                if not self._joined or self._isolated:
                    self._subscribe_next()
                else:
                    self._attempt = 0
            case ("renewed",):
                self._drop_replaced()

    # -- subscription ------------------------------------------------------------------------

    @property
    def _isolated(self) -> bool:
        cut_off = self._last_tick < self._cut_off_until
        return cut_off or not self._in_view or not len(self._view)

    def _subscribe_next(self) -> None:
        """Ask one contact; after it two at a time, without indirection; at last the discovery.

        After a crash of many processes, walks through views that still hold dead processes get
        lost, and contacts are dead, too: then joining at all matters more than even views.
        """
        again = self._attempt > 0
        self._attempt += 1
        asked, self._contacts = self._contacts[: 1 + again], self._contacts[1 + again :]
        self._asking = bool(asked)
        if asked:
            walk = self._options.indirection and not again
            self._outlet.send(asked, Subscribe(-1 if walk else 0, self._name_walk()))
            self._outlet.wake(self._options.join_seconds, "subscribe", self._attempt)
        else:
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _become_member(self, now: float) -> None:
        if self._joined:
            return
        self._joined = True
        self._attempt = 0
        self._contacts.clear()
        self._last_tick = now
        self._renew_at = now + self._lease()
        self._outlet.wake(self._period(), "tick")

    def _name_walk(self) -> int:
        return self._rng.getrandbits(WALK_BITS)

    def _on_subscribe(self, newcomer: Contact, steps: int, walk: int, now: float) -> None:
        if not self._joined and newcomer.peer < self._outlet.me.peer:
            # Of two joining processes that ask each other, one founds the community: once the other
            # has proved its address, so that the founder knows a member as soon as it is one.
            return
        if not 0 <= steps <= INDIRECTION_MAX:
            steps = min(INDIRECTION_MAX, ceil(log(self._counted)) + 1)
        goes_on = steps or not self._outlet.me.meets(newcomer)
        onward = self._weighted_member(newcomer.peer) if goes_on else None
        if onward is not None:
            passed_on = Subscribe(max(0, steps - 1), walk)
            self._outlet.send([onward], passed_on, reply_to=newcomer)
            return
        members = len(self._view) - (newcomer.peer in self._view)
        copies = members + self._options.c
        self._liveness.prove(newcomer, now, partial(self._welcome, newcomer, copies))

    def _welcome(self, newcomer: Contact, copies: int, now: float) -> None:
        if not self._may_spread(copies):
            return
        self._estimate.note(newcomer.peer, now)
        self._outlet.send([newcomer], Welcome(self._estimate.encode(now)))
        self._held_by(newcomer, now)
        self._spread(newcomer, copies, now)
        self._become_member(now)

    def _may_spread(self, copies: int) -> bool:
        """Count copies against the bound of this period; return False if they exceed it."""
        if copies > self._copies_left:
            self.refused += 1
            return False
        self._copies_left -= copies
        return True

    def _on_renew(self, subscriber: Contact, copies: int, now: float) -> None:
        if not self._may_spread(copies):
            return
        # Where the view is too small for so many copies, this process keeps one itself; else three
        # processes could stay a ring, each passing copies on to one that holds the arc already.
        if copies >= len(self._view) and self._keep(subscriber, now):
            copies -= 1
        self._spread(subscriber, copies, now)

    def _spread(self, subscriber: Contact, copies: int, now: float) -> None:
        """Send a copy to every member of the view, and the rest to random members.

        For a process that nobody can dial, only members that can be dialled count: with few of
        these, fewer copies, or all would go to and fro between them.
        """
        drawn = self._view.sample(len(self._view), self._rng, without=subscriber.peer)
        members = drawn if subscriber.is_dialable else [one for one in drawn if one.is_dialable]
        if not members:
            self._keep(subscriber, now)  # the founder has no view to send copies to
            return
        able = len(self._view) - len(drawn) + len(members)
        if len(members) < len(drawn):
            copies = min(copies, (self._options.c + 1) * (able + 1))
        self._rng.shuffle(members)
        receivers = members[:copies]
        for _ in range(copies - len(receivers)):
            receivers.append(members[int(self._rng.random() * len(members))])
        ttl = min(WALK_TTL, WALK_PATIENCE * (1 + able))
        for receiver in receivers:
            self._outlet.send([receiver], Copy(ttl, self._name_walk()), reply_to=subscriber)

    def _on_copy(self, subscriber: Contact, ttl: int, walk: int, now: float) -> None:
        welcome = ttl <= 0 or self._rng.random() < 1 / (1 + len(self._view))
        if welcome and self._keep(subscriber, now):
            return
        onward = self._onward(subscriber) if ttl > 0 else None
        if onward is not None:
            self._outlet.send([onward], Copy(ttl - 1, walk), reply_to=subscriber)
        else:
            self.lost_copies += 1

    def _onward(self, subscriber: Contact) -> Contact | None:
        """Draw the member that a copy goes on to, which must be able to hold the subscriber."""
        if subscriber.is_dialable:
            return self._view.choose(self._rng, without=subscriber.peer)
        able = [one for one in self._view if one.is_dialable]
        return self._rng.choice(able) if able else None

    def _keep(self, subscriber: Contact, now: float) -> bool:
        """Hold an arc to the subscriber and tell it; False if it is held or the view is full."""
        if not self._hold(subscriber, now):
            return False
        self._outlet.send([subscriber], Kept())
        self._make_way(now)
        self._become_member(now)  # the arc hides the subscriber from later findings
        return True

    def _hold(self, contact: Contact, now: float) -> bool:
        # Those that nobody can dial have a bound of their own, `can_hold`: few can hold them.
        full = contact.is_dialable and len(self._view) - self._view.attached >= self._cap()
        full = full and contact.peer not in self._view.kept
        known = self._known(contact.peer)
        elsewhere = known is not None and known.address != contact.address
        if full or elsewhere or contact.peer in (self._outlet.me.peer, b""):
            return False
        if not self._liveness.can_hold(contact):
            return False
        if not self._view.add(contact):
            return False
        self._weights[contact.peer] = 1 / len(self._view)
        self._balanced = False
        self._cold.pop(contact.address)
        self._liveness.watch(contact, now)
        return True

    def _held_by(self, contact: Contact, now: float, weight: float = 1.0) -> None:
        holder = self._in_view.get(contact.peer)
        if holder is None or _differ(holder.weight, weight):
            self._balanced = False
        if holder is not None:
            holder.contact, holder.heard, holder.weight = contact, now, weight
        elif len(self._in_view) < CAP_FACTOR * self._cap() and self._liveness.can_hold(contact):
            # bounded whatever peers send
            self._in_view[contact.peer] = Holder(contact, now, weight)
            if contact.peer not in self._view:
                self._liveness.listen(contact, now)

    def _cap(self) -> int:
        return ceil(CAP_FACTOR * (self._options.c + 1) * log(max(self._counted, CAP_SIZE_MIN)))

    def _weighted_member(self, without: PeerId) -> Contact | None:
        """Draw a member with probability proportional to its arc's weight, if there is any."""
        members = [contact for contact in self._view if contact.peer != without]
        if not members:
            return None
        weights = [self._weights[contact.peer] for contact in members]
        return self._rng.choices(members, weights)[0]

    # -- arcs given up -----------------------------------------------------------------------

    def _on_replace(self, leaver: Contact, by: Contact, now: float) -> None:
        self._on_drop(leaver, now, left=True)
        if self._keep(by, now):
            self._liveness.doubt(by, now)  # where many leave at once it has left as well

    def _on_drop(self, source: Contact, now: float, *, left: bool) -> None:
        known = self._known(source.peer)
        if left and known is not None:
            self._liveness.doubt(known, now)
        elif left:
            self._cold.pop(source.address)
        elif len(self._view) > 1 and source.peer not in self._view.kept:
            # The only arc is kept; the next heartbeat tells its target so.
            self._drop_arc(source.peer, now)

    def _known(self, peer: PeerId) -> Contact | None:
        """Return the contact of a member of the view or a holder; None of any other process."""
        holder = self._in_view.get(peer)
        return self._view.get(peer) if holder is None else holder.contact

    def _drop_arc(self, peer: PeerId, now: float) -> None:
        """Drop the arc to a peer, which may still hold one to this process."""
        if self._view.discard(peer):
            del self._weights[peer]
            self._balanced = False
            self._told.pop(peer, None)
            holder = self._in_view.get(peer)
            if holder is None:
                self._unwatch(peer)
            else:
                self._liveness.listen(holder.contact, now)

    def _on_drawn(self, source: Contact, now: float) -> None:
        """Count a process that has drawn this one as a holder, in place of another, and say so.

        The process then holds this one, which it knows now to be alive, and says so (`Kept`).
        """
        if source.peer not in self._in_view and len(self._in_view) >= round(self._law):
            self._shed(1)
        self._held_by(source, now)
        self._outlet.send([source], self.heartbeat(source, now))

    def _make_way(self, now: float) -> None:
        """Give up what a view has above the law, and tell the processes that it holds no longer."""
        for contact in self._drawn_arcs.surplus(round(self._law * (1 + SLACK))):
            self._drop_arc(contact.peer, now)
            self._outlet.send([contact], self.heartbeat(contact, now))

    def _forget_holder(self, peer: PeerId) -> None:
        if self._in_view.pop(peer, None) is None:
            return
        self._balanced = False
        if peer not in self._view:
            self._unwatch(peer)
        self._sponsors.holder_gone()

    def _unwatch(self, peer: PeerId) -> None:
        self._sampled.pop(peer, None)
        self._liveness.unwatch(peer)

    @override
    def peer_silent(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop both arcs between this process and a silent peer."""
        self._give_up(contact.peer, now)
        self._forget_holder(contact.peer)

    @override
    def all_silent(self, now: float) -> None:
        """See `Watcher`: subscribe again, since all peers may be dead."""
        self._cut_off_until = now + 2 * self._options.heartbeat_seconds

    @override
    def peer_gone(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop both arcs, and do not put the peer on the cold list."""
        self._estimate.forget(contact.peer, now)
        self._drop_arc(contact.peer, now)
        self._forget_holder(contact.peer)
        self._forsaken = self._hears_nobody()

    def _give_up(self, peer: PeerId, now: float) -> None:
        """Drop the arc to a silent peer, and put the peer on the cold list."""
        contact = self._view.get(peer)
        if contact is None:
            return
        self._drop_arc(peer, now)
        self._cold.put(contact, self._topic, now)

    def _on_probe(self, source: Contact, probe: Probe, now: float) -> None:
        """Make arcs both ways with a process that lost this one, or never met its community."""
        if not probe.cold and not self._estimate.is_stranger(probe.sample):
            self._warm(source, now)  # it has answered, though it has no room for this process
            return
        self._estimate.merge(probe.sample, source, now)
        if source.peer in self._view:
            if probe.cold:
                self._outlet.send([source], Kept())
        elif not self._keep(source, now) and probe.cold:
            self._outlet.send([source], Probe(b"", cold=False))  # only a sign of life
        if not probe.cold:
            self._outlet.send([source], Probe(self._estimate.encode(now), cold=True))

    def _warm(self, source: Contact, now: float) -> None:
        """Hold a peer of the cold list that has answered."""
        if self._cold.pop(source.address) is not None:
            self._keep(source, now)

    # -- the period --------------------------------------------------------------------------

    def _period(self) -> float:
        return jittered(self._options.heartbeat_seconds, self._rng)

    def _lease(self) -> float:
        return self._options.lease_seconds * (0.5 + 0.5 * self._rng.random())

    def _tick(self, now: float) -> None:
        if self._leaving:
            return
        self._copies_left = COPIES_A_PERIOD
        self._forgive_pause(now)
        if self._ticks % REVIEW_TICKS == 0:
            self._forget_former_holders(now)
        if self._ticks >= self._sample_at:
            self._draw_whom_to_sample(now)
        self._ticks += 1
        self._forsaken = self._forsaken and self._hears_nobody()
        self._normalise_weights()
        if self._options.sponsors:
            self._sponsors.choose(self._in_view)
        self._repair(now)
        self._seek(now)
        self._probe(now)
        self._outlet.wake(self._period(), "tick")

    def _forgive_pause(self, now: float) -> None:
        """After a pause of this very process, nobody's silence counts."""
        paused = now - self._last_tick - self._options.heartbeat_seconds
        self._last_tick = now
        if paused > 2 * self._options.heartbeat_seconds:
            self._estimate.forgive(paused, now)
            for holder in self._in_view.values():
                holder.heard = min(now, holder.heard + paused)

    def _forget_former_holders(self, now: float) -> None:
        """Forget holders that are alive and have long not said that they hold this process."""
        patience = FORMER_PERIODS * self._options.heartbeat_seconds
        for peer, holder in list(self._in_view.items()):
            if holder.heard < self._liveness.heard(peer) - patience:
                self._forget_holder(peer)

    def _normalise_weights(self) -> None:
        """Once a period, normalise the arcs' weights, and tell peers whose weight has changed."""
        if self._balanced:
            return
        self._balanced = True
        weights, told, tell = self._weights, self._told, self._liveness.tell
        total = fsum(weights.values())
        for peer, weight in weights.items():
            weights[peer] = weight = weight / total
            before = told.get(peer, 0.0)
            if abs(weight - before) > CHANGED * before:
                tell(peer)
        self._holders_weight = max(
            WEIGHT_MIN, fsum(holder.weight for holder in self._in_view.values())
        )
        for peer, holder in self._in_view.items():
            share = holder.weight / self._holders_weight
            if abs(share - holder.told) > CHANGED * holder.told:
                tell(peer)

    def _draw_whom_to_sample(self, now: float) -> None:
        """Draw a random member to exchange samples with; they go along with the next heartbeat."""
        estimate, heard = self._estimate, self._liveness.heard
        estimate.vouch((peer, heard(peer)) for peer in {**self._weights, **self._in_view})
        estimate.refresh(now)
        self._sample_at = self._ticks + SAMPLE_PACE
        lucky = self._view.choose(self._rng)
        if lucky is not None:
            self._sampled[lucky.peer] = True
            self._liveness.tell(lucky.peer)

    @override
    def heartbeat(self, contact: Contact, now: float) -> Arc:
        """See `Watcher`: return what this process knows of the arcs between the two."""
        peer = contact.peer
        weight, holder, share = self._weights.get(peer, 0.0), self._in_view.get(peer), 0.0
        if weight:
            self._told[peer] = weight
        if holder is not None:
            share = holder.told = min(1.0, holder.weight / self._holders_weight)
        answer = self._sampled.pop(peer, None)
        return Arc(
            weight=weight,
            share=share,
            sponsored=self._view.pinned,
            sponsoring=self._view.is_pinned(peer),
            sponsor=peer == self._sponsors.sponsor,
            alone=peer == self._sponsors.sponsor and len(self._in_view) == 1,
            sample=b"" if answer is None else self._estimate.encode(now),
            answer=bool(answer),
        )

    def _on_arc(self, source: Contact, arc: Arc, now: float) -> None:
        peer = source.peer
        if arc.sample:
            self._estimate.merge(arc.sample, source, now)
        if arc.share:
            if peer in self._weights:
                share = _clamp(arc.share)
                self._balanced &= not _differ(self._weights[peer], share)
                self._weights[peer] = share
                self._sponsors.asked(peer, arc)
            else:
                self._keep(source, now)  # it was drawn, or counts on an arc given up here
        if arc.weight:
            self._held_by(source, now, _clamp(arc.weight))
            holder = self._in_view.get(peer)
            if holder is None:  # the in-view is full
                self._outlet.send([source], Drop(left=False))
            elif self._options.sponsors:
                self._sponsors.hear(peer, arc)
        else:
            self._forget_holder(peer)
        if arc.answer and (peer in self._weights or peer in self._in_view):
            self._sampled.setdefault(peer, False)
            self._liveness.tell(peer)

    # -- repair ------------------------------------------------------------------------------

    def _repair(self, now: float) -> None:
        """Correct an in-view that differs from the law, and renew it once a lease."""
        if self._isolated:
            self._reconnect(now)
            return
        if self._replaced:
            return  # a renewal is under way
        wanted = round(self._law)
        held = len(self._in_view)
        if now >= self._renew_at:
            self._renew_at = now + self._lease()
            dense = is_dense(self._options, self._counted)
            copies = max(0, wanted - held) + (0 if dense else ceil(RENEWED * wanted))
            if copies:
                self._replaced = list(self._in_view)
                self._ask_for_copies(copies)
                self._outlet.wake(2 * self._options.heartbeat_seconds, "renewed")
            else:
                self._shed(max(0, held - wanted))
        elif held > wanted * (1 + SLACK) + 1:
            self._shed(held - wanted)
        elif held < wanted * (1 - SLACK) and now >= self._next_repair:
            self._ask_for_copies(wanted - held)
            self._next_repair = now + self._repair_pause
            # It is in vain while all views are full, so the pause doubles.
            self._repair_pause = min(2 * self._repair_pause, self._options.lease_seconds)
        elif held >= wanted * (1 - SLACK):
            self._repair_pause = 2 * self._options.heartbeat_seconds

    def _ask_for_copies(self, copies: int) -> None:
        member = self._weighted_member(self._outlet.me.peer)
        if member is not None:
            self._outlet.send([member], Renew(copies, self._name_walk()))

    def _drop_replaced(self) -> None:
        """Ask as many holders from before the renewal to drop their arcs as are now too many."""
        old = [peer for peer in self._replaced if peer in self._in_view]
        self._replaced = []
        surplus = max(0, len(self._in_view) - round(self._law))
        self._rng.shuffle(old)
        self._tell_to_drop(old[:surplus])

    def _shed(self, surplus: int) -> None:
        holders = list(self._in_view)
        self._rng.shuffle(holders)
        self._tell_to_drop(holders[:surplus])

    def _tell_to_drop(self, peers: list[PeerId]) -> None:
        holders = [self._in_view[peer].contact for peer in peers]
        for peer in peers:
            self._forget_holder(peer)
        self._outlet.send(holders, Drop(left=False))

    def _reconnect(self, now: float) -> None:
        """Fill an empty view from the holders, and subscribe again through any known process."""
        if not len(self._view):
            lately = now - 2 * self._options.heartbeat_seconds  # older holders may be dead, too
            for holder in list(self._in_view.values()):
                if holder.heard > lately:
                    self._keep(holder.contact, now)
        known = list(self._view) or [cold.contact for cold in self._cold]
        if known and now >= self._next_reconnect:
            self._next_reconnect = now + 2 * self._options.heartbeat_seconds
            self._contacts = self._rng.sample(known, min(len(known), CONTACTS_WANTED))
            self._subscribe_next()

    def _seek(self, now: float) -> None:
        """Ask the discovery for members: often while new or isolated, then once a lease.

        `contacts_found` probes one of them. That joins communities that were founded twice, or
        have split into parts, each of which takes itself for the whole.
        """
        if self._isolated:
            self._seek_pause = min(self._seek_pause, SEEK_SECONDS_MAX)
        if now >= self._next_seek:
            self._next_seek = now + self._seek_pause
            self._seek_pause = min(2 * self._seek_pause, self._options.lease_seconds)
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _probe(self, now: float) -> None:
        if len(self._cold) and now >= self._next_probe:
            self._next_probe = now + self._options.probe_seconds
            for cold in self._cold.sample(1, self._rng, now):
                self._outlet.send([cold.contact], Probe(self._estimate.encode(now), cold=True))


def _differ(before: float, after: float) -> bool:
    """Say whether a weight has changed by more than a hundredth, so that sums must follow."""
    return abs(after - before) > 0.01 * before


def _clamp(weight: float) -> float:
    """Return a weight that a peer sent if it is in range, else the smallest weight."""
    return weight if WEIGHT_MIN <= weight <= 1.0 else WEIGHT_MIN


BACKEND = Backend(
    name="scamp",
    keeper=Scamp,
    options=ScampOptions,
    discovery="gateways",
    expected_view=expected_view,
    as_printed={"sponsors": False, "indirection": False, "drawn_share": 0.0},
)
"""V1 of the paper (000, 5.2.1): contacts from configured gateways."""

HYBRID = evolve(BACKEND, name="hybrid", discovery="kademlia")
"""V2 (000, 5.2.2): the same tables, contacts from the overlay."""
