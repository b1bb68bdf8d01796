"""The door of liveness: whether the peers of a part of this process are alive.

A *part* is whatever keeps peers of one group: a membership, super-topic links, a tree. One
service a process watches the peers of all its parts. A peer that several parts share gets one
heartbeat a period, and every part learns at once that it has fallen silent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import GroupId


class Watcher:
    """A part as the liveness service sees it. Each verb does nothing unless it is overridden.

    The verbs may call the methods of `Liveness`, also for the peer that they are about.
    """

    def peer_silent(self, contact: Contact, now: float) -> None:
        """Learn that a peer is taken to be dead: neither this process nor others reach it.

        Told once a silence, to every part that watches the peer or listens to it. The peer stays
        watched until the part unwatches it.
        """

    def all_silent(self, now: float) -> None:
        """Learn that every peer which the process watches is suspect: it may be cut off itself.

        Told once a period while it is so, to every part. It takes long until any of the peers is
        taken to be dead, so the part may ask its discovery for others.
        """

    def size(self) -> float:
        """Estimate how many processes the part's group has, at least 1.

        The time for which a peer may be suspect grows with it.
        """
        return 1.0

    def peer_gone(self, contact: Contact, now: float) -> None:
        """Learn that a watched peer is alive, but not (or no longer) in this part's group.

        The peer, or somebody in its name, has said so, and it did not answer when it was asked
        (`Liveness.doubt`). By default the same as `peer_silent`.
        """
        self.peer_silent(contact, now)

    def peer_back(self, contact: Contact, now: float) -> None:
        """Learn that a peer that was silent, and is watched or listened to still, was heard of."""

    def heartbeat(self, contact: Contact, now: float) -> Message | None:
        """Return what to tell this part at the peer along with a heartbeat; None for nothing.

        Asked for the first heartbeat or answer to a peer that the part watches or listens to, for
        the next one after `Liveness.tell`, while the peer is suspect, and else for one in
        `camcast.engine.liveness.AGAIN`, since the message may get lost. It is one of the part's own
        decoder, arrives as any other by `receive`, and has at most
        `camcast.engine.liveness.PIECE_BYTES_MAX` bytes. Of more parts than a heartbeat has room for
        some wait for the next.
        """
        return None


class Liveness(Protocol):
    """What one part asks of the liveness service of its process.

    The service bounds nothing itself: it watches as many peers as the tables of its parts hold,
    each of which is bounded. What strangers send adds none.
    """

    def report_to(
        self, watcher: Watcher, period_seconds: float = 1.0, silent_seconds: float = 3.0
    ) -> None:
        """Name the part that is told of its peers; called once, before any peer is watched.

        The part wants a heartbeat every `period_seconds`, and suspects a peer after
        `silent_seconds`: other processes are then asked whether they reach the peer. If none does,
        the part is told (`Watcher.peer_silent`) after some 2.7 times as long; if nobody answers,
        after 5 to 11 times. Of several parts that share a peer, the shortest times count. With both
        infinite a part suspects nobody itself, and learns only what other parts find.
        """

    def watch(self, contact: Contact, now: float) -> None:
        """Send heartbeats to a peer, which answers them, until `unwatch`.

        Every record that arrives from the peer is a sign of life, whatever it is about. Watching
        again renews the peer's address. After the part's group was left nothing is watched.
        """

    def listen(self, contact: Contact, now: float) -> None:
        """Be told of a peer, and tell it of this part, without causing any heartbeat.

        For a peer that is known to watch this process, or that is asked in other ways. In place
        of `watch` for the same peer, as `watch` is in place of this.
        """

    def unwatch(self, peer: PeerId) -> None:
        """Watch and listen no more; nothing happens if the peer is not watched."""

    def tell(self, peer: PeerId) -> None:
        """Ask the part what to tell a peer along with the next heartbeat or answer to it.

        The peer is one that is watched or listened to; nothing happens if it is not.
        """

    def reply(self, peer: PeerId) -> None:
        """Answer the heartbeat that came with the message being received, in any case; and `tell`.

        Without this it is answered only if no heartbeat was sent to the peer since its last one.
        """

    def doubt(self, contact: Contact, now: float, group: GroupId | None = None) -> None:
        """Ask a process of which somebody says that it has left; `peer_gone` if it is silent.

        It is asked at this address, whether it is in `group`, by default the part's, and need not
        be watched. It is asked once at a time.
        """

    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        """Do something for a process once it has shown that it is at its address.

        At once if it has of late; else when it has answered a question, and never if it does not.
        For what is worth more than the message that asks for it, or makes others connect to it.
        """

    def heard(self, peer: PeerId) -> float:
        """Return when a peer, watched or listened to, was last heard of.

        Before its first record that is when it was watched; for any other peer minus infinity.
        """
