"""What strangers and members make of genuine signed values: nothing of it is believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from camcast.security.certificates import Rights
from camcast.security.chains import verify_chain
from camcast.security.keys import SecretKey
from camcast.security.known_chains import KnownChains
from camcast.security.records import PeerRecord, sign_record, verify_record
from camcast.security.refusals import Reason, RefusedError
from camcast.security.revocation import (
    REVOCATIONS,
    RevocationList,
    Revocations,
    RevokedSerial,
)
from camcast.security.sealed import seal_hash
from camcast.security.signed_batches import sign_batch, verify_batch
from camcast.vocabulary.batches import decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError
from tests.authority import ADA, ALL, CLUB, DAY, EVE, MEMBER, NOW, ROOT, anybody, grant

SOCCER = Topic.parse(".soccer")
ROOTS = (ROOT.public,)


def record(of: SecretKey, by: SecretKey, address: str = "tcp://192.0.2.1:7000") -> bytes:
    return sign_record(
        PeerRecord(of.public.raw, (address,), 3, NOW + 3600, (b"g" * 8,), (b"c" * 8,)), by
    )


def revocations(of: SecretKey, by: SecretKey, number: int = 1) -> bytes:
    revoked = tuple(RevokedSerial(bytes([n]) * 8, NOW + DAY) for n in range(3))
    return REVOCATIONS.sign(RevocationList(of.public.raw, number, NOW, NOW + DAY, revoked), by)


def believe_chain(data: bytes) -> None:
    verify_chain([grant(ROOT, CLUB, rights=ALL), data], ROOTS).check(
        Rights.PUBLISH, SOCCER, NOW, Revocations().revoked
    )


def believe_record(data: bytes) -> None:
    verify_record(data, NOW)


def believe_revocations(data: bytes) -> None:
    Revocations().take(data, NOW, anybody)


def event(by: SecretKey, of: SecretKey, topic: str = ".soccer", at: int = NOW) -> bytes:
    """The body of a batch that `by` signs, as the publisher `of`, by `of`'s certificate."""
    batch = make_batch(
        *(stream_id(of.public.peer_id, 7), 1, [b"Roma 3,", b"Lazio 2"], Topic.parse(topic)),
        published=at * 1000,
    )
    return sign_batch(batch, seal_hash(CERTIFICATES[of]), by).body


CERTIFICATES = {ADA: grant(ROOT, ADA), CLUB: grant(ROOT, CLUB), EVE: grant(ROOT, EVE, ".chess")}
CHAINS = KnownChains(ROOTS)
for _certificate in CERTIFICATES.values():
    CHAINS.learn([_certificate], NOW)


def believe_event(data: bytes) -> None:
    try:
        batch = decode_body(data, 0, len(data))
    except MalformedError as error:
        raise RefusedError(Reason.MALFORMED, str(error)) from error
    verify_batch(batch, batch.topic, CHAINS, NOW, 120.0)


# How each is believed, two genuine ones, and such as a stranger and a member can make.
KINDS: dict[str, tuple[Callable[[bytes], None], list[bytes], list[bytes]]] = {
    "certificate": (
        believe_chain,
        [grant(CLUB, ADA), grant(CLUB, EVE, serial=2, until=NOW + 2 * DAY)],
        [
            *(grant(EVE, EVE), grant(ADA, EVE), grant(EVE, CLUB), grant(ROOT, EVE, until=NOW + 1)),
            *(grant(CLUB, EVE, ".soccerclub"), grant(CLUB, EVE, ".chess"), grant(CLUB, EVE, ".")),
            *(grant(CLUB, EVE, until=NOW + 8 * DAY), grant(CLUB, EVE, since=NOW - 1)),
            *(grant(CLUB, EVE, rights=Rights.JOIN), grant(CLUB, EVE, rights=ALL, depth=1)),
            *(grant(CLUB, EVE, since=NOW + 400), record(CLUB, CLUB), revocations(CLUB, CLUB)),
        ],
    ),
    "record": (
        believe_record,
        [record(ADA, ADA), record(EVE, EVE, "tcp://192.0.2.9:7000")],
        [record(ADA, EVE), record(EVE, ADA), grant(ADA, ADA), revocations(ADA, ADA)],
    ),
    "event": (
        believe_event,
        [event(ADA, ADA), event(CLUB, CLUB, ".soccer.italy", NOW - 60)],
        [
            *(event(EVE, ADA), event(EVE, CLUB), event(ADA, CLUB), event(EVE, EVE)),
            *(event(ADA, ADA, ".chess"), event(ADA, ADA, "."), event(ADA, ADA, ".soccerclub")),
            *(event(ADA, ADA, at=NOW + 301), event(ADA, ADA, at=NOW - 421), record(ADA, ADA)),
        ],
    ),
    "revocations": (
        believe_revocations,
        [revocations(ROOT, ROOT), revocations(CLUB, CLUB, 9)],
        [revocations(ROOT, EVE), revocations(EVE, ROOT), grant(ROOT, ADA), record(ROOT, ROOT)],
    ),
}


def mutated(rng: Random, genuine: list[bytes]) -> bytes:
    data = bytearray(rng.choice(genuine))
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0 | 1:
                data[place % len(data)] ^= 1 << rng.randrange(8)
            case 2:
                data[place:place] = rng.randbytes(rng.randint(1, 4))
            case 3:
                del data[place % len(data) : place + rng.randint(1, 8)]
            case 4:  # the head of one and the tail of another
                data[place:] = rng.choice(genuine)[place:]
            case _:
                data[place % len(data)] = rng.choice([0, 1, 0x7F, 0x80, 0x90, 0xC0, 0xDD, 0xFF])
        if not data:
            break
    return bytes(data)


def reason_against(believe: Callable[[bytes], None], data: bytes) -> Reason:
    with pytest.raises(RefusedError) as caught:
        believe(data)
    return caught.value.reason


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_genuine_is_believed(kind: str) -> None:
    believe, genuine, forged = KINDS[kind]
    for data in genuine:
        believe(data)
    reasons = Counter(reason_against(believe, data) for data in forged)
    assert reasons[Reason.FORGED] + reasons[Reason.UNTRUSTED] >= 2


@pytest.mark.parametrize(
    "count",
    [2_500, pytest.param(100_000, marks=pytest.mark.slow)],  # 10^4 and 4 * 10^5 in all
)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_changed_is_believed(kind: str, count: int) -> None:
    believe, genuine, _ = KINDS[kind]
    rng, reasons = Random(count), Counter[Reason]()
    for _ in range(count):
        data = mutated(rng, genuine)
        if data not in genuine:
            reasons[reason_against(believe, data)] += 1
    assert reasons[Reason.FORGED] > count / 10  # most of these get as far as the signature
    assert reasons[Reason.MALFORMED] > count / 10


def test_a_member_of_another_topic_has_no_right_here() -> None:
    chain = verify_chain([grant(ROOT, EVE, ".chess", MEMBER)], ROOTS)
    with pytest.raises(RefusedError) as caught:
        chain.check(Rights.PUBLISH, SOCCER, NOW, Revocations().revoked)
    assert caught.value.reason is Reason.NO_RIGHT
