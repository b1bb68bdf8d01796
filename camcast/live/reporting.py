"""The reporter: it hands what happens at a node to the log, the ring and the application."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.observe.log import HappeningLog
from camcast.observe.recent import Recent
from camcast.vocabulary.happenings import NO_GROUP, PROCESS_KINDS, Change, Happening, Standing
from camcast.vocabulary.topics import GroupId


class Reporter:
    """The subscribers of one node's happenings.

    `on_change` gets the changes of its groups; `recent` remembers what may later explain why an
    event did not arrive.
    """

    def __init__(
        self, node: Node, on_change: Callable[[GroupId, Change], None], recent: Recent | None
    ) -> None:
        self._node = node
        self._recent = recent
        self._log = HappeningLog(lambda: node.me, node.clock, remembers=recent is not None)
        self._on_change = on_change
        self.standings: dict[GroupId, Standing] = {}
        """How the process stands in the groups that it is a member of."""

    def take(self, happening: Happening, now: float) -> None:
        """Hand on what has happened, and how the process stands afterwards if that has changed."""
        self._tell(happening, now)
        if happening.kind == "left":
            self.standings.pop(happening.group, None)
        if PROCESS_KINDS[happening.kind].restands:
            for local_group in self._affected(happening.group):
                self._renew_standing(local_group, now)

    def _affected(self, group: GroupId) -> Iterable[LocalGroup]:
        if group == NO_GROUP:
            return self._node.local_groups
        local_group = self._node.find(group)
        return () if local_group is None else (local_group,)

    def _tell(self, happening: Happening, now: float) -> None:
        local_group, group = self._node.find(happening.group), happening.group
        topic = "" if local_group is None else local_group.topic.name
        if self._recent is not None:
            community = "" if local_group is None else local_group.subscribed.name
            self._recent.take(happening, community, now)
        told = self._log.take(happening, topic, now)
        if self._recent is not None and told is not None:
            self._recent.tell(told)
        change = PROCESS_KINDS[happening.kind].change
        if change is not None and local_group is not None:
            about = local_group.topic, happening.contact, happening.silent
            self._on_change(group, Change(change, *about))

    def _renew_standing(self, local_group: LocalGroup, now: float) -> None:
        """Tell how this process stands in a group, if that has changed."""
        if not local_group.joined:
            return
        group, count = local_group.topic.group, len(local_group.membership.peers())
        standing: Standing = "member" if count else "alone"
        if count and self._node.liveness.deaf:
            standing = "deaf"
        elif count and self._node.liveness.isolated:
            standing = "degraded"
        if self.standings.get(group) != standing:
            self.standings[group] = standing
            self._tell(Happening(standing, group, count=count), now)
