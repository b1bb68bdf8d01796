"""Keys: the identities of processes in the `signed` and `shared-key` profiles.

A process has one secret, the 32 bytes that an Ed25519 key pair is derived from. It signs with the
Ed25519 key; libsodium derives the X25519 key of its encrypted links (CURVE) from that one, so that
there is one key to keep and to name. A peer's id is the BLAKE2b hash of its public key.

Every signature covers a *domain* as well as the message: bytes signed as a certificate can never
pass for a batch or a peer record.

As text a key is 56 letters and digits, both after the ``#`` in ``tcp://host:port#KEY`` and in
files: Base32 [RFC 4648, in lower case and without padding] of the key's 32 bytes and of 3 bytes of
checksum. The 35 bytes fill the 56 characters, so each key has one spelling, and a mistyped key is
refused. The checksum of a secret differs, so that no secret passes for a public key.
"""

from __future__ import annotations

import binascii
from base64 import b32decode, b32encode
from enum import Enum
from hashlib import blake2b
from typing import Final

from attrs import field, frozen
from nacl import bindings
from nacl.exceptions import BadSignatureError, CryptoError
from typing_extensions import override

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PUBLIC_KEY_BYTES, PeerId, peer_of_key

KEY_BYTES: Final = PUBLIC_KEY_BYTES  # [RFC 8032, 5.1] of an Ed25519 seed, too
SIGNATURE_BYTES: Final = 64  # [RFC 8032, 5.1]
# chosen: 3 bytes fill the Base32 text; one mistyped key in 16 million is not detected.
_CHECKSUM_BYTES: Final = 3
TEXT_CHARACTERS: Final = (KEY_BYTES + _CHECKSUM_BYTES) * 8 // 5  # [RFC 4648, 6] 5 bits each


class InvalidKeyError(CamcastError, ValueError):
    """A text, or bytes, are no key; the message says why, and shows no secret."""


class Domain(Enum):
    """The purpose of a signature. The names are part of the frozen formats."""

    CERTIFICATE = b"camcast-certificate-1"
    REVOCATIONS = b"camcast-revocations-1"
    PEER_RECORD = b"camcast-peer-record-1"
    BATCH = b"camcast-batch-1"
    MANDATE = b"camcast-mandate-1"


_PREFIXES: Final = {domain: bytes((len(domain.value),)) + domain.value for domain in Domain}


def _check_length(_instance: object, _attribute: object, raw: bytes) -> None:
    # libsodium reads 32 bytes, whatever the length.
    if len(raw) != KEY_BYTES:
        raise InvalidKeyError(f"a key has {KEY_BYTES} bytes, this one has {len(raw)}")


@frozen
class PublicKey:
    """An Ed25519 public key; raises `InvalidKeyError` unless it has 32 bytes.

    Not all 32 bytes are a key. With others, which a peer may send, `verify` returns False and
    `curve_public` raises.
    """

    raw: bytes = field(validator=_check_length)

    @property
    def peer_id(self) -> PeerId:
        """The identity of the process that has this key."""
        return peer_of_key(self.raw)

    @property
    def text(self) -> str:
        """The key as text, 56 characters, as in ``tcp://host:port#KEY``."""
        return _text(self.raw, "public")

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Return the key of `text`; raises `InvalidKeyError` for other spellings, too."""
        key = cls(_raw(text, "public"))
        _ = key.curve_public  # raises for 32 bytes that nobody can have a secret for
        return key

    @property
    def curve_public(self) -> bytes:
        """The X25519 key of links to this process, 32 bytes.

        Raises `InvalidKeyError` if these 32 bytes are no Ed25519 key of the main subgroup.
        """
        try:
            return bindings.crypto_sign_ed25519_pk_to_curve25519(self.raw)
        except CryptoError as error:
            raise InvalidKeyError("these 32 bytes are no Ed25519 public key") from error

    def verify(self, domain: Domain, message: bytes, signature: bytes) -> bool:
        """Return whether the owner of this key signed the message for this domain."""
        if len(signature) != SIGNATURE_BYTES:
            return False
        try:
            bindings.crypto_sign_open(signature + _PREFIXES[domain] + message, self.raw)
        except BadSignatureError:
            return False
        return True

    @override
    def __str__(self) -> str:
        return self.text


@frozen
class SecretKey:
    """An Ed25519 key pair, of 32 random bytes; raises `InvalidKeyError` for another length.

    A process that has the seed can act as this process. No `repr` shows it; `text` is for the key's
    file.
    """

    seed: bytes = field(validator=_check_length, repr=False)
    public: PublicKey = field(init=False, eq=False)
    _pair: bytes = field(init=False, eq=False, repr=False)
    """Seed and public key, in libsodium's form of a secret key."""

    def __attrs_post_init__(self) -> None:
        public, pair = bindings.crypto_sign_seed_keypair(self.seed)
        object.__setattr__(self, "public", PublicKey(public))
        object.__setattr__(self, "_pair", pair)

    @property
    def text(self) -> str:
        """The seed as text, 56 characters."""
        return _text(self.seed, "secret")

    @classmethod
    def parse(cls, text: str) -> SecretKey:
        """Return the key of `text`; raises `InvalidKeyError` for other texts."""
        return cls(_raw(text, "secret"))

    @property
    def curve_secret(self) -> bytes:
        """The X25519 secret of this process's links, 32 bytes, to `public.curve_public`."""
        return bindings.crypto_sign_ed25519_sk_to_curve25519(self._pair)

    def sign(self, domain: Domain, message: bytes) -> bytes:
        """Return the signature of the message for this domain, 64 bytes."""
        return bindings.crypto_sign(_PREFIXES[domain] + message, self._pair)[:SIGNATURE_BYTES]


def _text(raw: bytes, kind: str) -> str:
    return b32encode(raw + _checksum(raw, kind)).decode().lower()


def _raw(text: str, kind: str) -> bytes:
    if len(text) != TEXT_CHARACTERS:
        raise InvalidKeyError(
            f"a {kind} key has {TEXT_CHARACTERS} characters, this text has {len(text)}"
        )
    try:
        # ASCII only: the upper case of a dotless i is an I, which would be another spelling.
        data = b32decode(text.upper()) if text.isascii() and text == text.lower() else b""
    except binascii.Error:
        data = b""
    if not data:
        raise InvalidKeyError(f"a {kind} key is made of the letters a to z and the digits 2 to 7")
    raw, checksum = data[:KEY_BYTES], data[KEY_BYTES:]
    if checksum != _checksum(raw, kind):
        other = "public" if kind == "secret" else "secret"
        raise InvalidKeyError(
            f"this is a {other} key, and a {kind} one is needed"
            if checksum == _checksum(raw, other)
            else f"a character of the {kind} key is wrong: its checksum does not fit"
        )
    return raw


def _checksum(raw: bytes, kind: str) -> bytes:
    """Return the last bytes of a key's text; `kind` is ``public`` or ``secret``."""
    return blake2b(raw, digest_size=_CHECKSUM_BYTES, person=b"camcast-" + kind.encode()).digest()
