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


def test_what_is_due_is_said(ada: EventSignatures) -> None:
    assert ada.validity() == {(".soccer", "0000000000000005"): (NOW, NOW + 10 * DAY)}
    assert ada.lists() == {}
    assert ada.unlisted_roots() == [ROOT.public.text]
    assert EventSignatures(ADA, [ROOT.public], lists_expected=False).unlisted_roots() == []
    assert ada.take_revocations(revocations(until=NOW + HOUR), NOW) == ""
    assert ada.lists() == {ROOT.public.text: (NOW, NOW + HOUR)}
    assert ada.unlisted_roots() == []


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
