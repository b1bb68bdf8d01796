"""Explicit peers: processes that the operator has listed, and that a process never gives up.

The remedy against an eclipse that needs no trust in what others tell, as the *direct peers* of
gossipsub: whoever owns everything that a process hears does not own an address that its operator
has written down. A process asks each of these addresses about each of its communities whether there
is a member (`Ping`). Whoever answers, and proves to be there, is named to the membership like a
member that the discovery has found, and kept in its table (`Membership.keep`). While a listed
process is missing there it is asked again every `AGAIN_SECONDS`, for ever.

A listed process need not list this one. It is asked in communities alone that this process has
joined itself, and its answers count only with the address from which they were asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from camcast.engine.joining import Joining
from camcast.engine.link_messages import Ping, Pong
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.messages import read_topic
from camcast.vocabulary.outbox import Finding, Token, Wake
from camcast.vocabulary.wire import Kind

PEERS: Final = "peers"
"""The name of the timer."""
# chosen: as super-topic tables check; a peer that is back is held again within that time
AGAIN_SECONDS: Final = 5.0


class ExplicitPeers:
    """The listed addresses of one process, and the processes there in each of its groups."""

    def __init__(
        self,
        process: ProcessContext,
        joining: Joining,
        addresses: tuple[str, ...],
        tell_neighbours: Callable[[LocalGroup, float], None],
    ) -> None:
        """Ask at these addresses; `tell_neighbours` tells the changes of a group's topic table."""
        self._process, self._joining, self._addresses = process, joining, addresses
        self._tell_neighbours = tell_neighbours

    def watch(self, local_group: LocalGroup) -> None:
        """Look after a group that this process has entered."""
        if self._addresses:
            self.wake(local_group)

    def wake(self, local_group: LocalGroup) -> None:
        """Ask who is at the addresses that are missing in the topic table."""
        topic = local_group.topic
        held = [contact.address for contact in local_group.membership.peers()]
        missing = [
            Contact(UNKNOWN_PEER, address)
            for address in self._addresses
            if address not in held and address != self._process.me.address
        ]
        self._process.outlet(Kind.LINKS, topic.group).send(missing, Ping(topic.name))
        token = Token(None, topic.group, (local_group.serial, PEERS))
        self._process.outbox.wakes.append(Wake(AGAIN_SECONDS, token))

    def receive(self, source: Contact, message: Pong, now: float) -> None:
        """Take an answer; nothing happens if it comes from elsewhere, or is not missing."""
        local_group = self._process.groups.current.get(read_topic(message.topic).group)
        if local_group is None or source.address not in self._addresses:
            return
        if source.peer not in local_group.membership.peers():
            proved = partial(self._keep, source, local_group)
            self._process.liveness.questions.prove(source, now, proved)

    def _keep(self, source: Contact, local_group: LocalGroup, now: float) -> None:
        topic = local_group.topic
        if self._process.groups.current.get(topic.group) is local_group:
            self._joining.found(Finding(topic, (source,)), now)
            local_group.membership.keep(source, now)
            self._joining.note_moved(local_group)
            self._tell_neighbours(local_group, now)
