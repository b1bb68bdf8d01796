"""The tables of one process of hpmcast: lines with time stamps (002, 4.1.3, 4.2.1, Figure 5).

A table is of lines by branch address. Who is gone leaves an entry without a line, so that whoever
has not heard of it does not bring the line back: its time stamp counts like any other.

A line's stamp is a number that only those raise who stand for it, and only ever raise. It says
which of two lines is newer, without clocks that agree.

A line whose interest is still unread (`camcast.research.systems.hpmcast.budget`) is not passed on,
for it may turn out to be no interest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs
from attrs import define

from camcast.interests.interest import Interest, InterestError
from camcast.research.systems.hpmcast.address import Address, branch, distance
from camcast.research.systems.hpmcast.budget import UNREAD, Reading
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.view import Line, condense, process_line
from camcast.research.systems.hpmcast.view_messages import Key, LineNews, Stamp
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId

# chosen: a stamp rises once a period: in 12 days. What is farther ahead of a line that is known is
# forged, to bury the line or to keep its owner from being believed.
AHEAD_MAX: Final = 1 << 20
STAMP_MAX: Final = 1 << 62  # chosen: fits MessagePack's integers, however often it is raised
PROCESSES_MAX: Final = 1 << 40  # chosen: clamps what a forged count can make of the size
# chosen: bounds a table of level 1 whatever peers send. Measured: 4 MB of lines that want a
# topic each, 320 MB if each has the largest interest there can be, and its own.
MEMBERS_MAX: Final = 4096


@define(eq=False)
class Entry:
    """A line, or where one was."""

    key: Key
    stamp: int
    heard: float
    """When the stamp rose last, or, in level 1, the process itself was heard from."""
    contacts: tuple[Contact, ...] = ()
    """The delegates, in the line's order."""
    line: Line[Interest] | None = None
    text: str = ""
    """The line's interest as it is sent, for it is sent far more often than it changes."""

    @property
    def unread(self) -> bool:
        """Whether its interest is still to be read."""
        return self.line is not None and self.line.interest is UNREAD


class LineError(CamcastError, ValueError):
    """A line cannot be; the message says why."""


class Tables:
    """The tables of levels 1 to l, as far as they are known."""

    def __init__(self, me: Contact, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.address = hierarchy.address_of(me.peer)
        self.version = 0
        """Rises whenever a line comes, goes or says something else."""
        self.refused = 0
        """Lines that cannot be, or for which there was no room."""
        self._reading = Reading()
        self._entries: dict[int, dict[Address, Entry]] = {
            level: {} for level in range(1, hierarchy.depth + 1)
        }
        self._lines: dict[int, tuple[Line[Interest], ...]] = {}
        self._contacts: dict[Address, Contact] = {}
        self._read_version = -1
        self._versions = dict.fromkeys(self._entries, 0)
        """As `version`, of each level."""
        self._condensed: dict[int, tuple[int, Line[Interest], str]] = {}
        """The line that a table was condensed into, and the table's version then."""

    # -- reading -------------------------------------------------------------------------------

    def table(self, level: int) -> tuple[Line[Interest], ...]:
        """Return the lines of a level, in the order of their branch addresses."""
        self._refresh()
        return self._lines[level]

    def contacts(self) -> dict[Address, Contact]:
        """Return all delegates and neighbours, this process among them."""
        self._refresh()
        return self._contacts

    def entry(self, level: int, at: Address) -> Entry | None:
        """Return what there is of the line of a branch address."""
        return self._entries[level].get(at)

    def entries(self) -> Iterator[tuple[int, Address, Entry]]:
        """Yield every entry with its level and branch address; they may be changed meanwhile."""
        for level, entries in self._entries.items():
            for at, entry in list(entries.items()):
                yield level, at, entry

    def distance(self, peer: PeerId) -> int:
        """Return the lowest level whose table this process and another share."""
        return distance(self.address, self.hierarchy.address_of(peer))

    def line_for(self, peer: PeerId, level: int) -> Entry | None:
        """Return the line, in the table of a level, that stands for a process."""
        return self.entry(level, branch(self.hierarchy.address_of(peer), level - 1))

    def stamps(self, lowest: int) -> tuple[Stamp, ...]:
        """Return the time stamps of the tables from a level up."""
        return tuple(
            (level, entry.key, entry.stamp)
            for level, entries in self._entries.items()
            if level >= lowest
            for entry in entries.values()
        )

    def news(self, lowest: int) -> tuple[LineNews, ...]:
        """Return all lines of the tables from a level up."""
        return tuple(
            write(level, entry)
            for level, _, entry in self.entries()
            if level >= lowest and not entry.unread
        )

    def newer(self, stamps: Iterable[Stamp], lowest: int) -> tuple[LineNews, ...]:
        """Return the lines, from a level up, that are newer than somebody's (4.2.1)."""
        theirs = {(level, key): stamp for level, key, stamp in stamps}
        return tuple(
            write(level, entry)
            for level, _, entry in self.entries()
            if level >= lowest
            and not entry.unread
            and entry.stamp > theirs.get((level, entry.key), 0 if entry.line else entry.stamp)
        )

    def leads(self, level: int) -> bool:
        """Say whether this process has the smallest address of its subsystem of a level."""
        table = self.table(level)
        return bool(table) and self.address == min(min(line.delegates) for line in table)

    def locate(self, level: int, key: Key) -> Address | None:
        """Return the branch address that a key stands for; None if there is no such line here."""
        if not 1 <= level <= self.hierarchy.depth:
            return None
        above = branch(self.address, level)
        if level == 1:
            if not isinstance(key, bytes) or len(key) != PEER_ID_BYTES:
                return None
            at = self.hierarchy.address_of(PeerId(key))
            return at if at[:-1] == above else None
        if not isinstance(key, int) or not 0 <= key < self.hierarchy.arity:
            return None
        return (*above, key)

    # -- changing ------------------------------------------------------------------------------

    def read(self, news: LineNews, at: Address, now: float) -> Entry:
        """Return a line that somebody sent, checked and clamped; raises `LineError`."""
        entry = Entry(news.key, news.stamp, now)
        if not 0 < news.stamp <= STAMP_MAX:
            raise LineError(f"a stamp of {news.stamp}")
        if not news.contacts:
            return entry
        by_address = {self.hierarchy.address_of(c.peer): c for c in news.contacts if c.peer}
        delegates = sorted(one for one in by_address if one[: len(at)] == at)
        delegates = delegates[: self.hierarchy.redundancy]
        if not delegates:
            raise LineError("no delegate is of the subsystem")
        known = self.entry(news.level, at)
        if known is not None and known.line is not None and known.text == news.interest:
            interest = known.line.interest
        else:
            interest = self._read_interest(news.interest)
        processes = max(len(delegates), min(news.processes, PROCESSES_MAX))
        processes = 1 if news.level == 1 else processes
        entry.contacts = tuple(by_address[one] for one in delegates)
        entry.line = Line(at, tuple(delegates), processes, interest)
        entry.text = news.interest
        return entry

    def take(self, news: LineNews, now: float) -> bool:
        """Put in a line that is newer than the one here; say whether it was."""
        at = self.locate(news.level, news.key)
        before = None if at is None else self.entry(news.level, at)
        if before is not None and news.stamp <= before.stamp:
            return False
        try:
            if at is None:
                raise LineError("these tables have no such line")
            if before is None and len(self._entries[news.level]) >= MEMBERS_MAX:
                raise LineError("there is no room for it")
            if before is not None and news.stamp > before.stamp + AHEAD_MAX:
                raise LineError(f"a stamp of {news.stamp}, where {before.stamp} is known")
            entry = self.read(news, at, now)
        except LineError:
            self.refused += 1
            return False
        self.put(news.level, at, entry)
        return True

    def read_on(self) -> None:
        """Begin a period: read what has been left unread, as far as may be read in one."""
        self._reading.renew()
        for level, at, entry in self.entries():
            if not entry.unread:
                continue
            try:
                interest = self._read_interest(entry.text)
            except LineError:
                self.refused += 1
                self._drop(level, at)
                continue
            if interest is UNREAD:
                break
            assert entry.line is not None
            line = attrs.evolve(entry.line, interest=interest)
            self.put(level, at, attrs.evolve(entry, line=line))

    def _read_interest(self, text: str) -> Interest:
        try:
            return self._reading.read(text)
        except InterestError as error:
            raise LineError(f"its interest: {error}") from error

    def put(self, level: int, at: Address, entry: Entry) -> None:
        """Put in a line in place of the one that is there."""
        before = self._entries[level].get(at)
        self._entries[level][at] = entry
        if before is None or before.line != entry.line or before.contacts != entry.contacts:
            self.version += 1
            self._versions[level] += 1

    def _drop(self, level: int, at: Address) -> None:
        """Remove a line as if it had never come; whoever has a better one is asked for it."""
        del self._entries[level][at]
        self.version += 1
        self._versions[level] += 1

    def put_own(self, contact: Contact, interest: Interest, now: float) -> None:
        """Raise the stamp of this process's own line, with what interests it by now."""
        before = self.entry(1, self.address)
        stamp = 1 if before is None else before.stamp + 1
        if before is not None and before.line is not None and before.line.interest is interest:
            line, text = before.line, before.text
        else:
            line, text = process_line(self.address, interest), str(interest)
        self.put(1, self.address, Entry(contact.peer, stamp, now, (contact,), line, text))

    def bury(self, level: int, at: Address, now: float) -> None:
        """Note that whoever a line stood for is gone."""
        entry = self._entries[level][at]
        self.put(level, at, Entry(entry.key, entry.stamp + 1, now))

    def forget(self, gone_before: float) -> None:
        """Forget who has been gone for long."""
        for level, at, entry in self.entries():
            if entry.line is None and entry.heard < gone_before:
                del self._entries[level][at]

    def vouch(self, level: int, now: float) -> None:
        """Condense the table of a level into the line that stands for it, as of now (4.2.2)."""
        line, text = self._condense(level)
        known = self.contacts()
        before = self.entry(level + 1, line.branch)
        stamp = 1 if before is None else before.stamp + 1
        contacts = tuple(known[one] for one in line.delegates)
        self.put(level + 1, line.branch, Entry(line.branch[-1], stamp, now, contacts, line, text))

    def _condense(self, level: int) -> tuple[Line[Interest], str]:
        """Return the line that a table is above it, and its interest's text; again if need be."""
        version = self._versions[level]
        known = self._condensed.get(level)
        if known is None or known[0] != version:
            regroup = self.hierarchy.regroup(level + 1)
            line = condense(self.table(level), self.hierarchy.redundancy, regroup)
            known = self._condensed[level] = (version, line, str(line.interest))
        return known[1:]

    def _refresh(self) -> None:
        if self._read_version == self.version:
            return
        self._read_version = self.version
        self._contacts.clear()
        for level, entries in self._entries.items():
            live = [(at, entry) for at, entry in sorted(entries.items()) if entry.line is not None]
            self._lines[level] = tuple(entry.line for _, entry in live if entry.line is not None)
            for _, entry in live:
                assert entry.line is not None
                self._contacts.update(zip(entry.line.delegates, entry.contacts, strict=True))


def write(level: int, entry: Entry) -> LineNews:
    """Return an entry as it is sent."""
    line = entry.line
    if line is None:
        return LineNews(level, entry.key, entry.stamp, (), 0, "")
    return LineNews(level, entry.key, entry.stamp, entry.contacts, line.processes, entry.text)
