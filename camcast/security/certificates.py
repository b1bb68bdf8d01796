"""Certificates: one key grants another some rights below a topic, for some time.

The formats of this package are frozen; docs/security-formats.md has them in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec.structs import astuple
from typing_extensions import override

from camcast.security.keys import Domain
from camcast.security.sealed import KeyBytes, Seal, SealedValue, Seconds
from camcast.vocabulary.topics import Topic

CHAIN_MAX: Final = 4  # chosen: certificates from a trusted root to the one that is used
SERIAL_BYTES: Final = 8  # chosen: at random; two of 10^6 are equal with a probability of 3e-8
CERTIFICATE_BYTES_MAX: Final = 423  # with a topic of 255 bytes and a rate, as MessagePack writes it
SLACK_SECONDS: Final = 300  # [docs/operating.md] the clocks of two processes differ by so much

Serial = Annotated[bytes, msgspec.Meta(min_length=SERIAL_BYTES, max_length=SERIAL_BYTES)]


class Rights(IntFlag):
    """The rights that a certificate grants in its topic and in those below it."""

    JOIN = 1
    """To be a member: to receive, to be in tables, to forward."""
    PUBLISH = 2
    SERVE = 4
    """To be a gateway: to be asked for first contacts."""
    ISSUE = 8
    """To grant its own rights to other keys by certificates."""

    @property
    def names(self) -> tuple[str, ...]:
        """The rights as a command line has them."""
        return tuple(_name(right) for right in Rights if right in self)

    @classmethod
    def parse(cls, names: Iterable[str]) -> Rights:
        """Return the rights of these names; raises `ValueError`, which lists them."""
        by_name = {_name(right): right for right in cls}
        rights = cls(0)
        for name in names:
            if name not in by_name:
                raise ValueError(f"no right is called {name!r}; there are {', '.join(by_name)}")
            rights |= by_name[name]
        return rights


def _name(right: Rights) -> str:
    return str(right.name).lower()


A_SECOND_MAX: Final = 2**32 - 1  # chosen: 4 bytes, more than any process sends
ASecond = Annotated[int, msgspec.Meta(ge=0, le=A_SECOND_MAX)]
"""A bound on what is sent in a second; 0 for none."""


class Rate(NamedTuple):
    """How much a publisher may send a second; 0 is no bound."""

    events: int = 0
    bytes: int = 0
    """Of the bodies of its batches, with topic, signature and all that is signed."""

    def within(self, other: Rate) -> Rate:
        """Return the lower of each of two bounds."""
        lowest = (min(filter(None, pair), default=0) for pair in zip(self, other, strict=True))
        return Rate(*lowest)

    @override
    def __str__(self) -> str:
        bounds = {"event": self.events, "byte": self.bytes}
        return " and ".join(
            f"{most:,} {what}{'s' * (most > 1)} a second" for what, most in bounds.items() if most
        )


UNBOUNDED: Final = Rate()


class Certificate(SealedValue, frozen=True, tag=1):
    """`issuer` grants `subject` the rights in the topic `prefix` and in those below it.

    The certificate is valid from `not_before` to `not_after`. At most `depth` certificates may
    follow it in a chain, none if it does not grant `Rights.ISSUE`. `serial` names it in the
    issuer's list of revoked certificates.
    """

    issuer: KeyBytes
    subject: KeyBytes
    prefix: str
    rights_bits: Annotated[int, msgspec.Meta(gt=0, le=sum(Rights))]
    not_before: Seconds
    not_after: Seconds
    serial: Serial
    depth: Annotated[int, msgspec.Meta(ge=0, lt=CHAIN_MAX)]

    def __post_init__(self) -> None:
        Topic.parse(self.prefix)
        if self.not_before >= self.not_after:
            raise ValueError("a certificate ends after it begins")
        if (Rights.ISSUE in self.rights) != (self.depth > 0):
            raise ValueError("a certificate has a depth if it grants the right to issue, else 0")

    @property
    def topic(self) -> Topic:
        """The topic in and below which the certificate grants its rights."""
        return Topic.parse(self.prefix)

    @property
    def rights(self) -> Rights:
        """The rights that the certificate grants."""
        return Rights(self.rights_bits)

    def grants(self, right: Rights, topic: Topic) -> bool:
        """Return whether the certificate grants a right in a topic, whatever the time is."""
        return right in self.rights and self.topic.includes(topic)

    @property
    def rate(self) -> Rate:
        """The most that its owner, and each publisher below it in a chain, may send a second."""
        return UNBOUNDED

    def grants_link(self, topic: Topic) -> bool:
        """Return whether the certificate's owner may link to `topic`.

        A process that may join or publish in a topic may send events to members of the topic's
        ancestors, ask for these members, and tell them which events it has. It receives nothing
        there.
        """
        here = self.topic
        at_work = Rights.JOIN | Rights.PUBLISH
        return bool(self.rights & at_work) and (here.includes(topic) or topic.includes(here))

    def wider_than(self, above: Certificate) -> str:
        """Return in which respects the certificate exceeds the one `above` it; "" if in none."""
        if Rights.ISSUE not in above.rights:
            return "the one above it may not issue any"
        wider = {
            "topic": not above.topic.includes(self.topic),
            "rights": self.rights not in above.rights,
            "time": self.not_before < above.not_before or above.not_after < self.not_after,
            "depth": self.depth >= above.depth,
        }
        return ", ".join(name for name, is_wider in wider.items() if is_wider)


class RatedCertificate(Certificate, frozen=True, tag=2):
    """A certificate that bounds what is published with it, by at least one of two numbers.

    A release that does not know this version refuses it.
    """

    events_a_second: ASecond
    bytes_a_second: ASecond

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.rate):
            raise ValueError("a certificate without a rate is of version 1")

    @property
    @override
    def rate(self) -> Rate:
        return Rate(self.events_a_second, self.bytes_a_second)

    @classmethod
    def of(cls, certificate: Certificate, rate: Rate) -> Certificate:
        """Return a certificate with this rate; the same one without any."""
        fields = (*astuple(certificate), *rate)
        return cls(*fields) if any(rate) else certificate


CERTIFICATE: Final = Seal[Certificate](
    Certificate | RatedCertificate, Domain.CERTIFICATE, CERTIFICATE_BYTES_MAX
)
