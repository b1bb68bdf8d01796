"""The guard of a node that lets everybody in, from which the one that does not is derived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from camcast.doors.admission import Admission
from camcast.engine.security_messages import Introductions, KeyInUse, WhoAre
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Arrival, MessageT
from camcast.vocabulary.outbox import Vouch
from camcast.vocabulary.penalties import Fault, Penalties
from camcast.vocabulary.refusal import TAKEN, Refusal
from camcast.vocabulary.size_estimate import Certified
from camcast.vocabulary.topics import Topic

Audit = Callable[[str, str, float, PeerId | None], None]
"""Takes what happened to a process, and why, when, and to which one (`camcast.live.audit`)."""


def _no_audit(_what: str, _reason: str, _now: float, _peer: PeerId | None) -> None:
    pass


class Guard:
    """Judges what arrives at one node.

    This one, of the profiles ``open`` and ``shared-key``, takes every process that reaches the
    node for a member; `camcast.engine.guard.access_control.AccessControl` is that of the profile
    ``signed``.
    """

    vouch: Vouch | None = None
    """Called before a control message leaves, to vouch for it; None where nothing is."""
    admits: Callable[[PeerId | None, float], bool] | None = None
    """Takes the process at the end of a link, and now; returns whether its events may be looked at.
    It is on the way of every event: one bound method, or None where everybody is let in."""
    admission: Admission | None = None

    penalties: Penalties | None = None
    """The scores of processes; None where links do not prove who is at their other end."""

    audit: Audit = staticmethod(_no_audit)
    """Takes what is refused, and of whom."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        """Frames, messages and introductions, by why they were not taken."""

    def penalise(self, peer: PeerId | None, fault: Fault | None, now: float) -> None:
        """Count a fault of the process at the other end of a link, if there is one."""
        if fault is None or peer is None or self.penalties is None:
            return
        if self.penalties.add(peer, fault, now):
            self.audit("barred", "faults", now, peer)

    def is_barred(self, peer: PeerId | None, now: float) -> bool:
        """Say whether the process at the other end of a link has committed too many faults."""
        penalties = self.penalties
        return penalties is not None and peer is not None and penalties.barred(peer, now)

    def lets_in(self, arrival: Arrival, body: bytes) -> bool:
        """Return whether a control record may be looked at; learn the introductions in it."""
        return True

    def judge(self, message: MessageT, arrival: Arrival, topic: Topic | None) -> MessageT | None:
        """Return a message without what its sender may not say; None if nothing is left.

        `topic` is that of the community that the message is for; None if it is for no community.
        """
        return message

    def may_join(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Return whether a process may be a member of a topic's community."""
        return True

    def only_members(
        self, contacts: Sequence[Contact], topic: Topic, now: float
    ) -> tuple[Contact, ...]:
        """Return the contacts that are known, and that may be members of a topic's community."""
        return tuple(contacts)

    def certified(self, topic: Topic) -> Certified | None:
        """Return what says whom a sample of a community's size may count; None: everybody."""
        return None

    def on_introductions(self, message: Introductions) -> bool:
        """Return whether introductions, which `lets_in` has learnt, were meant for this process."""
        return False

    def on_who_are(self, source: Contact, question: WhoAre, now: float) -> None:
        """Introduce members of a community to another one."""

    def on_key_in_use(self, message: KeyInUse, now: float) -> None:
        """Learn that another process may use this process's key."""

    def on_clock_set(self, now: float) -> None:
        """Judge again what was refused for its time, after the wall clock was set."""

    def on_moved(self, now: float) -> None:
        """Say to others where this process is, which announces another address now."""

    def refuse(
        self, why: str, now: float, link: PeerId | None, refusal: Refusal = TAKEN, of: str = ""
    ) -> None:
        """Count a refusal of what came over a link, and log it once a minute.

        `of` says for the log whose bytes they are.
        """
