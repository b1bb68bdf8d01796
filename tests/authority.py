"""A small authority for tests: keys, and certificates that one of them issued for another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from camcast.security.certificates import CERTIFICATE, Certificate, Rights
from camcast.security.keys import SecretKey
from camcast.security.refusals import Reason, RefusedError
from camcast.security.revocation import (
    CERTIFICATES_END_FROM,
    REVOCATIONS,
    RevocationList,
    RevokedSerial,
)

NOW = 1_800_000_000
DAY = 24 * 3600
ROOT, CLUB, ADA, EVE = (SecretKey(name * 32) for name in (b"r", b"c", b"a", b"e"))
ALL = Rights.JOIN | Rights.PUBLISH | Rights.SERVE | Rights.ISSUE
MEMBER = Rights.JOIN | Rights.PUBLISH


def grant(
    issuer: SecretKey,
    subject: SecretKey,
    topic: str = ".soccer",
    rights: Rights = MEMBER,
    since: int = NOW,
    until: int = NOW + 7 * DAY,
    serial: int = 1,
    depth: int | None = None,
) -> bytes:
    deep = (1 if Rights.ISSUE in rights else 0) if depth is None else depth
    return CERTIFICATE.sign(
        Certificate(
            *(issuer.public.raw, subject.public.raw, topic, int(rights), since, until),
            *(serial.to_bytes(8), deep),
        ),
        issuer,
    )


def revocations(
    *serials: int, by: SecretKey = ROOT, number: int = 1, since: int = NOW, until: int = NOW + DAY
) -> bytes:
    """Return an issuer's list of revocations; `until` ends the list and what it names.

    What it names ends in 2004 at the earliest, also in worlds whose time begins at 0.
    """
    ends = max(until, CERTIFICATES_END_FROM)
    revoked = tuple(RevokedSerial(serial.to_bytes(8), ends) for serial in sorted(serials))
    return REVOCATIONS.sign(RevocationList(by.public.raw, number, since, until, revoked), by)


def anybody(_issuer: bytes) -> bytes:
    """Say that this key may issue certificates, as a root's may."""
    return b""


def reason_against(check: Callable[[], object]) -> Reason:
    """Return for what reason a check refuses what it checks."""
    with pytest.raises(RefusedError) as caught:
        check()
    return caught.value.reason


def assert_counts_between(first: float, last: float, check: Callable[[float], object]) -> None:
    """Assert that what is checked counts from one time to another, and a second beyond it not."""
    check(first)
    check(last)
    assert reason_against(partial(check, first - 1)) is Reason.EARLY
    assert reason_against(partial(check, last + 1)) is Reason.EXPIRED
