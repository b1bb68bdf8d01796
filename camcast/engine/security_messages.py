"""The messages about identities: certificates, revocations and introductions."""

from __future__ import annotations

from typing import ClassVar, Final, TypeAlias

from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.messages import Decoder, Message, Right


class Certificates(Message, frozen=True, tag=1):
    """A chain of certificates, the root's first, for batches that name the last one."""

    chain: tuple[bytes, ...]


class RevocationNews(Message, frozen=True, tag=2):
    """One signed list of revocations."""

    data: bytes


class RevocationsKnown(Message, frozen=True, tag=3):
    """The hash of all lists that the sender knows."""

    hash: bytes


class CertificateWanted(Message, frozen=True, tag=4):
    """Send me the chain of certificates that ends in the one of this hash."""

    certificate: bytes


class Introductions(Message, frozen=True, tag=8):
    """Introductions of the processes that the next message names, or of the sender."""

    introductions: tuple[Introduction, ...]


class WhoAre(Message, frozen=True, tag=9):
    """Introduce to me those members of this community whose numbers in your sample these are."""

    right: ClassVar[Right] = Right.JOIN
    topic: str
    numbers: tuple[int, ...]


class KeyInUse(Message, frozen=True, tag=10):
    """Another process uses the receiver's key, as the record says that this key has signed."""

    record: bytes


SigningMessage: TypeAlias = Certificates | RevocationNews | RevocationsKnown | CertificateWanted
"""The messages of `camcast.engine.guard.signing`."""

DECODER: Final[Decoder[SigningMessage | Introductions | WhoAre | KeyInUse]] = Decoder(
    SigningMessage | Introductions | WhoAre | KeyInUse
)
