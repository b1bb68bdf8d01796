"""Lies about how far back a process keeps events cost no newcomer the past that it asks for."""

from __future__ import annotations

from functools import partial

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.answering import OLD_BYTES_A_SECOND
from camcast.engine.repair.messages import Have
from camcast.security.certificates import Rights
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.signed_world import SOCCER, certificate, join, key

LIAR = key(9)
YOUNG = (4, 6, 8, 10, 12)


def world_with(young: int) -> tuple[AdmittedWorld, Node]:
    """Return a community with one elder that keeps an event, and a process that is no member."""
    world = AdmittedWorld()
    elder = world.member(key(20), SOCCER)
    world.run(5.0)
    world.publish(elder, SOCCER, b"old", seconds=30.0)
    for number in range(young):
        world.member(key(100 + number), SOCCER)
    world.run(5.0)
    return world, world.member(key(50))


def ask(world: AdmittedWorld, newcomer: Node) -> None:
    world.do(newcomer, partial(join, SOCCER))
    (local_group,) = newcomer.local_groups
    repair = local_group.repair
    assert repair is not None
    world.do(newcomer, lambda _node, now: repair.history(100.0, now))


@pytest.mark.parametrize("young", YOUNG)
def test_who_was_not_asked_ends_no_question_for_history(young: int) -> None:
    """Whoever said that it keeps everything ended the question, and the elder was not asked: three
    of five newcomers did not get the event."""
    world, newcomer = world_with(young)
    ask(world, newcomer)
    own, sender = certificate(LIAR, rights=Rights.JOIN), LIAR.public.peer_id
    have = Have(b"nonce", 2e6, 1e6, "", 0, 0.0, (), 9.0)
    frame = FRAME_HEADER + record(Kind.SECURITY, introduction(LIAR, THERE, own), sender)
    frame += record(Kind.REPAIR, have, sender, group=SOCCER.group)
    for _ in range(60):
        world.virtual.inject(newcomer.me.address, frame, sender)
        world.run(0.2)
    assert world.got(b"old").count(newcomer) == 1


def test_who_asks_for_old_events_without_end_leaves_others_their_part() -> None:
    """It was sent all that an archive sends in a second, and whoever else asked got one batch."""
    world = AdmittedWorld()
    node, reader = (world.member(key(20 + number), SOCCER) for number in range(2))
    (local_group,) = node.local_groups
    assert local_group.repair is not None
    answering, size = local_group.repair._answering, 1 << 15
    for second in range(1, 10):
        sent = [
            sum(answering._may_send_old(peer, size, float(second)) for _ in range(100))
            for peer in (LIAR.public.peer_id, reader.me.peer)
        ]
        if second > 1:
            assert sent == [OLD_BYTES_A_SECOND // size // 2] * 2
