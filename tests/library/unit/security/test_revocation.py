from __future__ import annotations

from random import Random

import msgspec
import pytest

from camcast.security.certificates import CERTIFICATE, SLACK_SECONDS, Certificate
from camcast.security.keys import SecretKey
from camcast.security.refusals import Reason
from camcast.security.revocation import (
    BY_TIME_FROM,
    CERTIFICATES_END_FROM,
    EVERY_KEY,
    ISSUERS_MAX,
    LISTS_MAX,
    NEXT_UPDATE_SECONDS,
    REVOCATIONS,
    REVOCATIONS_BYTES_MAX,
    REVOKED_MAX,
    Predecessor,
    RevocationList,
    Revocations,
    RevokedSerial,
    SponsorOf,
    key_mark,
    next_list,
)
from tests.authority import ADA, CLUB, DAY, EVE, NOW, ROOT, anybody, grant, reason_against


def serial(number: int) -> bytes:
    return number.to_bytes(8)


def listed(*numbers: int, until: int = NOW + 7 * DAY) -> tuple[RevokedSerial, ...]:
    return tuple(RevokedSerial(serial(number), until) for number in sorted(numbers))


def granted(
    number: int = 1, *, by: SecretKey = ROOT, to: SecretKey = ADA, at: int = NOW
) -> Certificate:
    return CERTIFICATE.read(grant(by, to, serial=number, since=at, until=at + 7 * DAY))


def by_time(
    number: int, *serials: int, before: dict[bytes, int], by: SecretKey = ROOT, at: int = NOW
) -> bytes:
    value = next_list(
        *(by.public.raw, listed(*serials), Predecessor(number - 1, b"the last"), at),
        issued_before=before,
    )
    return REVOCATIONS.sign(msgspec.structs.replace(value, number=number), by)


def nobody(_issuer: bytes) -> None:
    return None


def signed(
    number: int, *numbers: int, by: SecretKey = ROOT, at: int = NOW, of: SecretKey | None = None
) -> bytes:
    issuer = (of or by).public.raw
    return REVOCATIONS.sign(RevocationList(issuer, number, at, at + DAY, listed(*numbers)), by)


def refused(revocations: Revocations, data: bytes, sponsor_of: SponsorOf = anybody) -> Reason:
    before = revocations.hash()
    reason = reason_against(lambda: revocations.take(data, NOW, sponsor_of))
    assert revocations.hash() == before
    return reason


def test_a_list_says_what_is_revoked() -> None:
    known = Revocations()
    assert known.take(signed(1, 5, 7), NOW, anybody)
    assert [known.revoked(granted(n)) for n in (5, 6, 7)] == [True, False, True]
    assert not known.revoked(granted(5, by=CLUB))
    assert known.all() == [signed(1, 5, 7)]


def test_what_any_list_revokes_stays_revoked_in_whichever_order_lists_come() -> None:
    lists = [signed(1, 1, 2), signed(2, 1, 3), signed(3, 1, 2), signed(4, 4), signed(4, 1)]
    lists += [signed(3, by=CLUB), signed(4, 1, by=CLUB)]
    known = list[list[bytes]]()
    for seed in range(40):
        revocations = Revocations()
        for data in Random(seed).sample(lists, len(lists)):
            revocations.take(data, NOW, anybody)
        for number in (1, 2, 3, 4):
            assert revocations.revoked(granted(number))
        assert revocations.revoked(granted(1, by=CLUB))
        known.append(sorted(revocations.all()))
    # The latest ones, and those that say more; not (1, 1, 2), of which nothing is missing.
    kept = sorted([lists[1], lists[2], lists[3], lists[4], lists[6]])
    assert known == [kept] * 40


def test_a_shorter_list_with_a_higher_number_takes_nothing_back_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = Revocations()
    assert known.take(signed(1, 5, 7), NOW, anybody)
    assert known.take(signed(2, 7), NOW, anybody)
    assert [known.revoked(granted(n)) for n in (5, 7)] == [True, True]
    assert known.all() == [signed(2, 7), signed(1, 5, 7)]
    assert "number 2, lacks 1 certificates" in caplog.text
    assert serial(5).hex() in caplog.text
    assert serial(7).hex() not in caplog.text
    caplog.clear()
    assert known.take(signed(3, 5, 7), NOW, anybody)  # the issuer has mended it
    assert known.all() == [signed(3, 5, 7)]
    assert not caplog.text


def test_what_has_expired_may_be_left_out() -> None:
    known = Revocations()
    until = NOW + 7 * DAY
    assert known.take(signed(1, 5), NOW, anybody)
    assert known.take(signed(2, at=until), until + SLACK_SECONDS + 1, anybody)
    assert known.all() == [signed(2, at=until)]


def test_lists_that_contradict_each_other_are_bounded() -> None:
    known = Revocations()
    for number in range(1, 3 * LISTS_MAX):
        assert known.take(signed(number, number), NOW, anybody)
    assert len(known.all()) == LISTS_MAX
    assert not known.take(signed(1, 1), NOW, anybody)
    assert len(known.all()) == LISTS_MAX


def test_an_old_list_is_no_news() -> None:
    known = Revocations()
    assert known.take(signed(2, 5), NOW, anybody)
    assert not known.take(signed(1), NOW, anybody)
    assert not known.take(signed(2, 5), NOW, anybody)
    assert known.revoked(granted(5))


def test_what_is_no_issuer_s_list_is_refused() -> None:
    known = Revocations()
    assert refused(known, signed(1, by=EVE, of=ROOT)) is Reason.FORGED
    assert refused(known, signed(1), nobody) is Reason.UNTRUSTED
    assert refused(known, signed(1, at=NOW + SLACK_SECONDS + 1)) is Reason.EARLY
    assert refused(known, signed(1)[:-1]) is Reason.MALFORMED
    assert known.take(signed(1, at=NOW + SLACK_SECONDS), NOW, anybody)


def test_a_list_is_in_ascending_order_and_bounded() -> None:
    with pytest.raises(ValueError, match="ascending"):
        RevocationList(ROOT.public.raw, 1, NOW, NOW + 1, listed(1) + listed(1))
    with pytest.raises(ValueError, match="due after"):
        RevocationList(ROOT.public.raw, 1, NOW, NOW, ())
    full = signed(1, *range(REVOKED_MAX))
    assert len(full) <= REVOCATIONS_BYTES_MAX
    assert Revocations().take(full, NOW, anybody)
    assert refused(Revocations(), signed(1, *range(REVOKED_MAX + 1))) is Reason.MALFORMED


def test_lists_of_the_issuers_below_one_issuer_are_bounded_and_keep_nobody_else_out() -> None:
    """The lists of 256 keys that one issuer had made were all that a process took, for ever."""

    def below(sponsor: SecretKey) -> SponsorOf:
        return lambda _: sponsor.public.raw

    known = Revocations()
    for number in range(ISSUERS_MAX):
        assert known.take(signed(1, by=SecretKey(number.to_bytes(32))), NOW, below(CLUB))
    assert refused(known, signed(1, by=EVE), below(CLUB)) is Reason.UNTRUSTED
    assert known.take(signed(2, by=SecretKey(bytes(32))), NOW, below(CLUB))
    assert known.take(signed(1, by=EVE), NOW, below(ADA))
    assert known.take(signed(1), NOW, anybody)


def test_the_latest_list_says_when_the_next_one_is_due() -> None:
    known = Revocations()
    known.take(signed(1, 5), NOW, anybody)
    known.take(signed(2, at=NOW + DAY), NOW + DAY, anybody)  # beside which the first one stays
    latest = known.latest()[ROOT.public.raw]
    assert (latest.issued, latest.next_update) == (NOW + DAY, NOW + 2 * DAY)


def test_the_next_list_keeps_what_has_not_expired() -> None:
    key = ROOT.public.raw
    ever = listed(7) + listed(3, until=NOW + 10)
    first = next_list(key, ever, None, NOW)
    assert first == RevocationList(
        *(key, NOW, NOW, NOW + NEXT_UPDATE_SECONDS, listed(3, until=NOW + 10) + listed(7))
    )
    assert first.predecessor == b""
    before = Predecessor(first.number, serial(6))
    second = next_list(key, ever + listed(5), before, NOW)
    assert (second.number, second.predecessor) == (NOW + 1, serial(6))
    assert [entry.serial for entry in second.certificates] == [serial(n) for n in (3, 5, 7)]
    later = next_list(key, ever + listed(5), before, NOW + 11 + SLACK_SECONDS)
    assert [entry.serial for entry in later.certificates] == [serial(5), serial(7)]
    assert later.number == NOW + 11 + SLACK_SECONDS


def test_the_list_before_is_named_and_revokes_nothing() -> None:
    before = Predecessor(NOW, serial(6))
    data = REVOCATIONS.sign(next_list(ROOT.public.raw, listed(5), before, NOW), ROOT)
    known = Revocations()
    assert known.take(data, NOW, anybody)
    assert [known.revoked(granted(n)) for n in (5, 6)] == [True, False]


def test_a_full_list_is_told() -> None:
    with pytest.raises(ValueError, match="has room for 1500 entries, and 1501"):
        next_list(ROOT.public.raw, listed(*range(REVOKED_MAX + 1)), None, NOW)
    before = Predecessor(NOW, b"the last")
    with pytest.raises(ValueError, match="has room for 1500 entries, and 1501"):
        next_list(ROOT.public.raw, listed(*range(REVOKED_MAX)), before, NOW)


ADAS, EVES = key_mark(ADA.public.raw), key_mark(EVE.public.raw)


def test_what_a_key_got_before_a_time_counts_no_more_and_what_it_gets_later_does() -> None:
    known = Revocations()
    assert known.take(by_time(1, before={ADAS: NOW - 10}), NOW, anybody)
    assert known
    assert known.revoked(granted(at=NOW - 11))
    assert not known.revoked(granted(at=NOW - 10))
    assert not known.revoked(granted(to=EVE, at=NOW - 11))
    assert not known.revoked(granted(by=CLUB, at=NOW - 11))


def test_what_all_keys_got_before_a_time_counts_no_more() -> None:
    known = Revocations()
    assert known.take(by_time(1, before={EVERY_KEY: NOW - 10, ADAS: NOW - 5}), NOW, anybody)
    for key, ends in ((ADA, NOW - 5), (EVE, NOW - 10)):
        assert known.revoked(granted(to=key, at=ends - 1))
        assert not known.revoked(granted(to=key, at=ends))


def test_a_time_is_never_taken_back_in_whichever_order_lists_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lists = [
        by_time(1, before={ADAS: NOW - 10}),
        by_time(2, before={EVES: NOW - 20}),
        by_time(3, 5, before={EVES: NOW - 20}),
    ]
    for seed in range(12):
        revocations = Revocations()
        for data in Random(seed).sample(lists, len(lists)):
            revocations.take(data, NOW, anybody)
        assert revocations.all() == [lists[2], lists[0]]
        assert revocations.revoked(granted(at=NOW - 11))
        assert revocations.revoked(granted(to=EVE, at=NOW - 21))
    assert f"the key with the hash {ADAS.hex()} issued before 2027-01-15T07:59:50Z" in caplog.text
    # A later time for all keys says what the earlier ones say.
    revocations.take(by_time(4, 5, before={EVERY_KEY: NOW - 1}), NOW, anybody)
    assert len(revocations.all()) == 1


def test_a_release_that_knows_serials_only_reads_the_list_and_revokes_what_it_names() -> None:
    """To it, an entry is a serial and an end, whatever the end is."""
    named = listed(3, until=NOW + DAY) + listed(4, until=NOW - DAY)
    value = next_list(
        *(ROOT.public.raw, listed(7), None, NOW), issued_before={ADAS: NOW}, by_time=named
    )
    _version, issuer, *_, entries = msgspec.msgpack.decode(REVOCATIONS.sign(value, ROOT)[:-64])
    assert issuer == ROOT.public.raw
    assert [type(one) for entry in entries for one in entry] == [bytes, int] * 3
    assert {one for one, _ in entries} == {serial(3), serial(7), ADAS}
    assert [entry.serial for entry in value.certificates] == [serial(3), serial(7)]


def test_revoking_by_time_makes_room_in_a_full_list() -> None:
    named = listed(*range(1, REVOKED_MAX + 2))
    value = next_list(
        *(ROOT.public.raw, (), None, NOW), issued_before={EVERY_KEY: NOW}, by_time=named
    )
    assert len(value.revoked) == REVOKED_MAX
    assert value.issued_before == {EVERY_KEY: NOW}


@pytest.mark.parametrize(
    "time", [NOW + 1, BY_TIME_FROM, BY_TIME_FROM + CERTIFICATES_END_FROM, 0, -1]
)
def test_a_time_that_no_list_can_state_is_refused(time: int) -> None:
    with pytest.raises(ValueError, match="a list revokes"):
        next_list(ROOT.public.raw, (), None, NOW, issued_before={ADAS: time})
