"""Bytes that are no valid message of any protocol, for tests of decoders."""

from __future__ import annotations

from typing import Any, Final

from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.wire import MalformedError

GARBAGE: Final = (b"", b"\xff", b"\x91\x63", b"\x90", b"\x91" * 5000, bytes(99))


def malformed(decoder: Decoder[Any], data: bytes) -> bool:
    """Say whether a decoder refuses bytes with `MalformedError`; other errors are raised."""
    try:
        decoder.decode(data)
    except MalformedError:
        return True
    return False
