"""How the searches of other processes are answered or passed on (Figure 5, lines 4 to 13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from camcast.engine.link_messages import SEARCH_BYTES, AnsContact, ReqContact
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import GroupId

SCOPE_MAX: Final = 33  # [TRUST] a topic has at most 32 levels, so 33 with the root
SEARCHES_REMEMBERED: Final = 1024  # chosen: minutes of searches by a community of thousands


class SearchRelay:
    """Answers each search once, or passes it on while its TTL lasts.

    `known(group, k)` are members of a community that this process knows, `neighbours(k)` all that
    it knows; `outlet(group)` sends for a community.
    """

    def __init__(
        self,
        known: Callable[[GroupId, int], list[Contact]],
        neighbours: Callable[[int], list[Contact]],
        outlet: Callable[[GroupId], ControlOutlet],
        parameters: Parameters,
    ) -> None:
        self._known = known
        self._neighbours = neighbours
        self._outlet = outlet
        self._parameters = parameters
        self._searches: dict[bytes, None] = {}  # ordered: the oldest is forgotten first

    def receive(self, origin: Contact, group: GroupId, message: ReqContact) -> None:
        """Take a search that `origin` sends for its community `group`."""
        search = message.search[:SEARCH_BYTES]
        if search in self._searches:
            return
        if len(self._searches) >= SEARCHES_REMEMBERED:
            del self._searches[next(iter(self._searches))]
        self._searches[search] = None
        for name in message.topics[:SCOPE_MAX]:
            known = self._known(read_topic(name).group, self._parameters.z)
            contacts = tuple(c for c in known if c.peer != origin.peer)
            if contacts:
                self._outlet(group).send([origin], AnsContact(name, contacts))
                return
        ttl = min(message.ttl, self._parameters.search_ttl) - 1
        if ttl > 0:
            onward = [
                contact
                for contact in self._neighbours(self._parameters.search_neighbours + 1)
                if contact.peer != origin.peer
            ][: self._parameters.search_neighbours]
            passed_on = ReqContact(search, message.topics[:SCOPE_MAX], ttl)
            self._outlet(group).send(onward, passed_on, reply_to=origin)
