"""Sealed datagrams: only the group's, only lately, only once; and nobody fills the memory."""

from __future__ import annotations

import pytest
from nacl.secret import SecretBox

from camcast.security.datagram_seal import OVERHEAD, DatagramSeal
from camcast.security.taken_once import NONCES_MAX, SLACK_SECONDS, DatagramError

KEY, NOW = b"k" * 32, 1_700_000_000.0


def nonce(number: int) -> bytes:
    return number.to_bytes(24)


def test_the_bytes_are_those_of_secretbox() -> None:
    """The vector for a second implementation; PyNaCl's own box is the oracle."""
    sealed = DatagramSeal((KEY,)).seal(b"ping", nonce(1), NOW)
    stamped = SecretBox(KEY).decrypt(sealed)
    assert sealed[:24] == nonce(1)
    assert stamped == int(NOW * 1000).to_bytes(8) + b"ping"
    assert len(sealed) == len(b"ping") + OVERHEAD
    assert sealed[24:].hex() == "c4f901f54a8b426992808dee5e7bf2430f2b042ceb19543d94777622"
    assert DatagramSeal((KEY,)).open(sealed, NOW) == b"ping"


def test_a_stranger_can_make_none() -> None:
    """Nor alter any: tests/library/hostile/test_fuzz.py."""
    ours = DatagramSeal((KEY,))
    forged = DatagramSeal((b"s" * 32,)).seal(b"who is nearest?", nonce(1), NOW)
    for datagram in (b"", b"plain", bytes(200), forged):
        with pytest.raises(DatagramError):
            ours.open(datagram, NOW)


def test_what_was_sent_before_is_refused_for_as_long_as_it_could_be_taken() -> None:
    ours = DatagramSeal((KEY,))
    early = ours.seal(b"1", nonce(1), NOW + SLACK_SECONDS)  # from a clock that is fast
    assert ours.open(early, NOW) == b"1"
    for later in (0, SLACK_SECONDS, 2 * SLACK_SECONDS):
        with pytest.raises(DatagramError, match="sent before"):
            ours.open(early, NOW + later)
    with pytest.raises(DatagramError, match=r"clock differs from ours by -301 s"):
        ours.open(early, NOW + 2 * SLACK_SECONDS + 1)
    with pytest.raises(DatagramError, match=r"clock differs from ours by \+301 s"):
        ours.open(ours.seal(b"2", nonce(2), NOW + 301), NOW)


def test_what_was_taken_is_not_taken_again_after_the_clock_was_set() -> None:
    """Back and forth, within and beyond the slack; and what is new is taken at once."""
    ours, wall, number = DatagramSeal((KEY,)), NOW, 10
    taken: list[bytes] = []
    for set_by in (0.0, 200.0, -400.0, 600.0, -3600.0, 3200.0, 40.0):
        wall += set_by
        for datagram in taken:
            with pytest.raises(DatagramError):
                ours.open(datagram, wall)
        for off in (-SLACK_SECONDS, 0, SLACK_SECONDS):
            number += 1
            taken.append(ours.seal(b"%d" % number, nonce(number), wall + off))
            assert ours.open(taken[-1], wall) == b"%d" % number


def test_the_memory_of_what_was_taken_is_bounded() -> None:
    ours = DatagramSeal((KEY,))
    for number in range(NONCES_MAX + 10):
        ours.open(ours.seal(b"", nonce(number), NOW), NOW)
    assert len(ours._taken._taken) == NONCES_MAX
    ours.open(ours.seal(b"", nonce(2**20), NOW + 1000), NOW + 1000)
    assert len(ours._taken._taken) == 1
