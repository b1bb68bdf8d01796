"""Asking nodes of a community for their contact, until there are as many as wanted.

As many are asked at a time as are still wanted; for one that is slow, another one in addition, so
that the dead and the unlucky delay nobody. Only who answers by itself, with a contact and with
a topic whose hash is the group, is a contact: the question is the proof of life, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic, TopicError
from overlays.kademlia.protocol import Call, Protocol
from overlays.kademlia.table import Neighbour


class ContactRound:
    """Asks members for their contact until there are as many as wanted."""

    def __init__(
        self, protocol: Protocol, group: GroupId, wanted: int, members: Sequence[Neighbour]
    ) -> None:
        self.done: asyncio.Future[None] = protocol.loop.create_future()
        self._protocol = protocol
        self._group = group
        self._wanted = wanted
        self._members = iter(members)
        self._calls: dict[bytes, Call] = {}
        self._by_peer: dict[PeerId, Contact] = {}
        for _ in range(wanted):
            self._ask_next()
        self._end_if_over()

    @property
    def contacts(self) -> Iterable[Contact]:
        """Who has answered, in that order."""
        return self._by_peer.values()

    def cancel(self) -> None:
        """End it now."""
        for call in self._calls.values():
            call.cancel()
        self._calls.clear()
        if not self.done.done():
            self.done.set_result(None)

    def _ask_next(self) -> None:
        node = next(self._members, None)
        if node is not None:
            self._calls[node.id] = self._protocol.request(
                node,
                "contact",
                self._group,
                done=lambda answer: self._on_done(node, answer),
                slow=self._ask_next,
            )

    def _on_done(self, node: Neighbour, answer: Any) -> None:
        del self._calls[node.id]
        contact = None if answer is None else self._contact(node, answer)
        if contact is None:
            self._ask_next()
        else:
            self._by_peer[contact.peer] = contact
        self._end_if_over()

    def _contact(
        self, node: Neighbour, answer: tuple[bytes, Contact | None, str]
    ) -> Contact | None:
        node_id, contact, name = answer
        try:
            right = Topic.parse(name).group == self._group
        except TopicError:
            right = False
        if node_id == node.id and right and contact is not None and contact.peer != UNKNOWN_PEER:
            return contact
        if contact is not None or name:
            self._protocol.counters.refused += 1
        return None

    def _end_if_over(self) -> None:
        if len(self._by_peer) >= self._wanted or not self._calls:
            self.cancel()
