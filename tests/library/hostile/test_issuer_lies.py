"""Lies of members and of issuers that made keys of their own: what they cost, and whom they bar."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from camcast.engine.guard.access_control import CHECKS_A_SECOND
from camcast.engine.security_messages import Certificates, Introductions, RevocationNews
from camcast.security.certificates import Rights
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import Domain, PublicKey, SecretKey
from camcast.security.known_peers import KnownPeers
from camcast.security.records import PeerRecord, sign_record
from camcast.security.refusals import Reason, RefusedError
from camcast.security.sealed import seal_hash
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from membership.scamp.messages import Copy
from tests.admitted_world import ELSEWHERE, THERE, AdmittedWorld, introduction, record
from tests.authority import ADA, CLUB, EVE, MEMBER, NOW, ROOT, grant, revocations
from tests.signed_world import SOCCER, SignedWorld, certificate, control, key

FAR = 2**32 - 1
ISSUER = MEMBER | Rights.ISSUE
CAROL = key(7)
PUPPETS = 256


def altered(data: bytes) -> bytes:
    """Return signed bytes with another signature."""
    return data[:-1] + bytes([data[-1] ^ 1])


def introduced(of: SecretKey, chain: tuple[bytes, ...]) -> Introduction:
    named = (seal_hash(chain[-1]),)
    said = PeerRecord(of.public.raw, (THERE,), 1, NOW + 3000, (), named)
    return Introduction(sign_record(said, of), (chain,))


def test_the_lists_of_puppets_do_not_make_their_issuer_irrevocable() -> None:
    """113 kB of lists of keys that a sub-issuer had made were all that a process took, for ever."""
    node = SignedWorld().member(key(1), SOCCER)
    assert node.signing is not None
    club = grant(ROOT, CLUB, ".soccer", ISSUER, 0, FAR, serial=1, depth=2)
    for number in range(PUPPETS):
        puppet = key(1000 + number)
        chain = club, grant(CLUB, puppet, ".soccer", ISSUER, 0, FAR, serial=number, depth=1)
        news = revocations(by=puppet, since=0, until=FAR)
        for message in (Certificates(chain), RevocationNews(news)):
            node.receive(FRAME_HEADER + control(message), 5.0)
    believed = node.signing._signatures.learn
    assert believed((club, grant(CLUB, EVE, ".soccer", MEMBER, 0, FAR, 9)), 5.0) == ""
    news = revocations(1, since=0, until=FAR)
    node.receive(FRAME_HEADER + control(RevocationNews(news)), 5.0)
    assert news in node.signing._signatures.revocations()
    assert believed((club, grant(CLUB, ADA, ".soccer", MEMBER, 0, FAR, 8)), 5.0) == "revoked"


def forged_by(link: SecretKey) -> Iterator[bytes]:
    """Yield what a member says of Carol, who has said nothing of it."""
    carols, sender = certificate(CAROL), link.public.peer_id
    (whole,) = introduction(CAROL, THERE, carols, number=2).introductions
    of_record = Introductions((Introduction(altered(whole.record), whole.chains),))
    for forged in (introduction(CAROL, THERE, altered(carols), number=2), of_record):
        yield record(Kind.SECURITY, forged, sender)
    mandate = (5000).to_bytes(8) + bytes(72)  # of a time that counts
    carol = CAROL.public.peer_id
    yield record(Kind.MEMBERSHIP, Copy(0, 5), carol, THERE, SOCCER.group, mandate)


def test_forged_introductions_and_mandates_count_against_who_sent_them() -> None:
    """A member drew 0.1 to 0.4 s of CPU with each MiB of these, and nothing was counted."""
    world = AdmittedWorld()
    victim, eve = world.member(key(20), SOCCER), EVE.public.peer_id
    for who in (EVE, CAROL):
        said = record(Kind.SECURITY, introduction(who, THERE, certificate(who)), eve)
        victim.receive(FRAME_HEADER + said, world.now, eve)
    assert victim.guard.penalties is not None
    scores = victim.guard.penalties._scores
    assert eve not in scores
    for count, forged in enumerate(forged_by(EVE), 1):
        victim.receive(FRAME_HEADER + forged, world.now, eve)
        assert scores[eve].points == count


def test_an_introduction_with_chains_of_others_costs_one_signature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stranger showed four chains of four certificates, the last of each forged, and drew 16
    checks: 3.2 MB/s of such handshakes filled a core."""
    keys = [key(number) for number in range(2, 5)]
    issuers = [ROOT, *keys]
    above = [
        grant(issuer, subject, ".soccer", ISSUER, serial=1, depth=3 - depth)
        for depth, (issuer, subject) in enumerate(zip(issuers, keys, strict=False))
    ]
    last = [altered(grant(keys[-1], EVE, serial=serial)) for serial in range(4)]
    chains = tuple((*above, one) for one in last)
    said = PeerRecord(EVE.public.raw, (THERE,), 1, NOW + 3000, (), tuple(map(seal_hash, last)))
    shown = Introduction(sign_record(said, EVE), chains)
    checks = 0
    verify = PublicKey.verify

    def count(self: PublicKey, domain: Domain, message: bytes, signature: bytes) -> bool:
        nonlocal checks
        checks += 1
        return verify(self, domain, message, signature)

    monkeypatch.setattr(PublicKey, "verify", count)
    known = KnownPeers(EventSignatures(ADA, [ROOT.public]), 1)
    with pytest.raises(RefusedError) as refused:
        known.learn(shown, NOW)
    assert (refused.value.reason, checks) == (Reason.FORGED, 1)
    # Somebody else's chain, whole: not even that is checked.
    other = introduced(EVE, (*above, grant(keys[-1], CAROL)))
    with pytest.raises(RefusedError) as refused:
        known.learn(other, NOW)
    assert (refused.value.reason, checks) == (Reason.UNTRUSTED, 1)
    # Of a chain whose issuers are known the last signature alone is checked, and the record's.
    known.learn(introduced(CAROL, (*above, grant(keys[-1], CAROL))), NOW)
    checks = 0
    known.learn(introduced(ADA, (*above, grant(keys[-1], ADA))), NOW)
    assert checks == 2


def test_puppets_of_an_issuer_drive_out_each_other_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,300 introductions of keys that Eve had certified for a topic below, in 2.1 MB, had members
    forget each other: a third of the events were lost, and none told as missed.
    """
    room = 64  # in place of 4,096: the shares are alike
    monkeypatch.setattr("camcast.security.known_peers.PEERS_MAX", room)
    world = AdmittedWorld()
    members = [world.member(key(100 + number), SOCCER) for number in range(4)]
    world.run(5.0)
    own = grant(ROOT, EVE, ".soccer.x", Rights.JOIN | Rights.ISSUE, 0, FAR, 5)
    said = FRAME_HEADER + record(Kind.SECURITY, introduction(EVE, THERE, own), EVE.public.peer_id)
    for number in range(2 * room):
        puppet = key(10_000 + number)
        chain = own, grant(EVE, puppet, ".soccer.x", Rights.JOIN, 0, FAR, number)
        named = (seal_hash(chain[-1]),)
        of_puppet = PeerRecord(
            puppet.public.raw, (f"tcp://10.7.0.1:{1 + number}",), 1, 3000, (), named
        )
        one = Introductions((Introduction(sign_record(of_puppet, puppet), (chain,)),))
        said += record(Kind.SECURITY, one, EVE.public.peer_id)
    for number in range(8):
        for member in members:
            world.virtual.inject(member.me.address, said, EVE.public.peer_id)
        world.publish(members[number % 4], SOCCER, b"%d" % number, seconds=1.0)
    world.run(30.0)
    for number in range(8):
        assert {*members} <= {*world.got(b"%d" % number)}


def test_the_signatures_that_are_checked_for_a_link_have_a_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A member's genuine records without end: those of others are learnt meanwhile."""
    monkeypatch.setattr("camcast.engine.guard.access_control.CHECKS_AT_ONCE", 2 * CHECKS_A_SECOND)
    world = AdmittedWorld()
    victim, ada = world.member(key(1), SOCCER), certificate(ADA)
    taken: list[PeerId] = []
    known = world.known[victim]
    take = known.take

    def note(said: Introduction, now: float) -> Refusal:
        taken.append(known.owner(said))
        return take(said, now)

    monkeypatch.setattr(known, "take", note)
    own = certificate(EVE, ".chess")
    numbers, eve = iter(range(1, 1 << 16)), EVE.public.peer_id
    for second in range(4):
        for _ in range(CHECKS_A_SECOND):
            said = introduction(EVE, THERE, own, number=next(numbers))
            frame = FRAME_HEADER + record(Kind.SECURITY, said, eve)
            world.virtual.inject(victim.me.address, frame, eve)
        world.run(1.0)
        checked = 2 * taken.count(eve)  # the record, and its certificate
        assert checked <= 2 * CHECKS_A_SECOND + second * CHECKS_A_SECOND
    assert checked >= 4 * CHECKS_A_SECOND
    said = introduction(ADA, ELSEWHERE, ada)
    frame = FRAME_HEADER + record(Kind.SECURITY, said, ADA.public.peer_id)
    world.virtual.inject(victim.me.address, frame, ADA.public.peer_id)
    world.run(0.1)
    assert known.knows(Contact(ADA.public.peer_id, ELSEWHERE), world.now)
