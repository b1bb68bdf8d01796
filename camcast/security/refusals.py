"""Why something signed is not believed."""

from __future__ import annotations

from enum import Enum

from camcast.vocabulary.errors import CamcastError


class Reason(Enum):
    """Why it is not believed; the values name counters."""

    MALFORMED = "malformed"
    """The bytes do not follow the format, or are longer than it allows."""
    FORGED = "forged"
    """A signature does not verify with the key that is named."""
    UNTRUSTED = "untrusted"
    """A chain of certificates begins at no trusted root, or a link was issued by another key."""
    WIDER = "wider"
    """A certificate grants more than its issuer's own, or its issuer may not issue it."""
    REVOKED = "revoked"
    """A certificate is in its issuer's list of revoked ones."""
    EARLY = "early"
    """It is not valid yet."""
    EXPIRED = "expired"
    """It is not valid any more."""
    UNSIGNED = "unsigned"
    """It carries no signature."""
    UNKNOWN = "unknown"
    """It names a certificate that is not known here."""
    NO_RIGHT = "no_right"
    """The certificate is valid, and does not grant this right in this topic."""
    OUTSIDE = "outside"
    """An event came in a group that is not above its topic, and where it may not be published."""


class RefusedError(CamcastError, ValueError):
    """Something signed is not believed; the message says what was wrong."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
