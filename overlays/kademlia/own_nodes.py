"""The nodes of one process, one for each of its communities, in the order of their identifiers.

A process may be in thousands of communities. Every answer names the nodes nearest to a point, and
those of the process itself must be among them: perhaps no other process knows them yet. Numbers
that begin with the same bits stand together in the sorted list, so that the nearest by XOR are
found without a look at the others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from attrs import define, field

from overlays.kademlia.table import NODE_ID_BYTES, Neighbour

_FEW: Final = 8  # chosen: fewer are sorted by their distance as fast as halved once more


@define(eq=False)
class OwnNodes:
    """A process's nodes, by identifier."""

    _nodes: dict[bytes, Neighbour] = field(factory=dict)
    _numbers: list[int] = field(factory=list)
    """The identifiers as numbers, sorted."""

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes

    def __getitem__(self, node_id: bytes) -> Neighbour:
        return self._nodes[node_id]

    def add(self, node: Neighbour) -> None:
        """Add a node that is not there yet."""
        self._nodes[node.id] = node
        insort(self._numbers, node.long_id)

    def remove(self, node_id: bytes) -> None:
        """Remove a node. Raises `KeyError` if it is not there."""
        number = self._nodes.pop(node_id).long_id
        del self._numbers[bisect_left(self._numbers, number)]

    def nearest(self, point: int) -> Iterator[Neighbour]:
        """Yield all nodes, the nearest to a point first."""
        for number in self._by_distance(point, 0, len(self._numbers), 8 * NODE_ID_BYTES - 1):
            yield self._nodes[number.to_bytes(NODE_ID_BYTES)]

    def _by_distance(self, point: int, start: int, end: int, bit: int) -> Iterator[int]:
        """Yield the numbers from `start` to `end`, which differ in this bit and lower ones only."""
        numbers = self._numbers
        if end - start <= _FEW:
            yield from sorted(numbers[start:end], key=lambda number: number ^ point)
            return
        middle = bisect_left(numbers, (numbers[start] >> bit | 1) << bit, start, end)
        halves = ((start, middle), (middle, end))
        for half in reversed(halves) if point >> bit & 1 else halves:
            yield from self._by_distance(point, *half, bit - 1)
