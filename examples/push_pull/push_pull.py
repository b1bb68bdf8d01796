"""Push-pull anti-entropy: each period two processes give each other the events that one lacks.

Source: A. Demers et al., "Epidemic algorithms for replicated database maintenance", PODC 1987,
section 1.3. A process sends the ids of its recent events to a random member, which answers with its
own ids; each then sends what the other lacks. An event takes some log2 N periods to reach all.
"""

from __future__ import annotations

from collections.abc import Hashable

from attrs import field, frozen, validators

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.kept_batches import IDS_MAX, KeptBatches
from camcast.doors.protocol import Protocol
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message


class Digest(Message, tag=1, frozen=True):
    """The sender has these events, and wants those that it lacks."""

    ids: tuple[EventId, ...]
    answer: bool
    """Whether the sender wants the receiver's digest, too."""
    member_seconds: float
    """For how long the sender has been a member: what is older is not for it."""


class Spread(Dissemination):
    """Push-pull in one group of one process."""

    decoder = Decoder(Digest)
    sends_later = True

    def __init__(self, options: PushPull, context: DisseminationContext) -> None:
        self._options, self._context = options, context
        self._held = KeptBatches(options.keep_seconds)

    def start(self, now: float) -> None:
        """Begin the periods."""
        self._held.begin(now)
        self._context.outlet.wake(self._options.cycle_seconds, "cycle")

    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        """Keep the event, for the next period."""
        self._held.add(batch, now)
        return Sent()

    def leave(self, now: float) -> None:
        """Give all that is kept to one member: nobody may have it yet."""
        heirs = self._context.membership.peers().sample(1, self._context.rng)
        self._context.events.send_together(self._held.lacking((), now), heirs, now)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Begin a period."""
        if name == ("cycle",):
            partner = self._context.membership.peers().sample(1, self._context.rng)
            self._context.outlet.send(partner, self._digest(now, answer=True))
            self._context.outlet.wake(self._options.cycle_seconds, "cycle")

    def receive(self, source: Contact, message: Digest, now: float) -> None:
        """Send what the other process lacks, and ask for what it has."""
        lacking = self._held.lacking(message.ids[:IDS_MAX], now, message.member_seconds)
        self._context.events.send_together(lacking, [source], now)
        if message.answer:
            self._context.outlet.send([source], self._digest(now, answer=False))

    def _digest(self, now: float, *, answer: bool) -> Digest:
        return Digest(self._held.ids(now), answer, self._held.member_seconds(now))


@frozen
class PushPull(Protocol):
    """A group for each topic, of all who are interested in it or in a super-topic."""

    name = "push-pull"
    source = "Demers et al. 1987, 1.3"
    efforts = tuple({"keep_seconds": float(seconds)} for seconds in (2, 3, 4, 6, 10))

    cycle_seconds: float = field(default=0.5, validator=validators.gt(0))
    """The period. chosen: a hundred processes are reached in some four seconds"""
    keep_seconds: float = field(default=10.0, validator=validators.gt(0))
    """For how long events are exchanged. chosen: twice what reaching all takes"""

    def spread(self, context: DisseminationContext) -> Dissemination:
        """Begin push-pull in a group."""
        return Spread(self, context)
