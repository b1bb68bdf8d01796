from __future__ import annotations

from random import Random

import pytest

from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import SecretKey
from camcast.security.refusals import Reason
from camcast.security.revocation import (
    ISSUERS_MAX,
    NEXT_UPDATE_SECONDS,
    REVOCATIONS,
    REVOCATIONS_BYTES_MAX,
    REVOKED_MAX,
    RevocationList,
    Revocations,
    RevokedSerial,
    SponsorOf,
    next_list,
)
from tests.authority import ADA, CLUB, DAY, EVE, NOW, ROOT, anybody, reason_against


def serial(number: int) -> bytes:
    return number.to_bytes(8)


def listed(*numbers: int, until: int = NOW + 7 * DAY) -> tuple[RevokedSerial, ...]:
    return tuple(RevokedSerial(serial(number), until) for number in sorted(numbers))


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
    assert [known.revoked(ROOT.public.raw, serial(n)) for n in (5, 6, 7)] == [True, False, True]
    assert not known.revoked(CLUB.public.raw, serial(5))
    assert known.all() == [signed(1, 5, 7)]


def test_the_highest_number_wins_in_any_order() -> None:
    lists = [signed(number, number) for number in range(1, 6)]
    lists += [signed(5, 99), signed(3, by=CLUB), signed(4, 1, by=CLUB)]
    hashes = set()
    for seed in range(20):
        known = Revocations()
        for data in Random(seed).sample(lists, len(lists)):
            known.take(data, NOW, anybody)
        assert not known.revoked(ROOT.public.raw, serial(4))
        assert known.revoked(CLUB.public.raw, serial(1))
        hashes.add(known.hash())
    assert len(hashes) == 1


def test_an_old_list_is_no_news() -> None:
    known = Revocations()
    assert known.take(signed(2, 5), NOW, anybody)
    assert not known.take(signed(1), NOW, anybody)
    assert not known.take(signed(2, 5), NOW, anybody)
    assert known.revoked(ROOT.public.raw, serial(5))


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


def test_a_list_that_is_not_renewed_is_overdue() -> None:
    known = Revocations()
    known.take(signed(1), NOW, anybody)
    assert known.overdue(NOW + DAY + SLACK_SECONDS) == []
    assert known.overdue(NOW + DAY + SLACK_SECONDS + 1) == [ROOT.public.raw]
    known.take(signed(2, at=NOW + DAY), NOW + DAY, anybody)
    assert known.overdue(NOW + DAY + SLACK_SECONDS + 1) == []


def test_the_next_list_keeps_what_has_not_expired() -> None:
    key = ROOT.public.raw
    first = next_list(None, key, listed(7) + listed(3, until=NOW + 10), NOW)
    assert first == RevocationList(
        *(key, NOW, NOW, NOW + NEXT_UPDATE_SECONDS, listed(3, until=NOW + 10) + listed(7))
    )
    second = next_list(first, key, listed(5), NOW)
    assert second.number == NOW + 1
    assert [entry.serial for entry in second.revoked] == [serial(n) for n in (3, 5, 7)]
    later = next_list(second, key, (), NOW + 11 + SLACK_SECONDS)
    assert [entry.serial for entry in later.revoked] == [serial(5), serial(7)]
    assert later.number == NOW + 11 + SLACK_SECONDS


def test_a_full_list_is_told() -> None:
    with pytest.raises(ValueError, match="has room for 1500 revoked certificates, and 1501"):
        next_list(None, ROOT.public.raw, listed(*range(REVOKED_MAX + 1)), NOW)
