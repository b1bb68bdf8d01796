"""Memberships that join by asking one contact after the other, then the discovery.

Such a membership also asks the discovery from time to time when its table is full: a community may
have been founded twice, or have split into parts, each of which takes itself for the whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Final

from typing_extensions import override

from camcast.doors.membership import Membership, MembershipContext
from camcast.vocabulary.cold_list import ColdList
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.size_estimate import SizeEstimate
from camcast.vocabulary.topics import Topic

TIMER: Final = "first contact"
CONTACTS_WANTED: Final = 5  # chosen: as camcast.engine.node
LONELY_SECONDS: Final = 15.0  # chosen: as SCAMP; a process alone asks the discovery that often
PAUSE_FIRST: Final = 1.0  # chosen: as SCAMP; doubles with each seek up to `SEEK_SECONDS`
SEEK_SECONDS: Final = 60.0  # chosen: as SCAMP's leases; between two seeks in quiet times
ANSWER_SECONDS: Final = 0.4  # chosen: as SCAMP; for a contact that was asked
PROBE_SECONDS: Final = 5.0  # chosen: as SCAMP; between two tries of the cold list
PROBED: Final = 3  # chosen: most of the cold list is dead; six are tried in ten seconds


class FirstContacts:
    """Asks the contacts of one process in turn, and the discovery at intervals."""

    def __init__(self, outlet: ControlOutlet, topic: Topic, request: Message) -> None:
        """Ask each contact with `request`, and the next one after `ANSWER_SECONDS` in vain.

        In quiet times the discovery is asked every `SEEK_SECONDS`.
        """
        self._outlet, self._topic, self._request = outlet, topic, request
        self._contacts: list[Contact] = []
        self._attempt = 0
        self._next_seek = 0.0
        self._pause = PAUSE_FIRST
        self.asking = False
        """Whether a contact has been asked and still has time to answer."""

    def ask(self, contacts: Iterable[Contact]) -> None:
        """Ask the first of these; if it does not answer the next; after the last the discovery."""
        self._contacts = list(contacts)
        self._ask_next()

    def wake(self, name: tuple[object, ...]) -> None:
        """Take a timer of the membership; only the timers of this object have an effect."""
        if name == (TIMER, self._attempt) and self.asking:
            self._ask_next()

    def stop(self) -> None:
        """Ask no other contact, since one has answered."""
        self.asking = False
        self._contacts.clear()

    def seek_in_time(self, now: float, *, lonely: bool) -> None:
        """Ask the discovery for members if it is time; a `lonely` process asks more often."""
        if lonely:
            self._pause = min(self._pause, LONELY_SECONDS)
        if now >= self._next_seek:
            self._next_seek = now + self._pause
            self._pause = min(2 * self._pause, SEEK_SECONDS)
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _ask_next(self) -> None:
        self._attempt += 1
        self.asking = bool(self._contacts)
        if self.asking:
            self._outlet.send([self._contacts.pop(0)], self._request)
            self._outlet.wake(ANSWER_SECONDS, TIMER, self._attempt)
        else:
            self._outlet.seek(self._topic, CONTACTS_WANTED)


class AskingMembership(Membership):
    """The base of memberships whose processes join by asking members to take them in.

    They estimate the size of the community from samples (`camcast.vocabulary.size_estimate`), and
    keep a cold list of processes that fell silent (`camcast.vocabulary.cold_list`).
    """

    def __init__(
        self,
        context: MembershipContext,
        suspect_after: int,
        request: Message,
        period_seconds: float,
    ) -> None:
        """Join by sending `request`. Heartbeats and the size estimate have `period_seconds`.

        A process that is silent for `suspect_after` periods is suspect.
        """
        self._me = context.me
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._liveness = context.liveness
        self._liveness.report_to(self, period_seconds, suspect_after * period_seconds)
        self._contacts = FirstContacts(context.outlet, context.topic, request)
        self._estimate = SizeEstimate(context.me.peer, period_seconds, context.certified)
        self._cold = ColdList()
        self._next_probe = 0.0
        self._joined = self._leaving = False

    @abstractmethod
    def _become_member(self, now: float) -> None:
        """Become a member, since a member has answered or there is none to ask.

        Called again it changes nothing.
        """

    @abstractmethod
    def _meet(self, strangers: list[Contact], now: float) -> None:
        """Contact members that the discovery names and the table does not hold."""

    @abstractmethod
    def _try_again(self, contact: Contact, now: float) -> None:
        """Ask a process of the cold list, known by its address alone, whether it is back."""

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @override
    def size(self) -> float:
        """See `Membership`: the estimate, but at least the table and this process."""
        return max(self._estimate.size, len(self.peers()) + 1.0)

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        self._estimate.refresh(now)
        known = list(contacts)
        if known:
            self._contacts.ask(known)
        else:
            self._become_member(now)

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: join through the contacts, or meet those that are not in the table."""
        table = self.peers()
        found = [contact for contact in contacts if contact.peer not in table]
        if not self._joined:
            if found or not self._contacts.asking:  # an empty answer founds no second community
                self.join(found, now)
        elif found and not len(table):
            self._contacts.ask(found)
        elif found:
            self._meet(found, now)

    def _put_on_cold_list(self, contact: Contact, now: float) -> None:
        if not len(self._cold):
            self._next_probe = now + PROBE_SECONDS
        self._cold.put(contact, self._topic, now)

    def _probe(self, now: float, *, alone: bool) -> None:
        """Ask some processes of the cold list if it is time; if `alone`, join through them."""
        if not len(self._cold) or now < self._next_probe:
            return
        self._next_probe = now + PROBE_SECONDS
        probed = [cold.contact for cold in self._cold.sample(PROBED, self._rng, now)]
        if alone:
            self._contacts.ask(probed)
        else:
            for contact in probed:
                self._try_again(contact, now)

    def _learn_size(self, source: Contact, sample: bytes, now: float) -> None:
        self._estimate.note(source.peer, now)
        self._estimate.merge(sample, source, now)
