"""Pieces are asked for in windows, of one offerer after the other, and cost no more than there is
room for; a batch that is longer than this process takes is refused, and its publisher is told."""

from __future__ import annotations

from collections import Counter

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.answering import ANSWER_BYTES
from camcast.engine.repair.messages import Have, Piece, PiecesWanted, TooLong
from camcast.engine.repair.pieces import (
    HEADS_BYTES,
    PIECE_BYTES,
    REFUSALS_A_SECOND,
    REFUSALS_MAX,
    SHARE,
    UNDER_WAY_MAX,
    WINDOW,
    part_of_body,
    pieces_of,
)
from camcast.engine.repair.repair import Repair
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.library.unit.engine.repair.repair_world import A, RepairWorld

MIB = 1 << 20
STREAM = stream_id(PeerId(b"p" * 16), 1)
LONG = make_batch(STREAM, 1, [bytes(2 * MIB)], A)
COUNT = pieces_of(len(LONG.body))
NONCE = b"nonce"


@pytest.fixture
def node(world: RepairWorld) -> Node:
    """A member that takes 4 MiB, and knows another one."""
    one, _ = (member(world, 4 * MIB) for _ in range(2))
    world.run(10.0)
    world.said.clear()
    return one


def member(world: RepairWorld, bytes_max: int) -> Node:
    node = world.start(world.settings)
    parameters = CommunitySettings(event_bytes_max=bytes_max)
    world.do(node, lambda node, now: node.join(A, now, parameters))
    world.run(0.1)
    return node


def repair_of(node: Node) -> Repair:
    (local_group,) = node.local_groups
    assert local_group.repair is not None
    return local_group.repair


def contact(number: int) -> Contact:
    return Contact(PeerId(b"offerer %08d" % number), f"tcp://10.9.8.{number}:7000")


def say(world: RepairWorld, node: Node, number: int, *messages: Message) -> None:
    source = contact(number)
    head = wire.control_head(Kind.REPAIR, A.group, source.peer, source.address)
    for message in messages:
        world.inject(node.me.address, FRAME_HEADER + wire.encode_control(head, encode(message)))


def offer(world: RepairWorld, node: Node, number: int, size: int, first: int = 1) -> None:
    held = (STREAM, 1, 0, (1, first, first + 1) if first > 1 else (2,))
    offers, sizes = ((STREAM, first, 1),), (size,)
    say(world, node, number, Have(NONCE, 9.0, 9.0, "", 0, 0.0, (held,), 9.0, offers, 0, sizes))


def piece(number: int, batch: Batch = LONG, size: int | None = None) -> Piece:
    part, size = part_of_body(batch.body, number), len(batch.body) if size is None else size
    return Piece(NONCE, "", batch.stream, batch.first, size, number, 1, 0.5, part)


def asked(world: RepairWorld) -> list[tuple[int, tuple[int, ...]]]:
    """Return which offerers were asked for which pieces since the last call."""
    said, world.said = world.said, []
    numbers = {contact(number).address: number for number in range(20)}
    return [
        (numbers[target], message.numbers)
        for _, target, message in said
        if isinstance(message, PiecesWanted) and target in numbers
    ]


def test_a_window_follows_the_other_and_what_was_lost_is_in_the_next(
    world: RepairWorld, node: Node
) -> None:
    offer(world, node, 1, len(LONG.body))
    assert asked(world) == [(1, tuple(range(WINDOW)))]
    say(world, node, 1, *(piece(number) for number in range(WINDOW) if number != 3))
    assert asked(world) == [(1, (3, *range(WINDOW, 2 * WINDOW - 1)))]
    say(world, node, 1, piece(3), *(piece(number) for number in range(WINDOW, COUNT)))
    assert world.payloads(node) == [bytes(2 * MIB)]
    assert not world.told


def test_the_next_offerer_is_asked_for_the_rest(world: RepairWorld, node: Node) -> None:
    for number in (1, 2):
        offer(world, node, number, len(LONG.body))
    say(world, node, 1, *map(piece, range(WINDOW)))
    assert asked(world) == [(1, tuple(range(WINDOW))), (1, tuple(range(WINDOW, 2 * WINDOW)))]
    world.run(0.5)
    assert asked(world) == [(2, tuple(range(WINDOW, 2 * WINDOW)))]
    say(world, node, 2, *map(piece, range(WINDOW, COUNT)))
    assert world.payloads(node) == [bytes(2 * MIB)]


def test_what_was_not_asked_for_is_dropped(world: RepairWorld, node: Node) -> None:
    say(world, node, 1, *map(piece, range(COUNT)))
    offer(world, node, 1, len(LONG.body))
    say(world, node, 2, *map(piece, range(COUNT)))
    assert not world.payloads(node)
    assert node.counters.malformed == 0


@pytest.mark.parametrize(
    "wrong",
    [
        piece(0, size=MIB),
        piece(0, size=17 * MIB),
        piece(0, size=len(LONG.body) + 1),
        piece(0, size=2**40),
        Piece(NONCE, "", STREAM, 1, len(LONG.body), COUNT, 1, 0.0, b""),
        Piece(NONCE, "", STREAM, 1, len(LONG.body), -1, 1, 0.0, bytes(PIECE_BYTES)),
        Piece(NONCE, "", STREAM, 1, len(LONG.body), 0, 1, 0.0, bytes(PIECE_BYTES - 1)),
        Piece(NONCE, "", STREAM, 1, len(LONG.body), 0, 1, float("nan"), bytes(PIECE_BYTES)),
    ],
)
def test_a_piece_that_cannot_be_is_malformed(world: RepairWorld, node: Node, wrong: Piece) -> None:
    offer(world, node, 1, len(LONG.body))
    say(world, node, 1, wrong)
    assert node.counters.malformed == 1


def test_pieces_that_make_another_batch_are_refused_and_others_are_asked(
    world: RepairWorld, node: Node
) -> None:
    for number in (1, 2):
        offer(world, node, number, len(LONG.body))
    other = make_batch(STREAM, 7, [bytes(2 * MIB)], A)
    parts = [part_of_body(other.body, number) for number in range(COUNT)]
    lies = [
        Piece(NONCE, "", STREAM, 1, len(LONG.body), number, 1, 0.0, part)
        for number, part in enumerate(parts)
    ]
    say(world, node, 1, *lies)
    assert node.counters.malformed == 1
    asked(world)
    world.run(5.0)
    assert asked(world)[0] == (2, tuple(range(WINDOW)))
    say(world, node, 2, *map(piece, range(COUNT)))
    assert world.payloads(node) == [bytes(2 * MIB)]


def test_liars_take_no_more_than_the_room_and_an_honest_one_finds_some(
    world: RepairWorld, node: Node
) -> None:
    """Strangers are one teller together, and have a quarter; a member has another."""
    unit = 4 * MIB + HEADS_BYTES
    for first in range(2, 60):
        offer(world, node, first % 19, 4 * MIB, first)
    assembling = repair_of(node)._fetching._assembling
    taken = sum(one.size for one in assembling._under_way.values())
    assert 0 < taken <= SHARE * unit < UNDER_WAY_MAX * unit
    assert sum(one.came for one in assembling._under_way.values()) == 0
    honest = world.nodes[1]
    event = world.publish(honest, A, bytes(3 * MIB), seconds=2.0)
    got = Counter(one.event.id for to, one in world.delivered if to is node)
    assert got[event] == 1


def test_each_piece_is_sent_once_to_whom_the_batch_was_offered(
    world: RepairWorld, node: Node
) -> None:
    """What is asked for again counts to the bytes a second of repair."""
    world.publish(node, A, bytes(3 * MIB), seconds=2.0)
    repair = repair_of(node)
    ((stream, first),) = repair._offering._offered
    (batch,) = repair._context.store.batches(stream, first, first + 1)
    world.do(node, lambda _, now: repair.offer(batch, [contact(1)], now))
    nonce = next(
        message.nonce
        for _, target, message in world.said
        if isinstance(message, Have) and target == contact(1).address and message.sizes
    )
    for times in range(1, 4):
        world.said.clear()
        for start in range(0, pieces_of(len(batch.body)), WINDOW):
            numbers = tuple(range(start, min(start + WINDOW, pieces_of(len(batch.body)))))
            say(world, node, 1, PiecesWanted(nonce, "", stream, first, numbers))
        sent = sum(
            len(message.part)
            for _, target, message in world.said
            if isinstance(message, Piece) and target == contact(1).address
        )
        rest = ANSWER_BYTES - pieces_of(len(batch.body)) * PIECE_BYTES
        assert sent == (len(batch.body) if times < 3 else rest)
    world.said.clear()
    say(world, node, 1, PiecesWanted(b"another", "", stream, first, (0,)))
    (said,) = [said for _, target, said in world.said if target == contact(1).address]
    assert isinstance(said, Have)  # a small one, with a good nonce
    assert said.offers == ((stream, first, 1),)


def test_a_refusal_goes_to_the_publisher_and_few_are_passed_on(world: RepairWorld) -> None:
    publisher, other = (member(world, 4 * MIB) for _ in range(2))
    world.run(10.0)
    event = world.publish(publisher, A, bytes(2 * MIB), seconds=2.0)
    repair_of(other).offer(LONG, [contact(1)], world.now)  # nobody's, so it goes nowhere
    for name in range(2 * REFUSALS_MAX):
        refusal = TooLong(event.stream, event.sequence, b"member %08d" % name, MIB)
        say(world, other, 1, refusal, refusal)
    world.run(1.0)
    assert repair_of(publisher).refusing(2 * MIB, world.now) == REFUSALS_MAX
    assert repair_of(publisher).refusing(MIB, world.now) == 0
    assert repair_of(publisher).refusing(2 * MIB, world.now + 601.0) == 0
    say(world, publisher, 1, TooLong(event.stream, event.sequence + 1, b"never offered", MIB))
    assert repair_of(publisher).refusing(2 * MIB, world.now) == REFUSALS_MAX


def test_a_store_has_room_for_what_nobody_has_had_yet(world: RepairWorld, node: Node) -> None:
    """Half of it: else a publisher's next event would let go the one before."""
    repair = repair_of(node)
    half = repair._context.store.bytes_max // 2
    assert repair.has_room(half + 1, world.now)
    world.cut(lambda _source, _target: False)
    world.publish(node, A, bytes(4 * MIB), seconds=0.1)
    assert repair.has_room(half - 5 * MIB, world.now)
    assert not repair.has_room(half, world.now)
    world.heal()
    world.run(10.0)
    assert repair.has_room(half, world.now)


@pytest.mark.parametrize("size", [-1, 1, MIB])
def test_an_offer_of_a_long_batch_that_is_short_is_malformed(
    world: RepairWorld, node: Node, size: int
) -> None:
    offer(world, node, 1, size)
    assert node.counters.malformed == 1


def test_a_liar_makes_nobody_miss_what_never_was(world: RepairWorld, node: Node) -> None:
    """It offers what is too long, in the names of many strangers; few refusals are sent."""
    for first in range(1, 100):
        offer(world, node, first % 19, 2**60, first)
        offer(world, node, (first + 1) % 19, 2**60, first)
    refusals = [said for _, _, said in world.said if isinstance(said, TooLong)]
    assert 0 < len(refusals) <= 2 * REFUSALS_A_SECOND
    world.run(5.0)
    assert not world.told
