"""Long events in `signed`: the signature stands over the whole, and nobody's pieces spoil it."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.repair.messages import Have, Piece
from camcast.engine.repair.pieces import PIECE_BYTES, pieces_of
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import EventId, stream_id
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.wire import FRAME_HEADER, PAYLOAD_BYTES_MAX, Kind
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


def offers(world: AdmittedWorld, victim: Node, event: EventId, size: int) -> None:
    held, offered = (event.stream, 1, 0, (event.sequence + 1,)), (event.stream, event.sequence, 1)
    say(
        world,
        victim,
        Have(b"nonce", 9.0, 9.0, "", 0, 0.0, (held,), 9.0, (offered,), 0, (size,)),
    )


def points(node: Node, of: Node) -> float:
    assert node.guard.penalties is not None
    score = node.guard.penalties._scores.get(of.me.peer)
    return 0.0 if score is None else score.points


@pytest.mark.slow  # 2 s
@pytest.mark.parametrize("size", [PAYLOAD_BYTES_MAX + 5_000, 3 * MIB])
def test_who_offers_a_genuine_event_with_another_size_neither_delays_nor_frames_anybody(
    size: int,
) -> None:
    """Offered each tenth of a second, it never came, no `Missed` was told, and the genuine pieces
    counted as malformed: 16 faults of the publisher, half of what bars."""
    world, nodes = world_of_three()
    first = world.publish(nodes[0], SOCCER, b"?" * (2 * MIB), seconds=5.0)
    following = EventId(first.stream, first.sequence + 1)
    for victim in nodes[1:]:
        offers(world, victim, following, size)
    payload = b"!" * (2 * MIB)
    assert world.publish(nodes[0], SOCCER, payload, seconds=0.0) == following
    for _ in range(30):
        for victim in nodes[1:]:
            offers(world, victim, following, size)
        world.run(0.1)
    assert sorted(world.got(payload), key=nodes.index) == nodes
    assert [points(node, nodes[0]) for node in nodes[1:]] == [0.0, 0.0]


@pytest.mark.slow  # 1 s
@pytest.mark.parametrize("begins", [0, 1], ids=["no batch", "no signature of it"])
def test_false_parts_before_the_genuine_rest_put_no_blame_on_who_sends_the_rest(
    begins: int,
) -> None:
    """The liar sends a false window and no more: what the publisher completed counted as its own
    forgery, and it was not asked for the event again."""
    world, nodes = world_of_three()
    first = world.publish(nodes[0], SOCCER, b"?" * (2 * MIB), seconds=5.0)
    following = EventId(first.stream, first.sequence + 1)
    (genuine,) = of_store(nodes[1], first)
    size, part, victim = len(genuine.body), bytes(PIECE_BYTES), nodes[1]
    offers(world, victim, following, size)
    world.run(0.05)
    copy = partial(Piece, b"nonce", "", following.stream, following.sequence, size)
    say(world, victim, *(copy(number, 1, 0.0, part) for number in range(begins, 4)))
    payload = b"!" * (2 * MIB)
    assert world.publish(nodes[0], SOCCER, payload, seconds=20.0) == following
    assert sorted(world.got(payload), key=nodes.index) == nodes
    assert points(victim, nodes[0]) == 0.0


@pytest.mark.slow  # 2 s
def test_who_sends_the_same_piece_again_and_again_keeps_nobody_from_asking_others() -> None:
    """Each copy counted as progress, and the others that offered the event were never asked."""
    world, nodes = world_of_three()
    first = world.publish(nodes[0], SOCCER, b"?" * (2 * MIB), seconds=5.0)
    following = EventId(first.stream, first.sequence + 1)
    (genuine,) = of_store(nodes[1], first)
    size, victim = len(genuine.body), nodes[1]
    offers(world, victim, following, size)
    payload = b"!" * (2 * MIB)
    assert world.publish(nodes[0], SOCCER, payload, seconds=0.0) == following
    same = Piece(
        b"nonce", "", following.stream, following.sequence, size, 0, 1, 0.0, bytes(PIECE_BYTES)
    )
    for _ in range(100):
        say(world, victim, same)
        world.run(0.1)
    assert sorted(world.got(payload), key=nodes.index) == nodes


def of_store(node: Node, event: EventId) -> list[Batch]:
    (local_group,) = node.local_groups
    assert local_group.repair is not None
    store = local_group.repair._context.store
    return list(store.batches(event.stream, event.sequence, event.sequence + 1))


@pytest.mark.slow  # 3 s
@pytest.mark.parametrize("pieces", [1, 8])
def test_who_sends_false_pieces_slowly_makes_way_for_others_within_two_seconds(pieces: int) -> None:
    """A piece each quarter of a second was progress enough, and after all pieces were there and
    false the liar was asked once more: 60 s later nobody had the event, nor was it told as missed.
    """
    world, nodes = world_of_three()
    first = world.publish(nodes[0], SOCCER, b"?" * (2 * MIB), seconds=5.0)
    following = EventId(first.stream, first.sequence + 1)
    (genuine,) = of_store(nodes[1], first)
    size, victims = len(genuine.body), nodes[1:]
    numbers = pieces_of(size) - 1  # but for the last one, which is shorter
    for victim in victims:
        offers(world, victim, following, size)
    payload = b"!" * (2 * MIB)
    assert world.publish(nodes[0], SOCCER, payload, seconds=0.0) == following
    copy = partial(Piece, b"nonce", "", following.stream, following.sequence, size)
    for turn in range(12):
        for victim in victims:
            offers(world, victim, following, size)
            for number in range(turn * pieces, (turn + 1) * pieces):
                say(world, victim, copy(number % numbers, 1, 0.0, bytes(PIECE_BYTES)))
        world.run(0.25)
    assert sorted(world.got(payload), key=nodes.index) == nodes
    assert [points(node, nodes[0]) for node in victims] == [0.0, 0.0]
