"""Questions that check what somebody says of a process: its address, and whether it left a group.

Anybody can say in another process's name that it has left, or has a new address; and whoever asks
for much can name the address of a third process, which would then get the answer. A `Question`
goes to the address, and the process there repeats its nonce (`Here`) if it is in the named group.

A part that is told that a peer has left *doubts* it: the peer is asked at its known address, and
the part learns that it is gone unless it answers within `QUESTION_SECONDS`. And a part lets
whoever asks for much *prove* its address first: it is asked, again after each of `PROOF_PAUSES`,
since messages get lost, and served when it has answered. Whoever has proved its address need not do
so again for `PROVED_SECONDS`. An answer is shorter than a question; `QUESTIONS_MAX` are open at a
time.

A process that does not know whether others can connect to it asks some, of which it knows the
address alone, to answer (`ask_back`): an answer comes over a connection that they have made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from random import Random
from typing import Final, Generic, TypeVar

from attrs import define, field

from camcast.engine.liveness_messages import Question
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId

PartT = TypeVar("PartT")
"""The type of the parts that may doubt a process."""

# chosen: as SCAMP's patience with a contact: the 95 % quantile of the PlanetLab round trips
QUESTION_SECONDS: Final = 0.4
# chosen: as that patience, doubled each time; together as long as two lost SYNs of a connection
# that is new. Where 30 % are lost, one proof in 15 fails; with one question, one in 2 would.
PROOF_PAUSES: Final = (0.4, 0.8, 1.6, 2.2)
PROVED_SECONDS: Final = 600.0  # chosen: a process that joins a hundred communities is asked once
PROVED_MAX: Final = 4096  # chosen: the peers of a process with a hundred topics; 1 MB
QUESTIONS_MAX: Final = 1024  # chosen: as 800 joins in a period; 0.1 MB of records
WAITING_MAX: Final = 8  # chosen: what one process may ask for before it has proved its address
NONCE_BYTES: Final = 8


@define(eq=False)
class Asked(Generic[PartT]):
    """A question that was not answered yet."""

    contact: Contact
    question: Question
    pauses: tuple[float, ...]
    """The seconds from now to each time that it is asked again, and to the end of its patience."""
    part: PartT | None = None
    """Which doubts that the process is in its group; None: it is whether it is there at all."""
    then: list[Callable[[float], None]] = field(factory=list)
    """The callbacks for the answer; without any, a missing answer is reported to the parts."""


class Questions(Generic[PartT]):
    """The questions of one process; nobody else must predict what `nonces` gives."""

    def __init__(self, outlet: ControlOutlet, nonces: Random) -> None:
        self._outlet = outlet
        self._nonces = nonces
        self._asked: dict[bytes, Asked[PartT]] = {}
        """The open questions, by their nonces."""
        self._doubts: dict[tuple[PartT | None, Contact], bytes] = {}
        self._proofs: dict[Contact, bytes] = {}
        """The nonces of the questions of either sort."""
        self._proved: dict[Contact, float] = {}  # and when; the oldest comes first
        self._back: Question | None = None
        """The question of `ask_back`."""
        self.called_back = False
        """Whether anybody has answered that question."""

    def doubt(self, part: PartT | None, contact: Contact, group: GroupId, now: float) -> None:
        """Ask a process whether it is in a group; without a part, whether it is there at all."""
        if (part, contact) not in self._doubts and len(self._asked) < QUESTIONS_MAX:
            named = b"" if group == NO_GROUP else group
            asked = Asked(contact, self._question(named), (QUESTION_SECONDS,), part)
            self._doubts[part, contact] = self._ask(asked)

    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        """Call `then` once a process has proved that it is at the address of `contact`."""
        if now - self._proved.get(contact, -inf) <= PROVED_SECONDS:
            then(now)
        elif (nonce := self._proofs.get(contact)) is not None:
            if len(self._asked[nonce].then) < WAITING_MAX:
                self._asked[nonce].then.append(then)
        elif len(self._asked) < QUESTIONS_MAX:
            asked: Asked[PartT] = Asked(contact, self._question(b""), PROOF_PAUSES, then=[then])
            self._proofs[contact] = self._ask(asked)

    def ask_back(self, addresses: Iterable[str]) -> None:
        """Ask whoever is at these addresses to answer; `called_back` says whether anybody has."""
        asked = [Contact(UNKNOWN_PEER, address) for address in addresses]
        self._back = self._back or self._question(b"")
        self._outlet.send(asked, self._back)

    def answered(self, source: Contact, nonce: bytes, now: float) -> bool:
        """Take an answer; say whether it let anything happen that had waited for it."""
        if self._back is not None and nonce == self._back.nonce:
            self.called_back = True
            return False
        asked = self._asked.get(nonce)
        if asked is None or asked.contact != source:
            return False
        self._close(nonce)
        self._proved.pop(source, None)
        if len(self._proved) >= PROVED_MAX:
            del self._proved[next(iter(self._proved))]
        self._proved[source] = now
        for act in asked.then:
            act(now)
        return bool(asked.then)

    def unanswered(self, nonce: bytes) -> Asked[PartT] | None:
        """Take the end of a pause: ask again, or return whose doubts are right, if any are."""
        asked = self._asked.get(nonce)
        if asked is None:
            return None
        if asked.pauses:
            self._ask(asked)
            return None
        self._close(nonce)
        return None if asked.then else asked

    def _question(self, group: bytes) -> Question:
        return Question(group, self._nonces.randbytes(NONCE_BYTES))

    def _ask(self, asked: Asked[PartT]) -> bytes:
        nonce, (pause, *later) = asked.question.nonce, asked.pauses
        asked.pauses = tuple(later)
        self._asked[nonce] = asked
        self._outlet.send([asked.contact], asked.question)
        self._outlet.wake(pause, "question", nonce)
        return nonce

    def _close(self, nonce: bytes) -> Asked[PartT]:
        asked = self._asked.pop(nonce)
        if asked.then:
            del self._proofs[asked.contact]
        else:
            del self._doubts[asked.part, asked.contact]
        return asked
