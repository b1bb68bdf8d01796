"""A member that may publish fills nobody's tables with its own events, whoever passes them on."""

from __future__ import annotations

from collections.abc import Iterable
from unittest.mock import patch

import pytest

from camcast.engine import known_streams
from camcast.engine.node import Node
from camcast.engine.repair import asking
from camcast.engine.security_messages import Certificates
from camcast.security.certificates import Rights
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import Missed, stream_id
from camcast.vocabulary.wire import FRAME_HEADER, Kind, event_head
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.signed_world import SOCCER, certificate, key, with_own

LIAR = key(9)
RIGHTS = Rights.JOIN | Rights.PUBLISH


def publish(world: AdmittedWorld, victim: Node, streams: Iterable[int], first: int = 1) -> None:
    """Let the liar send an event of each of so many streams of its own over its own link."""
    sender, own = LIAR.public.peer_id, certificate(LIAR, rights=RIGHTS)
    signs = with_own(LIAR, own)
    frame = FRAME_HEADER + record(Kind.SECURITY, introduction(LIAR, THERE, own), sender)
    frame += record(Kind.SECURITY, Certificates((own,)), sender)
    for number in streams:
        published = round(1000 * world.now)
        batch = make_batch(stream_id(sender, number), first, [b"x"], SOCCER, published=published)
        batch = signs.sign(batch)
        frame += event_head(len(batch.body), 1, 0.0, SOCCER.group, sender) + batch.body
    world.virtual.inject(victim.me.address, frame, sender)


def test_a_publisher_that_begins_streams_without_end_keeps_no_other_publisher_out() -> None:
    """Each member counted them against who had passed them on: a liar that gave 16,384 to each of
    four members filled the table of all, and nobody else began a stream for four minutes."""
    with (
        patch.object(known_streams, "STREAMS_MAX", 64),
        patch.object(known_streams, "SIGNED_STREAMS_MAX", 16),
    ):
        world = AdmittedWorld()
        nodes = [world.member(key(20 + number), SOCCER) for number in range(6)]
        world.run(10.0)
        for place, node in enumerate(nodes):
            publish(world, node, range(16 * place, 16 * place + 16))
        world.run(2.0)
        for place, node in enumerate(nodes):
            payload = b"goal %d" % place
            world.publish(node, SOCCER, payload, seconds=2.0)
            assert len(world.got(payload)) == len(nodes)


@pytest.mark.parametrize("passed_on", [False, True])
def test_a_publisher_with_holes_without_end_has_nobody_give_up_the_holes_of_others(
    passed_on: bool,
) -> None:
    """4,096 streams of which the second event came first took all places for holes: of others'
    events behind a cut none was asked for, and all were told as missed."""
    with patch.object(asking, "MISSING_MAX", 64):
        world = AdmittedWorld()
        nodes = [world.member(key(20 + number), SOCCER) for number in range(2 if passed_on else 4)]
        *others, victim = nodes
        told = others[0] if passed_on else victim  # the first passes on what the liar publishes
        world.run(10.0)
        missed = list[Missed]()
        world.virtual.on_missed = lambda process, tell: missed.append(tell.missed)
        before = world.publish(others[0], SOCCER, b"before", seconds=2.0)
        publish(world, told, range(100), first=2)
        world.run(0.5)
        away = victim.me.address
        world.cut(lambda source, target: away not in (source, target))
        world.publish(others[0], SOCCER, b"behind the cut", seconds=0.2)
        world.heal()
        world.publish(others[0], SOCCER, b"after", seconds=8.0)
        assert world.got(b"behind the cut").count(victim) == 1
        assert not [one for one in missed if one.stream == before.stream]


def test_a_hole_that_is_filled_frees_its_place() -> None:
    """Else each would be given up after so many: of a process that has run for long, all."""
    with patch.object(asking, "MISSING_MAX", 2):
        world = AdmittedWorld()
        nodes = [world.member(key(20 + number), SOCCER) for number in range(7)]
        *publishers, victim = nodes
        world.run(10.0)
        missed = list[Missed]()
        world.virtual.on_missed = lambda process, tell: missed.append(tell.missed)
        away = victim.me.address
        for number, publisher in enumerate(publishers):
            world.publish(publisher, SOCCER, b"before", seconds=1.0)
            world.cut(lambda source, target: away not in (source, target))
            world.publish(publisher, SOCCER, b"behind %d" % number, seconds=0.2)
            world.heal()
            world.publish(publisher, SOCCER, b"after", seconds=8.0)
            assert world.got(b"behind %d" % number).count(victim) == 1
        assert not missed
