"""Bytes that went wrong: altered, cut, lengthened."""

from __future__ import annotations

import random


def mutated(rng: random.Random, said: bytes) -> bytes:
    """Return `said` with one to four mutations."""
    data = bytearray(said)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at:]
                data += rng.randbytes(rng.randrange(8))
            case 2:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                data[at : at + rng.randrange(9)] = b""
        if not data:
            data = bytearray(said)
    return bytes(data)
