"""Lies about what there is to repair, told once or every second, cost no event.

The liars are strangers in `open`. In `signed` they are certified for a topic *below* that of the
victims, or for the victims' topic without the right to publish there.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.repair.asking import GIVE_UP_SECONDS
from camcast.engine.repair.messages import Have, Held
from camcast.engine.security_messages import Certificates
from camcast.engine.store import Store
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import STREAM_ID_BYTES, StreamId, stream_id
from camcast.vocabulary.penalties import BROKEN_PROMISE
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, event_head
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.signed_world import SOCCER, certificate, key, with_own

BELOW = Topic.parse(".soccer.x")
LIAR, ADA = key(9), key(10)


def tell(
    world: AdmittedWorld, victim: Node, *records: bytes, topic: Topic = BELOW, by: SecretKey = LIAR
) -> None:
    """Let the liar, whose certificate is for a topic, send records over its own link."""
    own = certificate(by, topic.name, Rights.JOIN)
    said = record(Kind.SECURITY, introduction(by, THERE, own), by.public.peer_id)
    before = said if world.signed else b""
    frame = FRAME_HEADER + before + b"".join(records)
    world.virtual.inject(victim.me.address, frame, by.public.peer_id)


def have(*held: Held, below: str = BELOW.name) -> bytes:
    message = Have(b"nonce", 100.0, 100.0, below, 0, 0.0, held)
    return record(Kind.REPAIR, message, LIAR.public.peer_id, group=SOCCER.group)


def invented(below: str = BELOW.name) -> Iterator[bytes]:
    """Yield 146 kB that tell of 4,100 streams which never were."""
    rng = Random(1)
    for _ in range(5):
        streams = [rng.randbytes(STREAM_ID_BYTES) for _ in range(820)]
        yield have(*((stream, 1, 0, (1 << 20,)) for stream in streams), below=below)


@pytest.mark.parametrize("signed", [True, False])
def test_invented_streams_do_not_keep_what_a_cut_held_back_from_being_repaired(
    signed: bool,
) -> None:
    """They took all 4,096 places for good: of 120 events behind a healed cut none came, and no
    `Missed` was told."""
    world = AdmittedWorld(signed=signed)
    *others, victim = [world.member(key(20 + number), SOCCER) for number in range(4)]
    world.run(5.0)
    tell(world, victim, *invented())
    world.run(0.1)
    away = victim.me.address
    world.cut(lambda source, target: away not in (source, target))
    payloads = [b"goal %d" % number for number in range(12)]
    for number, payload in enumerate(payloads):
        world.publish(others[number % 3], SOCCER, payload, seconds=0.2)
    world.heal()
    world.run(8.0)
    assert [world.got(payload).count(victim) for payload in payloads] == [1] * len(payloads)


def test_promises_that_are_not_kept_lower_what_a_process_may_forge_and_bar_nobody() -> None:
    world = AdmittedWorld()
    victim = world.member(key(20), SOCCER)
    world.run(5.0)
    tell(world, victim, next(invented(below="")), topic=SOCCER)
    world.run(GIVE_UP_SECONDS + 5.0)
    assert victim.counters.promises_broken == 820
    assert victim.guard.penalties is not None
    assert victim.guard.penalties._scores[LIAR.public.peer_id].points == BROKEN_PROMISE.most
    assert not victim.guard.is_barred(LIAR.public.peer_id, world.now)


@pytest.mark.parametrize("signed", [True, False])
def test_an_age_that_nobody_signed_swallows_no_event_that_came_by_a_liar_first(
    signed: bool,
) -> None:
    """Of 20 genuine events 19 were marked as known and given to nobody, for they seemed to be from
    before the victim was a member."""
    world = AdmittedWorld(signed=signed)
    victim = world.member(key(20), SOCCER)
    world.run(10.0)
    stream, own = stream_id(ADA.public.peer_id, 7), certificate(ADA)
    for number in range(1, 6):
        tell(world, victim, have((stream, 1, 0, (1 << 31,)), below=""), topic=SOCCER)
        world.run(1.0)
        payload = b"goal %d" % number
        tell(world, victim, *repaired(world, stream, number, payload, own), topic=SOCCER)
        world.run(0.1)
        assert world.got(payload) == [victim]


def repaired(
    world: AdmittedWorld, stream: StreamId, number: int, payload: bytes, own: bytes
) -> Iterator[bytes]:
    """Yield a genuine event's chain and the event, as an old one that the receiver asked for."""
    published, sender = round(1000 * world.now), LIAR.public.peer_id
    batch = make_batch(stream, number, [payload], SOCCER, published=published)
    if world.signed:
        batch = with_own(ADA, own).sign(batch)
        yield record(Kind.SECURITY, Certificates((own,)), sender)
    size, flags = len(batch.body), wire.REPAIRED
    yield wire.event_head(size, 1, 655.35, SOCCER.group, sender, flags=flags) + batch.body


@pytest.mark.parametrize("signed", [True, False])
def test_what_a_liar_offers_again_and_again_is_asked_of_others_after_ten_seconds(
    signed: bool,
) -> None:
    """What is offered is left to its offerers: by 80 bytes each third of a second one of them kept
    repair from an event for as long as it liked, and no `Missed` was told."""
    world = AdmittedWorld(signed=signed)
    *others, victim = [world.member(key(20 + number), SOCCER) for number in range(4)]
    world.run(10.0)
    away = victim.me.address
    first = world.publish(others[0], SOCCER, b"first", seconds=2.0)
    world.cut(lambda source, target: away not in (source, target))
    lost = world.publish(others[0], SOCCER, b"lost", seconds=0.2)
    world.heal()
    assert lost.stream == first.stream
    world.publish(others[0], SOCCER, b"last", seconds=0.0)
    held, offered = (lost.stream, 1, 0, (lost.sequence + 2,)), (lost.stream, lost.sequence, 1)
    message = Have(b"nonce", 100.0, 100.0, "", 0, 0.0, (held,), 9.0, (offered,), 0, (0,))
    again = record(Kind.REPAIR, message, LIAR.public.peer_id, group=SOCCER.group)
    for _ in range(45):
        tell(world, victim, again, topic=SOCCER)
        world.run(0.3)
    assert world.got(b"lost").count(victim) == 1


def test_an_age_that_nobody_signed_lets_no_event_be_forgotten_where_it_came_by_a_liar_first() -> (
    None
):
    """Its publisher has died. Who got it with an age of ten minutes gave it to its subscribers, and
    kept it for nobody: it was missed where it had not come."""
    world = AdmittedWorld()
    nodes = list[Node]()
    for number in range(4):
        world.parts = evolve(world.parts, store=Store())  # each in a process of its own
        nodes.append(world.member(key(20 + number), SOCCER))
    *others, victim = nodes
    world.run(10.0)
    stream, own, away = stream_id(ADA.public.peer_id, 7), certificate(ADA), victim.me.address
    world.cut(lambda source, target: away not in (source, target))
    published = round(1000 * world.now)
    batch = with_own(ADA, own).sign(make_batch(stream, 1, [b"goal"], SOCCER, published=published))
    head = event_head(len(batch.body), 1, 600.0, SOCCER.group, LIAR.public.peer_id)
    chain = record(Kind.SECURITY, Certificates((own,)), LIAR.public.peer_id)
    for node in others:
        tell(world, node, chain, head + batch.body, topic=SOCCER)
    world.run(0.5)
    assert all(node in world.got(b"goal") for node in others)
    world.heal()
    world.run(20.0)
    assert world.got(b"goal").count(victim) == 1
