"""Nonces: good for the contact that they were issued to, and for a while."""

from __future__ import annotations

from camcast.engine.repair.messages import NONCE_SECONDS, Nonces
from camcast.vocabulary.identity import Contact, PeerId

ADA = Contact(PeerId(b"ada-ada-ada-ada-"), "tcp://10.0.0.1:7000")
EVE = Contact(PeerId(b"eve-eve-eve-eve-"), "tcp://10.0.0.1:7000")
MOVED = Contact(ADA.peer, "tcp://10.0.0.2:7000")


def test_a_nonce_is_good_for_ten_seconds_at_least_and_twenty_at_most() -> None:
    nonces = Nonces(b"secret")
    for issued in (0.0, 3.7, 9.99, 10.0):
        nonce = nonces.issue(ADA, issued)
        assert nonces.check(nonce, ADA, issued)
        assert nonces.check(nonce, ADA, issued + NONCE_SECONDS)
        assert not nonces.check(nonce, ADA, issued + 2 * NONCE_SECONDS)


def test_a_nonce_is_good_for_nobody_else() -> None:
    nonces = Nonces(b"secret")
    nonce = nonces.issue(ADA, 5.0)
    assert not nonces.check(nonce, EVE, 5.0)
    assert not nonces.check(nonce, MOVED, 5.0)  # an answer must not go to another address
    assert not nonces.check(b"", ADA, 5.0)
    assert not Nonces(b"other").check(nonce, ADA, 5.0)
