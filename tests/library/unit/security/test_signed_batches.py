from __future__ import annotations

import hashlib

import pytest

from camcast.security.certificates import SLACK_SECONDS, Rights
from camcast.security.keys import Domain, SecretKey
from camcast.security.known_chains import KnownChains
from camcast.security.refusals import Reason
from camcast.security.sealed import seal_hash
from camcast.security.signed_batches import sign_batch, verify_batch
from camcast.vocabulary import wire
from camcast.vocabulary.batches import SIGNED_BYTES, Batch, decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.topics import Topic
from tests import ed25519
from tests.authority import (
    ADA,
    CLUB,
    DAY,
    EVE,
    NOW,
    ROOT,
    assert_counts_between,
    grant,
    reason_against,
    revocations,
)

ITALY = Topic.parse(".soccer.italy")
RETENTION = 120.0
CERTIFICATE = grant(ROOT, ADA)


def batch(
    *payloads: bytes, topic: Topic = ITALY, by: SecretKey = ADA, published: float = NOW
) -> Batch:
    return make_batch(
        *(stream_id(by.public.peer_id, 7), 1, payloads or (b"goal",), topic),
        published=round(published * 1000),
        upward_probability=0.2,  # one of those that two bytes hold exactly
    )


def signed(of: Batch, by: SecretKey = ADA, certificate: bytes = CERTIFICATE) -> Batch:
    return sign_batch(of, seal_hash(certificate), by)


@pytest.fixture
def chains() -> KnownChains:
    known = KnownChains([ROOT.public])
    known.learn([CERTIFICATE], NOW)
    return known


def refused(of: Batch, chains: KnownChains, now: float = NOW, group: Topic | None = None) -> Reason:
    return reason_against(lambda: verify_batch(of, group or of.topic, chains, now, RETENTION))


@pytest.mark.parametrize("payloads", [(b"goal",), (b"",), (b"a", b"", b"bc"), (b"x" * 32_000,)])
def test_a_signed_batch_is_the_same_batch(payloads: tuple[bytes, ...], chains: KnownChains) -> None:
    plain = batch(*payloads)
    sent = signed(plain)
    assert len(sent.body) == len(plain.body) + SIGNED_BYTES
    came = decode_body(sent.body, 0, len(sent.body))
    assert came == sent
    assert list(came.events()) == list(plain.events())
    assert (came.size, came.upward_probability) == (plain.size, plain.upward_probability)
    assert (plain.certificate, plain.signature) == (b"", b"")
    assert verify_batch(came, ITALY, chains, NOW, RETENTION).subject == ADA.public


def test_the_signature_is_over_group_and_body() -> None:
    sent = signed(batch())
    name = Domain.BATCH.value
    said = bytes([len(name)]) + name + ITALY.group + hashlib.sha256(sent.body[:-64]).digest()
    assert sent.signature == ed25519.sign(ADA.seed, said)
    assert sent.certificate == seal_hash(CERTIFICATE)
    assert sent.body[-72:] == sent.certificate + sent.signature


def test_the_head_is_not_signed(chains: KnownChains) -> None:
    sent = signed(batch())
    for hops, flags in ((1, 0), (9, wire.REPAIRED | wire.OTHER_LEVEL)):
        came = decode_body(sent.body, 0, len(sent.body), hops, 3.0, 77.0, flags)
        verify_batch(came, ITALY, chains, NOW, RETENTION)


def test_no_bit_of_the_body_can_change(chains: KnownChains) -> None:
    body = signed(batch(b"a", b"bc")).body
    reasons = set()
    for bit in range(8 * len(body)):
        changed = bytearray(body)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            came = decode_body(bytes(changed), 0, len(changed))
        except wire.MalformedError:
            continue
        reasons.add(refused(came, chains))
    # An id, a time or a topic that changed is told before the signature is looked at.
    assert reasons == {
        *(Reason.FORGED, Reason.UNKNOWN, Reason.EXPIRED, Reason.EARLY, Reason.NO_RIGHT),
    }


def test_an_unsigned_batch_is_refused(chains: KnownChains) -> None:
    assert refused(batch(), chains) is Reason.UNSIGNED


def test_a_stranger_s_batch_is_refused(chains: KnownChains) -> None:
    own = grant(EVE, EVE)
    assert refused(signed(batch(by=EVE), EVE, own), chains) is Reason.UNKNOWN
    assert refused(signed(batch(by=EVE), EVE), chains) is Reason.FORGED  # by Ada's certificate
    assert refused(signed(batch(), EVE), chains) is Reason.FORGED  # in Ada's name


def test_a_member_publishes_where_his_certificate_says(chains: KnownChains) -> None:
    chess, joins, club = (
        grant(ROOT, EVE, ".chess"),
        grant(ROOT, EVE, ".soccer", Rights.JOIN),
        grant(ROOT, CLUB, ".soccer.italy.roma"),
    )
    for each in (chess, joins, club):
        chains.learn([each], NOW)
    assert refused(signed(batch(by=EVE), EVE, chess), chains) is Reason.NO_RIGHT
    assert refused(signed(batch(by=EVE), EVE, joins), chains) is Reason.NO_RIGHT
    assert refused(signed(batch(by=CLUB), CLUB, club), chains) is Reason.NO_RIGHT
    # Another's event, signed again in one's own name, or by another's certificate.
    assert refused(signed(batch(), EVE, chess), chains) is Reason.FORGED
    below = batch(by=CLUB, topic=Topic.parse(".soccer.italy.roma.lazio"))
    verify_batch(signed(below, CLUB, club), ITALY, chains, NOW, RETENTION)


def test_an_event_does_not_pass_into_another_topic(chains: KnownChains) -> None:
    sent, other = signed(batch()), batch(topic=Topic.parse(".soccer.spain"))
    moved = other.signed(sent.certificate, lambda _: sent.signature)
    assert refused(moved, chains) is Reason.FORGED


def test_a_batch_counts_for_as_long_as_it_is_kept(chains: KnownChains) -> None:
    first, last = NOW - SLACK_SECONDS, NOW + RETENTION + SLACK_SECONDS
    sent = signed(batch())
    assert_counts_between(
        first, last, lambda now: verify_batch(sent, ITALY, chains, now, RETENTION)
    )


def test_the_certificate_counts_at_the_time_of_publication(chains: KnownChains) -> None:
    until = NOW + DAY
    short = grant(ROOT, ADA, until=until)
    chains.learn([short], NOW)
    in_time = signed(batch(published=until + SLACK_SECONDS), certificate=short)
    too_late = signed(batch(published=until + SLACK_SECONDS + 1), certificate=short)
    verify_batch(in_time, ITALY, chains, until + SLACK_SECONDS + 60, RETENTION)
    assert refused(too_late, chains, until + SLACK_SECONDS + 60) is Reason.EXPIRED


def test_a_revoked_publisher_is_refused_at_once(chains: KnownChains) -> None:
    chains.take_revocations(revocations(1), NOW)
    assert refused(signed(batch()), chains) is Reason.REVOKED


def test_a_batch_counts_in_its_topic_s_group_and_above(chains: KnownChains) -> None:
    for name, reason in (
        *((".soccer.italy", None), (".soccer", None), (".", None)),
        *((".chess", Reason.OUTSIDE), (".soccerclub", Reason.OUTSIDE)),
        (".soccer.spain", None),  # beside its topic, but the publisher may publish there as well
        (".soccer.italy.roma", Reason.OUTSIDE),  # though he may
    ):
        group = Topic.parse(name)
        if reason is None:
            verify_batch(signed(batch()), group, chains, NOW, RETENTION)
        else:
            assert refused(signed(batch()), chains, group=group) is reason
