from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import pairwise
from random import Random

import msgspec
import pytest

from camcast.security.certificates import CERTIFICATE, SLACK_SECONDS, Certificate, Rights
from camcast.security.chains import Chain, verify_chain
from camcast.security.keys import SecretKey
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.topics import Topic
from tests.authority import (
    ADA,
    ALL,
    CLUB,
    DAY,
    EVE,
    MEMBER,
    NOW,
    ROOT,
    assert_counts_between,
    grant,
    reason_against,
)

ROOTS = (ROOT.public,)
SOCCER, ITALY = Topic.parse(".soccer"), Topic.parse(".soccer.italy")


def nobody(_certificate: Certificate) -> bool:
    return False


def refused(*data: bytes, roots: tuple[SecretKey, ...] = (ROOT,)) -> Reason:
    return reason_against(lambda: verify_chain(data, [root.public for root in roots]))


def test_a_chain_grants_what_its_last_certificate_does() -> None:
    above = grant(ROOT, CLUB, ".soccer", ALL, depth=3)
    below = grant(CLUB, ADA, ".soccer.italy", MEMBER)
    chain = verify_chain([above, below], ROOTS)
    assert chain.subject == ADA.public
    assert chain.last == CERTIFICATE.read(below)
    chain.check(Rights.PUBLISH, ITALY, NOW, nobody)
    for right, topic in ((Rights.PUBLISH, SOCCER), (Rights.SERVE, ITALY)):
        with pytest.raises(RefusedError, match="is for join, publish in") as caught:
            chain.check(right, topic, NOW, nobody)
        assert caught.value.reason is Reason.NO_RIGHT


def test_the_hash_is_the_last_certificate_s() -> None:
    above, below = grant(ROOT, CLUB, rights=ALL), grant(CLUB, ADA)
    assert verify_chain([above, below], ROOTS).hash == verify_chain([below], [CLUB.public]).hash
    assert verify_chain([above, below], ROOTS).hash != verify_chain([above], ROOTS).hash
    assert len(verify_chain([above], ROOTS).hash) == 8


def test_a_chain_is_valid_for_a_time() -> None:
    chain = verify_chain([grant(ROOT, ADA, since=NOW, until=NOW + DAY)], ROOTS)
    first, last = NOW - SLACK_SECONDS, NOW + DAY + SLACK_SECONDS
    assert_counts_between(first, last, lambda now: chain.check_valid(now, nobody))


@pytest.mark.parametrize("revoked", [(ROOT, 5), (CLUB, 6), (ROOT, 6), (CLUB, 5)])
def test_a_chain_with_a_revoked_link_counts_no_more(revoked: tuple[SecretKey, int]) -> None:
    chain = verify_chain(
        [grant(ROOT, CLUB, rights=ALL, serial=5), grant(CLUB, ADA, serial=6)], ROOTS
    )

    def is_revoked(certificate: Certificate) -> bool:
        named = revoked[0].public.raw, revoked[1]
        return (certificate.issuer, int.from_bytes(certificate.serial)) == named

    if revoked in ((ROOT, 5), (CLUB, 6)):
        checks = partial(chain.check, Rights.JOIN, SOCCER, NOW, is_revoked)
        assert reason_against(checks) is Reason.REVOKED
    else:  # another issuer's certificate of that number
        chain.check(Rights.JOIN, SOCCER, NOW, is_revoked)


def test_a_stranger_s_chain_is_refused() -> None:
    assert refused(grant(EVE, EVE, rights=ALL)) is Reason.UNTRUSTED
    assert refused(grant(ROOT, CLUB, rights=ALL), grant(EVE, EVE)) is Reason.UNTRUSTED
    assert refused(grant(CLUB, ADA)) is Reason.UNTRUSTED  # the link above it is missing
    assert refused(grant(CLUB, ADA), grant(ROOT, CLUB, rights=ALL)) is Reason.UNTRUSTED
    assert refused() is Reason.MALFORMED


def test_a_certificate_in_another_s_name_is_refused() -> None:
    body = grant(EVE, EVE)[:-64].replace(EVE.public.raw, ROOT.public.raw, 1)
    signed = CERTIFICATE.sign(msgspec.msgpack.decode(body, type=Certificate), EVE)
    assert signed[:-64] == body
    assert refused(signed) is Reason.FORGED
    assert refused(body + grant(ROOT, ADA)[-64:]) is Reason.FORGED


def test_a_chain_has_four_certificates_at_most() -> None:
    keys = [ROOT, *(SecretKey(bytes([n]) * 32) for n in range(5))]
    chain = [
        grant(above, below, rights=ALL if depth else MEMBER, depth=depth)
        for (above, below), depth in zip(pairwise(keys[:5]), (3, 2, 1, 0), strict=True)
    ]
    assert verify_chain(chain, ROOTS).subject == keys[4].public
    assert refused(*chain, grant(keys[4], keys[5])) is Reason.MALFORMED


# The dumb twin: a certificate is the set of all that it allows, over a small world.
LEVELS = ("a", "b", "ab")
TOPICS = [(), *((x,) for x in LEVELS), *((x, y) for x in LEVELS for y in LEVELS)]
TIMES = range(4)
NAMES = ("join", "publish", "serve", "issue")


def allowed(certificate: Certificate) -> set[tuple[str, tuple[str, ...], int]]:
    prefix = tuple(level for level in certificate.prefix.split(".") if level)
    return {
        (name, topic, time)
        for bit, name in enumerate(NAMES)
        if certificate.rights_bits >> bit & 1
        for topic in TOPICS
        if list(topic[: len(prefix)]) == list(prefix)
        for time in TIMES
        if certificate.not_before <= time <= certificate.not_after
    }


def twin_accepts(certificates: list[Certificate]) -> bool:
    below = len(certificates)
    for place, certificate in enumerate(certificates):
        below -= 1
        issuer = certificates[place - 1].subject if place else ROOT.public.raw
        if certificate.issuer != issuer or not below <= certificate.depth:
            return False
        if place:
            above = certificates[place - 1]
            if "issue" not in {name for name, _, _ in allowed(above)}:
                return False
            if not allowed(certificate) <= allowed(above):
                return False
            if not certificate.depth <= above.depth - 1:
                return False
    return True


KEYS = [SecretKey(bytes([n]) * 32) for n in range(3)]


def random_chain(rng: Random) -> list[Certificate]:
    """Of 1 to 4 links; in half the chains all names fit, so that the other rules decide."""
    length, fits = rng.randint(1, 4), rng.random() < 0.8
    keys = [ROOT, *(rng.choice(KEYS) for _ in range(length))]
    chain = []
    for place, (above, below) in enumerate(pairwise(keys)):
        issuer = above if fits else rng.choice([ROOT, *KEYS])
        rights = rng.choice([15] * 9 + [14, 11, 8] if place < length - 1 else [15, 9, 7, 3, 1])
        since, until = rng.choice([(0, 3)] * 9 + [(0, 2), (1, 3), (1, 2)])
        prefix = rng.choice(["."] * 9 + [".a"] * 3 + [".ab", ".a.b", ".a.ab"])
        depth = rng.choice([3 - place] * 4 + [1, 2, 3]) or 1
        chain.append(
            Certificate(
                *(issuer.public.raw, below.public.raw, prefix, rights, since, until),
                *(bytes(8), depth if rights & 8 else 0),
            )
        )
    return chain


def accepted(chain: list[Certificate]) -> Chain | Reason:
    owners = {key.public.raw: key for key in (ROOT, *KEYS)}
    try:
        return verify_chain([CERTIFICATE.sign(link, owners[link.issuer]) for link in chain], ROOTS)
    except RefusedError as error:
        return error.reason


def test_a_chain_counts_if_each_link_allows_a_subset() -> None:
    rng, met = Random(1), Counter[tuple[int, bool]]()
    for _ in range(2000):
        chain = random_chain(rng)
        found, counts = accepted(chain), twin_accepts(chain)
        met[len(chain), counts] += 1
        assert isinstance(found, Chain) == counts, chain
        if isinstance(found, Chain):
            assert all(allowed(found.last) <= allowed(link) for link in chain)
        else:
            assert found in (Reason.UNTRUSTED, Reason.WIDER)
    # Both answers are met at each length that both can be given for.
    assert all(met[length, counts] for length in (1, 2, 3, 4) for counts in (True, False)), met
