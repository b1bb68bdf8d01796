"""Processes that do not fit: of another system, or of another membership or protocol.

Neither side would notice by itself. The messages of two memberships mean different things, so that
a join would be half done; and two systems would become one (`camcast.vocabulary.systems`). So a
process drops what the other one says, notes why, and tells the other which it has itself; both then
say both names, in the log, in the error of `join`, in `stats()` and in `camcast doctor`.
"""

from __future__ import annotations

from typing import Final

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of
from camcast.engine.asked_lately import AskedLately
from camcast.engine.link_messages import OtherChoice
from camcast.engine.process_context import ProcessContext
from camcast.engine.rate import Rate
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import Arrival
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.printable import printable
from camcast.vocabulary.systems import Misfits, notice, other_system, read_mark
from camcast.vocabulary.wire import Kind

_log = Logger(__name__)

# chosen: twice in the ten seconds after which a joining process retries
CHOICE_SECONDS: Final = 5.0
CHOICES_A_SECOND: Final = 64  # chosen: an answer has 70 bytes, and may go to whom a stranger names
NAME_MAX: Final = 64  # chosen: characters that are logged of a plug's name that a stranger sends


class MisfitAnswers:
    """Notes the processes that do not fit, and answers them.

    `choice` names the membership and the protocol of this process, and `system` its system.
    """

    def __init__(self, process: ProcessContext, choice: OtherChoice, system: str) -> None:
        self._process = process
        self._choice, self._system = choice, system
        self.met = Misfits()
        """The processes that were met lately."""
        self.datagrams: DatagramPort | None = None
        """How other systems are answered; None before the process listens."""
        self._log = MinuteLog()
        self._said, self._answers = AskedLately(), Rate(CHOICES_A_SECOND)

    def say_choice(self, arrival: Arrival) -> None:
        """Tell a process that it has another membership or protocol than this one.

        With certificates only the process at the other end of the link is told, and only about a
        community that it may be a member of: anybody else may have made the record.
        """
        process, now = self._process, arrival.now
        local_group = process.groups.current.get(arrival.group)
        if not arrival.is_direct or (
            local_group is not None
            and not process.guard.may_join(arrival.source.peer, local_group.topic, now)
        ):
            return
        asked = arrival.source, arrival.group
        if self._said.due(asked, CHOICE_SECONDS, now) and self._answers.allows(now):
            process.outlet(Kind.LINKS, arrival.group).send([arrival.source], self._choice)

    def on_choice(self, arrival: Arrival, theirs: OtherChoice) -> None:
        """Note why a process drops messages of this one, and tell it what this one has."""
        ours = self._choice
        if theirs == ours:
            return
        names = printable(f"{theirs.membership[:NAME_MAX]!r} and {theirs.protocol[:NAME_MAX]!r}")
        self._note(
            "no community with",
            arrival.source.address,
            f"it has the membership and protocol {names}, and this process {ours.membership!r} and"
            f" {ours.protocol!r}: all of a community have to have the same",
            arrival.now,
        )
        self.say_choice(arrival)

    def read_datagram(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes
    ) -> bytes | None:
        """Return what a datagram of this system says; None for one of another system.

        That is dropped, and its sender told of which system this process is.
        """
        theirs, said = read_mark(data)
        if theirs == self._system.encode():
            return said
        self._note(
            "dropped a datagram of", address_of(source), other_system(theirs, self._system), now
        )
        self._process.recorder.counters.datagrams_other_system += 1
        # Never longer than what came, so that nobody's bytes are multiplied, and not to a notice.
        answer = notice(self._system)
        if said and self.datagrams is not None and len(answer) <= len(data):
            self.datagrams.send(port, source, answer, sender)
        return None

    def _note(self, what: str, address: str, why: str, now: float) -> None:
        self.met.add(address, why, now)
        if self._log.due(address, now):
            _log.warning("%s %s: %s (said once a minute)", what, address, why)
