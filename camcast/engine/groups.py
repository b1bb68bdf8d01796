"""The groups that one process is in, and those that it has left recently."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from camcast.engine.local_group import LocalGroup
from camcast.engine.tables_by_topic import TablesByTopic
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GroupId, Topic

LEFT_MAX: Final = 64  # chosen: groups left recently, to say goodbye to late messages
GROUPS_ASKED: Final = 32  # chosen: as many as tables are asked for members (`TABLES_ASKED`)


class Groups:
    """One process's local groups; the parts of its node share this one object."""

    def __init__(self) -> None:
        self.current: dict[GroupId, LocalGroup] = {}
        """The groups that the process is in, in the order of joining."""
        self.left: dict[GroupId, LocalGroup] = {}
        """The last `LEFT_MAX` that were left, without those that were joined again."""
        self.tables = TablesByTopic()
        """The super-topic tables of the current groups."""
        self.changed: dict[GroupId, None] = {}
        """The groups whose topic table has changes that the node has not passed on yet."""
        self._peopled: dict[GroupId, LocalGroup] = {}
        """The groups whose topic table is not empty."""

    def enter(self, local_group: LocalGroup) -> None:
        """Begin to take part in a group."""
        group = local_group.topic.group
        self.current[group] = local_group
        self.left.pop(group, None)
        self.tables.enter(local_group.ways_up)

    def leave(self, local_group: LocalGroup) -> None:
        """Take part in a group no more."""
        group = local_group.topic.group
        del self.current[group]
        self._peopled.pop(group, None)
        self.tables.leave(local_group.ways_up)
        if len(self.left) >= LEFT_MAX:
            del self.left[next(iter(self.left))]
        self.left[group] = local_group

    def find(self, group: GroupId) -> LocalGroup | None:
        """Return what this process holds for a group, also for one that it has left recently."""
        return self.current.get(group) or self.left.get(group)

    def community(self, group: GroupId) -> str:
        """Return the name of the community in which things happen that happen in a group."""
        local_group = self.find(group)
        return "" if local_group is None else local_group.subscribed.name

    def fit(self, changed: Iterable[Topic], now: float) -> None:
        """Fit the tables to the hierarchy after these topics got other super-topics."""
        for ways_up in dict.fromkeys(one for topic in changed for one in self.tables.of(topic)):
            ways_up.fit(now)
            self.tables.enter(ways_up)

    def passed_on(self, local_group: LocalGroup) -> None:
        """Note that the changes of a group's topic table were passed on."""
        group = local_group.topic.group
        self.changed.pop(group, None)
        if group in self.current and len(local_group.membership.peers()):
            self._peopled[group] = local_group
        else:
            self._peopled.pop(group, None)

    def neighbours(self, wanted: int, rng: Random) -> list[Contact]:
        """Draw so many members of each group that has others; of many groups, of some."""
        groups = list(self._peopled.values())
        if len(groups) > GROUPS_ASKED:
            groups = rng.sample(groups, GROUPS_ASKED)
        return [
            contact
            for local_group in groups
            for contact in local_group.membership.peers().sample(wanted, rng)
        ]

    def joined(self, group: GroupId) -> LocalGroup | None:
        """Return what this process holds for a group of which it is a member by now."""
        local_group = self.current.get(group)
        return None if local_group is None or not local_group.joined else local_group
