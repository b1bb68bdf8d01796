"""The door of liveness: whether the peers of a part of this process are alive.

A *part* is an object that keeps peers of one group: a membership, super-topic links, a tree. Each
process has one liveness service, which watches the peers of all its parts. A peer that several
parts share gets one heartbeat a period, and all these parts learn at the same time that the peer
has fallen silent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import GroupId

PIECE_BYTES_MAX: Final = 1024  # chosen: a sample of the size estimate has 640
"""The size of a message that goes along with a heartbeat."""


class Watcher:
    """A part as the liveness service calls it. Each verb does nothing unless it is overridden.

    A verb may call any method of `Liveness`, also for the peer that the verb is about.
    """

    def peer_silent(self, contact: Contact, now: float) -> None:
        """Learn that a peer is taken to be dead: neither this process nor others reach it.

        The service calls this once a silence, for every part that watches the peer or listens to
        it. The peer stays watched until the part unwatches it.
        """

    def all_silent(self, now: float) -> None:
        """Learn that all watched peers of the part, or of the process, are suspect.

        The service calls this once a period while it is so. It takes long until the first of the
        peers is taken to be dead, and this process may be cut off itself, so the part may seek
        other members meanwhile.
        """

    def size(self) -> float:
        """Estimate how many processes the part's group has, at least 1.

        The longer a peer may be suspect, the larger the group is.
        """
        return 1.0

    def peer_gone(self, contact: Contact, now: float) -> None:
        """Learn that a peer is not, or no longer, in this part's group.

        The peer, or another process in its name, has said so, and the peer did not answer when it
        was asked (`Liveness.doubt`). By default the same as `peer_silent`.
        """
        self.peer_silent(contact, now)

    def peer_back(self, contact: Contact, now: float) -> None:
        """Learn that a peer that had fallen silent, and is still watched, has sent a record."""

    def heartbeat(self, contact: Contact, now: float) -> Message | None:
        """Return a message for this part at the peer, to go along with a heartbeat; None for none.

        The service asks for the first heartbeat or answer to a peer that the part watches or
        listens to, for the next one after `Liveness.tell`, for each one while the peer is suspect,
        and otherwise for one heartbeat in ten, since messages get lost. The message is one of the
        part's `decoder`, has at most `PIECE_BYTES_MAX` bytes, and arrives at the peer's part by
        `receive`. If a heartbeat has no room for the messages of all parts, the rest goes along
        with the next.
        """
        return None


class Liveness(Protocol):
    """One part's end of the liveness service of its process.

    The service does not bound how many peers a part watches: the part bounds its own tables.
    Messages of strangers add no watched peer.
    """

    def report_to(
        self, watcher: Watcher, period_seconds: float = 1.0, silent_seconds: float = 3.0
    ) -> None:
        """Register the part that learns of its peers; called once, before any peer is watched.

        A watched peer gets a heartbeat every `period_seconds`, and is suspect after
        `silent_seconds` without a record of it. The service then asks other processes whether they
        reach the peer. If none reaches it, the part learns that it is silent
        (`Watcher.peer_silent`) after some 2.7 times `silent_seconds`; if no process answers, after
        5 to 11 times. For a peer that several parts share, the shortest times count. With both
        times infinite the part suspects no peer itself, and learns only what other parts find.
        Raises `ValueError` for a time that is not above 0.
        """

    def watch(self, contact: Contact, now: float) -> None:
        """Send heartbeats to a peer, which answers them, until `unwatch`.

        While events flow to the peer it gets none but those with messages of parts, and sends
        heartbeats itself. Every record that arrives from the peer is a sign of life, whatever it is
        about. A second `watch` of a peer at another address has the known address asked first, and
        takes the new one when that is silent. After the process has left the part's group, `watch`
        and `listen` do nothing.
        """

    def listen(self, contact: Contact, now: float) -> None:
        """Learn of a peer, and add this part's messages to heartbeats, without causing heartbeats.

        The peer gets heartbeats only while it sends events. For a peer that watches this process,
        or whose life the part checks in another way. The later one of `watch` and `listen` counts.
        """

    def unwatch(self, peer: PeerId) -> None:
        """End `watch` and `listen` of a peer; nothing happens if the peer is not watched."""

    def close(self) -> None:
        """End `watch` and `listen` of every peer, for good: the part ends before its group does.

        The part learns nothing more of any peer.
        """

    def tell(self, peer: PeerId) -> None:
        """Call `Watcher.heartbeat` for the next heartbeat or answer to a peer.

        Nothing happens if the part neither watches the peer nor listens to it.
        """

    def reply(self, peer: PeerId) -> None:
        """Do as `tell`, and answer the heartbeat that brought the message being received.

        Without this the heartbeat is answered only if this process has sent no heartbeat to the
        peer since the peer's last one.
        """

    def doubt(self, contact: Contact, now: float, group: GroupId | None = None) -> None:
        """Ask a process that is said to have left whether it is there still.

        The process is asked at the address of `contact` whether it is in `group`, by default the
        part's. If it does not answer within 0.4 s, the part learns it by `Watcher.peer_gone`. The
        process need not be watched. Nothing is asked while an earlier question of the part to the
        same contact is open.
        """

    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        """Call `then` once a process has proved that it is at the address of `contact`.

        At once if the process has proved it within the last ten minutes; otherwise when it has
        answered a question, and never if it does not answer. For a request whose answer is larger
        than the request, or makes other processes connect to the address.
        """

    def can_hold(self, contact: Contact) -> bool:
        """Say whether the part may hold a process in a table: whether frames can get there at all.

        Not if both processes cannot be dialled (`camcast.vocabulary.identity.placeholder`), nor if
        the part has 64 undialable peers already; others then hold the process.
        """

    def met(self, peer: PeerId) -> bool:
        """Say whether a record of a peer has come since it is watched or listened to."""

    def heard(self, peer: PeerId) -> float:
        """Return the time of the last record from a peer that is watched or listened to.

        Before the first record it is the time of `watch` or `listen`. For any other peer, and
        after the process has left the part's group, it is minus infinity.
        """
