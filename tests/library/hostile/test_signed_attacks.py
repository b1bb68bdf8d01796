"""The attacks on events of docs/security.md, where these are signed: by strangers and by members.

The stranger has a certificate of a root that nobody trusts, the member one for another topic. What
they can do to events is here; tests/library/hostile/test_forgers.py has that they are cut off for
it, and tests/library/hostile/test_signing_floods.py what they make a process keep and send.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest
from attrs import frozen

from camcast.engine.known_streams import STREAMS_MAX
from camcast.engine.node import Node
from camcast.security.keys import Domain, SecretKey
from camcast.security.sealed import seal_hash
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, EVE, MEMBER, grant
from tests.signed_world import ITALY, SOCCER, SignedWorld, certificate, frame, key, with_own

CHESS: Final = Topic.parse(".chess")
FAR: Final = 2**32 - 1
START: Final = 1_000.0  # of the attack, in seconds since 1970 and by the victim's clock
RETENTION: Final = 120.0
SLACK: Final = 300.0
ADAS = certificate(ADA)
ADA_SIGNS = with_own(ADA, ADAS)


def adas(stream: StreamId, first: int, *payloads: bytes, at: float = START) -> Batch:
    """Return a genuine batch of Ada's, of a time since 1970."""
    return ADA_SIGNS.sign(make_batch(stream, first, payloads, SOCCER, published=round(1000 * at)))


@frozen
class Attacker:
    """Who attacks: what it has, and what it saw of Ada's."""

    own: bytes
    """Its certificate."""
    seen: list[Batch]
    """Genuine batches that the victim has."""
    rng: Random

    def event(
        self,
        topic: Topic = SOCCER,
        by: SecretKey = EVE,
        naming: bytes = b"",
        number: int = 7,
    ) -> Batch:
        """An event of its own, or in another's name, signed with its own key.

        `naming` is the hash of another's certificate to name in it.
        """
        return make_batch(
            stream_id(by.public.peer_id, number),
            self.rng.randrange(100, 2**32),
            [self.rng.randbytes(self.rng.randrange(40))],
            topic,
            published=round(1000 * START),
        ).signed(naming or seal_hash(self.own), lambda part: EVE.sign(Domain.BATCH, part))


def raw(body: bytes, group: Topic = SOCCER) -> bytes:
    head = wire.event_head(len(body), 1, 0.0, group.group, EVE.public.peer_id)
    return wire.FRAME_HEADER + head + body


def altered(attacker: Attacker) -> bytes:
    """Ada's next event, which the victim has not, with a few bytes changed."""
    genuine = adas(attacker.seen[0].stream, 10**6, *[b"a goal"] * 3)
    body = bytearray(genuine.body)
    for _ in range(attacker.rng.choice([1, 1, 2, 5])):
        body[attacker.rng.randrange(len(body))] ^= 1 << attacker.rng.randrange(8)
    return raw(bytes(body)) if body != genuine.body else raw(bytes(body[:-1]))


Attack = Callable[[Attacker], bytes]
ATTACKS: dict[str, Attack] = {
    # H1 of the study: the next number, a jump, and the stream of a later start.
    "forged": lambda a: frame(a.event(by=ADA, naming=a.seen[0].certificate)),
    "forged, a later start": lambda a: frame(
        a.event(by=ADA, number=a.rng.randrange(2**63), naming=a.seen[0].certificate)
    ),
    "forged, with its own certificate": lambda a: frame(a.event(by=ADA), a.own),
    "unsigned": lambda a: raw(make_batch(a.seen[0].stream, 10**6, [b"goal"], SOCCER).body),
    "altered": altered,
    "replayed": lambda a: frame(a.rng.choice(a.seen)),
    "replayed into a group below": lambda a: frame(a.rng.choice(a.seen), group=ITALY),
    "replayed into another topic": lambda a: frame(a.rng.choice(a.seen), group=CHESS),
    "its own": lambda a: frame(a.event(), a.own),
    "its own, of another topic": lambda a: frame(a.event(CHESS), a.own, group=SOCCER),
    "expired": lambda a: frame(
        adas(
            *(stream_id(ADA.public.peer_id, 99), a.rng.randrange(1, 2**32), b"old"),
            at=START - RETENTION - SLACK - a.rng.uniform(1, 100),
        )
    ),
    "from the future": lambda a: frame(
        adas(
            *(stream_id(ADA.public.peer_id, 98), a.rng.randrange(1, 2**32), b"new"),
            at=START + SLACK + a.rng.uniform(9, 100),
        )
    ),
    "as if it were the victim's": lambda a: frame(a.event(by=key(1)), a.own),
}

CERTIFICATES = {
    "a stranger": grant(EVE, EVE, ".", MEMBER, 0, FAR),
    "a member of another topic": certificate(EVE, ".chess"),
}


def victim_and_seen() -> tuple[Node, list[Batch]]:
    """Return a member of .soccer, .soccer.italy and .chess, and ten batches that it has."""
    own = certificate(key(1), ".")
    world = SignedWorld(repair=True)
    world.run(START)
    victim = world.member(key(1), SOCCER, ITALY, CHESS, own=own)
    stream = stream_id(ADA.public.peer_id, 7)
    seen = [adas(stream, 2 * number + 1, b"goal", b"goal") for number in range(10)]
    for batch in seen:
        victim.receive(frame(batch, ADAS), world.now)
    assert len(victim.outbox.deliveries) == len(seen)
    return victim, seen


@pytest.mark.parametrize("who", CERTIFICATES)
@pytest.mark.parametrize(
    "count",
    [5_000, pytest.param(100_000, marks=pytest.mark.slow)],  # 10^4 and 2 * 10^5 in all
)
def test_nothing_of_an_attack_is_delivered_or_passed_on(who: str, count: int) -> None:
    victim, seen = victim_and_seen()
    attacker = Attacker(CERTIFICATES[who], seen, Random(count))
    known = {p.topic: list(p.streams.known) for p in victim.local_groups}
    before = dict.fromkeys(("events", "parasites"), 0) | {"events": victim.counters.events}
    attacks = list(ATTACKS.values())
    for number in range(count):
        victim.outbox.sends.clear()
        victim.outbox.deliveries.clear()
        victim.receive(attacks[number % len(attacks)](attacker), START)
        assert victim.outbox.deliveries == []
        assert all(send.control for send in victim.outbox.sends)
    counters = victim.counters
    assert {"events": counters.events, "parasites": counters.parasites} == before
    assert {p.topic: list(p.streams.known) for p in victim.local_groups} == known
    assert counters.unverified > count // 2
    assert victim.signing is not None
    assert {"forged", "unsigned", "expired", "early", "outside"} <= set(victim.signing.refused)
    # And Ada is still heard.
    victim.receive(frame(adas(seen[0].stream, 21, b"goal"), ADAS), START)
    assert [delivery.batch.payloads() for delivery in victim.outbox.deliveries] == [[b"goal"]]


@pytest.mark.parametrize("who", CERTIFICATES)
def test_publishers_without_end_let_nothing_be_replayed(who: str) -> None:
    """M3 of the study: 4,097 invented publishers made a process forget what it had."""
    victim, seen = victim_and_seen()
    attacker = Attacker(CERTIFICATES[who], seen, Random(1))
    for number in range(5_000):
        naming = b"unknown!" if number % 2 else seen[0].certificate
        victim.receive(frame(attacker.event(number=number, naming=naming)), START)
    victim.outbox.deliveries.clear()
    for each in seen:
        victim.receive(frame(each, ADAS), START)
    assert victim.outbox.deliveries == []
    assert all(len(p.streams.known) < STREAMS_MAX for p in victim.local_groups)


def test_what_a_newcomer_is_sent_again_is_too_old() -> None:
    """Who has just started knows nothing of streams: the signed time refuses what was recorded."""
    _, seen = victim_and_seen()
    world = SignedWorld(repair=True)
    newcomer = world.member(key(2), SOCCER)
    for each in seen:
        newcomer.receive(frame(each, ADAS), START + RETENTION + SLACK + 1)
    assert newcomer.outbox.deliveries == []
    assert newcomer.signing is not None
    assert newcomer.signing.refused == {"expired": 20}
