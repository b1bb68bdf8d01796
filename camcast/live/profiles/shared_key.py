"""The profile `shared-key`: only processes that know the passphrase get in.

All members have the one key pair that `group_key` derives, as clients and as servers. Each
member knows the key of every other, contacts and gateways need no keys, and a stranger can finish
no handshake. Members cannot be told apart: any of them can speak in another's name.

While a group changes its passphrase, a process has two: it dials others with the key of its first
one, and others may dial it with either. As long as each process knows the first one of each other,
all of them talk.
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
    """The links of a group with this key, see `camcast.security.passphrase.group_key`.

    Who has the key `also` gets in, too.
    """

    name: ClassVar[str] = SHARED_KEY

    def __init__(self, key: SecretKey, also: SecretKey | None = None) -> None:
        self._secret = key.curve_secret
        self._public = key.public.curve_public
        keys = (key,) if also is None else (key, also)
        self._also_secret = b"" if also is None else also.curve_secret
        self._admitted = tuple(one.public.curve_public for one in keys)
        self._datagram_keys = tuple(
            blake2b(one.seed, digest_size=KEY_BYTES, person=_DATAGRAM).digest() for one in keys
        )

    @property
    @override
    def link_secret(self) -> bytes:
        return self._secret

    @property
    @override
    def link_public(self) -> bytes:
        return self._public

    @property
    @override
    def also_secret(self) -> bytes:
        return self._also_secret

    @override
    def key_of(self, contact: Contact) -> bytes:
        return self._public

    @override
    def admits(self, key: bytes, shown: bytes = b"") -> bool:
        return any(compare_digest(key, one) for one in self._admitted)

    @property
    @override
    def datagram_keys(self) -> tuple[bytes, ...]:
        return self._datagram_keys
