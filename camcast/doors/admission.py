"""The door of admission: whom a process knows, and what each of them may do (docs/security.md).

Only the profile `signed` has an admission. In the profiles `open` and `shared-key` a node takes
every process that reaches it for a member, and believes the address that a message names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.introductions import Introduction, Moved
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.topics import Topic


class Admission(Protocol):
    """Knows processes by their introductions. All times are in seconds since 1970."""

    @property
    def key(self) -> bytes:
        """The public key of this process."""

    def reached_at(self, address: str) -> None:
        """Note the address that this process announces, for its introduction."""

    def introduce_anew(self, now: float) -> None:
        """Sign the introduction of this process again, since its clock was set: it is now `now`.

        The new introduction takes the place of the old one everywhere, whatever the old one said of
        the time.
        """

    def own(self, now: float) -> Introduction:
        """Return the introduction of this process, which is made again before it expires."""

    def introduction(self, peer: PeerId, now: float) -> Introduction | None:
        """Return the introduction of a process; None if the process is unknown or has expired."""

    def incarnation(self, peer: PeerId) -> int:
        """Return the incarnation of a process, which grows with each of its starts.

        0 if the process is unknown. One that has started again knows nothing of what it was told.
        """

    def numbered(self, number: int, now: float) -> PeerId | None:
        """Return the process of this number in samples of sizes, if its record is valid at `now`.

        `now` may lie ahead. The number is that of `camcast.vocabulary.size_estimate.number_of`.
        """

    def take(self, introduction: Introduction, now: float) -> Refusal:
        """Verify and remember an introduction; return why it is refused, or `TAKEN`."""

    def owner(self, introduction: Introduction) -> PeerId:
        """Return the process that an introduction names as its owner, without verifying it.

        Returns `UNKNOWN_PEER` for what cannot be read. By this the node tells whether the sender
        of a message introduces itself or a third process.
        """

    def knows(self, contact: Contact, now: float) -> bool:
        """Say whether a process is known, has a valid certificate, and signed this address."""

    def moved(self, contact: Contact, now: float) -> Moved | None:
        """Return where the process of a contact has moved from the contact's address.

        None if the address is no earlier one of a known process.
        """

    def addresses_in_use(self, record: bytes, now: float) -> Sequence[str]:
        """Return the addresses of another process that has signed a record with this one's key.

        Empty if the record proves no such thing.
        """

    def sign_mandate(self, said: bytes, now: float) -> bytes:
        """Return a mandate of this process for the bytes `said`; no two mandates are equal.

        A mandate is a signature that lets other processes pass on a message (docs/security.md).
        """

    def mandate_refusal(
        self, peer: PeerId, said: bytes, mandate: bytes, now: float, *, verified: bool
    ) -> Refusal:
        """Return why a mandate of another process does not count, or `TAKEN`.

        With `verified`, the caller has had this mandate accepted for the same bytes before: only
        its time is checked then, and not the signature.
        """

    def key_text(self, contact: Contact, now: float) -> str:
        """Return the public key, as text, of a contact that `knows` accepts, else ""."""

    def pin(self, address: str, key: str) -> None:
        """Expect the process at an address to have this public key, given as text.

        A text that is no key is ignored.
        """

    def admits(self, peer: PeerId, now: float) -> bool:
        """Say whether a process is known and has a valid certificate, whatever that allows.

        An admitted process may connect. Which of its messages count depends on the rights below.
        """

    def may_join(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may be a member of a topic's community."""

    def may_link(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may send events to a topic's community and ask for its members."""

    def may_serve(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may be a gateway of a topic."""
