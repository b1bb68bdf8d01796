"""SCAMP where the network duplicates messages: walks do not multiply, and the law holds."""

from __future__ import annotations

from math import log
from statistics import mean

import pytest

from camcast.testing.world import World
from camcast.virtual.climate import Climate
from camcast.virtual.network import VirtualNetwork
from membership.scamp.options import ScampOptions
from tests.library.laws.communities import grow, strongly_connected, view_graph

C = ScampOptions().c


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "duplication"),
    [
        (20, 0.1),
        (40, 0.3),
        (100, 0.3),
    ],
)
def test_duplicates_change_neither_views_nor_traffic(size: int, duplication: float) -> None:
    """Right after the joins and a renewal later: within 15 % of (c+1) ln N, as without them.

    Without names a walk multiplies: 20 processes sent 25 times as many messages until all had
    joined, at 10 %, and held views of 12.3. What is allowed: a copy more for each duplicate, which
    is answered (an echo to a heartbeat), and a tenth.
    """
    plain = World(1)
    doubled = World(virtual=VirtualNetwork(1, Climate(duplication=duplication)))
    communities = [grow(net, size) for net in (plain, doubled)]
    for seconds in (5.0, 60.0):
        for net, nodes in zip((plain, doubled), communities, strict=True):
            net.run(seconds)
            graph = view_graph(nodes)
            expected = (C + 1) * log(size)
            assert abs(mean(map(len, graph.values())) - expected) <= 0.15 * expected
            assert strongly_connected(graph)
        assert doubled.records <= (1 + duplication + 0.1) * plain.records
