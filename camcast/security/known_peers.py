"""The processes that a process knows: the signed record and the certificates of each.

A process makes itself known by its *introduction*: its peer record and the chains of certificates
that the record names. It shows its introduction in the handshake of every link, and signs a new
record long before the old one expires. A process that names a third process passes that one's
introduction on, which it cannot alter. An address of a process is always one that the owner of
the process's key has signed.

Introductions that do not verify, or that no trusted root certifies, are not stored. Of the others
at most `PEERS_MAX` are; the one used least recently is dropped first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from attrs import define

from camcast.security.certificates import CERTIFICATE, SLACK_SECONDS, Rights
from camcast.security.chains import Chain
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import InvalidKeyError, PublicKey
from camcast.security.mandates import verify_mandate
from camcast.security.records import LIFETIME_SECONDS, PeerRecord, read_record, verify_record
from camcast.security.refusals import Reason, RefusedError, reason_against
from camcast.security.sealed import seal_hash
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.introductions import Introduction, Moved
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.share import Used
from camcast.vocabulary.size_estimate import number_of
from camcast.vocabulary.topics import Topic

# chosen: as many as chains are known (`known_chains`); views, links and a gateway's register have
# some hundreds. 3 kB each with two certificates.
PEERS_MAX: Final = 4096
PINNED_MAX: Final = 256  # chosen: four times as many as `overlays.remembered` has
CHAINS_MAX: Final = 4  # chosen: fits a handshake with room; one for each part of a hierarchy
RENEW_SECONDS: Final = LIFETIME_SECONDS / 3  # chosen: two more records follow before one expires
# chosen: how long verdicts are kept, since each message asks for one
_VERDICT_SECONDS: Final = 1.0
_VERDICTS_MAX: Final = 16_384  # chosen: 4 questions about each peer

_INTRODUCTION: Final = msgspec.msgpack.Decoder(Introduction)
write_introduction: Final = msgspec.msgpack.Encoder().encode
"""Encodes an introduction, as it stands in the metadata of a link."""


def read_introduction(data: bytes) -> Introduction:
    """Return what `write_introduction` wrote; raises `RefusedError`."""
    try:
        return _INTRODUCTION.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RefusedError(Reason.MALFORMED, f"an introduction does not decode: {error}") from error


@define
class _Peer:
    record: PeerRecord
    data: bytes
    key: PublicKey
    chains: dict[bytes, Chain]
    """The chains that the record names, by hash."""
    former: bytes = b""
    """The latest record of another address."""

    @property
    def issuer(self) -> bytes | None:
        """The issuer below a root in whose share of the places it is; None: in no share."""
        issuers = [chain.issuer for chain in self.chains.values()]
        return None if None in issuers else issuers[0]

    def is_current(self, now: float) -> bool:
        return now <= self.record.expiry + SLACK_SECONDS


class KnownPeers:
    """Implements `camcast.doors.admission.Admission` for the process that signs by `signatures`.

    `incarnation` is the time in milliseconds since 1970; `reserve` returns a number from there on
    that is higher than at any earlier start with the same key, though the clock was set back. A
    record that has expired is kept like any other: if this process's clock was ahead, the record
    counts again once the clock is set right. Raises ValueError for a process of more than
    `CHAINS_MAX` certificates.
    """

    def __init__(
        self,
        signatures: EventSignatures,
        incarnation: int,
        reserve: Callable[[int, int], int] = lambda at_least, _count: at_least,
    ) -> None:
        self._signatures = signatures
        self._chains = signatures.known
        self._reserve = reserve
        self._incarnation = reserve(incarnation, 1)
        self._address = ""
        self._own: Introduction | None = None
        self._own_named: tuple[bytes, ...] = ()
        self._own_since = 0.0
        self._mandates = 0
        self._peers: dict[PeerId, _Peer] = {}
        """The known processes."""
        # An issuer below a root can certify any number of keys of its own.
        self._used: Used[bytes, PeerId] = Used(PEERS_MAX)
        self._numbered: dict[int, PeerId] = {}
        """The same processes, by their numbers in samples of sizes."""
        self._pinned: dict[str, PublicKey] = {}
        """The expected key at each address; the one pinned last is at the end."""
        self._verdicts: dict[tuple[PeerId, Rights, Topic | None], bool] = {}
        self._verdicts_until = 0.0

    # -- this process ----------------------------------------------------------------------

    @property
    def key(self) -> bytes:
        """The public key of this process."""
        return self._signatures.public.raw

    def reached_at(self, address: str) -> None:
        """Note the address that this process announces, for its introduction."""
        self._address, self._own = address, None

    def introduce_anew(self, now: float) -> None:
        """See `Admission`; the new incarnation is higher than any before."""
        self._incarnation = self._reserve(max(self._incarnation + 1, int(1000 * now)), 1)
        self._own = None

    def own(self, now: float) -> Introduction:
        """See `Admission`; also made again when the certificates of this process have changed."""
        chains = self._signatures.own[:CHAINS_MAX]
        named = tuple(chain.hash for chain in chains)
        if self._own is None or named != self._own_named or self._is_old(now):
            record = self._signatures.sign_record(
                self._address, self._incarnation, int(now) + LIFETIME_SECONDS, named
            )
            self._own = Introduction(record, tuple(chain.data for chain in chains))
            self._own_named, self._own_since = named, now
        return self._own

    def sign_mandate(self, said: bytes, now: float) -> bytes:
        """Return a mandate of this process for the bytes `said`; no two mandates are equal."""
        self._mandates += 1
        return self._signatures.sign_mandate(said, round(now * 1000), self._mandates)

    def _is_old(self, now: float) -> bool:
        return not 0 <= now - self._own_since < RENEW_SECONDS

    # -- introductions of other processes --------------------------------------------------

    def learn(self, introduction: Introduction, now: float) -> PublicKey:
        """Verify and remember an introduction; return its owner's key, or raise `RefusedError`."""
        record = read_record(introduction.record)
        key = PublicKey(record.key)
        known = self._peers.get(key.peer_id)
        if known is not None and known.data != introduction.record and known.is_current(now):
            if record.incarnation == known.record.incarnation and not record.replaces(known.record):
                record = known.record  # an older record of the same address, which came late
            elif not record.replaces(known.record):
                raise RefusedError(
                    Reason.EXPIRED,
                    "a newer record of this process is known: this one was long on its way, or two"
                    " processes have the key, or its clock was set back",
                )
        if known is not None and known.record is record:
            return key
        chains = dict(self._valid_chains(record, introduction, now))
        if known is not None and known.data == introduction.record and known.is_current(now):
            known.chains |= chains
            return key
        verify_record(introduction.record, now)
        if known is not None:  # a process that passes a record on may leave out chains
            chains = {h: c for h, c in known.chains.items() if h in record.certificates} | chains
        if known is None and len(self._peers) >= PEERS_MAX:
            self._forget(self._used.to_go())
        former = b""
        if known is not None:
            same = known.record.addresses == record.addresses
            former = known.former if same else known.data
        peer = _Peer(record, introduction.record, key, chains, former)
        self._peers[key.peer_id] = peer
        self._used.use(peer.issuer, key.peer_id)
        self._numbered[number_of(key.peer_id)] = key.peer_id
        self._verdicts.clear()
        return key

    def _valid_chains(
        self, record: PeerRecord, introduction: Introduction, now: float
    ) -> Iterator[tuple[bytes, Chain]]:
        """Yield the chains that are valid for the record, at least one; raises `RefusedError`."""
        refused = RefusedError(Reason.UNKNOWN, "a process shows no certificate")
        if len(introduction.chains) > CHAINS_MAX:
            raise RefusedError(Reason.MALFORMED, f"a process shows more than {CHAINS_MAX} chains")
        counted = 0
        for data in introduction.chains:
            try:
                if not data or seal_hash(data[-1]) not in record.certificates:
                    raise RefusedError(Reason.UNTRUSTED, "a record does not name a certificate")
                # Before any signature is checked, since anybody can show others' chains.
                if CERTIFICATE.read(data[-1]).subject != record.key:
                    raise RefusedError(Reason.UNTRUSTED, "a certificate is for another key")
                chain = self._chains.learn(data, now)
            except RefusedError as error:
                if error.reason in (Reason.FORGED, Reason.WIDER):
                    raise  # no owner of a good chain shows such a one beside it
                refused = error
            else:
                counted += 1
                yield chain.hash, chain
        if not counted:
            raise refused

    def take(self, introduction: Introduction, now: float) -> Refusal:
        """Verify and remember an introduction; return why it is refused, or `TAKEN`."""
        return reason_against(self.learn, introduction, now)

    def owner(self, introduction: Introduction) -> PeerId:
        """Return the process that an introduction names as its owner, without verifying it."""
        try:
            return read_record(introduction.record).peer_id
        except RefusedError:
            return UNKNOWN_PEER

    def mandate_refusal(
        self, peer: PeerId, said: bytes, mandate: bytes, now: float, *, verified: bool
    ) -> Refusal:
        """Return why a mandate of another process does not count, or `TAKEN`."""
        known = self._current(peer, now)
        if known is None:
            return Refusal(Reason.UNKNOWN.value)
        return reason_against(verify_mandate, said, mandate, now, None if verified else known.key)

    # -- known processes -------------------------------------------------------------------

    def introduction(self, peer: PeerId, now: float) -> Introduction | None:
        """Return the introduction of a process; None if the process is unknown or has expired."""
        if peer == self._signatures.peer_id:
            return self.own(now)
        known = self._current(peer, now)
        if known is None:
            return None
        return Introduction(known.data, tuple(chain.data for chain in known.chains.values()))

    def incarnation(self, peer: PeerId) -> int:
        """See `Admission`."""
        known = self._peers.get(peer)
        return 0 if known is None else known.record.incarnation

    def numbered(self, number: int, now: float) -> PeerId | None:
        """Return the process of this number in samples of sizes, if its record is valid."""
        peer = self._numbered.get(number)
        if peer is None or not self._peers[peer].is_current(now):
            return None
        return peer

    def key_of(self, contact: Contact, now: float) -> PublicKey | None:
        """Return the key of a process, if it is certified and its record has the address."""
        if contact.peer == self._signatures.peer_id:
            return self._signatures.public
        known = self._current(contact.peer, now)
        if known is None or contact.address not in known.record.addresses:
            return None
        return known.key if self.admits(contact.peer, now) else None

    def key_text(self, contact: Contact, now: float) -> str:
        """Return the public key, as text, of a contact that `knows` accepts, else ""."""
        key = self.key_of(contact, now)
        return "" if key is None else str(key)

    def key_named(self, peer: PeerId) -> str:
        """Return the public key of a process, as text; empty if it is not known."""
        known = self._peers.get(peer)
        return "" if known is None else str(known.key)

    def pin(self, address: str, key: str) -> None:
        """Expect the process at an address to have this public key, given as text."""
        with suppress(InvalidKeyError):
            self._pinned.pop(address, None)
            if len(self._pinned) >= PINNED_MAX:
                del self._pinned[next(iter(self._pinned))]
            self._pinned[address] = PublicKey.parse(key)

    def pinned(self, address: str) -> PublicKey | None:
        """Return the key that the process at an address is expected to have."""
        return self._pinned.get(address)

    def knows(self, contact: Contact, now: float) -> bool:
        """Say whether a process is known, has a valid certificate, and signed this address."""
        if contact.peer == self._signatures.peer_id:
            return True
        return self.key_of(contact, now) is not None

    def moved(self, contact: Contact, now: float) -> Moved | None:
        """See `Admission`; only the address before the latest one is known."""
        known = self._current(contact.peer, now)
        if known is None or not known.former:
            return None
        if contact.address not in read_record(known.former).addresses:
            return None
        now_at = Contact(contact.peer, known.record.addresses[0])
        return Moved(str(known.key), now_at, known.data, known.former)

    def addresses_in_use(self, record: bytes, now: float) -> Sequence[str]:
        """See `Admission`; a record of this process's own address proves nothing."""
        with suppress(RefusedError):
            other = verify_record(record, now)
            if other.peer_id == self._signatures.peer_id and self._address not in other.addresses:
                return other.addresses
        return ()

    def admits(self, peer: PeerId, now: float) -> bool:
        """Say whether a process is known and has a valid certificate, whatever that allows."""
        return self._may(peer, Rights(0), None, now)

    def may_join(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may be a member of a topic's community."""
        return self._may(peer, Rights.JOIN, topic, now)

    def may_serve(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may be a gateway of a topic."""
        return self._may(peer, Rights.SERVE, topic, now)

    def may_link(self, peer: PeerId, topic: Topic, now: float) -> bool:
        """Say whether a process may send events to a topic's community and ask for its members."""
        return self._may(peer, Rights.JOIN | Rights.PUBLISH, topic, now)

    def _may(self, peer: PeerId, right: Rights, topic: Topic | None, now: float) -> bool:
        if not self._verdicts_until - _VERDICT_SECONDS <= now < self._verdicts_until:
            self._verdicts.clear()
            self._verdicts_until = now + _VERDICT_SECONDS
        question = peer, right, topic
        verdict = self._verdicts.get(question)
        if verdict is None:
            if len(self._verdicts) >= _VERDICTS_MAX:
                self._verdicts.clear()
            verdict = any(_grants(chain, right, topic) for chain in self._valid(peer, now))
            self._verdicts[question] = verdict
        return verdict

    def _valid(self, peer: PeerId, now: float) -> Iterator[Chain]:
        """Yield those chains of a known process that are valid at `now`."""
        if peer == self._signatures.peer_id:
            chains = list(self._signatures.own)
        else:
            known = self._current(peer, now)
            chains = [] if known is None else list(known.chains.values())
        for chain in chains:
            with suppress(RefusedError):
                chain.check_valid(now, self._chains.revocations.revoked)
                yield chain

    def _current(self, peer: PeerId, now: float) -> _Peer | None:
        known = self._peers.get(peer)
        if known is None or not known.is_current(now):  # which it may be again: clocks are set
            return None
        self._used.use(known.issuer, peer)
        return known

    def _forget(self, peer: PeerId) -> None:
        del self._peers[peer]
        self._used.drop(peer)
        del self._numbered[number_of(peer)]


def _grants(chain: Chain, right: Rights, topic: Topic | None) -> bool:
    if topic is None:
        return True
    if right == Rights.JOIN | Rights.PUBLISH:  # either of them suffices to link
        return chain.last.grants_link(topic)
    return chain.last.grants(right, topic)


def owner_of_link(data: bytes, curve_public: bytes, known: KnownPeers, now: float) -> PublicKey:
    """Return the key of the process that this introduction is of, if its links have this key.

    Raises `RefusedError`, also for an introduction of another process.
    """
    introduction = read_introduction(data)
    key = PublicKey(read_record(introduction.record).key)
    try:
        matches = key.curve_public == curve_public
    except InvalidKeyError:
        matches = False
    if not matches:
        raise RefusedError(Reason.FORGED, "a process shows the record of another")
    return known.learn(introduction, now)
