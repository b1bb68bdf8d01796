"""A process with some parts and no node, which keeps what the parts send and the timers they set.

The test gives the parts their inputs. The processes of a `camcast.testing.Town` are of this kind;
the town sends their messages and wakes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from typing_extensions import override

from camcast.engine.liveness import LivenessService, PartLiveness
from camcast.engine.questions import Questions
from camcast.virtual.network import address_of
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import ControlRecord, Kind, decode_control, record_end

NO_GROUP = GroupId(bytes(8))


def contact(number: int) -> Contact:
    """Return the contact of the process of this number, at the host of that number."""
    return Contact(PeerId(number.to_bytes(16)), address_of(number))


def number_of(peer: PeerId) -> int:
    """Return the number of the process of which `contact` made the identity."""
    return int.from_bytes(peer)


class Answered(Questions[PartLiveness]):
    """Questions whose answers come at once: every address is proved, every doubted peer is gone."""

    @override
    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        then(now)

    @override
    def doubt(
        self, part: PartLiveness | None, contact: Contact, group: GroupId, now: float
    ) -> None:
        if part is not None:
            part.watcher.peer_gone(contact, now)


class LoneProcess:
    """The outbox of a process, whose parts a test makes; `decoder` reads their messages."""

    def __init__(self, me: Contact, decoder: Decoder[Any] | None = None) -> None:
        self.outbox = Outbox(me)
        self.decoder = decoder

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces."""
        return self.outbox.me

    def outlet(self, kind: Kind, group: GroupId = NO_GROUP) -> ControlOutlet:
        """Return what a part leaves its wishes in."""
        return ControlOutlet(self.outbox, kind, group)

    def answered_liveness(self, group: GroupId) -> LivenessService:
        """Return a liveness service whose questions need no network."""
        outlet = self.outlet(Kind.LIVENESS, group)
        service = LivenessService(outlet, Random(1), lambda *_: True)
        service.questions = Answered(outlet, Random(1))
        return service

    def records(self) -> list[tuple[Sequence[Contact], ControlRecord]]:
        """Take away the first control record of whatever was sent, with its receivers."""
        sends, self.outbox.sends = self.outbox.sends, []
        assert all(one.control for one in sends)
        return [
            (one.contacts, decode_control(one.record, 0, record_end(one.record, 0)))
            for one in sends
        ]

    def sent(self) -> list[tuple[Sequence[Contact], Any]]:
        """Take away what was sent: messages and their receivers."""
        assert self.decoder is not None
        return [(to, self.decoder.decode(record.body)) for to, record in self.records()]

    def said_to(self) -> list[tuple[Contact, Any]]:
        """Take away what was sent: each message once for each of its receivers."""
        return [(one, message) for to, message in self.sent() for one in to]

    def said(self) -> list[tuple[int, Any]]:
        """Take away what was sent: each message once for the number of each of its receivers."""
        return [(number_of(to.peer), message) for to, message in self.said_to()]

    def wakes(self, name: str = "") -> list[tuple[float, tuple[Any, ...]]]:
        """Take away the timers that were set, or those of a name: their delays and names."""
        wakes = [one for one in self.outbox.wakes if not name or one.token.name[0] == name]
        self.outbox.wakes = [one for one in self.outbox.wakes if one not in wakes]
        return [(delay, token.name) for delay, token in wakes]
