"""The groups that one process is in, and those that it has left of late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from camcast.engine.links import SuperLinks
from camcast.engine.participation import Participation
from camcast.vocabulary.topics import GroupId

LEFT_MAX: Final = 64  # chosen: groups left of late, to say goodbye to late messages


class Groups:
    """One process's participations; the parts of its node share this one object."""

    def __init__(self) -> None:
        self.current: dict[GroupId, Participation] = {}
        """The groups that the process is in, in the order of joining."""
        self.left: dict[GroupId, Participation] = {}
        """The last `LEFT_MAX` that were left, without those that were joined again."""

    def enter(self, participation: Participation) -> None:
        """Begin to take part in a group."""
        group = participation.topic.group
        self.current[group] = participation
        self.left.pop(group, None)

    def leave(self, participation: Participation) -> None:
        """Take part in a group no more."""
        group = participation.topic.group
        del self.current[group]
        if len(self.left) >= LEFT_MAX:
            del self.left[next(iter(self.left))]
        self.left[group] = participation

    def find(self, group: GroupId) -> Participation | None:
        """Return the participation in a group, also in one that was left of late."""
        return self.current.get(group) or self.left.get(group)

    def tables(self) -> Iterator[SuperLinks]:
        """Yield every super-topic table of the process."""
        for participation in self.current.values():
            yield from participation.links

    def joined(self, group: GroupId) -> Participation | None:
        """Return the participation in a group of which the process is a member by now."""
        participation = self.current.get(group)
        return None if participation is None or not participation.joined else participation
