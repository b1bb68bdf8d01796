"""The view of a process of hpmcast: a table of lines a level (002, 4.1.3, 4.2.2, Figure 5).

A line of the table of level i stands for a subsystem of level i - 1 by its delegates; in the
table of level 1 it is a process itself. A table is *condensed* into the line that stands for it
in the table above: interests are regrouped, processes counted, delegates elected.

The R smallest addresses are elected, which everybody in the subsystem finds without asking. Figure
5 shows something else, for which the text has no rule: its delegates of 128.178 are 41.21, 73.3 and
88.10, the smallest of three different subsystems, though 41.23 and 41.24 are smaller than 73.3. The
text is followed.

An interest is whatever the caller takes for one; `Union` regroups some "in a way which avoids
redundancies" (4.2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from camcast.research.systems.hpmcast.address import Address, branch

I = TypeVar("I")  # noqa: E741  # an interest
Union: TypeAlias = Callable[[Sequence[I]], I]


@frozen
class Line(Generic[I]):
    """A subsystem, or in level 1 a process, as other processes know it."""

    branch: Address
    """The subsystem's branch address; a process's whole address."""
    delegates: tuple[Address, ...]
    """At most R delegates, the smallest first; a process is its own delegate."""
    processes: int
    """The number of processes in the subsystem (4.2.2, "Count participants")."""
    interest: I


def elect(addresses: Iterable[Address], redundancy: int) -> tuple[Address, ...]:
    """Return the `redundancy` smallest addresses, the smallest first, each once."""
    return tuple(nsmallest(redundancy, dict.fromkeys(addresses)))


def process_line(address: Address, interest: I) -> Line[I]:
    """Return the line of a process in the table of level 1."""
    return Line(address, (address,), 1, interest)


def condense(table: Sequence[Line[I]], redundancy: int, union: Union[I]) -> Line[I]:
    """Return the line that stands for a table in the table of the level above (4.2.2).

    Raises `ValueError` for a table without lines, which nobody can have: its owner is in it.
    """
    if not table:
        raise ValueError("a table without lines cannot be condensed")
    return Line(
        branch=table[0].branch[:-1],
        delegates=elect((one for line in table for one in line.delegates), redundancy),
        processes=sum(line.processes for line in table),
        interest=union([line.interest for line in table]),
    )


def tables(
    owner: Address, members: Mapping[Address, I], redundancy: int, union: Union[I]
) -> dict[int, tuple[Line[I], ...]]:
    """Return the tables of levels 1 to l that `owner` has when it knows what there is to know.

    Lines are in the order of their branch addresses. Membership gossip tends to these tables, and
    simulations start with them. Raises `ValueError` for a redundancy below 1.
    """
    if redundancy < 1:
        raise ValueError(f"redundancy is {redundancy}; give 1 or more delegates")
    lines = {address: process_line(address, members[address]) for address in sorted(members)}
    known: dict[int, tuple[Line[I], ...]] = {}
    for level in range(1, len(owner) + 1):
        by_branch: dict[Address, list[Line[I]]] = {}
        for line in lines.values():
            by_branch.setdefault(line.branch[:-1], []).append(line)
        known[level] = tuple(by_branch.get(branch(owner, level), ()))
        lines = {at: condense(table, redundancy, union) for at, table in by_branch.items()}
    return known


def processes_of(table: Iterable[Line[I]]) -> tuple[Address, ...]:
    """Return the processes of a table in its order: line by line, the smallest address first."""
    return tuple(one for line in table for one in line.delegates)
