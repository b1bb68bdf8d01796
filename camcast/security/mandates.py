"""Mandates: signatures by which a process lets others pass on its messages in its name.

A subscription walks from process to process until some hold its subscriber, and a search until a
process knows the answer. Each of these messages names its first sender, and comes over a link of
another process. The first sender signs what it wants, and the signature goes along. A mandate
has 80 bytes: the time of signing in milliseconds since 1970 and a number, of 8 bytes each, which
together differ for all mandates of a process, and the signature over these 16 bytes and over the
bytes `said`. `camcast.engine.guard.granted_mandates` decides what these are, and how often a
mandate counts.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import SIGNATURE_BYTES, Domain, PublicKey, SecretKey
from camcast.security.refusals import LOOK, Reason, RefusedError
from camcast.vocabulary.wire import MANDATE_BYTES

_NAME: Final = Struct(">QQ")  # a time and a number
_MILLISECONDS: Final = 1000.0


def sign_mandate(said: bytes, when: int, number: int, secret: SecretKey) -> bytes:
    """Return the mandate for the bytes `said`, of the owner of `secret`; `when` is in ms."""
    name = _NAME.pack(when, number)
    return name + secret.sign(Domain.MANDATE, name + said)


def verify_mandate(said: bytes, mandate: bytes, now: float, key: PublicKey | None) -> None:
    """Raise `RefusedError` unless the owner of `key` signed this mandate within five minutes.

    `now` is in seconds since 1970. Without a key only the time is checked.
    """
    if len(mandate) != MANDATE_BYTES:
        raise RefusedError(Reason.UNSIGNED, "a message is passed on without a mandate")
    name, signature = mandate[:-SIGNATURE_BYTES], mandate[-SIGNATURE_BYTES:]
    when = _NAME.unpack(name)[0] / _MILLISECONDS
    if when < now - SLACK_SECONDS:
        raise RefusedError(Reason.EXPIRED, f"a mandate was signed {now - when:.0f} s ago; {LOOK}")
    if when > now + SLACK_SECONDS:
        ahead = when - now
        raise RefusedError(
            Reason.EARLY,
            f"a mandate was signed {ahead:.0f} s ahead of this machine's clock; {LOOK}",
        )
    if key is not None and not key.verify(Domain.MANDATE, name + said, signature):
        raise RefusedError(Reason.FORGED, "the signature of a mandate does not verify")
