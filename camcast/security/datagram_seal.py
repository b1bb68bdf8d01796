"""Datagrams that only the members of a group can read, make, and repeat for long.

A datagram is ``nonce 24 | box``; the box is NaCl's secretbox (XSalsa20 and Poly1305) of ``time 8 |
data``, the time in milliseconds since 1970. There is no handshake, so a stranger can send again
what was recorded. What is older or newer than `SLACK_SECONDS` is refused, and so is a nonce that
was taken before; `NONCES_MAX` of them are remembered. All members have the one key, so nothing says
which of them has sent a datagram, and whoever learns the key later reads what was recorded.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from nacl import bindings
from nacl.exceptions import CryptoError

from camcast.vocabulary.errors import CamcastError

NONCE_BYTES: Final = 24  # [NaCl] long enough to be drawn at random
SLACK_SECONDS: Final = 300.0  # [TRUST, profiles] by how much two clocks may differ
# chosen: 27 datagrams a second for as long as they could be repeated; 3 MB. An overlay of one
# community sends one or two a second.
NONCES_MAX: Final = 2**14
_TIME: Final = Struct(">Q")
OVERHEAD: Final = NONCE_BYTES + bindings.crypto_secretbox_MACBYTES + _TIME.size
"""48: by so many bytes a sealed datagram is longer."""


class DatagramError(CamcastError, ValueError):
    """A datagram is none of the group's, or not of this time; the message says which."""


class DatagramSeal:
    """Seals and opens the datagrams of one process; `now` is the time in seconds since 1970."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._taken: dict[bytes, float] = {}
        """By nonce, the oldest first: until when the datagram would be taken again."""

    def seal(self, data: bytes, nonce: bytes, now: float) -> bytes:
        """Return a datagram as it is sent; `nonce` is `NONCE_BYTES` that are never used twice."""
        stamped = _TIME.pack(int(now * 1000)) + data
        return nonce + bindings.crypto_secretbox_easy(stamped, nonce, self._key)

    def open(self, datagram: bytes, now: float) -> bytes:
        """Return what a member has sealed; `DatagramError` if none has, or not lately and once."""
        if len(datagram) < OVERHEAD:
            raise DatagramError("it is not sealed; its sender has no passphrase")
        nonce = datagram[:NONCE_BYTES]
        try:
            stamped = bindings.crypto_secretbox_open_easy(datagram[NONCE_BYTES:], nonce, self._key)
        except CryptoError:
            raise DatagramError("its sender has not this passphrase") from None
        off = _TIME.unpack_from(stamped)[0] / 1000 - now
        if abs(off) > SLACK_SECONDS:
            raise DatagramError(f"its clock differs from ours by {off:+.0f} s; set the clocks")
        if nonce in self._taken:
            raise DatagramError("it was sent before")
        taken = self._taken
        while taken and (len(taken) >= NONCES_MAX or taken[next(iter(taken))] < now):
            del taken[next(iter(taken))]
        taken[nonce] = now + 2 * SLACK_SECONDS
        return stamped[_TIME.size :]
