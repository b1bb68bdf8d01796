"""Protection of datagrams against replays.

There is no handshake, so an attacker can record a datagram and send it again. A datagram whose time
differs by more than `SLACK_SECONDS` from this process's clock is refused, and so is one whose nonce
was taken before. `NONCES_MAX` nonces are remembered, only of senders that have proved a key.
"""

from __future__ import annotations

from collections import OrderedDict
from struct import Struct
from typing import Final

from camcast.security.refusals import LOOK
from camcast.vocabulary.errors import CamcastError

NONCE_BYTES: Final = 24  # [NaCl] long enough to be drawn at random
SLACK_SECONDS: Final = 300.0  # [docs/operating.md] the difference that two clocks may have
# chosen: 27 datagrams a second for as long as they could be repeated; 3 MB. An overlay of one
# community sends one or two a second.
NONCES_MAX: Final = 2**14
_TIME: Final = Struct(">Q")
STAMP_BYTES: Final = _TIME.size


class DatagramError(CamcastError, ValueError):
    """A datagram is refused; the message says why."""


class UnknownSenderError(DatagramError):
    """A datagram of an unknown sender has no introduction.

    The next one may have it: the introduction was lost or overtaken, or this process restarted.
    """


def stamp(now: float) -> bytes:
    """Return the time `now`, in seconds since 1970, as 8 bytes of milliseconds."""
    return _TIME.pack(int(now * 1000))


class TakenOnce:
    """The datagrams that one process has taken lately; `now` is in seconds since 1970."""

    def __init__(self) -> None:
        self._taken: OrderedDict[bytes, float] = OrderedDict()
        """By nonce, the oldest first: when the datagram is refused as too old at the latest."""

    def check(self, nonce: bytes, stamped: bytes, now: float) -> None:
        """Take a datagram by its nonce and its content, which begins with a stamp.

        Raises `DatagramError` for a wrong time, or a nonce that was taken before.
        """
        off = _TIME.unpack_from(stamped)[0] / 1000 - now
        if abs(off) > SLACK_SECONDS:
            raise DatagramError(f"its clock differs from ours by {off:+.0f} s; {LOOK}")
        if nonce in self._taken:
            raise DatagramError("it was sent before")
        taken = self._taken
        while taken and (len(taken) >= NONCES_MAX or taken[next(iter(taken))] < now):
            taken.popitem(last=False)
        taken[nonce] = now + 2 * SLACK_SECONDS
