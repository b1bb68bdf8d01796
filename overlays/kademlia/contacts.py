"""Asking members of a community for their contacts, until there are as many as wanted.

At any time as many calls are under way as contacts are wanted. Slow calls do not count, so that a
dead member or a lost datagram causes no delay. A contact is taken only from the answer of the
member itself, and only with a topic whose hash is the group; the answer also proves that the
member is alive. A member with another choice names no contact (`overlays.kademlia.protocol`).
Where nodes have keys, the contact must be that of the key's owner, at an address
that the owner has signed, and the owner's certificate must allow it to join the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from camcast.doors.datagrams import Endpoint
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic, TopicError
from overlays.kademlia.protocol import Call, Protocol
from overlays.kademlia.table import Neighbour


class ContactRound:
    """Asks members in turn; calls `done(now)` when enough have answered or none are left."""

    def __init__(
        self,
        protocol: Protocol,
        group: GroupId,
        wanted: int,
        members: Sequence[Neighbour],
        done: Callable[[float], None],
    ) -> None:
        self._protocol = protocol
        self._group = group
        self._wanted = wanted
        self._members = iter(members)
        self._done = done
        self._over = False
        self._calls: dict[bytes, Call] = {}
        self._by_peer: dict[PeerId, Contact] = {}
        self.others: dict[Endpoint, None] = {}
        """The members that have answered with another choice than this process's."""

    def start(self, now: float) -> None:
        """Ask the first members; a round without members is over at once."""
        for _ in range(self._wanted):
            self._ask_next(now)
        self._end_if_over(now)

    @property
    def contacts(self) -> Iterable[Contact]:
        """The contacts of the members that have answered, in the order of the answers."""
        return self._by_peer.values()

    def cancel(self, now: float) -> None:
        """End the round."""
        if self._over:
            return
        self._over = True
        for call in self._calls.values():
            call.cancel()
        self._done(now)

    def _ask_next(self, now: float) -> None:
        node = next(self._members, None)
        if node is not None:
            self._calls[node.id] = self._protocol.request(
                node,
                "contact",
                self._group,
                done=lambda answer, now: self._on_done(node, answer, now),
                slow=self._ask_next,
                now=now,
            )

    def _on_done(self, node: Neighbour, answer: Any, now: float) -> None:
        del self._calls[node.id]
        contact = None if answer is None else self._contact(node, answer, now)
        if contact is None:
            self._ask_next(now)
        else:
            self._by_peer[contact.peer] = contact
        self._end_if_over(now)

    def _contact(
        self, node: Neighbour, answer: tuple[bytes, Contact | None, str, str], now: float
    ) -> Contact | None:
        node_id, contact, name, choice = answer
        if choice:
            self.others[node.address] = None
            self._protocol.on_other_choice(node.address, choice, now)
            return None
        try:
            topic = Topic.parse(name)
        except TopicError:
            topic = None
        if (
            node_id == node.id
            and topic is not None
            and topic.group == self._group
            and contact is not None
            and self._protocol.is_of(contact, node, topic, now)
        ):
            return contact
        if contact is not None or name:
            self._protocol.counters.refused += 1
        return None

    def _end_if_over(self, now: float) -> None:
        if len(self._by_peer) >= self._wanted or not self._calls:
            self.cancel(now)
