"""The tree: each busy stream is pushed along a tree, and announced beside it (docs/protocols.md).

J. Leitão, J. Pereira, L. Rodrigues, "Epidemic broadcast trees", SRDS 2007.

Theory of operation
-------------------
Infect and die sends each event six times to every process. For a busy stream it pays to remember
which of the six senders was first. The publisher says which streams are busy: it sets the flag
`TREE` in their batches. All other batches, and those of streams for which there is no room, infect
and die (`camcast.protocols.camcast.Gossip`). A tree goes on in the communities above, which it
enters at one process each (`camcast.protocols.handing_up`).

*Eager.* A process keeps, for each such stream, a *parent*, which sends it the stream, and
*children*, to whom it sends each new batch at once. When the first batch comes, its sender becomes
the parent, and `CHILDREN_FIRST` random neighbours become the children: few, since a whole burst may
be under way before the first answer, and more where few processes can be dialled
(`PeerTable.burden`). A process that gets a second copy tells the sender so (`Prune`), and is that
sender's child no more. What remains is a tree. If the second copy comes from the parent, there is a
shorter way, and the first sender is the parent from then on.

*Lazy.* A process announces new events to other neighbours by the `Have` of repair:
`SECONDS_PACED` later, and `SECONDS_BURST` later in a burst; to all of them while the tree grows
(`GROWING_SECONDS`), and then to `TOLD_AT_ONCE` at a time, others each time. A neighbour that lacks
some of them waits for its parent first: links are FIFO, so that an announced event may be behind
other events of the stream, and an overloaded process gets announcements long before events
(`ArrivalDelay`). Then repair asks for them. Events that repair brought are sent along no tree: all
neighbours are told of them, also the children, who need not wait, since the parent would have sent
them before the announcement.

*Large.* The first large batch of a stream is not pushed but offered to all neighbours, and so is
each that comes because it was offered (`camcast.engine.repair.offers`). Who answers with it becomes
the parent (`Graft`), so that the next one is pushed. For `YOUNG_SECONDS` what is pushed is offered
to the other neighbours as well, since a burst may be under way before there is any child; a process
whose parent may still push it does not ask.

*Graft.* Where repair brings an event that should have come along the tree, and the parent is gone
or silent, the process takes the neighbour that had the event for its parent, and says so (`Graft`).
Batches that repair sends are flagged as repaired, and prune nothing. The parent tells it what it
holds: what was sent between the answer and the `Graft` came to other children alone.

*Leaving.* A process that leaves tells its children who its parent is, and its parent who the
children are (`Handover`). The children graft to that parent at once, and the parent tells them what
they may have missed meanwhile, so that nobody waits for a timer. The parent takes the graft of a
process that is no neighbour for `HEIR_SECONDS` after a child has named it; so nobody can have the
stream sent to others than itself.

The membership does not own the links of a tree: a link stays when the membership renews its table,
until the liveness service says that the peer is gone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import ceil, inf
from typing import Final

from attrs import define, field
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent, SuperTable
from camcast.doors.liveness import Watcher
from camcast.doors.repair import Repairs, RepairWatcher
from camcast.protocols.handing_up import Above, Below, HandingUp
from camcast.vocabulary.batches import TREE, Batch
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message, read_topic
from camcast.vocabulary.smoothed_time import ArrivalDelay
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import OTHER_LEVEL, REPAIRED

TREES_MAX: Final = 64  # chosen: busy streams at a time; a bound, as peers send them
CHILDREN_FIRST: Final = 3  # chosen: the first batch reaches 94 % at 3 copies; the rest is told
CHILDREN_MAX: Final = 64  # chosen: more than the neighbours of a process, which may all be children
SECONDS_PACED: Final = 0.5  # chosen: at 200 events/s an announcement is for a hundred
SECONDS_BURST: Final = 0.1  # chosen: a fifth of that, as a burst is soon over
GROWING_SECONDS: Final = 2.0  # chosen: the first announcements and their answers, at any pace
# chosen: each process hears from so many in a round, and from none in one of fifty; to tell all of
# eleven costs a paced stream of 50 events/s a quarter of its frames
TOLD_AT_ONCE: Final = 4
BURST_EVENTS: Final = 1000  # chosen: ten times as many as 200 events/s bring in half a second
PRUNE_SECONDS: Final = 1.0  # chosen: most of what was under way has come by then
# chosen: for any machine; a process whose parent is one that it has pruned gets nothing
RIVAL_SECONDS: Final = 30.0
PRUNED_MAX: Final = 256  # chosen: more than a process has neighbours
HEIR_SECONDS: Final = 10.0  # chosen: the way of a question at an overloaded peer, and its answer
YOUNG_SECONDS: Final = 1.0  # chosen: some hops of a megabyte each over links of 10 MB/s
FROM_BELOW: Final = REPAIRED | OTHER_LEVEL  # the flags of a batch that was asked for below
IDLE_SECONDS: Final = 30.0  # chosen: a stream that pauses for as long may as well begin again


class Prune(Message, tag=1, frozen=True):
    """Send me this stream no more: it comes to me another way."""

    stream: bytes


class Graft(Message, tag=2, frozen=True):
    """Send me this stream from now on."""

    stream: bytes


class Handover(Message, tag=3, frozen=True):
    """I leave: in the tree of this stream `parent` was above me, and `children` below."""

    stream: bytes
    parent: Contact | None
    children: tuple[bytes, ...]


_DECODER: Final[Decoder[Message]] = Decoder(Prune | Graft | Handover)


@define(eq=False)
class _Tree:
    """One process's knowledge of the tree of one stream."""

    first: int
    """The number from which on the stream has come along the tree."""
    heard: float
    """When something new came along it last."""
    planted: float
    """When this process learnt of the stream, or had lost all children of its own stream."""
    parent: PeerId | None = None
    parent_contact: Contact | None = None
    """The contact of the parent, which is watched; None also for a parent that is no neighbour."""
    from_below: Below | None = None
    """The parent, if it is of a community below."""
    children: dict[PeerId, Contact] = field(factory=dict)
    contacts: list[Contact] = field(factory=list)
    """The children; a change makes a new list, since what is sent keeps its list."""
    rival: PeerId | None = None
    """The process that brought the event `overtaken` first, although it is not the parent."""
    overtaken: int = 0
    pruned: dict[PeerId, float] = field(factory=dict)
    """When each process was told to send the stream no more."""
    heirs: dict[PeerId, float] = field(factory=dict)
    """When a child that left named these as its own children."""
    told_at: float = inf
    """When a neighbour told of events, all before `told_stop`, that have not come yet."""
    told_stop: int = 0
    withheld: bool = False
    """Whether the parent told of events that it did not send, since repair brought them."""


class Tree(Dissemination, RepairWatcher, Watcher):
    """Spreads busy streams along trees, and all others by gossip."""

    decoder = _DECODER
    hears_duplicates = True
    flags_busy = True

    def __init__(
        self, context: DisseminationContext, repair: Repairs, gossip: Dissemination
    ) -> None:
        self._context = context
        self._repair = repair
        self.gossip = gossip
        self._trees: dict[StreamId, _Tree] = {}
        self._delay = ArrivalDelay()
        self._news: dict[StreamId, bool] = {}  # with whether repair has brought something
        self._news_events = 0
        self._news_at = inf
        self._news_timer = 0  # the number of the timer for news; those before are void
        self._idle_timer = False
        self._handing_up = HandingUp(context, repair)
        context.liveness.report_to(self)
        repair.report_to(self)

    # -- spreading -------------------------------------------------------------------------

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        tree = self._tree_of(batch, source, now)
        if tree is None:
            return self.gossip.disseminate(batch, now, source)
        if self._repair.offers(batch):
            return self._spread_large(tree, batch, source, now)
        contacts = self._receivers(tree, batch, source, now)
        self._context.events.send(batch, contacts, now)
        return Sent(len(contacts))

    def _spread_large(self, tree: _Tree, batch: Batch, source: PeerId | None, now: float) -> Sent:
        """Push a large batch to the children, or offer it to all where there is no tree yet.

        A long one, which cannot be pushed, is offered as where there are no trees.
        """
        if batch.is_long:
            self._note_news(batch, now)
            return self.gossip.disseminate(batch, now, source)
        fetched = batch.head_flags & REPAIRED != 0
        if fetched and source is not None and not (tree.parent and tree.withheld):
            self._take_place(tree, batch.stream, source, now)
        pushed = self._receivers(tree, batch, source, now)
        if fetched:  # the children may have been offered it by others, and have asked for it
            pushed = []
        knowing = source, batch.stream[:PEER_ID_BYTES], *(one.peer for one in pushed)
        self._context.events.send(batch, pushed, now)
        offered: list[Contact] = []
        if fetched or now - tree.planted < YOUNG_SECONDS:
            neighbours = self._context.membership.neighbours()
            offered = [one for one in neighbours if one.peer not in knowing]
            self._repair.offer(batch, offered, now)
        return Sent(len(pushed) + len(offered))

    @override
    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """See `Dissemination`; neighbouring batches for the same processes leave together."""
        together: list[Batch] = []
        receivers: list[Contact] | None = None
        for batch, source in zip(batches, sources, strict=True):
            tree = self._tree_of(batch, source, now)
            if tree is not None and self._repair.offers(batch):
                self._spread_large(tree, batch, source, now)
                continue
            wanted = None if tree is None else self._receivers(tree, batch, source, now)
            if together and wanted is not receivers:
                self._send(together, receivers, now)
                together = []
            receivers = wanted
            together.append(batch)
        if together:
            self._send(together, receivers, now)

    def _send(self, batches: Sequence[Batch], to: list[Contact] | None, now: float) -> None:
        """Send new batches to these processes; with None, gossip chooses them."""
        if to is None:
            self.gossip.disseminate_together(batches, now, ())
        else:
            self._context.events.send_together(batches, to, now)

    def _tree_of(self, batch: Batch, source: PeerId | None, now: float) -> _Tree | None:
        """Return the tree of a batch's stream, made if need be; None if it infects and dies."""
        if not batch.flags & TREE:
            return None
        tree = self._trees.get(batch.stream)
        if tree is None:
            tree = self._plant(batch, now)
            if tree is not None:
                self._choose_children(tree, batch, source, now)
        return tree

    def hand_up(
        self, batch: Batch, tables: Sequence[SuperTable], source: PeerId | None, now: float
    ) -> int | None:
        """Hand a batch up along its tree, by these tables; return to how many processes it went.

        None if it has no tree: then it climbs like an event of a stream that is not busy.
        """
        if self._tree_of(batch, source, now) is None:
            return None
        is_entry = source is None or batch.head_flags & OTHER_LEVEL != 0
        return self._handing_up.hand_up(batch, tables, now, is_entry=is_entry)

    def _receivers(
        self, tree: _Tree, batch: Batch, source: PeerId | None, now: float
    ) -> list[Contact]:
        """Take note of a batch that is new here; return the processes that get it at once."""
        self._note_news(batch, now)
        if source is not None and batch.head_flags & FROM_BELOW == FROM_BELOW:
            self._take_place(tree, batch.stream, source, now)
        tree.heard = now
        me = self._context.me.peer
        if source is None and batch.stream.startswith(me):
            if not tree.contacts:  # all that this publisher had are gone
                tree.planted = now
                self._choose_children(tree, batch, None, now)
            return tree.contacts
        source = source or me  # which has it from another of its groups
        if not batch.head_flags & REPAIRED:
            tree.withheld = False
            if tree.parent in (None, me):
                self._follow(tree, batch.stream, source, now)
            elif (
                source != tree.parent
                and tree.rival is None
                and now - tree.pruned.get(source, -inf) >= RIVAL_SECONDS
            ):
                tree.rival, tree.overtaken = source, batch.first
            if batch.first + batch.count >= tree.told_stop and tree.told_at < inf:
                self._delay.observe(now - tree.told_at)
                tree.told_at = inf
        if source in tree.children:
            return [contact for contact in tree.contacts if contact.peer != source]
        return tree.contacts

    @override
    def repaired(self, batch: Batch, now: float, source: PeerId) -> None:
        """See `Dissemination`; the process that repaired takes the place of a silent parent."""
        if not batch.flags & TREE:
            return
        tree = self._trees.get(batch.stream) or self._plant(batch, now)
        if tree is None:
            return
        self._note_news(batch, now)
        self._news[batch.stream] = True
        self._take_place(tree, batch.stream, source, now)

    def _take_place(self, tree: _Tree, stream: StreamId, source: PeerId, now: float) -> None:
        """Let a neighbour that sent what was asked for take the place of a silent parent."""
        if tree.parent is not None and now - tree.heard < self._delay.timeout:
            return
        if self._contact(source) is None and self._below(tree, stream, source) is None:
            return
        if tree.parent is not None:
            self._delay.back_off()
        tree.told_at = inf  # it did not come by itself
        tree.heard = now
        tree.pruned.pop(source, None)
        self._follow(tree, stream, source, now)
        self._say(tree, stream, source, Graft(stream))

    @override
    def copies_now(self, known: int) -> int:
        own = self._own_children()
        return len(own) if own else self.gossip.copies_now(known)

    @override
    def first_hop(self, peers: Iterable[Contact]) -> Iterable[Contact]:
        return self._own_children() or peers

    # -- what comes in ---------------------------------------------------------------------

    @override
    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:
        tree = self._trees.get(event_id.stream)
        if tree is None or event_id.sequence < tree.first:
            return
        if source != tree.parent:
            self._prune(tree, event_id.stream, source, now)
        elif tree.rival is not None and event_id.sequence >= tree.overtaken:
            rival = tree.rival
            self._prune(tree, event_id.stream, source, now)
            self._follow(tree, event_id.stream, rival, now)

    def _prune(self, tree: _Tree, stream: StreamId, source: PeerId, now: float) -> None:
        """Tell a process to send the stream no more, unless it was told so just now."""
        if now - tree.pruned.get(source, -inf) < PRUNE_SECONDS:
            return
        if self._say(tree, stream, source, Prune(stream)):
            if len(tree.pruned) >= PRUNED_MAX:
                del tree.pruned[next(iter(tree.pruned))]
            tree.pruned[source] = now

    def _say(self, tree: _Tree, stream: StreamId, peer: PeerId, message: Message) -> bool:
        """Send a message to a neighbour, or to a process below; False for anybody else."""
        contact = self._contact(peer)
        if peer == tree.parent and tree.from_below is None:
            contact = tree.parent_contact  # whose arc may have gone
        if contact is not None:
            self._context.outlet.send([contact], message)
        elif (below := self._below(tree, stream, peer)) is not None:
            self._context.outlet.send([below.contact], message, group=below.group)
        else:
            return False
        return True

    def _below(self, tree: _Tree, stream: StreamId, peer: PeerId) -> Below | None:
        """Return a process of a community below, if it is one that has told of the stream."""
        if tree.from_below is not None and tree.from_below.contact.peer == peer:
            return tree.from_below
        return self._handing_up.teller(stream, peer)

    @override
    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a `Prune`, a `Graft` or a `Handover`."""
        match message:
            case Prune(stream):
                tree = self._trees.get(StreamId(stream))
                if tree is not None:
                    self._remove_child(tree, source.peer)
                    self._handing_up.refuse(StreamId(stream), source.peer)
                    self._release(source.peer)
            case Graft(stream):
                tree = self._trees.get(StreamId(stream))
                if tree is None or self._handing_up.take(StreamId(stream), source, now):
                    return
                if len(tree.children) >= CHILDREN_MAX:
                    return
                heir = now - tree.heirs.pop(source.peer, -inf) < HEIR_SECONDS
                if heir or self._contact(source.peer) is not None:
                    if tree.parent == source.peer:  # it does not get the stream itself
                        self._follow(tree, StreamId(stream), None, now)
                    if heir or source.peer not in tree.children:
                        # If nothing follows, no hole shows what it has missed meanwhile.
                        self._repair.tell([source], [StreamId(stream)], now)
                    self._add_child(tree, source, now)
            case Handover():
                self._take_handover(source.peer, message, now)

    def _take_handover(self, source: PeerId, handover: Handover, now: float) -> None:
        """Follow the parent of a parent that leaves; expect the children of a child."""
        stream = StreamId(handover.stream)
        tree = self._trees.get(stream)
        if tree is None:
            return
        self._handing_up.lose(source, [stream])
        if source in tree.children:
            self._remove_child(tree, source)
            for peer in handover.children[:CHILDREN_MAX]:
                if len(peer) == PEER_ID_BYTES:
                    tree.heirs.pop(PeerId(peer), None)
                    tree.heirs[PeerId(peer)] = now
            while len(tree.heirs) > CHILDREN_MAX:
                del tree.heirs[next(iter(tree.heirs))]
        if source == tree.parent:
            parent = handover.parent
            if parent is None or parent.peer in (self._context.me.peer, *tree.children):
                self._follow(tree, stream, None, now)
            else:
                self._follow(tree, stream, parent.peer, now, parent)
                tree.heard = now
                self._context.outlet.send([parent], Graft(stream))

    @override
    def leave(self, now: float) -> None:
        """See `Dissemination`; the children go to the parent."""
        for stream, tree in self._trees.items():
            # Across levels nobody takes the place of another: the others there are offered more.
            below, alone = tree.from_below, Handover(stream, None, ())
            if below is not None:
                self._context.outlet.send([below.contact], alone, group=below.group)
            for taker, topic in self._handing_up.takers(stream):
                self._context.outlet.send([taker], alone, group=topic.group)
            parent = tree.parent_contact if below is None else None
            above = [] if parent is None else [parent]
            handover = Handover(stream, parent, tuple(tree.children))
            self._context.outlet.send([*above, *tree.contacts], handover)

    @override
    def told(self, stream: StreamId, stop: int, source: Contact, below: str, now: float) -> None:
        if below:
            self._handing_up.add_teller(stream, Below(source, read_topic(below).group))
        tree = self._trees.get(stream)
        if tree is None:
            return
        if source.peer == tree.parent and not below:
            tree.withheld = True
        if tree.told_at == inf:
            tree.told_at, tree.told_stop = now, stop

    @override
    def offered(
        self, stream: StreamId, source: Contact, below: str, known: bool, now: float
    ) -> None:
        """See `RepairWatcher`; a process below need not offer what comes another way."""
        if not below:
            return
        self._handing_up.add_teller(stream, Below(source, read_topic(below).group))
        tree = self._trees.get(stream)
        if tree is None or not known:
            return
        if source.peer == tree.parent:  # the first graft has got lost
            self._say(tree, stream, source.peer, Graft(stream))
        else:
            self._prune(tree, stream, source.peer, now)

    @override
    def answered(self, stream: StreamId, contact: Contact, above: Topic) -> None:
        self._handing_up.add_asker(stream, Above(contact, above))

    @override
    def patience(self, stream: StreamId, told: float, now: float) -> float:
        tree = self._trees.get(stream)
        if tree is None or tree.parent is None or tree.withheld:
            return 0.0
        return max(tree.heard, told) + self._delay.timeout - now

    @override
    def peer_silent(self, contact: Contact, now: float) -> None:
        self._handing_up.lose(contact.peer)
        for stream, tree in self._trees.items():
            self._remove_child(tree, contact.peer)
            if tree.parent == contact.peer:
                self._follow(tree, stream, None, now)

    @override
    def size(self) -> float:
        return self._context.membership.size()

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take the timer of the news, or that of idle trees."""
        match name:
            case ("news", number) if number == self._news_timer:
                self._tell_news(now)
            case ("idle",):
                self._idle_timer = False
                self._fell_idle(now)

    # -- news ------------------------------------------------------------------------------

    def _note_news(self, batch: Batch, now: float) -> None:
        """Note that a batch is to be announced, and do so sooner in a burst."""
        self._news.setdefault(batch.stream, False)
        self._news_events += batch.count
        if self._news_at == inf:
            self._tell_after(SECONDS_PACED, now)
        elif self._news_events >= BURST_EVENTS and self._news_at > now + 1.5 * SECONDS_BURST:
            self._tell_after(SECONDS_BURST, now)

    def _tell_after(self, seconds: float, now: float) -> None:
        """Set the timer of the news, with jitter, for all processes begin at the same time."""
        seconds *= 0.5 + self._context.rng.random()
        self._news_at = now + seconds
        self._news_timer += 1
        self._context.outlet.wake(seconds, "news", self._news_timer)

    def _tell_news(self, now: float) -> None:
        """Tell neighbours of the new events that this process does not send them along a tree.

        All are told of what repair brought, since its children get that along no tree.
        """
        news = [
            (stream, tree, repaired, repaired or now - tree.planted < GROWING_SECONDS)
            for stream, repaired in self._news.items()
            if (tree := self._trees.get(stream)) is not None
        ]
        self._news.clear()
        self._news_events, self._news_at = 0, inf
        alike: dict[tuple[StreamId, ...], list[Contact]] = {}
        neighbours = self._context.membership.neighbours()
        if len(neighbours) > TOLD_AT_ONCE:
            neighbours = self._context.rng.sample(neighbours, len(neighbours))
        for place, contact in enumerate(neighbours):
            peer = contact.peer
            streams = tuple(
                stream
                for stream, tree, repaired, all_are_told in news
                if (all_are_told or place < TOLD_AT_ONCE)
                and peer != tree.parent
                and (repaired or peer not in tree.children)
                and not stream.startswith(peer)
            )
            alike.setdefault(streams, []).append(contact)
        for streams, contacts in alike.items():
            if streams:
                self._repair.tell(contacts, streams, now)

    # -- links -----------------------------------------------------------------------------

    def _plant(self, batch: Batch, now: float) -> _Tree | None:
        """Make a tree for the stream of a batch; None if there is no room."""
        if len(self._trees) >= TREES_MAX:
            self._fell_idle(now)
            if len(self._trees) >= TREES_MAX:
                return None
        tree = self._trees[batch.stream] = _Tree(batch.first, now, now)
        if not self._idle_timer:
            self._idle_timer = True
            self._context.outlet.wake(IDLE_SECONDS, "idle")
        return tree

    def _fell_idle(self, now: float) -> None:
        """Forget the trees along which nothing has come for long."""
        for stream, tree in list(self._trees.items()):
            if now - tree.heard >= IDLE_SECONDS:
                self._follow(tree, stream, None, now)
                for peer in list(tree.children):
                    self._remove_child(tree, peer)
                del self._trees[stream]
                for peer in self._handing_up.forget(stream):
                    self._release(peer)
        if self._trees and not self._idle_timer:
            self._idle_timer = True
            self._context.outlet.wake(IDLE_SECONDS, "idle")

    def _choose_children(
        self, tree: _Tree, batch: Batch, source: PeerId | None, now: float
    ) -> None:
        """Choose the first children among neighbours that may lack the stream.

        A large batch has some at its publisher alone, so that it outlives one that dies before
        anybody could ask; those who ask for it become the others.
        """
        membership, children = self._context.membership, 0
        if source is None or not self._repair.offers(batch):
            burden = membership.peers().burden(membership.size())
            children = min(CHILDREN_MAX, ceil(CHILDREN_FIRST * burden))
        knowing = source, batch.stream[:PEER_ID_BYTES]
        lacking = [c for c in membership.neighbours() if c.peer not in knowing]
        for contact in self._context.rng.sample(lacking, min(children, len(lacking))):
            self._add_child(tree, contact, now)

    def _add_child(self, tree: _Tree, contact: Contact, now: float) -> None:
        tree.children[contact.peer] = contact
        self._context.liveness.watch(contact, now)
        tree.contacts = list(tree.children.values())

    def _remove_child(self, tree: _Tree, peer: PeerId) -> None:
        if tree.children.pop(peer, None) is not None:
            tree.contacts = list(tree.children.values())
            self._release(peer)

    def _follow(
        self,
        tree: _Tree,
        stream: StreamId,
        parent: PeerId | None,
        now: float,
        contact: Contact | None = None,
    ) -> None:
        """Take a process for the parent; None: there is none. A stranger's `contact` is given."""
        former, tree.parent, tree.rival, tree.withheld = tree.parent, parent, None, False
        tree.parent_contact, tree.from_below = None, None
        if parent is not None:
            tree.parent_contact = self._contact(parent) or contact
            if tree.parent_contact is not None:
                self._context.liveness.watch(tree.parent_contact, now)
            elif below := self._handing_up.teller(stream, parent):
                tree.from_below, tree.parent_contact = below, below.contact
                self._context.liveness.listen(below.contact, now)
        if former is not None:
            self._release(former)

    def _release(self, peer: PeerId) -> None:
        """Watch a peer no more, unless it has a place in a tree still."""
        trees = self._trees.values()
        if not (
            any(peer == tree.parent or peer in tree.children for tree in trees)
            or self._handing_up.pushes_to(peer)
        ):
            self._context.liveness.unwatch(peer)

    def _contact(self, peer: PeerId) -> Contact | None:
        """Return the contact of a neighbour, or None for anybody else."""
        membership = self._context.membership
        contact = membership.peers().get(peer)
        if contact is not None:
            return contact
        return next((one for one in membership.neighbours() if one.peer == peer), None)

    def _own_children(self) -> Sequence[Contact]:
        """Return the children in the trees of this process's own streams."""
        me = self._context.me.peer
        own = {
            contact.peer: contact
            for stream, tree in self._trees.items()
            if stream.startswith(me)
            for contact in tree.contacts
        }
        return list(own.values())
