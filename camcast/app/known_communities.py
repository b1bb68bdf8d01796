"""The communities of one manager: those that are in use, and those that the application holds.

A community is in use while the process takes part in it, while somebody reads its changes, and
while settings wait for its first `join`. Any other community is forgotten as soon as the
application holds it no more: a process may join, and leave, any number of topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from camcast.inbox.deliveries import Deliveries, Inbox
from camcast.vocabulary.topics import GroupId, Topic


class _HasDeliveries(Protocol):
    topic: Topic
    _deliveries: Deliveries[Any]


_Community = TypeVar("_Community", bound=_HasDeliveries)


class KnownCommunities(Generic[_Community]):
    """Finds communities by their groups; iterate it for those in use. `inbox` delivers to these."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._in_use: dict[GroupId, _Community] = {}
        self._held: WeakValueDictionary[GroupId, _Community] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._in_use)

    def __iter__(self) -> Iterator[_Community]:
        return iter(list(self._in_use.values()))

    def find(self, group: GroupId) -> _Community | None:
        """Return the community of a group, None if there is none or it was forgotten."""
        return self._held.get(group)

    def add(self, community: _Community) -> None:
        """Know a community, as long as it is in use or held."""
        self._held[community.topic.group] = community

    def use(self, community: _Community) -> None:
        """Keep a community, and deliver to it."""
        group = community.topic.group
        self._in_use[group] = community
        self._inbox.communities[group] = community._deliveries

    def release(self, community: _Community) -> None:
        """Keep a community only as long as the application holds it."""
        group = community.topic.group
        self._in_use.pop(group, None)
        self._inbox.communities.pop(group, None)
