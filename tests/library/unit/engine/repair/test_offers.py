"""An offer is asked for once, of one offerer at a time, and taken at most once by each process."""

from __future__ import annotations

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.messages import DECODER, Have, Offered, Want
from camcast.engine.repair.offers import DISTRUST_SECONDS, FETCHED_MAX
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import SEQUENCE_MAX, stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.wire import FRAME_HEADER, REPAIRED, Kind
from tests.library.unit.engine.repair.repair_world import A, RepairWorld, members

STREAM = stream_id(PeerId(b"p" * 16), 1)
LARGE = make_batch(STREAM, 1, [bytes(1 << 16)], A)
FIRST_SECONDS = 1.0  # [RFC 6298, 2.1] while no answer was measured


def contact(number: int) -> Contact:
    return Contact(PeerId(b"offerer %08d" % number), f"tcp://10.9.8.{number}:7000")


def offer(
    world: RepairWorld, node: Node, number: int, *batches: tuple[int, int], stream: bytes = STREAM
) -> None:
    """Let one of many strangers offer batches, as (first, count), to a node."""
    held = (stream, 1, 0, (1, *(n for first, count in batches for n in (first, first + count))))
    if batches[0][0] == 1:
        held = (stream, 1, 0, (1 + batches[0][1],))
    say(world, node, number, Have(b"nonce", 9.0, 9.0, "", 0, 0.0, (held,), 9.0, offers(*batches)))


def offers(*batches: tuple[int, int], stream: bytes = STREAM) -> tuple[Offered, ...]:
    return tuple((stream, first, count) for first, count in batches)


def say(world: RepairWorld, node: Node, number: int, message: Message) -> None:
    source = contact(number)
    head = wire.control_head(Kind.REPAIR, A.group, source.peer, source.address)
    world.inject(node.me.address, FRAME_HEADER + wire.encode_control(head, encode(message)))


def answer(world: RepairWorld, node: Node, number: int, batch: Batch = LARGE) -> None:
    head = wire.event_head(len(batch.body), 1, 0.0, A.group, contact(number).peer, flags=REPAIRED)
    world.inject(node.me.address, FRAME_HEADER + head + batch.body)


def asked(world: RepairWorld) -> list[int]:
    """Return which offerers were asked since the last call, in order."""
    said, world.said = world.said, []
    numbers = {contact(number).address: number for number in range(20)}
    return [
        numbers[target]
        for _, target, message in said
        if isinstance(message, Want) and target in numbers
    ]


@pytest.fixture
def node(world: RepairWorld) -> Node:
    one, _ = members(world, A, A)
    world.said.clear()
    return one


def test_the_first_offerer_is_asked_at_once_and_the_others_while_it_is_silent(
    world: RepairWorld, node: Node
) -> None:
    for number in (1, 2, 3):
        offer(world, node, number, (1, 1))
    assert asked(world) == [1]
    world.run(FIRST_SECONDS - 0.1)
    assert asked(world) == []
    world.run(0.2)
    assert asked(world) == [2]
    world.run(2 * FIRST_SECONDS - 0.3)  # twice as long, as one was silent
    assert asked(world) == []
    world.run(0.3)
    assert asked(world) == [3]


def test_after_an_answer_nobody_is_asked_and_it_is_offered_on(
    world: RepairWorld, node: Node
) -> None:
    for number in (1, 2):
        offer(world, node, number, (1, 1))
    world.run(0.1)
    world.said.clear()
    answer(world, node, 1)
    assert world.payloads(node) == [bytes(1 << 16)]
    on = [said for source, _, said in world.said if source == node.me.address]
    assert [said.offers for said in on if isinstance(said, Have)] == [((STREAM, 1, 1),)]
    world.run(20.0)
    assert asked(world) == []
    assert node.counters.repaired == 0  # nothing was lost


def test_who_answers_is_asked_within_the_time_that_answers_take(
    world: RepairWorld, node: Node
) -> None:
    for first in range(1, 6):
        offer(world, node, 1, (first, 1))
        world.run(0.1)
        answer(world, node, 1, make_batch(STREAM, first, [bytes(1 << 16)], A))
    world.said.clear()
    offer(world, node, 1, (6, 1))
    offer(world, node, 2, (6, 1))
    assert asked(world) == [1]
    world.run(0.35)
    assert asked(world) == [2]


def test_who_is_busy_answering_is_not_passed_over(world: RepairWorld, node: Node) -> None:
    offer(world, node, 1, *((first, 1) for first in range(1, 5)))
    offer(world, node, 2, *((first, 1) for first in range(1, 5)))
    for first in range(1, 5):
        world.run(0.9 * FIRST_SECONDS)
        answer(world, node, 1, make_batch(STREAM, first, [bytes(1 << 16)], A))
    assert asked(world) == [1]


def test_an_answer_that_was_late_is_waited_for_from_then_on(world: RepairWorld, node: Node) -> None:
    """On an overloaded machine a second was too short, and each body came twice."""
    for number in (1, 2):
        offer(world, node, number, (1, 1))
    world.run(2.5)
    answer(world, node, 1)  # that of the second offerer is later still
    assert asked(world) == [1, 2]
    for number in (1, 2):
        offer(world, node, number, (2, 1))
    world.run(6.0)
    assert asked(world) == [1]


def test_who_was_passed_over_is_not_the_first_to_be_asked(world: RepairWorld, node: Node) -> None:
    offer(world, node, 1, (1, 1))
    offer(world, node, 2, (1, 1))
    world.run(1.1 * FIRST_SECONDS)
    answer(world, node, 2)
    assert asked(world) == [1, 2]
    offer(world, node, 1, (2, 1))
    assert asked(world) == []
    offer(world, node, 2, (2, 1))
    assert asked(world) == [2]
    offer(world, node, 1, (3, 1))
    world.run(1.1 * DISTRUST_SECONDS)
    assert asked(world) == [1]  # nobody else offers it


def test_what_all_offerers_withhold_is_asked_for_by_repair(world: RepairWorld, node: Node) -> None:
    offer(world, node, 1, (1, 1))
    world.run(1.5 * FIRST_SECONDS)
    assert asked(world) == [1, 1]
    assert node.counters.repaired == 0
    answer(world, node, 1)
    assert node.counters.repaired == 1


def test_nothing_that_somebody_offers_is_told_as_missed(world: RepairWorld, node: Node) -> None:
    """Three neighbours let go of it, and a fourth one has it still."""
    say(world, node, 9, Have(b"n", 99.0, 99.0, "", 0, 0.0, ((STREAM, 3, 0, (4,)),), 99.0))
    world.hand(node, make_batch(STREAM, 3, [b"3"], A))
    for number in (10, 11, 12):
        say(world, node, number, Have(b"n", 99.0, 99.0, "", 0, 0.0, ((STREAM, 3, 0, (4,)),), 99.0))
    for number in range(1, 6):
        offer(world, node, number, (1, 1))
        world.run(2.5)
    answer(world, node, 5)
    assert [missed.first for to, missed in world.told if to is node] in ([], [2])
    assert bytes(1 << 16) in world.payloads(node)


def test_an_offer_is_taken_once_beyond_what_repair_may_send(world: RepairWorld) -> None:
    """Eight of a mebibyte in a second, where repair would send four to a peer."""
    one, other = members(world, A, A)
    ids = [
        world.do(one, lambda node, now: node.publish(A, bytes(1_000_000), now).id)
        for _ in "8 events"
    ]
    world.run(1.0)
    assert world.payloads(other) == [bytes(1_000_000)] * 8
    assert one.counters.repairs_sent == 0
    assert len(ids) == 8


@pytest.mark.parametrize(
    "offered",
    [(b"short", 1, 1), (STREAM, 0, 1), (STREAM, 5, 0), (STREAM, SEQUENCE_MAX, 2), (STREAM, -1, 1)],
)
def test_an_offer_that_cannot_be_is_malformed(
    world: RepairWorld, node: Node, offered: Offered
) -> None:
    say(world, node, 1, Have(b"n", 9.0, 9.0, "", 0, 0.0, (), 9.0, (offered,)))
    assert node.counters.malformed == 1
    assert asked(world) == []


def test_invented_offers_leave_room_for_others(world: RepairWorld, node: Node) -> None:
    """Where names are free, strangers are one; the neighbour is another."""
    for number in range(FETCHED_MAX + 10):
        offer(world, node, 1, (1, 1), stream=stream_id(PeerId(b"q" * 16), number))
    world.run(0.1)
    (neighbour,) = (one for one in world.nodes if one is not node)
    event = world.do(neighbour, lambda one, now: one.publish(A, bytes(1 << 16), now).id)
    world.run(0.2)
    assert event in [got.event.id for to, got in world.delivered if to is node]


def test_a_have_is_read_with_a_field_more_and_without_offers() -> None:
    """An older release ignores the offers, and asks as it does for all that others have."""
    said = Have(b"n", 9.0, 9.0, "", 0, 0.0, ((STREAM, 1, 0, (2,)),), 9.0, ((STREAM, 1, 1),))
    without = Have(b"n", 9.0, 9.0, "", 0, 0.0, ((STREAM, 1, 0, (2,)),), 9.0)
    later = b"\x9d" + encode(said)[1:] + b"\xc0"  # with one field more, as a later release
    assert encode(said)[0] == 0x9C  # an array of the tag and eleven fields
    assert DECODER.decode(later) == said
    assert DECODER.decode(b"\x99" + encode(without)[1:-3]) == without


def test_a_batch_that_was_offered_is_taken_once_by_each(world: RepairWorld, node: Node) -> None:
    """Beyond the bytes a second that repair answers with."""
    [local_group] = node.local_groups
    repair = local_group.repair
    assert repair is not None
    repair.offer(LARGE, [contact(1), contact(2)], world.now)
    taken = [repair._offering.take(LARGE, contact(number).peer) for number in (1, 1, 2, 2, 3)]
    assert taken == [True, False, True, False, False]
