"""Boxed datagrams: between two certified identities, once, and nothing for anybody else."""

from __future__ import annotations

from hashlib import blake2b
from itertools import count

import pytest
from nacl import bindings

from camcast.security import datagram_boxes
from camcast.security.certificates import Rights
from camcast.security.datagram_boxes import (
    DATAGRAM_BYTES_MAX,
    INTRODUCTION_BYTES_MAX,
    LACKING_BYTES,
    OVERHEAD,
    UNHEARD_MAX,
    DatagramBoxes,
)
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.security.known_peers import KnownPeers
from camcast.security.records import LIFETIME_SECONDS
from camcast.security.taken_once import SLACK_SECONDS, DatagramError, UnknownSenderError
from tests.authority import ADA, ALL, CLUB, EVE, MEMBER, ROOT, grant, revocations

NOW, FAR = 1_000.0, 2**32 - 1
NONCES = count(1)


class End:
    """One process, and what it sends."""

    def __init__(self, secret: SecretKey, *chain: bytes) -> None:
        roots = [ROOT.public, *([secret.public] if secret is EVE else [])]
        self.signatures = EventSignatures(secret, roots)
        self.signatures.renew([chain or (grant(ROOT, secret, ".soccer", MEMBER, 0, FAR),)], 1.0)
        self.known = KnownPeers(self.signatures, 1)
        self.known.reached_at("tcp://127.0.0.1:7000")
        self.boxes = DatagramBoxes(self.signatures, self.known)
        self.key = secret.public.raw

    def seal(self, data: bytes, to: End, now: float = NOW) -> list[bytes]:
        nonces = next(NONCES).to_bytes(24), next(NONCES).to_bytes(24)
        return self.boxes.seal(data, to.key, nonces, now)

    def open(self, datagram: bytes, now: float = NOW) -> bytes:
        return self.boxes.open(datagram, now)[1]

    def says(self, data: bytes, to: End, now: float = NOW) -> list[bytes]:
        """Send, have it taken, and return what crossed."""
        sent = self.seal(data, to, now)
        assert b"".join(to.open(one, now) for one in sent) == data
        return sent


@pytest.fixture
def ada() -> End:
    return End(ADA)


@pytest.fixture
def club() -> End:
    return End(CLUB)


def test_a_box_is_a_secretbox_under_a_key_of_its_direction(ada: End, club: End) -> None:
    """PyNaCl's primitives, put together here once more, are the oracle."""
    ada.says(b"hello", club)
    club.says(b"hello", ada)
    (datagram,) = ada.seal(b"ping", club)
    common = bindings.crypto_box_beforenm(ADA.public.curve_public, CLUB.curve_secret)
    direction = blake2b(
        ada.key + club.key, key=common, digest_size=32, person=b"camcast-datagram"
    ).digest()
    said = bindings.crypto_secretbox_open_easy(datagram[56:], datagram[32:56], direction)
    assert datagram[:32] == ada.key
    assert said == int(1000 * NOW).to_bytes(8) + bytes(5) + b"ping"
    assert len(datagram) == OVERHEAD + len(b"ping")


def test_each_shows_its_introduction_until_the_other_has_it(ada: End, club: End) -> None:
    (first,) = ada.says(b"who is near?", club)
    assert len(first) == LACKING_BYTES
    (answer,) = club.says(b"nobody", ada)
    assert len(answer) > OVERHEAD + 256
    for one, other in ((ada, club), (club, ada), (ada, club)):
        (datagram,) = one.says(b"and now?", other)
        assert len(datagram) == OVERHEAD + 8
    assert club.known.admits(ADA.public.peer_id, NOW)
    assert ada.known.admits(CLUB.public.peer_id, NOW)


def test_who_was_started_anew_is_shown_everything_again(ada: End, club: End) -> None:
    for one, other in ((ada, club), (club, ada)):
        one.says(b"hello", other)
    again = End(CLUB)
    for _ in range(UNHEARD_MAX):
        (lost,) = ada.seal(b"are you there?", again)
        with pytest.raises(UnknownSenderError):
            again.open(lost)
    ada.says(b"are you there?", again)


def test_a_long_answer_follows_its_introduction(ada: End, club: End) -> None:
    (asked,) = ada.says(b"who is near?", club)
    answer = club.says(bytes(1000), ada)
    assert [len(one) for one in answer][1:] == [OVERHEAD + 1000]
    assert sum(map(len, answer)) <= 3 * len(asked)


def test_the_longest_introduction_and_answer_are_within_three_times_what_was_asked() -> None:
    """Four certificates in a chain, of the longest topics, and as many chains."""
    topic = ".".join(["", *("a" * 60 for _ in range(4))])[:250]
    chain, issuer = [], ROOT
    for depth, secret in zip((3, 2, 1, 0), (CLUB, EVE, SecretKey(bytes(32)), ADA), strict=True):
        rights = ALL if depth else MEMBER | Rights.SERVE
        chain.append(grant(issuer, secret, topic, rights, 0, FAR, depth=depth))
        issuer = secret
    asker, asked = End(CLUB), End(ADA, *chain)
    (question,) = asker.says(b"who?", asked)
    answer = asked.says(bytes(DATAGRAM_BYTES_MAX - OVERHEAD), asker)
    assert len(answer[0]) <= OVERHEAD + INTRODUCTION_BYTES_MAX
    assert sum(map(len, answer)) <= 3 * len(question)


def test_a_box_is_for_one_receiver_once_lately_and_never_sent_back(ada: End, club: End) -> None:
    third = End(SecretKey(bytes(32)))
    (datagram,) = ada.says(b"hello", club)
    for taker, altered, now in (
        (club, datagram, NOW),  # again
        (third, datagram, NOW),  # to another
        (ada, datagram, NOW),  # to its sender
        (ada, club.key + datagram[32:], NOW),  # likewise, as if it came from the receiver
        (club, third.key + datagram[32:], NOW),  # in another's name
        (End(CLUB), datagram, NOW + SLACK_SECONDS + 1),
        (End(CLUB), datagram, NOW - SLACK_SECONDS - 1),
    ):
        with pytest.raises(DatagramError):
            taker.open(altered, now)


@pytest.mark.parametrize(
    "stranger",
    [
        End(EVE, grant(EVE, EVE, ".", MEMBER, 0, FAR)),  # of an authority of its own
        End(SecretKey(b"x" * 32), grant(ROOT, SecretKey(b"x" * 32), ".soccer", MEMBER, 0, 2000)),
    ],
    ids=["uncertified", "expired"],
)
def test_a_stranger_leaves_nothing_behind(stranger: End, club: End) -> None:
    now = 2_000.0 + SLACK_SECONDS + 1
    for datagram in stranger.seal(b"hello", club, now):
        with pytest.raises(DatagramError, match=r"trusted root|expired"):
            club.open(datagram, now)
    assert not club.known.admits(stranger.signatures.peer_id, now)
    assert club.boxes._correspondents == {}
    assert club.boxes._taken._taken == {}


def test_who_shows_anothers_introduction_is_a_stranger(ada: End, club: End) -> None:
    eve = End(EVE, grant(EVE, EVE, ".", MEMBER, 0, FAR))
    eve.known.own = ada.known.own  # type: ignore[method-assign]  # what Eve has recorded
    (datagram,) = eve.seal(b"hello", club)
    with pytest.raises(DatagramError, match="record of another"):
        club.open(datagram)
    assert not club.known.admits(ADA.public.peer_id, NOW)


def test_who_asks_for_more_than_three_times_its_bytes_is_refused(
    ada: End, club: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.says(b"hello", club)
    with monkeypatch.context() as patched:
        patched.setattr(datagram_boxes, "LACKING_BYTES", 0)
        (short,) = ada.seal(b"again", club)
    with pytest.raises(DatagramError, match="three times"):
        club.open(short)


def test_a_revoked_sender_is_refused_at_once(ada: End, club: End) -> None:
    for one, other in ((ada, club), (club, ada)):
        one.says(b"hello", other)
    serial = ada.signatures.own[0].last.serial
    news = revocations(int.from_bytes(serial), since=0, until=FAR)
    club.signatures.take_revocations(news, NOW)
    (datagram,) = ada.seal(b"still here", club, NOW + 2)
    with pytest.raises(DatagramError):
        club.open(datagram, NOW + 2)


def test_a_record_is_shown_anew_before_the_old_one_expires(ada: End, club: End) -> None:
    """So two that write to each other for hours go on knowing each other."""
    for now in range(int(NOW), int(NOW) + 3 * LIFETIME_SECONDS, 600):
        ada.says(b"ping", club, float(now))
        club.says(b"pong", ada, float(now))


def test_keys_that_nobody_can_have_are_not_written_to(ada: End) -> None:
    nobody = End(CLUB)
    nobody.key = bytes(32)
    assert ada.seal(b"hello", nobody) == []
