"""Datagrams that only the members of a group can read and make.

A datagram is ``nonce 24 | box``; the box is NaCl's secretbox (XSalsa20 and Poly1305) of ``time 8 |
data``, the time in milliseconds since 1970. It is taken once (`camcast.security.taken_once`), so
that nobody can repeat it. All members have the same key: a datagram does not show which of them has
sent it, and an attacker that learns the key can read all recorded datagrams.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from nacl import bindings
from nacl.exceptions import CryptoError

from camcast.security.taken_once import (
    NONCE_BYTES,
    STAMP_BYTES,
    DatagramError,
    TakenOnce,
    stamp,
)

OVERHEAD: Final = NONCE_BYTES + bindings.crypto_secretbox_MACBYTES + STAMP_BYTES
"""48: the bytes of a sealed datagram besides its data."""


class DatagramSeal:
    """Seals and opens the datagrams of one process; `now` is the time in seconds since 1970.

    The first key seals; all of them open.
    """

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._keys = keys
        self._taken = TakenOnce()

    def seal(self, data: bytes, nonce: bytes, now: float) -> bytes:
        """Return the datagram that carries `data`; `nonce` has `NONCE_BYTES`, never used again."""
        return nonce + bindings.crypto_secretbox_easy(stamp(now) + data, nonce, self._keys[0])

    def open(self, datagram: bytes, now: float) -> bytes:
        """Return the data of a datagram.

        Raises `DatagramError` unless a member sealed it, its time is within five minutes of `now`,
        and it was not taken before.
        """
        if len(datagram) < OVERHEAD:
            raise DatagramError("it is not sealed; its sender has no passphrase")
        nonce = datagram[:NONCE_BYTES]
        for key in self._keys:
            with suppress(CryptoError):
                stamped = bindings.crypto_secretbox_open_easy(datagram[NONCE_BYTES:], nonce, key)
                self._taken.check(nonce, stamped, now)
                return stamped[STAMP_BYTES:]
        raise DatagramError("its sender has not this passphrase")
