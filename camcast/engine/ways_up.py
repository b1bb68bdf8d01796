"""The ways up from one community: which super-topic tables it has, and by which its events climb.

A topic with several super-topics has a table for each (000, 3.6), and so has each further
super-topic of a topic above it: a table serves one way up, from a topic on along names
(`camcast.vocabulary.hierarchy.Way`). Where nobody is in a topic, the search goes on along all ways
up from it, breadth first: the table of the topic widens its search by name, and the tables of the
topic's further super-topics begin theirs after as many timeouts as there are steps to them.

A further way is *covered* while another table holds live members of a topic whose members take its
events there themselves. A covered table rests: it does not search, is not kept up, and carries no
events. The super-topics to which members take events are those that they tell
(`Hierarchy.served_by`), so that members which do not know of a super-topic cover no way to it.

The tables of the immediate super-topics are never covered: each is linked independently (3.6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from camcast.engine.super_topic_table import SuperTopicTable
from camcast.vocabulary.hierarchy import Hierarchy, Way
from camcast.vocabulary.topics import Topic

MakeTable = Callable[[Way, int, Callable[[float], None]], SuperTopicTable]
"""Makes the table of a way, which has a number of its own and calls back when it changes."""


class WaysUp:
    """The super-topic tables of one community in one process."""

    def __init__(
        self, hierarchy: Hierarchy, super_topics: Sequence[Topic], make_table: MakeTable
    ) -> None:
        """Make the tables for the immediate super-topics; they are to be started."""
        self.super_topics = tuple(super_topics)
        """The immediate super-topics that this process links the community to."""
        self.tables: list[SuperTopicTable] = []
        """All tables, breadth first."""
        self.active: list[SuperTopicTable] = []
        """The tables by which events climb: all but the covered ones. It is always this list."""
        self._hierarchy = hierarchy
        self._make_table = make_table
        self._made = 0  # tables, those that were closed included
        self._started = False
        self.fit(0.0)

    def start(self, now: float) -> None:
        """Begin to search on all ways: this process has become a member of the community."""
        self._started = True
        for table in self.tables:
            table.start(now)

    def wake(self, number: int, name: tuple[object, ...], now: float) -> None:
        """Give a timer to the table that set it, if that is not closed."""
        for table in self.tables:
            if table.number == number:
                table.wake(name, now)
                return

    def link(self, super_topics: Sequence[Topic], now: float) -> None:
        """Link the community to these immediate super-topics from now on."""
        self.super_topics = tuple(super_topics)
        self.fit(now)

    def fit(self, now: float) -> None:
        """Fit the tables to the hierarchy, in which a topic on one of the ways has changed."""
        before = {table.super_topic: table for table in self.tables}
        self.tables = []
        for way in self._hierarchy.ways_up(self.super_topics):
            table = before.pop(way.start, None)
            if table is None:
                table = self._make_table(way, self._made, self._cover)
                self._made += 1
                self.tables.append(table)
                if self._started:
                    table.start(now)
            else:
                self.tables.append(table)
                table.follow(way, now)
        for table in before.values():
            table.close()
        self._cover(now)

    def _cover(self, now: float) -> None:
        """Find out which tables are covered."""
        self.active[:] = []
        for table in self.tables:
            table.cover(self._is_covered(table), now)
            if not table.covered:
                self.active.append(table)

    def _is_covered(self, table: SuperTopicTable) -> bool:
        if table.way.depth == 0:
            return False
        nearer = [one.nearest() for one in self.tables if one is not table and not one.covered]
        return any(
            contacts and table.super_topic in self._hierarchy.ancestors(topic, served=True)
            for topic, contacts in nearer
        )
