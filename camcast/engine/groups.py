"""The groups that one process is in, and those that it has left recently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from camcast.engine.local_group import LocalGroup
from camcast.engine.super_topic_table import SuperTopicTable
from camcast.vocabulary.topics import GroupId

LEFT_MAX: Final = 64  # chosen: groups left recently, to say goodbye to late messages


class Groups:
    """One process's local groups; the parts of its node share this one object."""

    def __init__(self) -> None:
        self.current: dict[GroupId, LocalGroup] = {}
        """The groups that the process is in, in the order of joining."""
        self.left: dict[GroupId, LocalGroup] = {}
        """The last `LEFT_MAX` that were left, without those that were joined again."""

    def enter(self, local_group: LocalGroup) -> None:
        """Begin to take part in a group."""
        group = local_group.topic.group
        self.current[group] = local_group
        self.left.pop(group, None)

    def leave(self, local_group: LocalGroup) -> None:
        """Take part in a group no more."""
        group = local_group.topic.group
        del self.current[group]
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

    def tables(self) -> Iterator[SuperTopicTable]:
        """Yield every super-topic table of the process."""
        for local_group in self.current.values():
            yield from local_group.ways_up.tables

    def joined(self, group: GroupId) -> LocalGroup | None:
        """Return what this process holds for a group of which it is a member by now."""
        local_group = self.current.get(group)
        return None if local_group is None or not local_group.joined else local_group
