"""Whom a membership asks to be taken in: one contact after the other, then the discovery.

A membership also asks the discovery by itself from time to time, even if it lacks nobody: a
community may have been founded twice, or have split into parts of which each believes that it is
whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import Topic

TIMER: Final = "first contact"
CONTACTS_WANTED: Final = 5  # chosen: as camcast.engine.node
LONELY_SECONDS: Final = 15.0  # chosen: as SCAMP; a lonely founder asks that often for others
PAUSE_FIRST: Final = 1.0  # chosen: as SCAMP; whoever is new asks often, then less and less


class FirstContacts:
    """The contacts that are still to be asked, and when the discovery is asked next."""

    def __init__(
        self,
        outlet: ControlOutlet,
        topic: Topic,
        request: Message,
        answer_seconds: float,
        seek_seconds: float,
    ) -> None:
        """Ask each contact with `request`; it has `answer_seconds` to answer.

        A membership that lacks nobody asks the discovery every `seek_seconds`.
        """
        self._outlet, self._topic, self._request = outlet, topic, request
        self._answer_seconds, self._seek_seconds = answer_seconds, seek_seconds
        self._contacts: list[Contact] = []
        self._attempt = 0
        self._next_seek = 0.0
        self._pause = PAUSE_FIRST
        self.asking = False
        """Whether a contact has been asked, and has time to answer."""

    def ask(self, contacts: Iterable[Contact]) -> None:
        """Ask the first of these; the next if it does not answer; at last the discovery."""
        self._contacts = list(contacts)
        self._ask_next()

    def wake(self, name: tuple[object, ...]) -> None:
        """Take a timer of this part; others are harmless."""
        if name == (TIMER, self._attempt) and self.asking:
            self._ask_next()

    def stop(self) -> None:
        """Ask no further: somebody has answered."""
        self.asking = False
        self._contacts.clear()

    def seek_in_time(self, now: float, *, lonely: bool) -> None:
        """Ask the discovery for members if it is time, which comes sooner for the lonely."""
        if lonely:
            self._pause = min(self._pause, LONELY_SECONDS)
        if now >= self._next_seek:
            self._next_seek = now + self._pause
            self._pause = min(2 * self._pause, self._seek_seconds)
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _ask_next(self) -> None:
        self._attempt += 1
        self.asking = bool(self._contacts)
        if self.asking:
            self._outlet.send([self._contacts.pop(0)], self._request)
            self._outlet.wake(self._answer_seconds, TIMER, self._attempt)
        else:
            self._outlet.seek(self._topic, CONTACTS_WANTED)
