"""Long events in `signed`: the signature stands over the whole, and nobody's pieces spoil it."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.repair.messages import Have, Piece
from camcast.engine.repair.pieces import PIECE_BYTES, pieces_of
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.signed_world import SOCCER, certificate, key

MIB = 1 << 20
LIAR, ADA = key(9), key(10)


def world_of_three() -> tuple[AdmittedWorld, list[Node]]:
    world = AdmittedWorld()
    parameters = CommunitySettings(event_bytes_max=4 * MIB)
    world.settings = evolve(world.settings, parameters=parameters)
    nodes = [world.member(key(20 + number), SOCCER) for number in range(3)]
    world.run(10.0)
    return world, nodes


def say(world: AdmittedWorld, victim: Node, *messages: Have | Piece) -> None:
    """Let a member that may not publish what it says send messages of repair."""
    sender = LIAR.public.peer_id
    own = introduction(LIAR, THERE, certificate(LIAR))
    frame = FRAME_HEADER + record(Kind.SECURITY, own, sender)
    for message in messages:
        frame += record(Kind.REPAIR, message, sender, group=SOCCER.group)
    world.virtual.inject(victim.me.address, frame, sender)


@pytest.mark.slow  # 1 s
def test_a_signed_long_event_is_verified_whole_by_everybody() -> None:
    world, nodes = world_of_three()
    payload = bytes(range(256)) * (3 * MIB // 256)
    world.publish(nodes[0], SOCCER, payload, seconds=5.0)
    assert sorted(world.got(payload), key=nodes.index) == nodes
    assert all(node.counters.unverified == 0 for node in nodes)


@pytest.mark.slow  # 1 s
def test_a_forged_one_is_refused_and_keeps_the_genuine_one_not_out() -> None:
    """The liar offers the genuine event's name first, and answers with a body of its own."""
    world, nodes = world_of_three()
    stream = stream_id(nodes[0].me.peer, 77)
    forged = make_batch(stream, 1, [bytes(2 * MIB)], SOCCER, published=round(1000 * world.now))
    body, victim = forged.body + bytes(72), nodes[1]
    body = body[:30] + bytes((body[30] | 128,)) + body[31:]  # signed, by nothing
    held = (stream, 1, 0, (2,))
    say(
        world,
        victim,
        Have(b"nonce", 9.0, 9.0, "", 0, 0.0, (held,), 9.0, ((stream, 1, 1),), 0, (len(body),)),
    )
    copy = partial(Piece, b"nonce", "", stream, 1, len(body))
    parts = [body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES)]
    assert len(parts) == pieces_of(len(body))
    for number, part in enumerate(parts):
        say(world, victim, copy(number, 1, 0.0, part))
    world.run(12.0)
    assert not world.got(bytes(2 * MIB))
    assert victim.counters.unverified == 1
    payload = b"!" * (2 * MIB)
    world.publish(nodes[0], SOCCER, payload, seconds=5.0)
    assert sorted(world.got(payload), key=nodes.index) == nodes


@pytest.mark.slow  # 2 s
def test_an_announcer_of_many_long_events_costs_no_more_than_the_room() -> None:
    """It sends all pieces but the last of each that it is asked for, and offers 200."""
    world, nodes = world_of_three()
    victim, stream = nodes[1], stream_id(LIAR.public.peer_id, 1)
    size, numbers = 4 * MIB, range(1, 200)
    held = (stream, 1, 0, (200,))
    for start in range(0, 199, 50):
        offers = tuple((stream, first, 1) for first in numbers[start : start + 50])
        sizes = (size,) * len(offers)
        say(world, victim, Have(b"n", 9.0, 9.0, "", 0, 0.0, (held,), 9.0, offers, 0, sizes))
    part = bytes(PIECE_BYTES)
    copies = [Piece(b"n", "", stream, first, size, 0, 1, 0.0, part) for first in numbers]
    (local_group,) = victim.local_groups
    assert local_group.repair is not None
    under_way = local_group.repair._fetching._assembling._under_way
    most = 0
    for number in range(pieces_of(size) - 1):
        for copy in copies:
            say(world, victim, Piece(b"n", "", stream, copy.first, size, number, 1, 0.0, part))
        held_bytes = [sum(len(one) for one in of.parts if one) for of in under_way.values()]
        most = max(most, sum(held_bytes))
        world.run(0.05)
    assert PIECE_BYTES < most <= 4 * MIB
    payload = b"!" * (2 * MIB)
    world.publish(nodes[0], SOCCER, payload, seconds=5.0)
    assert sorted(world.got(payload), key=nodes.index) == nodes
