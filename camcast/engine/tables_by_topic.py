"""The super-topic tables of a process, found by topic: no input of one topic walks them all.

A process in thousands of topics has as many tables, most of which search for the same few topics
above. The tables that *may* hold members of a topic are found by the topics on their ways; those
that *do* hold some, or remember some, by what the tables tell of each contact.
"""

from __future__ import annotations

from random import Random
from typing import Final

from camcast.engine.super_topic_table import SuperTopicTable
from camcast.engine.ways_up import WaysUp
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic

# chosen: tables, of z members each, that a question for members is answered from. More than most
# processes have, and eight times as many members as are asked for.
TABLES_ASKED: Final = 32


class TablesByTopic:
    """The ways up of one process's groups, with their tables, by topic and by contact."""

    def __init__(self) -> None:
        self._ways: dict[GroupId, dict[WaysUp, None]] = {}
        self._entered: dict[WaysUp, tuple[list[SuperTopicTable], dict[GroupId, None]]] = {}
        """The tables and the topics with which each was entered."""
        self._holders: dict[GroupId, dict[SuperTopicTable, None]] = {}
        """The tables that hold or remember members of a topic; some no longer do."""
        self._held: dict[SuperTopicTable, dict[GroupId, None]] = {}
        """The other way round."""
        self._linked: dict[SuperTopicTable, None] = {}
        """The tables that hold anybody."""
        self._tables_with: dict[PeerId, int] = {}
        """How many tables hold each super-process."""

    # -- by topic --------------------------------------------------------------------------

    def enter(self, ways_up: WaysUp) -> None:
        """Note the tables of a group, also when they have changed."""
        tables, topics = self._entered.pop(ways_up, ([], {}))
        now = dict.fromkeys(topic.group for table in ways_up.tables for topic in table.topics)
        self._entered[ways_up] = ways_up.tables, now
        for table in tables:
            if table not in ways_up.tables:
                self._forget(table)
        for group in topics:
            if group not in now:
                self._drop(group, ways_up)
        for group in now:
            self._ways.setdefault(group, {})[ways_up] = None

    def leave(self, ways_up: WaysUp) -> None:
        """Forget the tables of a group that is left."""
        tables, topics = self._entered.pop(ways_up)
        for group in topics:
            self._drop(group, ways_up)
        for table in tables:
            self._forget(table)

    def of(self, topic: Topic) -> list[WaysUp]:
        """Return the ways up that lead through a topic, in the order of joining."""
        return list(self._ways.get(topic.group, ()))

    def tables(self, topic: Topic) -> list[SuperTopicTable]:
        """Return the tables of these ways."""
        return [table for ways_up in self.of(topic) for table in ways_up.tables]

    def _drop(self, group: GroupId, ways_up: WaysUp) -> None:
        ways = self._ways[group]
        del ways[ways_up]
        if not ways:
            del self._ways[group]

    # -- by contact ------------------------------------------------------------------------

    def remembers(self, table: SuperTopicTable, topic: Topic) -> None:
        """Note that a table holds or remembers a member of a topic."""
        held = self._held.setdefault(table, {})
        if topic.group not in held:
            held[topic.group] = None
            self._holders.setdefault(topic.group, {})[table] = None

    def entered(self, table: SuperTopicTable, peer: PeerId) -> None:
        """Note that a super-process has entered a table."""
        self._linked[table] = None
        self._tables_with[peer] = self._tables_with.get(peer, 0) + 1

    def removed(self, table: SuperTopicTable, peer: PeerId) -> None:
        """Note that a super-process is in a table no more."""
        count = self._tables_with.pop(peer) - 1
        if count:
            self._tables_with[peer] = count
        if not table.peers:
            self._linked.pop(table, None)

    def is_super_process(self, peer: PeerId) -> bool:
        """Return whether a process is in one of the tables."""
        return peer in self._tables_with

    def sample(self, group: GroupId, wanted: int, rng: Random) -> list[Contact]:
        """Draw members of a community from the tables, each once."""
        known: dict[PeerId, Contact] = {}
        for table in _some(self._holders.get(group, {}), rng):
            if not table.remembers(group):
                self._no_longer(table, group)
            for contact in table.sample(group, wanted):
                known[contact.peer] = contact
        return list(known.values())

    def nearest(self, rng: Random) -> list[Contact]:
        """Return the nearest super-processes of tables, of some if there are many."""
        return [contact for table in _some(self._linked, rng) for contact in table.nearest()[1]]

    def _no_longer(self, table: SuperTopicTable, group: GroupId) -> None:
        del self._held[table][group]
        holders = self._holders[group]
        del holders[table]
        if not holders:
            del self._holders[group]

    def _forget(self, table: SuperTopicTable) -> None:
        for peer in table.peers:
            self.removed(table, peer)
        self._linked.pop(table, None)
        for group in list(self._held.get(table, ())):
            self._no_longer(table, group)
        self._held.pop(table, None)


def _some(tables: dict[SuperTopicTable, None], rng: Random) -> list[SuperTopicTable]:
    """Return these tables; of many, some that are drawn."""
    listed = list(tables)
    return listed if len(listed) <= TABLES_ASKED else rng.sample(listed, TABLES_ASKED)
