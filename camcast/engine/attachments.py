"""Attachments: how processes that nobody can dial are told to connect to those that look for them.

Theory of operation
-------------------
A process behind a firewall or a NAT announces a placeholder for its address
(`camcast.vocabulary.identity.placeholder`). It opens connections like any other process, and these
carry frames both ways: it is *attached* to every process that it has connected to. Nobody relays
for it what is not for himself: members of its own communities send to it as to any other member.

A process that has something for an undialable one, which is not attached to it, is told so by its
driver (`call`). It then sends `Attach` to those that have named the undialable process, since they
mostly hold it themselves. Whoever has heard of that process over a connection of its own passes the
`Attach` on, by this one hop, and the undialable process connects. Before a message that is passed
on for an undialable sender goes `Attached`, which says to whom the sender is attached.

Two undialable processes cannot connect, and hold each other in no table (`Liveness.can_hold`).

*Hostile peers.* An `Attach` makes an undialable process open one connection and send a heartbeat of
some 60 bytes; `ATTACHES_A_SECOND` of all are obeyed, and as many passed on. Who named whom is
remembered in shares (`camcast.vocabulary.share`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from camcast.engine.liveness_messages import Attach, Attached, Heartbeat
from camcast.vocabulary.addresses import PLACEHOLDER_START
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.messages import Arrival, Message, named_in
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.share import Share
from camcast.vocabulary.token_buckets import each_second

ATTACHES_A_SECOND: Final = 32  # chosen: as many as a view has holders that come in one second
CALLED_MAX: Final = 3  # chosen: at 30 % loss one of three gets through with 0.97
NAMED_MAX: Final = 64  # chosen: as many contacts as the largest answer names
TELLERS_MAX: Final = 256  # chosen: the peers of a dozen topics; with their names 1.5 MB at most
ATTACHED_MAX: Final = 4096  # chosen: as many as `questions` remember; 0.4 MB
_PLACEHOLDER: Final = PLACEHOLDER_START.encode()
ATTACHED_SECONDS: Final = 60.0  # chosen: as long as an idle connection is kept


class Attachments:
    """The undialable processes that one process knows; see the module's theory of operation."""

    def __init__(self, outlet: ControlOutlet) -> None:
        self._outlet = outlet
        self._heard: dict[PeerId, float] = {}
        """When each undialable process last sent something itself; the last comes last."""
        self._named: Share[PeerId, PeerId, Contact] = Share(NAMED_MAX, TELLERS_MAX)
        """The contacts that each undialable process is attached to, as each process said."""
        self._obeyed, self._passed_on = (
            each_second(ATTACHES_A_SECOND),
            each_second(ATTACHES_A_SECOND),
        )

    def note(self, arrival: Arrival, message: Message, body: bytes) -> None:
        """Note what a message shows of undialable processes: its sender, and those it names.

        `body` is the message as it came, in which those are found sooner.
        """
        source = arrival.source
        if _PLACEHOLDER not in body and not source.address.startswith(PLACEHOLDER_START):
            return
        if source.is_dialable:
            for contact in named_in(message):
                if not contact.is_dialable:
                    self._named.add(source.peer, contact.peer, source)
        elif arrival.is_direct and not message.passed_on:
            self._heard.pop(source.peer, None)
            if len(self._heard) >= ATTACHED_MAX:
                del self._heard[next(iter(self._heard))]
            self._heard[source.peer] = arrival.now

    def introduce(self, sender: Contact, receivers: Sequence[Contact]) -> None:
        """Say to whom an undialable sender is attached, before a message is passed on for it."""
        known = [] if sender.peer in self._heard else self._named.of(sender.peer, 1)
        for by in known or [self._outlet.me] * self._outlet.me.is_dialable:
            self._outlet.send(receivers, Attached(sender.peer, by))

    def greet(self, contact: Contact) -> None:
        """Send a heartbeat to an undialable process that entered a table, so that it connects."""
        if not contact.is_dialable:
            self._outlet.send([contact], Heartbeat(()))

    def call(self, contact: Contact) -> None:
        """Ask those that have named an undialable process to let it connect to this one."""
        named = {one.peer: one for one in self._named.of(contact.peer, CALLED_MAX)}
        asked = [
            one for one in named.values() if one.is_dialable and one.peer != self._outlet.me.peer
        ]
        if self._outlet.me.meets(contact):
            self._outlet.send(asked, Attach(contact.peer, self._outlet.me))

    def receive(self, source: Contact, message: Attach | Attached, now: float) -> None:
        """Connect to the process that calls this one, or pass the call on to whom it is for."""
        peer, by = message.peer, message.by
        if isinstance(message, Attached):
            self._named.add(source.peer, peer, by)
        elif peer == self._outlet.me.peer:
            if not self._outlet.me.is_dialable and by.is_dialable and self._obeyed.take(now):
                self._outlet.send([by], Heartbeat(()))
        elif self._heard.get(peer, -inf) >= now - ATTACHED_SECONDS and self._passed_on.take(now):
            self._outlet.send([placeholder(peer)], message)
