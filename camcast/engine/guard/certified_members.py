"""Whom a sample of the size estimate may count: processes that are known as certified members.

A sample (`camcast.vocabulary.size_estimate`) has numbers, not identities, so that whoever takes one
must know the members to which the numbers belong. Most of them are known already, by introductions
that came with other messages. The sender of the sample is asked to introduce the rest (`WhoAre`),
and again those whose record expires soon. An answer is made of introductions, which nobody can
forge; the sender of invented numbers has none to show.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define, field

from camcast.engine.asked_lately import AskedLately
from camcast.engine.guard.doorkeeper import CARRY_SECONDS, Doorkeeper, WhoAre
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.size_estimate import SAMPLE
from camcast.vocabulary.topics import Topic

# chosen: of the 20 minutes after which a process signs a new record its neighbours have had that
# record for long by then, and most members are asked for it once an hour
RENEW_SECONDS: Final = 1200.0
# chosen: an expired or revoked member is counted no longer than so; each refresh asks for 64
VERDICT_SECONDS: Final = 5.0


@define(eq=False)
class CertifiedMembers:
    """Implements `camcast.vocabulary.size_estimate.Certified` for one community of one process."""

    _doorkeeper: Doorkeeper
    _topic: Topic
    _counted: dict[int, None] = field(init=False, factory=dict)
    """The numbers that were found to count since `_since`."""
    _since: float = field(init=False, default=0.0)
    _asked: AskedLately = field(init=False, factory=AskedLately)

    def counts(self, number: int) -> bool:
        """See `Certified`."""
        now = self._doorkeeper.now
        if not self._since <= now < self._since + VERDICT_SECONDS:
            self._counted, self._since = {}, now
        if number not in self._counted and self._doorkeeper.is_member(number, self._topic):
            self._counted[number] = None
        return number in self._counted

    def ask(self, teller: Contact, numbers: Iterable[int]) -> None:
        """See `Certified`; a teller is asked for the same process once a minute."""
        now = self._doorkeeper.now
        lacking = [
            number
            for number in numbers
            if not self._doorkeeper.is_member(number, self._topic, RENEW_SECONDS)
            and self._asked.due((teller.peer, number), CARRY_SECONDS, now)
        ]
        if lacking:
            self._doorkeeper.ask_who([teller], WhoAre(self._topic.name, tuple(lacking[:SAMPLE])))
