"""The vectors of docs/security-formats.md: what they say is what is signed and read."""

from __future__ import annotations

import hashlib
import re
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from nacl import bindings

from camcast.engine.guard.granted_mandates import said_by
from camcast.live.profiles.shared_key import SharedKey
from camcast.security.certificates import (
    CERTIFICATE,
    Certificate,
    Rate,
    RatedCertificate,
    Rights,
)
from camcast.security.chains import verify_chain
from camcast.security.datagram_boxes import DatagramBoxes
from camcast.security.datagram_seal import DatagramSeal
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import Domain, SecretKey
from camcast.security.known_chains import KnownChains
from camcast.security.known_peers import KnownPeers
from camcast.security.mandates import sign_mandate, verify_mandate
from camcast.security.passphrase import group_key
from camcast.security.records import PeerRecord, sign_record, verify_record
from camcast.security.revocation import REVOCATIONS, RevocationList, Revocations, RevokedSerial
from camcast.security.sealed import SealHash
from camcast.security.signed_batches import sign_batch, verify_batch
from camcast.vocabulary.batches import decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Copy
from overlays.kademlia.naming import identifier
from tests import ed25519
from tests.authority import ADA, ALL, CLUB, DAY, MEMBER, NOW, ROOT, anybody, grant

PAGE = (Path(__file__).parents[3] / "docs" / "security-formats.md").read_text()
VECTORS = {
    name: bytes.fromhex("".join(line.partition("#")[0] for line in block.splitlines()))
    for name, block in re.findall(r"```vector (.+)\n([^`]+)```", PAGE)
}
ITALY = Topic.parse(".soccer.italy")
ABOVE = grant(ROOT, CLUB, ".soccer", ALL, until=NOW + 365 * DAY, serial=1, depth=1)
BELOW = grant(CLUB, ADA, ".soccer.italy", MEMBER, until=NOW + 7 * DAY, serial=258)
RATED = CERTIFICATE.sign(
    RatedCertificate.of(
        CERTIFICATE.read(
            grant(ROOT, ADA, ".soccer", Rights.PUBLISH, until=NOW + 7 * DAY, serial=259)
        ),
        Rate(events=10, bytes=10_000),
    ),
    ROOT,
)
HASH = blake2b(BELOW, digest_size=8).digest()
LIST = RevocationList(
    *(CLUB.public.raw, NOW, NOW, NOW + DAY),
    (RevokedSerial((258).to_bytes(8), NOW + 7 * DAY),),
)
RECORD = PeerRecord(
    *(ADA.public.raw, ("tcp://127.0.0.1:7000",), 1, NOW + 3600, (ITALY.group,), (HASH,))
)
BATCH = make_batch(
    *(stream_id(ADA.public.peer_id, 1_700_000_000_000), 1, [b"goal"], ITALY), published=NOW * 1000
)
SAID = said_by(Kind.MEMBERSHIP, ITALY.group, Copy(4, 258))
SIGNED = {
    "a certificate of a root": (ROOT, Domain.CERTIFICATE, ABOVE),
    "a certificate below it": (CLUB, Domain.CERTIFICATE, BELOW),
    "a certificate with a rate": (ROOT, Domain.CERTIFICATE, RATED),
    "a list of revocations": (CLUB, Domain.REVOCATIONS, REVOCATIONS.sign(LIST, CLUB)),
    "a peer record": (ADA, Domain.PEER_RECORD, sign_record(RECORD, ADA)),
    "a signed batch": (ADA, Domain.BATCH, sign_batch(BATCH, SealHash(HASH), ADA).body),
    "a mandate": (ADA, Domain.MANDATE, sign_mandate(SAID, NOW * 1000, 7, ADA)),
}


def test_every_vector_is_tested() -> None:
    assert list(VECTORS) == list(SIGNED)


@pytest.mark.parametrize("name", SIGNED)
def test_it_is_signed_as_the_page_says(name: str) -> None:
    owner, domain, data = SIGNED[name]
    assert data.hex(" ") == VECTORS[name].hex(" ")
    body = VECTORS[name][:-64]
    if domain is Domain.BATCH:
        body = ITALY.group + hashlib.sha256(body).digest()
    elif domain is Domain.MANDATE:
        body += SAID
        assert f"`{SAID.hex()}`" in PAGE
    else:
        assert msgspec.msgpack.encode(msgspec.msgpack.decode(body)) == body
    said = bytes([len(domain.value)]) + domain.value + body
    assert VECTORS[name][-64:] == ed25519.sign(owner.seed, said)
    assert domain.value.decode() in PAGE


def test_they_are_read_as_the_page_says() -> None:
    above, below, rated, revocations, record, batch, mandate = VECTORS.values()
    chain = verify_chain([above, below], [ROOT.public])
    assert chain.last == CERTIFICATE.read(BELOW)
    assert chain.certificates[0] == Certificate(
        *(ROOT.public.raw, CLUB.public.raw, ".soccer", 15, NOW, NOW + 365 * DAY, b"\0" * 7 + b"\1"),
        1,
    )
    assert CERTIFICATE.read(rated).rate == (10, 10_000)
    known = Revocations()
    assert known.take(revocations, NOW, anybody)
    assert known.revoked(chain.last)
    assert verify_record(record, NOW) == RECORD
    assert RECORD.certificates == (chain.hash,)
    chains = KnownChains([ROOT.public])
    chains.learn([above, below], NOW)
    came = decode_body(batch, 0, len(batch))
    assert verify_batch(came, ITALY, chains, NOW, 120.0) == chain
    assert came.payloads() == [b"goal"]
    verify_mandate(SAID, mandate, NOW, ADA.public)


@pytest.mark.parametrize(("name", "key"), [("the root", ROOT), ("the club", CLUB), ("Ada", ADA)])
def test_the_keys_are_as_the_page_says(name: str, key: SecretKey) -> None:
    (row,) = re.findall(
        rf"^\| {name} \| 32 times `(..)` .* \| `(\w+)…(\w+)` \| `(\w+)` \|$", PAGE, re.M
    )
    raw = key.public.raw.hex()
    assert row == (key.seed[:1].hex(), raw[:8], raw[-4:], key.public.text)
    assert key.seed == key.seed[:1] * 32


def test_ada_and_the_group_are_as_the_page_says() -> None:
    for text in (
        ADA.public.peer_id.hex(),
        ADA.public.curve_public.hex(),
        ADA.text,
        group_key("correct horse battery staple").seed.hex(),
    ):
        assert f"`{text}`" in PAGE


def test_the_keys_of_a_group_and_its_datagrams_are_as_the_page_says() -> None:
    group = SharedKey(group_key("correct horse battery staple"))
    datagram = DatagramSeal(group.datagram_keys).seal(b"ping", bytes(range(24)), 1_700_000_000.25)
    for said in (group.link_public, *group.datagram_keys, datagram[24:]):
        assert f"`{said.hex()}`" in PAGE


def test_a_datagram_between_identities_is_as_the_page_says() -> None:
    boxes = {}
    for secret, chain in ((ADA, [ABOVE, BELOW]), (CLUB, [ABOVE])):
        signatures = EventSignatures(secret, [ROOT.public])
        signatures.renew([chain], NOW)
        known = KnownPeers(signatures, 1)
        known.reached_at("tcp://127.0.0.1:7000")
        boxes[secret] = DatagramBoxes(signatures, known)
    said: list[bytes] = []
    for number, (one, other, data) in enumerate(
        ((ADA, CLUB, b"hello"), (CLUB, ADA, b"hello"), (ADA, CLUB, b"ping"))
    ):
        nonces = bytes(range(number + 6, number + 30)), bytes(range(40, 64))
        said = boxes[one].seal(data, other.public.raw, nonces, NOW + 0.25)
        assert [boxes[other].open(each, NOW + 0.25)[1] for each in said] == [data]
    assert said[0][:56] == ADA.public.raw + bytes(range(8, 32))
    for told in (said[0][56:], _direction(ADA, CLUB), identifier(ITALY.group, ADA.public.raw)):
        assert f"`{told.hex()}`" in PAGE


def _direction(sender: SecretKey, receiver: SecretKey) -> bytes:
    """The key of a direction, by the page's text."""
    common = bindings.crypto_box_beforenm(receiver.public.curve_public, sender.curve_secret)
    both = sender.public.raw + receiver.public.raw
    return blake2b(both, key=common, digest_size=32, person=b"camcast-datagram").digest()
