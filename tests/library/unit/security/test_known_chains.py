from __future__ import annotations

from functools import partial

import pytest

from camcast.security.certificates import CERTIFICATE, SLACK_SECONDS
from camcast.security.known_chains import CHAINS_MAX, KnownChains
from camcast.security.refusals import Reason, RefusedError
from camcast.security.sealed import seal_hash
from tests.authority import ADA, ALL, CLUB, DAY, EVE, NOW, ROOT, grant, reason_against, revocations


def refused(chains: KnownChains, *data: bytes, now: int = NOW) -> Reason:
    return reason_against(lambda: chains.learn(data, now))


def unknown(chains: KnownChains, data: bytes) -> bool:
    try:
        chains.chain(seal_hash(data))
    except RefusedError as error:
        return error.reason is Reason.UNKNOWN
    return False


def test_what_verified_is_known_by_its_hash() -> None:
    chains, data = KnownChains([ROOT.public]), grant(ROOT, ADA)
    assert unknown(chains, data)
    chain = chains.learn([data], NOW)
    assert chains.chain(seal_hash(data)) is chain
    assert chains.learn([data], NOW) is chain


def test_what_does_not_count_is_not_kept() -> None:
    chains = KnownChains([ROOT.public])
    chains.take_revocations(revocations(9), NOW)
    late = grant(ROOT, ADA, until=NOW + 1)
    for data, reason, now in (
        (grant(EVE, EVE), Reason.UNTRUSTED, NOW),
        (grant(ROOT, ADA, serial=9), Reason.REVOKED, NOW),
        (late, Reason.EXPIRED, NOW + SLACK_SECONDS + 2),
        (grant(ROOT, ADA)[:-1] + b"\0", Reason.FORGED, NOW),
    ):
        assert refused(chains, data, now=now) is reason
        assert unknown(chains, data)
    assert refused(chains) is Reason.MALFORMED


def test_what_is_known_is_judged_again() -> None:
    chains, data = KnownChains([ROOT.public]), grant(ROOT, ADA, until=NOW + DAY)
    chains.learn([data], NOW)
    assert refused(chains, data, now=NOW + DAY + SLACK_SECONDS + 1) is Reason.EXPIRED
    chains.take_revocations(revocations(1), NOW)
    assert refused(chains, data) is Reason.REVOKED


def test_an_issuer_s_renewed_certificate_takes_the_old_one_s_place() -> None:
    chains, below = KnownChains([ROOT.public]), grant(CLUB, ADA)
    old, new = (grant(ROOT, CLUB, rights=ALL, serial=serial) for serial in (5, 6))
    chains.learn([old, below], NOW)
    chains.take_revocations(revocations(5), NOW)
    assert chains.learn([new, below], NOW).certificates[0] == CERTIFICATE.read(new)
    assert refused(chains, old, below) is Reason.REVOKED  # and does not come back
    assert chains.chain(seal_hash(below)).certificates[0] == CERTIFICATE.read(new)


def test_only_who_may_issue_revokes() -> None:
    chains = KnownChains([ROOT.public])
    assert chains.take_revocations(revocations(), NOW)
    for issuer in (CLUB, ADA, EVE):
        news = revocations(1, by=issuer)
        assert reason_against(partial(chains.take_revocations, news, NOW)) is Reason.UNTRUSTED
    chains.learn([grant(ROOT, CLUB, rights=ALL), grant(CLUB, ADA)], NOW)
    assert chains.take_revocations(revocations(1, by=CLUB), NOW)
    assert refused(chains, grant(ROOT, CLUB, rights=ALL), grant(CLUB, ADA)) is Reason.REVOKED
    with pytest.raises(RefusedError):
        chains.take_revocations(revocations(1, by=ADA), NOW)


def test_the_chains_are_bounded_and_the_ones_in_use_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CHAINS_MAX == 4096
    monkeypatch.setattr("camcast.security.known_chains.CHAINS_MAX", 3)
    chains = KnownChains([ROOT.public])
    data = [grant(ROOT, CLUB, rights=ALL, serial=serial) for serial in range(4)]
    for each in data[:3]:
        chains.learn([each], NOW)
    chains.chain(seal_hash(data[0]))
    chains.learn([data[3]], NOW)
    assert [unknown(chains, each) for each in data] == [False, True, False, False]
    for number in range(3):  # the club's right to issue goes with the last of its chains
        assert chains.take_revocations(revocations(by=CLUB, number=number + 1), NOW)
        chains.learn([grant(ROOT, EVE, serial=number)], NOW)
    with pytest.raises(RefusedError):
        chains.take_revocations(revocations(by=CLUB, number=9), NOW)


def test_who_is_put_out_has_a_revoked_chain_and_no_other() -> None:
    chains = KnownChains([ROOT.public])
    for data in (grant(ROOT, ADA, serial=1), grant(ROOT, EVE, serial=2)):
        chains.learn([data], NOW)
    assert chains.put_out(NOW) == []
    chains.take_revocations(revocations(1, 2), NOW)
    assert chains.put_out(NOW) == [ADA.public.peer_id, EVE.public.peer_id]
    chains.learn([grant(ROOT, ADA, serial=3)], NOW)
    assert chains.put_out(NOW) == [EVE.public.peer_id]


def test_an_issuer_with_many_chains_makes_room_for_more_by_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("camcast.security.known_chains.CHAINS_MAX", 32)
    chains, ada = KnownChains([ROOT.public]), grant(ROOT, ADA)
    club = grant(ROOT, CLUB, rights=ALL)
    chains.learn([ada], NOW)
    of_club = [grant(CLUB, EVE, serial=number) for number in range(64)]
    for data in of_club:
        chains.learn([club, data], NOW)
    assert not unknown(chains, ada)
    assert [unknown(chains, data) for data in of_club] == [True] * 33 + [False] * 31
