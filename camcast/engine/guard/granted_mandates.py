"""The mandates that a node gives, gets and passes on (`camcast.security.mandates`).

A mandate says what it is for: the kind of the record and its group, the name that the message's
class gives (`Message.mandate`), and the fields that nobody changes on the way (`Message.mandated`).
The message that is passed on need not be the one that came: SCAMP makes copies of a subscription.
The latest mandate of each process for each purpose is kept, and goes along with whatever is
passed on for that process.

Whoever has a mandate can use it again, but only for its purpose. It is valid for five minutes, and
each process acts upon it at most `USES_MAX` times. A process that gives mandates without end drives
out its own alone (`Latest`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from camcast.doors.admission import Admission
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.refusal import TAKEN, Refusal
from camcast.vocabulary.share import Latest
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind

# chosen: 21 copies of a SCAMP subscription, which walk 64 steps at most, visit each process of a
# community of 20 some 70 times; with c=50, 230 times.
USES_MAX: Final = 256
MANDATES_MAX: Final = 16_384  # chosen: the mandates of 50 joins a second for five minutes; 5 MB
KEPT_MAX: Final = 4096  # chosen: as many as processes are known by records

_encode: Final = msgspec.msgpack.Encoder().encode


class Mandates:
    """The mandates of one node; times are in seconds since 1970."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._uses = Latest[PeerId, tuple[bytes, bytes], int](MANDATES_MAX)
        """How often each verified mandate was used, by who gave it, and by what it is for."""
        self._latest = Latest[PeerId, bytes, bytes](KEPT_MAX)
        """The latest mandate of each process for each purpose."""

    def give(self, kind: Kind, group: GroupId, message: Message, now: float) -> bytes:
        """Return this process's own mandate for a message, empty if it needs none."""
        if not message.mandate:
            return b""
        return self._admission.sign_mandate(said_by(kind, group, message), now)

    def find(self, peer: PeerId, kind: Kind, group: GroupId, message: Message) -> bytes | None:
        """Return the latest mandate to pass on a message for a process, if there is one."""
        return self._latest.get(peer, said_by(kind, group, message))

    def refusal(
        self, peer: PeerId, kind: Kind, group: GroupId, message: Message, mandate: bytes, now: float
    ) -> Refusal:
        """Return why a message of a process is not acted upon, or `TAKEN`."""
        said = said_by(kind, group, message)
        given = said, mandate
        uses = self._uses.get(peer, given) or 0
        if uses >= USES_MAX:
            return Refusal("spent")
        verified = uses > 0
        if why := self._admission.mandate_refusal(peer, said, mandate, now, verified=verified):
            return why
        self._uses.set(peer, given, uses + 1)
        self._latest.drop(peer, said)
        self._latest.set(peer, said, mandate)
        return TAKEN


def said_by(kind: Kind, group: GroupId, message: Message) -> bytes:
    """Return, as bytes to sign, what a mandate for this message is for."""
    fields = [getattr(message, name) for name in message.mandated]
    return _encode([int(kind), group, message.mandate, *fields])
