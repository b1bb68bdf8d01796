"""The profile `shared-key`: only processes that know the passphrase get in.

All members have the one key pair that `group_key` derives, as clients and as servers. Each
member knows the key of every other, contacts and gateways need no keys, and a stranger can finish
no handshake. Members cannot be told apart: any of them can speak in another's name.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import ClassVar, Final

from typing_extensions import override

from camcast.doors.profile import SHARED_KEY, Profile
from camcast.security.keys import KEY_BYTES, SecretKey
from camcast.vocabulary.identity import Contact

_DATAGRAM: Final = b"camcast-datagram"  # frozen: the 16 bytes of a BLAKE2b personalisation


class SharedKey(Profile):
    """The links of a group with this key, see `camcast.security.passphrase.group_key`."""

    name: ClassVar[str] = SHARED_KEY

    def __init__(self, key: SecretKey) -> None:
        self._secret = key.curve_secret
        self._public = key.public.curve_public
        self._datagram_key = blake2b(key.seed, digest_size=KEY_BYTES, person=_DATAGRAM).digest()

    @property
    @override
    def link_secret(self) -> bytes:
        return self._secret

    @property
    @override
    def link_public(self) -> bytes:
        return self._public

    @override
    def key_of(self, contact: Contact) -> bytes:
        return self._public

    @override
    def admits(self, key: bytes, shown: bytes = b"") -> bool:
        return compare_digest(key, self._public)

    @property
    @override
    def datagram_key(self) -> bytes:
        return self._datagram_key
