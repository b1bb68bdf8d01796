"""The reasons for which signed bytes are refused."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, ParamSpec

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.refusal import TAKEN, Refusal

P = ParamSpec("P")

LOOK: Final = "look at the clock of this machine and at the other's (timedatectl shows them)"
"""The advice about a value whose time is wrong here."""


class Reason(Enum):
    """The reason of a refusal; the values name counters."""

    MALFORMED = "malformed"
    """The bytes do not follow the format, or are longer than it allows."""
    TOPIC = "topic"
    """A certificate is for a name that is no topic here: other releases may have other letters."""
    FORGED = "forged"
    """A signature does not verify with the key that is named."""
    UNTRUSTED = "untrusted"
    """A chain of certificates begins at no trusted root, or a link was issued by another key."""
    WIDER = "wider"
    """A certificate grants more than its issuer's own, or its issuer may not issue it."""
    REVOKED = "revoked"
    """A certificate is in its issuer's list of revoked ones."""
    EARLY = "early"
    """The signed value is not valid yet."""
    EXPIRED = "expired"
    """The signed value is no longer valid."""
    UNSIGNED = "unsigned"
    """A value that needs a signature has none."""
    UNKNOWN = "unknown"
    """A certificate is named that this process does not know."""
    NO_RIGHT = "no_right"
    """The certificate is valid, and does not grant this right in this topic."""
    OUTSIDE = "outside"
    """An event came in a group that is not above its topic and allows it no publication."""
    OVER_RATE = "over_rate"
    """The publisher sends more a second than its certificate allows."""


class RefusedError(CamcastError, ValueError):
    """A signed value is refused; the message says what is wrong."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def reason_against(check: Callable[P, object], *given: P.args, **named: P.kwargs) -> Refusal:
    """Return the reason for which a check refuses its arguments, `TAKEN` if it does not."""
    try:
        check(*given, **named)
    except RefusedError as error:
        return Refusal(error.reason.value, str(error))
    return TAKEN
