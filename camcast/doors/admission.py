"""The door of admission: whom a process knows, and what each of them may do (TRUST, profiles).

A node without it, as in the profiles `open` and `shared-key`, takes everybody who reaches it for a
member, and an address for whatever a message says.
"""

from __future__ import annotations

from typing import Protocol

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.topics import Topic


class Admission(Protocol):
    """Knows processes by their introductions; all times are in seconds since 1970."""

    @property
    def key(self) -> bytes:
        """The public key of this process."""

    def reached_at(self, address: str) -> None:
        """Take note of the address that this process announces."""

    def own(self, now: float) -> Introduction:
        """Return what introduces this process; it is made anew from time to time."""

    def introduction(self, peer: PeerId, now: float) -> Introduction | None:
        """Return what introduces another process; None if it is not known, or not any more."""

    def take(self, introduction: Introduction, now: float) -> str:
        """Get to know a process; return why it is refused, as a counter's name, or ""."""

    def owner(self, introduction: Introduction) -> PeerId:
        """Return who an introduction says that it is of; not verified, and empty if that is none.

        It is for telling whether a process introduces itself.
        """

    def knows(self, contact: Contact, now: float) -> bool:
        """Say whether this process is known, certified, and says that this is an address of it."""

    def sign_mandate(self, said: bytes, now: float) -> bytes:
        """Return this process's mandate for what is said; each is another one."""

    def mandate_refusal(
        self, peer: PeerId, said: bytes, mandate: bytes, now: float, *, verified: bool
    ) -> str:
        """Return why a mandate of another process does not count, as a counter's name, or "".

        Its signature is not looked at again if it was `verified` for the same before.
        """

    def key_text(self, contact: Contact, now: float) -> str:
        """Return the public key of a process that `knows` would say True of, else an empty text."""

    def pin(self, address: str, key: str) -> None:
        """Expect this public key, a text, of whoever is at an address; ignored if it is none."""

    def admits(self, peer: PeerId, now: float) -> bool:
        """Say whether a process is known, and has a certificate that is valid, whatever it allows.

        It may then talk to this one, which decides what to take from it by the rights below.
        """

    def may_join(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may be a member of a topic's community."""

    def may_link(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether it may send events to this community, and ask for members to send them to."""

    def may_serve(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether it may be a gateway of a topic."""
