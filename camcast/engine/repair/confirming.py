"""Confirming: which other members hold an event of this process, as they say themselves.

Theory of operation
-------------------
A publisher asks its neighbours for one of its own events: a `Want` without a nonce draws a `Have`
of what the neighbour knows of the range asked for, and no body. The question leaves behind the
event, so that a neighbour which got the event directly confirms it at once. The others are asked
again every `AGAIN_SECONDS`, at random. Any other `Have` of a member counts as well, such as the
news that neighbours announce to each other.

A confirmation is a member's word: a liar can say that it holds what it has dropped.
"""

from __future__ import annotations

from typing import Final

from attrs import define, field

from camcast.engine.repair.asking import ranges_of
from camcast.engine.repair.messages import Held, Want
from camcast.engine.repair.told import RepairContext
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId

AGAIN_SECONDS: Final = (
    0.25  # chosen: a round trip over a wide area network, and some time to spread
)


@define(eq=False)
class Confirmation:
    """The members that have said that they hold one event, while more are wanted."""

    event: EventId
    wanted: int
    members: dict[PeerId, None] = field(factory=dict)

    @property
    def complete(self) -> bool:
        """Whether enough members hold the event."""
        return len(self.members) >= self.wanted


class Confirming:
    """Asks other members of one community whether they hold events of this process."""

    def __init__(self, context: RepairContext) -> None:
        self._context = context
        self._awaited: dict[bytes, dict[int, Confirmation]] = {}
        """By stream and sequence number."""
        self._asking = False  # whether the timer is set

    def begin(self, event: EventId, wanted: int) -> Confirmation:
        """Ask until so many other members hold an event, or `end` is called."""
        confirmation = Confirmation(event, wanted)
        self._awaited.setdefault(event.stream, {})[event.sequence] = confirmation
        self._ask(confirmation)
        self._ask_later()
        return confirmation

    def end(self, confirmation: Confirmation) -> None:
        """Ask no more."""
        stream, sequence = confirmation.event
        of_stream = self._awaited.get(stream, {})
        of_stream.pop(sequence, None)
        if not of_stream:
            self._awaited.pop(stream, None)

    def on_held(self, member: PeerId, held: Held) -> None:
        """Add what a member says that it knows of a stream."""
        stream, _, _, bounds = held
        if (awaited := self._awaited.get(stream)) is None:
            return
        for start, stop in ranges_of(bounds):
            for sequence, confirmation in awaited.items():
                if start <= sequence < stop:
                    confirmation.members[member] = None

    def wake(self) -> None:
        """Ask again for what is not confirmed."""
        self._asking = False
        for awaited in self._awaited.values():
            for confirmation in awaited.values():
                self._ask(confirmation)
        self._ask_later()

    def _ask(self, confirmation: Confirmation) -> None:
        """Ask as many neighbours as are still wanted, and one more."""
        context, event = self._context, confirmation.event
        if confirmation.complete:
            return
        neighbours = context.community.membership.neighbours()
        silent = [one for one in neighbours if one.peer not in confirmation.members]
        missing = confirmation.wanted - len(confirmation.members)
        asked = context.sample(silent, missing + 1)
        ranges = ((event.stream, (event.sequence, event.sequence + 1)),)
        context.outlet.send(asked, Want(b"", context.retention, "", ranges))

    def _ask_later(self) -> None:
        if self._awaited and not self._asking:
            self._asking = True
            self._context.outlet.wake(AGAIN_SECONDS, "confirm")
