from __future__ import annotations

from functools import partial

import pytest

from camcast.security.certificates import Rights
from camcast.security.event_signatures import EventSignatures
from camcast.security.refusals import Reason
from camcast.security.sealed import seal_hash
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, DAY, EVE, NOW, ROOT, grant, reason_against, revocations

HOUR = 3600


@pytest.fixture
def ada() -> EventSignatures:
    signatures = EventSignatures(ADA, [ROOT.public])
    signatures.renew([[grant(ROOT, ADA, until=NOW + 10 * DAY, serial=5)]], NOW)
    return signatures


def test_a_certificate_that_ends_soon_is_warned_of(ada: EventSignatures) -> None:
    assert ada.warnings(NOW + 8 * DAY) == {}
    said = "the certificate 0000000000000005 of this process, for .soccer, "
    (warning,) = ada.warnings(NOW + 8 * DAY + 1).values()
    assert warning == f"{said}ends in 48.0 hours: certify its key again"
    (warning,) = ada.warnings(NOW + 11 * DAY).values()
    assert warning == f"{said}has ended: certify its key again"
    ada.renew([[grant(ROOT, ADA, since=NOW + 8 * DAY, until=NOW + 18 * DAY)]], NOW + 9 * DAY)
    assert ada.warnings(NOW + 9 * DAY) == {}


def test_an_overdue_list_is_warned_of(ada: EventSignatures) -> None:
    assert ada.take_revocations(revocations(until=NOW + HOUR), NOW) == ""
    assert ada.warnings(NOW + HOUR) == {}
    assert f"of {ROOT.public} is overdue" in ada.warnings(NOW + 2 * HOUR)[ROOT.public.raw]


def test_another_s_certificate_is_no_own_one(ada: EventSignatures) -> None:
    for data, reason in (
        (grant(ROOT, EVE), Reason.UNTRUSTED),
        (grant(EVE, ADA), Reason.UNTRUSTED),
        (grant(ROOT, ADA, until=NOW + 1), Reason.EXPIRED),
    ):
        assert reason_against(partial(ada.renew, [[data]], NOW + HOUR)) is reason
    assert ada.may_publish(Topic.parse(".soccer"), NOW)


def test_the_chain_that_grants_it_is_signed_by_and_own_ones_are_never_forgotten(
    ada: EventSignatures, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = grant(ROOT, ADA, ".chess", Rights.JOIN)
    publishes = grant(ROOT, ADA, ".go", Rights.PUBLISH)
    ada.renew([[joins], [publishes]], NOW)
    monkeypatch.setattr("camcast.security.known_chains.CHAINS_MAX", 1)
    assert ada.learn([grant(ROOT, EVE)], NOW) == ""
    assert ada.chain(seal_hash(publishes)) == (publishes,)
    assert ada.chain(seal_hash(joins)) == (joins,)
    assert ada.chain(b"unknown!") == ()
    topics = {name: ada.may_publish(Topic.parse(name), NOW) for name in (".chess", ".go", ".go.a")}
    assert topics == {".chess": False, ".go": True, ".go.a": True}
