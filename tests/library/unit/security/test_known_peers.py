"""The keys that are expected at addresses where a message names nobody."""

from __future__ import annotations

from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.security.known_peers import PINNED_MAX, KnownPeers
from tests.authority import ADA, EVE


def test_a_key_is_pinned_to_an_address_and_the_oldest_makes_room() -> None:
    known = KnownPeers(EventSignatures(SecretKey(b"o" * 32), []), 1)
    known.pin("first", str(ADA.public))
    known.pin("second", str(ADA.public))
    known.pin("second", "no key at all")
    known.pin("second", str(EVE.public))
    assert known.pinned("second") == EVE.public
    for number in range(PINNED_MAX - 1):
        known.pin(str(number), str(ADA.public))
    assert (known.pinned("first"), known.pinned("second")) == (None, EVE.public)
