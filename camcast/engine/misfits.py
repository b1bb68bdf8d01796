"""Processes that do not fit: of another system, or of another membership or protocol.

Neither side would notice by itself. The messages of two memberships mean different things, so that
a join would be half done; and two systems would become one (`camcast.vocabulary.systems`). So a
process drops what the other one says, notes why, and tells the other which it has itself; both then
say both names, in the log, in the error of `join`, in `stats()` and in `camcast doctor`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of
from camcast.engine.asked_lately import AskedLately
from camcast.engine.link_messages import OtherChoice
from camcast.engine.process_context import ProcessContext
from camcast.vocabulary.addresses import is_numeric
from camcast.vocabulary.choices import Choice, read_choice
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import Arrival
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.systems import Misfits, notice, other_system, read_mark
from camcast.vocabulary.token_buckets import each_second
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind

_log = Logger(__name__)

# chosen: twice in the ten seconds after which a joining process retries
CHOICE_SECONDS: Final = 5.0
DIFFERS_SECONDS: Final = 2 * CHOICE_SECONDS  # chosen: a choice is said again before that is over
CHOICES_A_SECOND: Final = 64  # chosen: an answer has 70 bytes, and may go to whom a stranger names
WORDS_MAX: Final = 64  # chosen: characters that are logged of each word that a stranger sends


class MisfitAnswers:
    """Notes the processes that do not fit, and answers them.

    `choice` is this process's choice, and `system` the name of its system.
    """

    def __init__(self, process: ProcessContext, choice: Choice, system: str) -> None:
        self._process = process
        self._choice, self._system = choice, system
        self.met = Misfits()
        """The processes that were met lately."""
        self.datagrams: DatagramPort | None = None
        """How other systems are answered; None before the process listens."""
        self._log = MinuteLog()
        self._said, self._answers = AskedLately(), each_second(CHOICES_A_SECOND)
        self._differ = AskedLately()
        """When each process last said another choice than this one's."""

    def fits(self, arrival: Arrival) -> bool:
        """Return whether a record of a membership or a protocol is of this process's choice."""
        peer = arrival.source.peer
        if arrival.choice != self._choice.byte(peer):
            return False
        differ = self._differ
        return not differ or arrival.now >= differ.when(peer) + DIFFERS_SECONDS

    def ask(self, addresses: Iterable[str], now: float) -> None:
        """Say the choice to first contacts that have not answered the discovery's datagrams.

        Those may be of another membership, and then say theirs.
        """
        for address in filter(is_numeric, addresses):  # where a name is, nobody knows yet
            self._say(Contact(UNKNOWN_PEER, address), NO_GROUP, now)

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
        self._say(arrival.source, arrival.group, now)

    def _say(self, to: Contact, group: GroupId, now: float) -> None:
        if self._said.due((to, group), CHOICE_SECONDS, now) and self._answers.take(now):
            ours = self._choice
            words = OtherChoice(ours.membership, ours.protocol, ours.options)
            self._process.outlet(Kind.LINKS, group).send([to], words)

    def on_choice(self, arrival: Arrival, theirs: OtherChoice) -> None:
        """Note why a process drops messages of this one, and tell it what this one has."""
        choice = Choice(theirs.membership, theirs.protocol, theirs.options)
        if choice != self._choice and arrival.is_direct:
            self._differ.due(arrival.source.peer, 0.0, arrival.now)
            self._note_choice(arrival.source.address, choice, arrival.now)
            self.say_choice(arrival)

    def on_choice_by_datagram(self, source: Endpoint, theirs: str, now: float) -> None:
        """Note that a process in the DHT has said another choice than this one's."""
        self._note_choice(address_of(source), read_choice(theirs), now)

    def on_other_system(self, address: str, theirs: bytes, now: float) -> None:
        """Note a process of another system, which a discovery has left out."""
        self._note("left out", address, other_system(theirs, self._system), now)

    def _note_choice(self, address: str, theirs: Choice, now: float) -> None:
        words = (theirs.membership, theirs.protocol, theirs.options)
        shown = Choice(*(word[:WORDS_MAX] for word in words))
        self._note(
            "no community with",
            address,
            f"it has the membership and protocol {shown}, and this process {self._choice}: all of a"
            " community have to have the same",
            now,
        )

    def read_datagram(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes
    ) -> bytes | None:
        """Return what a datagram of this system says; None for one of another system.

        That is dropped, and its sender told of which system this process is.
        """
        theirs, said = read_mark(data)
        if theirs == self._system.encode():
            return said
        self.on_other_system(address_of(source), theirs, now)
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
