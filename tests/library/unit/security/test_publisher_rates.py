"""What a certificate allows its owner to send a second, counted by itself and by all others."""

from __future__ import annotations

import pytest
from msgspec.structs import astuple

from camcast.security.certificates import (
    CERTIFICATE,
    CERTIFICATE_BYTES_MAX,
    SLACK_SECONDS,
    Certificate,
    Rate,
    RatedCertificate,
    Rights,
)
from camcast.security.chains import verify_chain
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import Domain, SecretKey
from camcast.security.publisher_rates import AT_ONCE_SECONDS, CLOCKS_DIFFER, LATE_SECONDS
from camcast.security.refusals import Reason
from camcast.security.sealed import Seal
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.penalties import fault_in
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, ALL, CLUB, DAY, EVE, NOW, ROOT, grant, reason_against

SOCCER = Topic.parse(".soccer")
STREAM = stream_id(ADA.public.peer_id, 1)
RETENTION = 120.0
BURST = int(2 * (AT_ONCE_SECONDS + LATE_SECONDS))
"""As many events as 2 a second allow at once at a forwarder."""


def rated(
    issuer: SecretKey, subject: SecretKey, rate: Rate, rights: Rights = ALL, depth: int = 1
) -> bytes:
    plain = CERTIFICATE.read(grant(issuer, subject, rights=rights, depth=depth))
    return CERTIFICATE.sign(RatedCertificate.of(plain, rate), issuer)


def process(
    key: SecretKey, rate: Rate | None = None, chain: list[bytes] | None = None
) -> EventSignatures:
    signatures = EventSignatures(key, [ROOT.public])
    if rate is not None:
        chain = [rated(ROOT, key, rate)]
    signatures.renew([chain or [grant(ROOT, key, rights=ALL)]], NOW)
    return signatures


def forwarder(publisher: EventSignatures) -> EventSignatures:
    one = process(EVE)
    assert not one.learn(publisher.own[0].data, NOW)
    return one


def batch(
    publisher: EventSignatures, first: int, count: int = 1, at: float = 0.0, size: int = 4
) -> Batch:
    made = make_batch(
        *(STREAM, first, [b"!" * size] * count, SOCCER), published=round(1000 * (NOW + at))
    )
    return publisher.sign(made)


def taken(one: EventSignatures, came: Batch, at: float = 0.0) -> bool:
    reason = one.refusal(came, SOCCER, NOW + at, RETENTION)
    assert reason in ("", Reason.OVER_RATE.value)
    return not reason


def test_a_publisher_is_refused_what_is_beyond_its_rate_and_told_when_to_go_on() -> None:
    ada = process(ADA, Rate(events=2))
    said = [ada.spend(SOCCER, 100, NOW) for _ in range(21)]
    assert said == [""] * 20 + [Reason.OVER_RATE.value]
    assert "allows 2 events a second, and those of 10 s at once; publish again in 0.5 s" in (
        said[-1].says
    )
    assert [ada.spend(SOCCER, 100, NOW + 1) for _ in range(3)] == ["", "", "over_rate"]


def test_bytes_are_bounded_as_events_are_and_what_never_fits_is_told_so() -> None:
    ada = process(ADA, Rate(bytes=100))
    assert "publish a smaller event" in ada.spend(SOCCER, 1001, NOW).says
    assert [ada.spend(SOCCER, 500, NOW) for _ in range(3)] == ["", "", "over_rate"]


def test_others_drop_what_is_beyond_the_rate_and_blame_nobody_who_passes_it_on() -> None:
    ada = process(ADA, Rate(events=2))
    eve = forwarder(ada)
    at_once = [taken(eve, batch(ada, first)) for first in range(1, BURST + 11)]
    assert at_once == [True] * BURST + [False] * 10
    assert taken(eve, batch(ada, BURST + 11, at=1), 1)
    assert taken(eve, batch(ada, 1))  # in another group, and counted once
    assert fault_in(Reason.OVER_RATE.value) is None


def test_a_batch_counts_as_many_events_and_bytes_as_it_has() -> None:
    ada = process(ADA, Rate(events=2))
    eve = forwarder(ada)
    taken_events = sum(
        128 * taken(eve, batch(ada, 1 + 128 * number, 128)) for number in range(BURST // 64)
    )
    assert BURST - 128 < taken_events <= BURST
    ada = process(ADA, Rate(bytes=100))
    eve = forwarder(ada)
    size = len(batch(ada, 1, size=2000).body)
    big = [taken(eve, batch(ada, number, size=2000)) for number in range(1, 100)]
    assert sum(big) == int(100 * (AT_ONCE_SECONDS + LATE_SECONDS)) // size


def test_what_a_publisher_sends_within_its_rate_is_taken_though_all_of_it_comes_at_once() -> None:
    ada = process(ADA, Rate(events=1))
    eve = forwarder(ada)
    came = list[Batch]()
    for second in range(int(RETENTION)):
        while not ada.spend(SOCCER, 100, NOW + second):
            came.append(batch(ada, len(came) + 1, at=second))
    assert len(came) == RETENTION + AT_ONCE_SECONDS - 1
    # Behind a cut that heals, the latest first.
    assert all(taken(eve, one, RETENTION) for one in reversed(came))


def test_a_publisher_at_its_limit_whose_clock_is_a_little_faster_is_refused_nothing() -> None:
    ada = process(ADA, Rate(events=128))
    eve = forwarder(ada)
    full = int(AT_ONCE_SECONDS + LATE_SECONDS)
    assert all(taken(eve, batch(ada, 1 + 128 * number, 128)) for number in range(full))
    assert not taken(eve, batch(ada, 1 + 128 * full))
    early = 1 / (1 + CLOCKS_DIFFER / 2)
    assert taken(eve, batch(ada, 1 + 128 * full, 128, at=early), early)


def test_forged_events_take_nothing_of_a_publisher_s_rate() -> None:
    ada = process(ADA, Rate(events=2))
    eve = forwarder(ada)
    for first in range(1, 5):
        lie = make_batch(STREAM, first, [b"lie"] * 256, SOCCER, published=NOW * 1000)
        forged = lie.signed(ada.own[0].hash, lambda _: bytes(64))
        assert eve.refusal(forged, SOCCER, NOW, RETENTION) == Reason.FORGED.value
    assert all(taken(eve, batch(ada, first)) for first in range(1, BURST + 1))


def test_history_that_was_asked_for_is_not_counted() -> None:
    ada = process(ADA, Rate(events=2))
    eve = forwarder(ada)
    later = NOW + LATE_SECONDS + SLACK_SECONDS + 1
    old = (batch(ada, first) for first in range(1, BURST + 11))
    assert {eve.refusal(one, SOCCER, later, DAY) for one in old} == {""}


def test_the_lowest_rate_of_a_chain_counts() -> None:
    above = rated(ROOT, CLUB, Rate(events=5, bytes=7))
    below = rated(CLUB, ADA, Rate(events=9, bytes=3), Rights.PUBLISH, depth=0)
    plain = grant(CLUB, ADA, rights=Rights.PUBLISH)
    for last, rate in ((below, Rate(5, 3)), (plain, Rate(5, 7))):
        assert verify_chain([above, last], [ROOT.public]).rate == rate
    unbounded = verify_chain([grant(ROOT, CLUB, rights=ALL), plain], [ROOT.public])
    assert unbounded.rate == Rate()


def test_a_release_that_knows_no_rates_refuses_the_certificate_and_reads_those_without() -> None:
    before = Seal(Certificate, Domain.CERTIFICATE, CERTIFICATE_BYTES_MAX)
    assert before.read(grant(ROOT, ADA)) == CERTIFICATE.read(grant(ROOT, ADA))
    new = rated(ROOT, ADA, Rate(events=1))
    assert reason_against(lambda: before.read(new)) is Reason.MALFORMED


def test_a_certificate_without_a_rate_has_one_form() -> None:
    plain = CERTIFICATE.read(grant(ROOT, ADA))
    fields = (*astuple(plain), 0, 0)
    assert RatedCertificate.of(plain, Rate()) is plain
    with pytest.raises(ValueError, match="of version 1"):
        RatedCertificate(*fields)
