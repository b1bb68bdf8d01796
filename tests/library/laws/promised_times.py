"""Judges the times that docs/reliability.md promises: who joins, is forgotten, meets, is told when.

All processes are looked at once a second, so that what lasted for less than a second may not be
seen. Times are counted from the event that they are promised after, or from the end of the faults
that came between (`Case.deadline`). A time is judged only where repair or membership could keep it:
joining and merging as long as somebody can introduce strangers (the gateway, or a Kademlia), the
healing of a table while another member of the community is alive. A member that is alone keeps the
addresses of the dead, which is how it would find them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from attrs import frozen

from camcast.observe.trace_reading import Reading
from camcast.research.simulation.run_record import key_of
from camcast.virtual.network import Process
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Tell
from tests.library.laws.faults import Case
from tests.library.laws.faulty_run import FaultyRun

LOOK_SECONDS: Final = 1.0  # chosen: a tenth of what is promised


@frozen
class _Kept:
    """Something that was seen for the last time: when, and in words what it was."""

    when: float
    words: str


class PromisedTimes:
    """Watches a run; times are those of the scenario's clock once it is over."""

    def __init__(self, case: Case, run: FaultyRun) -> None:
        self._case = case
        self._run = run
        self._named: dict[PeerId, _Kept] = {}
        """The last table that named each of the dead."""
        self._split: dict[str, list[float]] = {}
        """When the tables of a community's members did not connect them all."""
        self._told: dict[tuple[str, str, str], float] = {}
        """When a process was told first of each event missed: node, community, event."""
        self._topics = {topic.group: topic.name for topic in case.scenario.sizes}
        note_missed = run._network.on_missed

        def on_missed(process: Process, tell: Tell) -> None:
            assert note_missed is not None
            note_missed(process, tell)
            for number in range(tell.missed.first, tell.missed.last + 1):
                event = EventId(tell.missed.stream, number)
                place = key_of(process), self._topics[tell.group], str(event)
                self._told.setdefault(place, run._network.now)

        run._network.on_missed = on_missed
        for second in range(int(case.scenario.duration_seconds) + 60):
            run._network.queue.at(second + LOOK_SECONDS / 2, self._look)

    def _look(self) -> None:
        """Look at all topic tables."""
        now = self._run._network.now
        living = {process.me.peer: process for process in self._run._network}
        tables: dict[str, dict[PeerId, list[PeerId]]] = {}
        for process in living.values():
            for local_group in process.node.local_groups:
                if local_group.joined and process.held is None:
                    peers = [contact.peer for contact in local_group.membership.peers()]
                    tables.setdefault(local_group.topic.name, {})[process.me.peer] = peers
        for community, table_of in tables.items():
            if len(table_of) > 1:
                for holder, table in table_of.items():
                    for peer in table:
                        if peer in self._run.died and peer not in living:
                            words = f"{key_of(living[holder])} in {community}"
                            self._named[peer] = _Kept(now, words)
                if not _connected(table_of):
                    self._split.setdefault(community, []).append(now)

    def joined_late(self, reading: Reading) -> Iterator[str]:
        """Yield who became a member later than promised after it had asked to, with a gateway."""
        start = self._run.start
        for (node, community), asked in self._run.asked_to_join.items():
            member = reading.members.get((node, community))
            over = -inf
            if member is not None:
                over = member.joined - start - self._case.joined_by(asked - start)
            if over > 0:
                yield f"{node} in {community}, {over:.1f} s late, asked at {asked - start:.1f} s"

    def named_late(self) -> Iterator[str]:
        """Yield the dead that a table named for longer than promised."""
        start = self._run.start
        for peer, kept in self._named.items():
            died = self._run.died[peer] - start
            over = kept.when - start - self._case.forgotten_by(died)
            if over > 0:
                words = f"who died at {died:.1f} s is named {over:.1f} s too long"
                yield f"{words} by {kept.words}"

    def split_late(self) -> Iterator[str]:
        """Yield the communities whose members were not connected, though all faults were over."""
        calm = self._case.calm_from
        for community, times in self._split.items():
            late = [when - self._run.start for when in times if when - self._run.start > calm]
            if late:
                words = f"{len(late)} s after {calm:.1f} s, until {late[-1]:.1f} s"
                yield f"{community} was split for {words}"

    def told_late(self, reading: Reading) -> Iterator[str]:
        """Yield what was told as missed later than promised."""
        start = self._run.start
        for (node, community, event), when in self._told.items():
            published, member = reading.published.get(event), reading.members.get((node, community))
            if published is None or member is None:  # judged as told wrongly
                continue
            over = when - start - self._case.told_by(published.when - start)
            if over > 0:
                yield f"{event} in {community}: {node}, {over:.1f} s late"


def _connected(tables: dict[PeerId, list[PeerId]]) -> bool:
    """Say whether all who have these tables are connected by them, whichever way arcs lead."""
    around: dict[PeerId, list[PeerId]] = {peer: [] for peer in tables}
    for peer, table in tables.items():
        for other in table:
            if other in around:
                around[peer].append(other)
                around[other].append(peer)
    reached: dict[PeerId, None] = {}
    found = [next(iter(tables))]
    while found:
        peer = found.pop()
        if peer not in reached:
            reached[peer] = None
            found += around[peer]
    return len(reached) == len(tables)
