"""A member that lies about last values keeps them from nobody."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from camcast.engine.repair.messages import Buckets
from camcast.security.certificates import Rights
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.library.unit.engine.repair.test_comparing import put
from tests.signed_world import SOCCER, certificate, join, key


@pytest.mark.parametrize("liars", [1, 3])
def test_buckets_that_always_differ_keep_a_newcomer_from_no_last_value(liars: int) -> None:
    """One neighbour a second is asked for a topic: a liar that announces other buckets each tenth
    of a second was always that one, and a newcomer waited for 28 s for what it now has within 2,
    and with three liars within 5."""
    world = AdmittedWorld()
    nodes = [world.member(key(20 + number), SOCCER) for number in range(5)]
    world.run(10.0)
    for number in range(30):
        put(world, nodes[0], b"%d" % number, b"v", SOCCER)
    world.run(150.0)  # after the retention repair has none of them
    newcomer = world.member(key(50))
    world.do(newcomer, partial(join, SOCCER))
    rng = Random(1)
    for _ in range(20 + 15 * liars):
        for number in range(liars):
            secret = key(900 + number)
            own, sender = certificate(secret, rights=Rights.JOIN), secret.public.peer_id
            buckets = Buckets(b"nonce", "", 0, ((SOCCER.name, rng.randbytes(2048)),))
            frame = record(Kind.SECURITY, introduction(secret, THERE, own), sender)
            frame += record(Kind.REPAIR, buckets, sender, group=SOCCER.group)
            world.virtual.inject(newcomer.me.address, FRAME_HEADER + frame, sender)
        world.run(0.1)
    local_group = newcomer.local_group(SOCCER)
    assert local_group is not None
    assert local_group.last_values is not None
    assert local_group.last_values.keys == 30
