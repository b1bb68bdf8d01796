"""CAMCAST: gossip in the community, and a few upward messages (000, 3.5, Figures 7 and 8).

A process that publishes an event, or receives it for the first time, acts once: it sends the event
upward (`Upward`), and spreads it inside its community, as the parameter `spread` says: by gossip
(`Gossip`), or along a tree (`camcast.protocols.tree`).

*Gossip* is infect and die (000, 3.5; 4.2): the process sends the event once to ceil(ln N + c)
random processes of its table of the group, and then never again. Events of one batch go to the same
processes. A membership may pin some peers, which are the first among the chosen; those that nobody
can dial pin themselves, so that a fifth of a fan-out is of others beside them. Where more than half
of a community are processes that nobody can dial, and this one can be, it sends to more: it shares
with the few others what all of these should get. A large event, where events are repaired,
is offered to as many, and sent to those that ask for it (`camcast.engine.repair.offers`); the same
goes for upward messages. Its publisher sends it to the first few, and upward, without a question.

*Upward messages* take an event into the communities of super-topics (000, Figure 7). With
probability p_sel = min(1, g/N_t) a process that has an event is a link: it sends the event to each
process of its super-topic table with probability p_a = a/z. The table may hold processes of several
ancestors; the event goes to the nearest level known.

Readings: the figures' loop sends one message more than "ln N_t + c_t"; the text is followed. The
figure's ``RAND() >= p_sel`` is inverted against the text ("with probability p_sel"); the text is
followed. A process that is itself a member of the super-community accepts the event there, which
costs no message, and is therefore certain unless the event has a p_sel of its own. An event whose
p_sel is 0 stays in its community.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import ceil, inf
from typing import Any, ClassVar, Final

from attrs import frozen
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent, SuperTable
from camcast.doors.protocol import Group, Protocol
from camcast.protocols.tree import Tree
from camcast.vocabulary.batches import NOT_UPWARD, TREE, Batch
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.peers import DIALLED_SHARE
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

PUSHED_FIRST: Final = 3  # chosen: where a third dies at once, one of them lives 97 times in 100


class Upward:
    """Sends the events of one community of one process upward."""

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        self._settings: CommunitySettings | None = None  # that p_sel was computed from
        self._size = 0.0  # the estimate of N_t that it was computed for
        self._p_sel = 0.0
        self.tree: Tree | None = None
        """Hands up the streams that have a tree, if there are any."""

    @property
    def leads_somewhere(self) -> bool:
        """Whether the community is linked to another, so that `climb` may do something."""
        return bool(self._context.super_tables)

    def climb(self, batch: Batch, now: float, source: PeerId | None = None) -> int:
        """Send a batch to super-processes; return to how many."""
        if batch.flags & NOT_UPWARD:
            return 0
        context, rng = self._context, self._context.rng
        near = () if context.groups.alone else self._hand_over(batch, now)
        tables = [table for table in context.super_tables if table not in near]
        drawn = batch.upward_probability is not None or context.parameters.p_sel is not None
        if batch.flags & TREE and self.tree is not None and tables and not drawn:
            handed_up = self.tree.hand_up(batch, tables, source, now)
            if handed_up is not None:
                return handed_up
        sent = 0
        for table in tables:
            topic, super_processes = table.nearest()
            if not super_processes:
                continue
            p_sel, size = batch.upward_probability, inf  # a fixed p_sel goes with the paper's p_a
            if p_sel is None:
                p_sel, size = self._selection_probability()
            if rng.random() < p_sel:
                p_a = context.parameters.link_probability(size, len(super_processes))
                chosen = [peer for peer in super_processes if rng.random() < p_a]
                if chosen:
                    own = batch.stream[:PEER_ID_BYTES] == context.me.peer
                    pushed = own and not batch.is_long
                    if (repair := context.repair) and not pushed and repair.offers(batch):
                        repair.offer(batch, chosen, now, topic)
                    elif not batch.is_long:
                        context.events.send_upward(batch, topic, chosen, now)
                    sent += len(chosen)
        return sent

    def accept_above(self, batch: Batch, now: float) -> None:
        """Accept a batch in this process's own super-communities; send it to no other process."""
        if not self._context.groups.alone and not batch.flags & NOT_UPWARD:
            self._hand_over(batch, now)

    def _hand_over(self, batch: Batch, now: float) -> Sequence[SuperTable]:
        """Accept a batch in the super-communities that this process is a member of.

        The batch is accepted surely, or with its own p_sel if it has one. The batches of other
        processes come to a community by way of the nearer ones, where super-processes are known;
        those that this process publishes are accepted in all at once, for its own subscribers shall
        not depend on the processes between. Returns the tables on whose ways no super-process is
        nearer than a community of this process: to these nothing need be sent.
        """
        groups, near = self._context.groups, list[SuperTable]()
        joined = dict.fromkeys(groups.joined_above(self._context.group), False)
        for table in self._context.super_tables if joined else ():
            topic, super_processes = table.nearest()
            for one in table.topics:
                if super_processes and one.level < topic.level:
                    break
                if one in joined:
                    near.append(table)
                    joined[one] = True
                    break
        own = batch.stream[:PEER_ID_BYTES] == self._context.me.peer
        p_sel = batch.upward_probability
        for topic, is_near in joined.items():
            if (is_near or own) and (p_sel is None or self._context.rng.random() < p_sel):
                groups.accept(batch, topic, now)
        return near

    def _selection_probability(self) -> tuple[float, float]:
        """Return p_sel, and the N_t that it is for."""
        size, settings = self._context.membership.size(), self._context.tuning.settings
        if size != self._size or settings is not self._settings:
            self._size, self._settings = size, settings
            self._p_sel = settings.selection_probability(size)
        return self._p_sel, size


class Gossip(Dissemination):
    """Spreads events in one group, as widely as its size asks for."""

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        self._table = context.membership.peers()
        self._settings: CommunitySettings | None = None  # that the fan-out was computed from
        self._size = 0.0  # the estimate of N that it was computed for
        self._fan_out = 0

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        context = self._context
        peers = self._table.fan_out(self._current_fan_out(), context.rng)
        if context.repair is not None and context.repair.offers(batch):
            self._offer(batch, peers, source, now)
        elif not batch.is_long:
            context.events.send(batch, peers, now)
        return Sent(len(peers))

    def _offer(
        self, batch: Batch, peers: Sequence[Contact], source: PeerId | None, now: float
    ) -> None:
        """Offer a large batch to these processes; its publisher pushes it to the first of them.

        A long one, which no record has room for, is offered to all. What is published survives a
        publisher that dies before anybody could ask, at no cost: each process that gets it so would
        have asked for it.
        """
        assert self._context.repair is not None, "it has said that it offers"
        if source is None and not batch.is_long:
            self._context.events.send(batch, peers[:PUSHED_FIRST], now)
            peers = peers[PUSHED_FIRST:]
        self._context.repair.offer(batch, peers, now)

    @override
    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """See `Dissemination`; the peers are drawn once for all batches."""
        context = self._context
        peers = self._table.fan_out(self._current_fan_out(), context.rng)
        if (repair := context.repair) is not None:
            least = min(context.tuning.settings.offer_bytes, PAYLOAD_BYTES_MAX)  # spares calls
            large = []
            for batch in batches:
                if len(batch.body) >= least and repair.offers(batch):
                    large.append(batch)  # noqa: PERF401  # a comprehension costs more than the look
            if large:
                batches = [batch for batch in batches if batch not in large]
                for batch in large:
                    repair.offer(batch, peers, now)
        context.events.send_together(batches, peers, now)

    @override
    def copies_now(self, known: int) -> int:
        return min(known, self._current_fan_out())

    def _current_fan_out(self) -> int:
        size, settings = self._context.membership.size(), self._context.tuning.settings
        if size != self._size or settings is not self._settings:
            self._size, self._settings = size, settings
            self._fan_out = settings.fan_out(size)
        if not self._table.attached:
            return self._fan_out
        # Those that nobody can dial choose themselves who sends to them, and may be liars.
        least = self._table.pinned + ceil(DIALLED_SHARE * self._fan_out)
        return max(least, ceil(self._fan_out * self._table.burden(size)))


def make_spread(context: DisseminationContext) -> Dissemination:
    """Make the spread that `Parameters.spread` names; without repair it is infect and die."""
    if context.parameters.spread != "infect" and context.repair is not None:
        return Tree(context, context.repair, Gossip(context))
    return Gossip(context)


class Camcast(Dissemination):
    """An upward part, and one that spreads events inside the community."""

    def __init__(
        self,
        context: DisseminationContext,
        spread: Callable[[DisseminationContext], Dissemination] = make_spread,
    ) -> None:
        self._upward = Upward(context)
        self._spread = self._lone = spread(context)
        """`_lone` spreads what has no tree: most events, which are spared the way by the tree."""
        if isinstance(self._spread, Tree):
            self._upward.tree = self._spread
            self._lone = self._spread.gossip
        self.decoder = self._spread.decoder
        self.hears_duplicates = self._spread.hears_duplicates
        self.flags_busy = self._spread.flags_busy

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """Execute DISSEMINATE (Figure 8) for a batch that is new to this process."""
        super_processes = self._upward.climb(batch, now, source)
        spread = self._spread if batch.flags & TREE else self._lone
        sent = spread.disseminate(batch, now, source)
        return Sent(sent.peers, super_processes) if super_processes else sent

    @override
    def disseminate_together(
        self, batches: Sequence[Batch], now: float, sources: Sequence[PeerId]
    ) -> None:
        """See `Dissemination`; each batch climbs by a draw of its own."""
        if self._upward.leads_somewhere:
            for batch, source in zip(batches, sources, strict=True):
                self._upward.climb(batch, now, source)
        spread = self._lone
        if spread is not self._spread and any(batch.flags & TREE for batch in batches):
            spread = self._spread
        spread.disseminate_together(batches, now, sources)

    @override
    def repaired(self, batch: Batch, now: float, source: PeerId) -> None:
        """See `Dissemination`; this process's own super-communities accept the batch."""
        self._upward.accept_above(batch, now)
        self._spread.repaired(batch, now, source)

    @override
    def copies_now(self, known: int) -> int:
        """See `Dissemination`; this and all that follows is for the spread inside the community."""
        return self._spread.copies_now(known)

    @override
    def first_hop(self, peers: Iterable[Contact]) -> Iterable[Contact]:
        return self._spread.first_hop(peers)

    @override
    def start(self, now: float) -> None:
        self._spread.start(now)

    @override
    def leave(self, now: float) -> None:
        self._spread.leave(now)

    @override
    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:
        self._spread.duplicate(event_id, source, now)

    @override
    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:
        self._spread.neighbour_changed(contact, there, now)

    @override
    def receive(self, source: Contact, message: Any, now: float) -> None:
        self._spread.receive(source, message, now)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        self._spread.wake(name, now)


# chosen: by half a step of what the papers vary, and wider at the ends
FAN_OUTS: Final = tuple({"c": float(c)} for c in (-2, -1, 0, 1, 2, 3, 4, 5, 6, 8))
"""The efforts of protocols whose reliability the fan-out decides."""


@frozen
class CamcastProtocol(Protocol):
    """One community a topic, linked to that of the super-topic."""

    name: ClassVar[str] = "camcast"
    source: ClassVar[str] = "000, sections 2 to 6"
    linked: ClassVar[bool] = True
    efforts: ClassVar[Sequence[Mapping[str, float]]] = (
        *FAN_OUTS[:4],
        *({"c": float(c), "a": 3.0} for c in (1, 2, 3, 4, 6, 8)),
    )

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the topic's community."""
        return (Group(interest, Camcast, batched=True),)
