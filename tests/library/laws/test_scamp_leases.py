"""Leases lose nothing: in a small community everybody holds everybody, and no renewal makes an arc.

Measured live before arcs that answer were kept: of 3 to 6 processes at 20 events a second, 41, 72,
13 and 28 of some 800 N deliveries were lost within nine leases.
"""

from __future__ import annotations

import pytest

from camcast.testing.world import World
from tests.library.laws.communities import TOPIC, grow

LEASE = 5.0
EVENTS_A_SECOND = 5


@pytest.mark.parametrize(
    "size",
    [
        2,
        3,
        6,
        12,
        *(pytest.param(size, marks=pytest.mark.slow) for size in (4, 5, 7, 8, 9, 10, 11)),
    ],
)
def test_ten_leases_lose_no_event(size: int) -> None:
    net = World(size)
    nodes = grow(net, size, options={"lease_seconds": LEASE})
    net.run(2.0)
    published = int(10 * LEASE) * EVENTS_A_SECOND
    for number in range(published):
        net.do(nodes[number % size], lambda n, now: n.publish(TOPIC, b"", now))
        net.run(1 / EVENTS_A_SECOND)
    assert len(net.delivered) == published * size
