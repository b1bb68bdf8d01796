"""A long event whose publisher dies on the way: all members get it, or who knew of it is told.

If a living member has all of it, all get it. Else each that had a piece of it is told by `Missed`.
Neither leaves pieces in memory.
"""

from __future__ import annotations

from typing import Final

import pytest

from camcast.engine.node import Node
from camcast.vocabulary.events import EventId
from tests.library.laws.test_pieces_law import MIB, SPREADS, A, PiecesWorld, Spread

NODES: Final = 12
SIZE: Final = 4 * MIB
SECONDS: Final = 60.0  # [docs/protocols.md, Large events] half of it, and as much to be sure


@pytest.mark.slow  # 1 s each
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("holders", [0, 1, 3])
@pytest.mark.parametrize("is_first", [True, False])
def test_all_get_it_or_all_that_had_a_piece_are_told(
    spread: Spread, holders: int, is_first: bool
) -> None:
    """Of a publisher that is known, as of one that has published nothing before."""
    world = PiecesWorld(spread)
    nodes = world.fill(A, NODES)
    publisher = nodes.pop(4)
    if not is_first:
        world.publish(publisher, A)
    event = world.publish_long(publisher, SIZE).id
    if holders:
        assert world.run(30.0, until=lambda: len(_with_it(world, nodes, event)) == holders)
    else:
        assert world.run(30.0, until=lambda: world.pieces.total() >= SIZE)
    world.kill(publisher)
    had_pieces = {node for node in nodes if world.pieces[node.me.address]}
    world.run(SECONDS)
    told = [node for node, _ in world.missed]
    if holders:
        assert _with_it(world, nodes, event) == nodes
        assert not told
    else:
        assert not _with_it(world, nodes, event)
        assert had_pieces
        assert had_pieces <= set(told)
        assert len(told) == len(set(told))
        missed = {(one.missed.stream, one.missed.first, one.missed.last) for _, one in world.missed}
        assert missed == {(event.stream, event.sequence, event.sequence)}
    assert not any(map(_bytes_under_way, nodes))


@pytest.mark.slow  # 1 s
def test_who_is_cut_off_in_the_midst_of_it_is_told_of_nothing_and_gets_it() -> None:
    """It hears nobody offer it, and nobody else, either."""
    world = PiecesWorld()
    nodes = world.fill(A, NODES)
    event = world.publish_long(nodes[4], SIZE).id
    assert world.run(30.0, until=lambda: any(map(_bytes_under_way, nodes)))
    away = next(node for node in nodes if _bytes_under_way(node)).me.address
    world.cut(lambda source, target: away not in (source, target))
    world.run(80.0)
    world.heal()
    world.run(35.0)
    assert world.got.keys() == {(node, event, SIZE) for node in nodes}
    assert not world.missed


def _with_it(world: PiecesWorld, nodes: list[Node], event: EventId) -> list[Node]:
    return [node for node in nodes if world.got[node, event, SIZE]]


def _bytes_under_way(node: Node) -> int:
    """Return the bytes of half-received events that a node holds."""
    held = 0
    for local_group in node.local_groups:
        assert local_group.repair is not None
        under_way = local_group.repair._fetching._assembling._under_way.values()
        held += sum(len(part) for one in under_way for part in one.parts if part is not None)
    return held
