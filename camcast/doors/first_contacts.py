"""The contacts through which a process joins: asked one after the other, then the discovery.

The discovery is also asked from time to time while the table is full: a community may have been
founded twice, or have split into parts, each of which takes itself for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import Topic

TIMER: Final = "first contact"
CONTACTS_WANTED: Final = 5  # chosen: enough to survive 30 % dead contacts at 99.8 %
LONELY_SECONDS: Final = 15.0  # chosen: as SCAMP; a process alone asks the discovery that often
PAUSE_FIRST: Final = 1.0  # chosen: as SCAMP; doubles with each seek up to `SEEK_SECONDS`
SEEK_SECONDS: Final = 60.0  # chosen: as SCAMP's leases; between two seeks in quiet times
ANSWER_SECONDS: Final = 0.4  # chosen: as SCAMP; for a contact that was asked


class FirstContacts:
    """Asks the contacts of one process in turn, and the discovery at intervals."""

    def __init__(
        self, outlet: ControlOutlet, topic: Topic, request: Callable[[float], Message]
    ) -> None:
        """Ask each contact with `request(now)`, and the next one after `ANSWER_SECONDS` in vain.

        In quiet times the discovery is asked every `SEEK_SECONDS`.
        """
        self._outlet, self._topic, self._request = outlet, topic, request
        self._contacts: list[Contact] = []
        self._attempt = 0
        self._next_seek = 0.0
        self._pause = PAUSE_FIRST
        self.asking = False
        """Whether a contact has been asked and still has time to answer."""

    def ask(self, contacts: Iterable[Contact], now: float) -> None:
        """Ask the first of these; if it does not answer the next; after the last the discovery."""
        self._contacts = list(contacts)
        self._ask_next(now)

    def wake(self, name: tuple[object, ...], now: float) -> None:
        """Take a timer of the membership; only the timers of this object have an effect."""
        if name == (TIMER, self._attempt) and self.asking:
            self._ask_next(now)

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

    def _ask_next(self, now: float) -> None:
        self._attempt += 1
        self.asking = bool(self._contacts)
        if self.asking:
            self._outlet.send([self._contacts.pop(0)], self._request(now))
            self._outlet.wake(ANSWER_SECONDS, TIMER, self._attempt)
        else:
            self._outlet.seek(self._topic, CONTACTS_WANTED)
