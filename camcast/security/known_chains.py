"""The chains of certificates that a process knows, by the hash that batches and records name.

Only chains that verified are kept, so that strangers add nothing. If there are too many, the one
used least recently is dropped, of an issuer with many its own; the process can ask its owner for it
again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

from camcast.security.certificates import Rights
from camcast.security.chains import Chain, verify_chain
from camcast.security.keys import PublicKey
from camcast.security.refusals import Reason, RefusedError
from camcast.security.revocation import REVOCATIONS, Revocations
from camcast.security.sealed import seal_hash
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.share import Used

_log = Logger(__name__)

CHAINS_MAX: Final = 4096  # chosen: some 8 MB where each has two certificates


class KnownChains:
    """The roots that a process trusts, the chains that begin there, and what is revoked of them."""

    def __init__(self, roots: Sequence[PublicKey]) -> None:
        self._roots = tuple(roots)
        self._chains: dict[bytes, Chain] = {}
        """By hash."""
        # By the certificate of an issuer below a root, who can have any number of chains.
        self._used: Used[bytes, bytes] = Used(CHAINS_MAX)
        self._issuers: dict[bytes, Counter[bytes]] = {}
        """The keys that may issue certificates by these chains, with the number of such links under
        each key that a root lets issue; the links to those keys themselves are under ``b""``."""
        self._verified: Counter[bytes] = Counter()
        """The certificates of these chains."""
        self.revocations = Revocations()
        self._early_lists: dict[bytes, bytes] = {}
        """By issuer, the lists of files whose issuer's chain has not come yet."""

    def learn(self, data: Sequence[bytes], now: float, expired_seconds: float = 0.0) -> Chain:
        """Verify and remember a chain; raises `RefusedError`, also if it is not valid at `now`.

        Or for `expired_seconds` before: whoever goes by a chain checks it at the time that counts.
        """
        known = self._chains.get(seal_hash(data[-1])) if data else None
        if known is not None and known.data == tuple(data):
            known.check_valid(known.valid_within(now, expired_seconds), self.revocations.revoked)
            return known
        chain = verify_chain(data, self._roots, self._verified)
        for issuer, _ in _issuers(chain):
            if early := self._early_lists.pop(issuer, None):
                self.revocations.take(early, now, lambda _: b"")
        chain.check_valid(chain.valid_within(now, expired_seconds), self.revocations.revoked)
        if chain.hash in self._chains:
            self._forget(chain.hash)
        elif len(self._chains) >= CHAINS_MAX:
            self._forget(self._used.to_go())
        self._chains[chain.hash] = chain
        self._used.use(chain.issuer, chain.hash)
        self._verified.update(chain.data)
        for key, sponsor in _issuers(chain):
            self._issuers.setdefault(key, Counter())[sponsor] += 1
        return chain

    def chain(self, certificate: bytes) -> Chain:
        """Return the chain whose last certificate has this hash; raises `RefusedError` if unknown.

        The chain verified once, and may have expired or been revoked since.
        """
        chain = self._chains.get(certificate)
        if chain is None:
            raise RefusedError(Reason.UNKNOWN, f"the certificate {certificate.hex()} is not known")
        self._used.use(chain.issuer, certificate)
        return chain

    def take_revocations(self, data: bytes, now: float) -> bool:
        """Take a list of revocations of a root, or of a key that may issue by a known chain.

        Returns whether the list is new; raises `RefusedError`.
        """
        return self.revocations.take(data, now, self._sponsor)

    def lists(self) -> list[bytes]:
        """Return all lists of revocations, also those that do not count yet."""
        return [*self.revocations.all(), *self._early_lists.values()]

    def keep_revocations(self, data: bytes, now: float, *, heard: bool = False) -> None:
        """Take a list that the operator has given, or that was `heard` of before a restart.

        It always finds room. Raises `RefusedError`, but not for its issuer. Where no chain is known
        yet that lets the issuer issue, the list counts from such a chain on: until then it revokes
        nothing that this process believes.
        """

        def has_room(issuer: bytes) -> bytes | None:
            return None if self._sponsor(issuer) is None else b""

        try:
            self.revocations.take(data, now, has_room)
        except RefusedError as error:
            if error.reason is not Reason.UNTRUSTED:
                raise
            issuer = REVOCATIONS.read(data).issuer
            REVOCATIONS.check(data, issuer)
            if self._early_lists.get(issuer) != data:
                self._early_lists[issuer] = data
                _log.log(
                    logging.DEBUG if heard else logging.WARNING,
                    "the list of revocations of %s counts from when a certificate is known that"
                    " lets it issue others: none is known yet",
                    PublicKey(issuer),
                )

    def put_out(self, now: float) -> list[PeerId]:
        """Return the processes with a revoked chain and no chain known to be valid."""
        if not self.revocations:
            return []
        revoked, valid = dict[PeerId, None](), dict[PeerId, None]()
        for chain in self._chains.values():
            try:
                chain.check_valid(now, self.revocations.revoked)
            except RefusedError as error:
                if error.reason is Reason.REVOKED:
                    revoked[chain.subject_id] = None
            else:
                valid[chain.subject_id] = None
        return [peer for peer in revoked if peer not in valid]

    def _sponsor(self, key: bytes) -> bytes | None:
        """See `camcast.security.revocation.SponsorOf`."""
        sponsors = self._issuers.get(key, ())
        if b"" in sponsors or PublicKey(key) in self._roots:
            return b""
        return next(iter(sponsors), None)

    def _forget(self, certificate: bytes) -> None:
        chain = self._chains.pop(certificate)
        self._used.drop(certificate)
        for one in chain.data:
            self._verified[one] -= 1
            if not self._verified[one]:
                del self._verified[one]
        for key, sponsor in _issuers(chain):
            sponsors = self._issuers[key]
            sponsors[sponsor] -= 1
            if not sponsors[sponsor]:
                del sponsors[sponsor]
            if not sponsors:
                del self._issuers[key]


def _issuers(chain: Chain) -> list[tuple[bytes, bytes]]:
    """Return the keys that a chain allows to issue, each with the one that a root let issue it."""
    first, *below = chain.certificates
    issuers = [(first, b""), *((link, first.subject) for link in below)]
    return [(link.subject, sponsor) for link, sponsor in issuers if Rights.ISSUE in link.rights]
