"""Protocols that know topics by names alone refuse other super-topics, by their own name."""

from __future__ import annotations

import pytest

from camcast.engine.node import Node
from camcast.testing import World
from camcast.vocabulary.hierarchy import HierarchyError
from camcast.vocabulary.topics import ROOT, Topic

L, R, X = (Topic.parse(name) for name in (".l", ".r", ".l.x"))
BY_NAMES_ALONE = (
    "broadcast",
    "multicast",
    "hierarchical",
    "rfpbcast",
    "pmcast",
    "hpmcast",
    "percolation",
)


@pytest.mark.parametrize("protocol", BY_NAMES_ALONE)
def test_super_topics_that_names_do_not_say_are_refused(protocol: str) -> None:
    world = World(protocol=protocol, topics=[ROOT, L, R, X])
    node = world.start(world.settings)
    refusal = f"the protocol {protocol} knows super-topics by names alone: it cannot link .l.x to"

    def join(node: Node, now: float) -> None:
        with pytest.raises(HierarchyError, match=rf"{refusal} \.l and \.r"):
            node.join(X, now, super_topics=(L, R))
        with pytest.raises(HierarchyError, match=refusal):
            node.join(L, now, above={X: (R,)})
        node.join(X, now, super_topics=(L,))

    world.do(node, join)
    assert node.local_group(X) is not None
