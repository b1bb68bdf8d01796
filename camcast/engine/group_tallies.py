"""The tallies that go along with heartbeats: whether neighbours know the same events.

The repair of each group keeps its tally (`camcast.engine.repair.told`); the liveness service
carries it. Neighbours that agreed once seldom have news of each other, so a heartbeat carries a
group's tally only while something has changed lately, or with a message of its membership.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from camcast.engine.groups import Groups
from camcast.engine.liveness_messages import GroupTally, page_of
from camcast.engine.open_guard import Guard
from camcast.engine.repair.repair import Repair
from camcast.engine.repair.told import Lateness
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GroupId


class GroupTallies:
    """The tallies of one process's groups."""

    def __init__(
        self,
        groups: Groups,
        lateness: Lateness,
        clock: Clock,
        guard: Guard,
    ) -> None:
        self._groups = groups
        self._lateness = lateness
        self._clock = clock
        self._guard = guard
        self._at = -inf  # when it was last looked which second it is
        self._second = 0  # that the tallies in `_changing` end at
        self._changing: dict[GroupId, bytes] = {}

    def between(
        self, shared: Iterable[GroupId], named: Iterable[GroupId], now: float
    ) -> tuple[tuple[GroupTally, ...], int]:
        """Return the tallies for a heartbeat to a peer, and the second since 1970 that they end at.

        They are those of the groups `shared` with the peer in which something has changed lately,
        and of all `named` groups, of which the heartbeat carries a message; groups without
        repair have none. Of very many, the next heartbeat has others (`page_of`).
        """
        changing, second = self.changing(now), self._second
        tallies = {g: changing[g] for g in shared if g in changing} if changing else {}
        for group in named:
            if group not in tallies and (repair := self._repair(group)) is not None:
                tallies[group] = repair.tally(second)
        return page_of(tuple(tallies.items()), second), second if tallies else 0

    def changing(self, now: float) -> dict[GroupId, bytes]:
        """Return the tallies of the groups in which something has changed lately.

        It is the same object for as long as a heartbeat without messages has the same tallies.
        """
        if now != self._at:  # the same for all peers of a period
            self._at, second = now, self._lateness.second(self._clock, now)
            if second != self._second:
                self._second, self._changing = second, self._find_changing(second, now)
        return self._changing

    def hear(self, source: Contact, group: GroupId, tally: bytes, second: int, now: float) -> None:
        """Take the tally of a group at a peer."""
        local_group = self._groups.joined(group)
        if (
            local_group is not None
            and local_group.repair is not None
            and self._guard.may_join(source.peer, local_group.topic, now)
        ):
            local_group.repair.on_tally(source, tally, second, now)

    def _find_changing(self, second: int, now: float) -> dict[GroupId, bytes]:
        repairs = {group: self._repair(group) for group in self._groups.current}
        return {
            group: repair.tally(second)
            for group, repair in repairs.items()
            if repair is not None and repair.is_changing(now)
        }

    def _repair(self, group: GroupId) -> Repair | None:
        local_group = self._groups.joined(group)
        return None if local_group is None else local_group.repair
