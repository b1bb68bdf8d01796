"""Datagrams between two identities, in the profile `signed`: boxes under the keys of both.

Theory of operation
-------------------
A datagram is ``key 32 | nonce 24 | box``: the Ed25519 key of its sender, and NaCl's secretbox of
``time 8 | flags 1 | introduction's length 2 | padding's length 2 | introduction | padding | data``,
under a key of this direction: the BLAKE2b of the sender's key and the receiver's, keyed by the
X25519 secret that the two have in common (the keys of their links). Only these two can have made
the datagram, and nobody can send it back to its sender or on to a third process. A box takes 2 µs,
where a signature takes 20 µs to make and 50 to verify, and it hides its content; the common secret
takes 70 µs, once a peer. A sender must know the key of the receiver, which the overlay's answers
name.

*Introductions.* A datagram counts only if a trusted root certifies its sender. The sender's
introduction (`camcast.security.known_peers`) goes along until the receiver has said that it has it.
With the flag `LACKING` a process says that it knows no valid introduction of the receiver. Such a
datagram has the sender's own introduction and is padded to `LACKING_BYTES`: the answer, with an
introduction, has no more than three times as many bytes. A process that has not answered
`UNHEARD_MAX` datagrams is sent the introduction again, since it may have been restarted. An
answer that does not fit beside the introduction into `DATAGRAM_BYTES_MAX` follows in a datagram of
its own; an introduction that does not fit by itself is sent in fragments.

*Strangers* get no answer, and nothing is stored of them: no nonces, secrets or introductions. A
datagram of an unknown sender that is shorter than any introduction is dropped before any
arithmetic. A datagram is taken once (`camcast.security.taken_once`).

The keys of the identities do not change. An attacker that learns the secret key of a process can
later read all recorded datagrams of the process, and could have written to it in any name.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from struct import Struct
from typing import Final

from attrs import define
from nacl import bindings
from nacl.exceptions import CryptoError

from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import KEY_BYTES, InvalidKeyError, PublicKey
from camcast.security.known_peers import KnownPeers, read_introduction, write_introduction
from camcast.security.records import read_record
from camcast.security.refusals import RefusedError
from camcast.security.taken_once import (
    NONCE_BYTES,
    STAMP_BYTES,
    DatagramError,
    TakenOnce,
    UnknownSenderError,
    stamp,
)
from camcast.vocabulary.identity import peer_of_key
from camcast.vocabulary.introductions import Introduction

INTRODUCED: Final = 1  # flags; the others are refused
LACKING: Final = 2
_HEAD: Final = Struct(">BHH")
OVERHEAD: Final = (
    KEY_BYTES + NONCE_BYTES + bindings.crypto_secretbox_MACBYTES + STAMP_BYTES + _HEAD.size
)
"""85: the bytes of a boxed datagram without an introduction, besides its data."""

DATAGRAM_BYTES_MAX: Final = 1200  # [RFC 9000, 14] crosses every link whole
# chosen: a third [RFC 9000, 8.1] of the answer: the longest introduction and the longest data
LACKING_BYTES: Final = 1200
# chosen: a record and the longest chain, of four certificates; of several chains those that fit
INTRODUCTION_BYTES_MAX: Final = 2400
# chosen: a record has 130 bytes and more, a certificate 150 (docs/security-formats.md)
STRANGERS_BYTES_MIN: Final = OVERHEAD + 256
UNHEARD_MAX: Final = 2  # chosen: an answer and a call; of a call's three sendings the last has it
CORRESPONDENTS_MAX: Final = 4096  # chosen: as many as peers are known; 1 MB

_PERSON: Final = b"camcast-datagram"  # frozen: the 16 bytes of a BLAKE2b personalisation


@define
class _Correspondent:
    """Another process that this one has sent a datagram to, or that is certified."""

    sending: bytes
    """The key of datagrams to the other process."""
    receiving: bytes
    """The key of datagrams from the other process."""
    has_ours: bool = False
    """Whether the latest datagram from it said that it knows this process's introduction."""
    unheard: int = 0
    """How many datagrams were sent to it since that one."""
    shown: bytes = b""
    """The record of this process that was sent to it last."""
    just_shown: bool = False
    """Whether the latest datagram to it had the introduction, and none has come from it since."""


class DatagramBoxes:
    """Seals and opens the datagrams of one process; `now` is the time in seconds since 1970."""

    def __init__(self, signatures: EventSignatures, known: KnownPeers) -> None:
        self._key = signatures.public.raw
        self._secret = signatures.link_secret
        self._known = known
        self._taken = TakenOnce()
        self._correspondents: dict[bytes, _Correspondent] = {}
        """The other processes by key; the one sent to or heard from last is at the end."""
        self._own = b""
        self._own_record = b""

    def seal(self, data: bytes, to: bytes, nonces: tuple[bytes, bytes], now: float) -> list[bytes]:
        """Return the datagrams that carry `data` to the owner of a key: one or two.

        There is none if `to` is no key. Each of the `nonces` has `NONCE_BYTES` and is never used
        again.
        """
        try:
            one = self._correspondents.get(to) or self._meet(to)
        except InvalidKeyError:
            return []
        self._keep(to, one)
        own = self._introduction(now)
        lacking = not self._known.admits(peer_of_key(to), now)
        knows = one.has_ours and one.shown == self._own_record and one.unheard < UNHEARD_MAX
        one.just_shown = lacking or not (knows or one.just_shown)
        one.unheard += 1
        if not one.just_shown:
            return [self._box(one, 0, b"", data, nonces[0], now)]
        one.shown = self._own_record
        if lacking:
            return [self._box(one, INTRODUCED | LACKING, own, data, nonces[0], now)]
        if OVERHEAD + len(own) + len(data) <= DATAGRAM_BYTES_MAX:
            return [self._box(one, INTRODUCED, own, data, nonces[0], now)]
        return [
            self._box(one, INTRODUCED, own, b"", nonces[0], now),
            self._box(one, 0, b"", data, nonces[1], now),
        ]

    def open(
        self, datagram: bytes, now: float, strangers_heard: Callable[[], bool] = lambda: True
    ) -> tuple[bytes, bytes]:
        """Return the key of a datagram's sender, and the data.

        The data is empty if the datagram only introduces its sender. Raises `DatagramError` unless
        a certified process sealed the datagram for this one, its time is within five minutes of
        `now`, and it was not taken before. `strangers_heard` is asked, once a datagram, before a
        sender that is not known to be certified costs any arithmetic.
        """
        sender = datagram[:KEY_BYTES]
        one = self._correspondents.get(sender)
        certified = self._known.admits(peer_of_key(sender), now)
        if len(datagram) < (OVERHEAD if certified else STRANGERS_BYTES_MIN):
            raise UnknownSenderError("its sender is unknown, and shows no certificate")
        if sender == self._key:
            raise DatagramError(
                "it says that this process has sent it: it was sent back, or another process has"
                " the same key"
            )
        if not certified and not strangers_heard():
            raise DatagramError("its host sends too much of processes that are not known")
        try:
            one = one or self._meet(sender)
            if certified:
                self._keep(sender, one)
            nonce = datagram[KEY_BYTES : KEY_BYTES + NONCE_BYTES]
            box = datagram[KEY_BYTES + NONCE_BYTES :]
            content = bindings.crypto_secretbox_open_easy(box, nonce, one.receiving)
        except (CryptoError, InvalidKeyError):
            raise DatagramError("its sender has not the key that it names") from None
        flags, shown, padding = _HEAD.unpack_from(content, STAMP_BYTES)
        begin = STAMP_BYTES + _HEAD.size
        if flags > INTRODUCED | LACKING or begin + shown + padding > len(content):
            raise DatagramError("it does not follow the format")
        if flags & LACKING and len(datagram) < LACKING_BYTES:
            raise DatagramError("it asks for more than three times its bytes")
        if flags & INTRODUCED:
            self._learn(sender, content[begin : begin + shown], now)
        if not self._known.admits(peer_of_key(sender), now):
            raise DatagramError("its sender shows no certificate that is valid here")
        self._taken.check(nonce, content, now)
        self._keep(sender, one)
        one.has_ours, one.unheard, one.just_shown = not flags & LACKING, 0, False
        return sender, content[begin + shown + padding :]

    def _learn(self, sender: bytes, shown: bytes, now: float) -> None:
        try:
            introduction = read_introduction(shown)
            if read_record(introduction.record).key != sender:
                raise DatagramError("its sender shows the record of another")
            self._known.learn(introduction, now)
        except RefusedError as error:
            if not self._known.admits(peer_of_key(sender), now):
                raise DatagramError(str(error)) from error

    def _meet(self, key: bytes) -> _Correspondent:
        """Derive the keys of both directions with the owner of a key; raises `InvalidKeyError`."""
        try:
            common = bindings.crypto_box_beforenm(PublicKey(key).curve_public, self._secret)
        except CryptoError as error:
            raise InvalidKeyError("these 32 bytes are no key to write to") from error
        return _Correspondent(
            sending=_direction(common, self._key, key), receiving=_direction(common, key, self._key)
        )

    def _keep(self, key: bytes, one: _Correspondent) -> None:
        self._correspondents.pop(key, None)
        if len(self._correspondents) >= CORRESPONDENTS_MAX:
            del self._correspondents[next(iter(self._correspondents))]
        self._correspondents[key] = one

    def _introduction(self, now: float) -> bytes:
        """Return the encoded introduction of this process, with as many chains as fit."""
        own = self._known.own(now)
        if own.record != self._own_record:
            chains = own.chains
            self._own = write_introduction(own)
            while len(self._own) > INTRODUCTION_BYTES_MAX and len(chains) > 1:
                chains = chains[:-1]
                self._own = write_introduction(Introduction(own.record, chains))
            self._own_record = own.record
        return self._own

    def _box(
        self,
        one: _Correspondent,
        flags: int,
        introduction: bytes,
        data: bytes,
        nonce: bytes,
        now: float,
    ) -> bytes:
        padding = 0
        if flags & LACKING:
            padding = max(0, LACKING_BYTES - OVERHEAD - len(introduction) - len(data))
        content = b"".join(
            (
                stamp(now),
                _HEAD.pack(flags, len(introduction), padding),
                introduction,
                bytes(padding),
                data,
            )
        )
        return self._key + nonce + bindings.crypto_secretbox_easy(content, nonce, one.sending)


def _direction(common: bytes, sender: bytes, receiver: bytes) -> bytes:
    """Return the key of datagrams from `sender` to `receiver`."""
    return blake2b(sender + receiver, key=common, digest_size=KEY_BYTES, person=_PERSON).digest()
