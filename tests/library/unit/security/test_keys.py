from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.security.keys import (
    KEY_BYTES,
    SIGNATURE_BYTES,
    TEXT_CHARACTERS,
    Domain,
    InvalidKeyError,
    PublicKey,
    SecretKey,
)
from tests import ed25519

SEED = bytes(range(32))
KEY = SecretKey(SEED)
ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
seeds = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)


def test_it_is_ed25519() -> None:
    # [RFC 8032, 7.1, test 1]
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert SecretKey(seed).public.raw.hex() == public
    assert ed25519.public_of(seed).hex() == public


@pytest.mark.parametrize("domain", Domain)
def test_a_signature_is_over_the_domain_and_the_message(domain: Domain) -> None:
    prefix = bytes([len(domain.value)]) + domain.value
    assert KEY.sign(domain, b"goal") == ed25519.sign(SEED, prefix + b"goal")
    verified = {
        other: KEY.public.verify(other, b"goal", KEY.sign(domain, b"goal")) for other in Domain
    }
    assert verified == {other: other is domain for other in Domain}


def test_no_domain_begins_another() -> None:
    names = [bytes([len(domain.value)]) + domain.value for domain in Domain]
    assert not any(a != b and a.startswith(b) for a in names for b in names)


@given(st.data(), st.binary(max_size=40))
def test_one_changed_bit_is_no_signature(data: st.DataObject, message: bytes) -> None:
    signed = message + KEY.sign(Domain.BATCH, message) + KEY.public.raw
    bit = data.draw(st.integers(0, 8 * len(signed) - 1))
    changed = bytearray(signed)
    changed[bit // 8] ^= 1 << bit % 8
    raw, length = bytes(changed), len(message)
    public = PublicKey(raw[length + SIGNATURE_BYTES :])
    signature = raw[length : length + SIGNATURE_BYTES]
    assert not public.verify(Domain.BATCH, raw[:length], signature)
    assert KEY.public.verify(Domain.BATCH, message, KEY.sign(Domain.BATCH, message))


@pytest.mark.parametrize("length", [0, 63, 65, 128])
def test_a_signature_of_another_length_is_none(length: int) -> None:
    signature = (KEY.sign(Domain.BATCH, b"") * 2)[:length]
    assert not KEY.public.verify(Domain.BATCH, b"", signature)


def test_a_signature_has_one_form() -> None:
    # [RFC 8032, 8.4] S + L would verify as well if it were not refused.
    signature = KEY.sign(Domain.BATCH, b"")
    response = int.from_bytes(signature[32:], "little") + ed25519.L
    assert not KEY.public.verify(
        Domain.BATCH, b"", signature[:32] + response.to_bytes(32, "little")
    )


def test_the_links_have_the_same_key() -> None:
    secret, public = KEY.curve_secret, KEY.public.curve_public
    assert int.from_bytes(secret, "little") == ed25519.scalar_of(SEED)
    assert public == ed25519.curve_of(KEY.public.raw)
    base = ed25519.curve_of(ed25519.bytes_of(ed25519.BASE))
    assert base == (9).to_bytes(32, "little")  # [RFC 7748, 4.1] u of X25519's base point


# [RFC 8032, 5.1.3; ed25519 has cofactor 8] points of order 1, 2 and 4, a y that is no point, and
# one that is not below p: each signature R = point, S = 0 would fit the first three.
NO_KEYS = [
    *((1).to_bytes(32, "little"), (ed25519.P - 1).to_bytes(32, "little"), bytes(32)),
    *((2).to_bytes(32, "little"), (ed25519.P + 3).to_bytes(32, "little")),
]


@pytest.mark.parametrize("raw", NO_KEYS, ids=bytes.hex)
def test_what_nobody_can_own_is_no_key(raw: bytes) -> None:
    key = PublicKey(raw)
    assert not key.verify(Domain.BATCH, b"", raw + bytes(32))
    with pytest.raises(InvalidKeyError):
        _ = key.curve_public
    with pytest.raises(InvalidKeyError):
        PublicKey.parse(key.text)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    for kind in (PublicKey, SecretKey):
        with pytest.raises(InvalidKeyError, match="a key has 32 bytes"):
            kind(bytes(length))


def test_a_peer_s_id_is_its_key_s_hash() -> None:
    assert KEY.public.peer_id == blake2b(KEY.public.raw, digest_size=16).digest()


@given(seeds)
def test_a_key_s_text_gives_the_key(seed: bytes) -> None:
    key = SecretKey(seed)
    assert SecretKey.parse(key.text) == key
    assert PublicKey.parse(key.public.text) == key.public == PublicKey.parse(str(key.public))
    assert len(key.text) == len(key.public.text) == TEXT_CHARACTERS
    assert set(key.text + key.public.text) <= set(ALPHABET)


@pytest.mark.parametrize("kind", [PublicKey, SecretKey])
def test_no_mistyped_character_passes(kind: type[PublicKey] | type[SecretKey]) -> None:
    text = KEY.text if kind is SecretKey else KEY.public.text
    # The last but two are a dotless i and a long s, whose capitals are ASCII.
    for place, right in enumerate(text):
        for wrong in ALPHABET + right.upper() + "01\u0131\u017f =":
            if wrong != right:
                with pytest.raises(InvalidKeyError):
                    kind.parse(text[:place] + wrong + text[place + 1 :])


@given(st.text(max_size=60) | st.text(ALPHABET, min_size=56, max_size=56))
def test_another_text_is_no_key(text: str) -> None:
    with pytest.raises(InvalidKeyError):
        PublicKey.parse(text)


def test_secret_and_public_keys_are_told_apart() -> None:
    with pytest.raises(InvalidKeyError, match="this is a secret key, and a public one is needed"):
        PublicKey.parse(KEY.text)
    with pytest.raises(InvalidKeyError, match="this is a public key, and a secret one is needed"):
        SecretKey.parse(KEY.public.text)


def test_a_secret_is_not_shown() -> None:
    shown = repr(KEY) + str(KEY)
    assert repr(KEY.public) in shown
    assert not any(secret in shown for secret in (repr(SEED)[2:-1], SEED.hex(), KEY.text))
