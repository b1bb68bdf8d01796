"""Signed values: MessagePack, and 64 bytes of signature behind it.

The signature covers the raw bytes as received, for one `Domain`. Each value has one encoding only:
other bytes that decode to the same value are refused.
"""

from __future__ import annotations

from hashlib import blake2b
from types import UnionType
from typing import Annotated, Final, Generic, NewType, TypeVar

import msgspec

from camcast.security.keys import KEY_BYTES, SIGNATURE_BYTES, Domain, PublicKey, SecretKey
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.topics import TopicError

ValueT = TypeVar("ValueT", bound="SealedValue")

_ENCODER: Final = msgspec.msgpack.Encoder()

SealHash = NewType("SealHash", bytes)
"""Eight bytes that stand for a signed value: BLAKE2b over all of its bytes."""

SEAL_HASH_BYTES: Final = 8  # chosen: in each batch; an equal hash costs a verification

KeyBytes = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
# chosen: 32 bits, until February 2106; excludes negative times and ones that overflow a float
SECONDS_MAX: Final = 2**32 - 1
Seconds = Annotated[int, msgspec.Meta(ge=0, le=SECONDS_MAX)]
"""A time in whole seconds since 1970."""

# chosen: leaves room to add to it; msgspec takes no bound that needs more than 64 bits with a sign
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
"""A number that only its owner raises: that of a list, or an incarnation."""


class SealedValue(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base of all signed values; a subclass gives its version as its `tag`."""


class Seal(Generic[ValueT]):
    """Signs and reads one type of values, of one domain, in up to `bytes_max` with signature.

    The type may have several versions, which are a union.
    """

    def __init__(self, of: type[ValueT] | UnionType, domain: Domain, bytes_max: int) -> None:
        self._decoder: msgspec.msgpack.Decoder[ValueT] = msgspec.msgpack.Decoder(of)
        self._domain = domain
        self._bytes_max = bytes_max

    def sign(self, value: ValueT, secret: SecretKey) -> bytes:
        """Return the value's bytes and their signature."""
        body = _ENCODER.encode(value)
        return body + secret.sign(self._domain, body)

    def read(self, data: bytes) -> ValueT:
        """Return the value without verifying its signature; raises `RefusedError`."""
        if len(data) > self._bytes_max:
            raise RefusedError(
                Reason.MALFORMED, f"it has {len(data)} bytes, and {self._bytes_max} at most"
            )
        body = data[:-SIGNATURE_BYTES]
        try:
            value = self._decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            # The grammar of topics may have grown where an honest process passed this on.
            of_topic = isinstance(error.__cause__, TopicError)
            reason = Reason.TOPIC if of_topic else Reason.MALFORMED
            raise RefusedError(reason, f"it does not decode: {error}") from error
        if _ENCODER.encode(value) != body:
            raise RefusedError(Reason.MALFORMED, "it is not written in its one form")
        return value

    def check(self, data: bytes, key: bytes) -> None:
        """Raise `RefusedError` unless the owner of `key` signed these bytes, which `read` took."""
        body, signature = data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]
        if not PublicKey(key).verify(self._domain, body, signature):
            raise RefusedError(Reason.FORGED, "its signature does not verify")


def seal_hash(data: bytes) -> SealHash:
    """Return the hash of a signed value's bytes."""
    return SealHash(blake2b(data, digest_size=SEAL_HASH_BYTES).digest())
