"""Chains of certificates: from a trusted root's key to the key that acts, each link narrower.

Theory of operation
-------------------
A root is a key that a user trusts by naming it; it may grant anything. The first certificate of a
chain was issued by a root, each further one by the subject of the certificate before it, and none
grants more than the certificate before it: topics by level, rights, time and depth. Hence the last
certificate says what the chain allows, and is valid only while all of them are. Only a rate may be
higher than that above it: the lowest of a chain counts.

`verify_chain` checks once what does not change: form, signatures, narrowing. `Chain.check` checks
at each use what changes with time: validity, revocation, and the right that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from functools import reduce
from itertools import pairwise

from attrs import field, frozen

from camcast.security.certificates import (
    CERTIFICATE,
    CHAIN_MAX,
    SLACK_SECONDS,
    Certificate,
    Rate,
    Rights,
)
from camcast.security.keys import PublicKey
from camcast.security.refusals import Reason, RefusedError
from camcast.security.sealed import SealHash, seal_hash
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

Revoked = Callable[[Certificate], bool]
"""Whether its issuer revoked this certificate."""


@frozen
class Chain:
    """A verified chain; `verify_chain` makes it."""

    data: tuple[bytes, ...] = field(repr=False)
    """The certificates as they came, the root's first."""
    certificates: tuple[Certificate, ...]

    # Derived, and kept because every batch is checked against them.
    last: Certificate = field(init=False, eq=False)
    """The certificate that the chain is for."""
    subject: PublicKey = field(init=False, eq=False)
    """The key that the chain grants rights to."""
    subject_id: PeerId = field(init=False, eq=False)
    """The process with that key."""
    rate: Rate = field(init=False, eq=False)
    """The most that the subject may send a second: the lowest of what each certificate allows."""
    hash: SealHash = field(init=False, eq=False)
    """The hash of the last certificate, by which a batch and a record name the chain."""

    def __attrs_post_init__(self) -> None:
        last = self.certificates[-1]
        subject = PublicKey(last.subject)
        object.__setattr__(self, "last", last)
        object.__setattr__(self, "subject", subject)
        object.__setattr__(self, "subject_id", subject.peer_id)
        rates = (certificate.rate for certificate in self.certificates)
        object.__setattr__(self, "rate", reduce(Rate.within, rates))
        object.__setattr__(self, "hash", seal_hash(self.data[-1]))

    @property
    def issuer(self) -> bytes | None:
        """The key that a root lets certify others, which this chain is of; None: the root's own."""
        return self.certificates[0].subject if len(self.certificates) > 1 else None

    def valid_within(self, now: float, seconds: float) -> float:
        """Return the last time at which it was not expired, `seconds` ago at most."""
        return max(now - seconds, min(now, self.last.not_after))

    def check_valid(self, now: float, revoked: Revoked) -> None:
        """Raise `RefusedError` if the chain is not valid at `now`, in seconds since 1970."""
        if now < self.last.not_before - SLACK_SECONDS:
            ahead = self.last.not_before - now
            raise RefusedError(
                Reason.EARLY,
                f"the certificate is not valid yet: it begins {ahead:.0f} s ahead of this machine's"
                " clock; set the clock right, or certify the key from now on",
            )
        if now > self.last.not_after + SLACK_SECONDS:
            ago = now - self.last.not_after
            raise RefusedError(
                Reason.EXPIRED,
                f"the certificate has expired: it ended {ago:.0f} s ago by this machine's clock;"
                " certify the key again, or set the clock right",
            )
        for certificate in self.certificates:
            if revoked(certificate):
                raise RefusedError(
                    Reason.REVOKED, f"the certificate {certificate.serial.hex()} is revoked"
                )

    def check(self, right: Rights, topic: Topic, now: float, revoked: Revoked) -> None:
        """Raise `RefusedError` unless the chain is valid at `now` and grants this right there."""
        self.check_valid(now, revoked)
        if not self.last.grants(right, topic):
            may = ", ".join(self.last.rights.names)
            raise RefusedError(
                Reason.NO_RIGHT,
                f"the certificate is for {may} in {self.last.prefix},"
                f" not for {', '.join(right.names)} in {topic}",
            )


def verify_chain(
    data: Sequence[bytes], roots: Collection[PublicKey], verified: Container[bytes] = ()
) -> Chain:
    """Return the chain of these certificates, the root's first; raises `RefusedError`.

    The signatures of certificates that are `verified` are not checked again, and the last one is
    checked first. Anybody can show the certificates of others, and append one that is forged: that
    costs one check, or two if the forger has put its own key into the others as well.
    """
    if not 0 < len(data) <= CHAIN_MAX:
        raise RefusedError(
            Reason.MALFORMED, f"a chain has 1 to {CHAIN_MAX} certificates, this one {len(data)}"
        )
    certificates = tuple(map(CERTIFICATE.read, data))
    if PublicKey(certificates[0].issuer) not in roots:
        raise RefusedError(Reason.UNTRUSTED, "a chain begins at no trusted root")
    for above, below in pairwise(certificates):
        if below.issuer != above.subject:
            raise RefusedError(
                Reason.UNTRUSTED, "a certificate was issued by another key than the one above it"
            )
        if wider := below.wider_than(above):
            raise RefusedError(
                Reason.WIDER, f"a certificate grants more than the one above it: {wider}"
            )
    signatures = list(zip(data, certificates, strict=True))
    for signed, certificate in (signatures[-1], *signatures[:-1]):
        if signed not in verified:
            CERTIFICATE.check(signed, certificate.issuer)
    return Chain(tuple(data), certificates)
