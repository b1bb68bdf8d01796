"""Ed25519 and the way from it to X25519 in plain integers: an oracle without libsodium.

Written after RFC 8032 (5.1) and RFC 7748 (4.1). Slow, and not safe to sign with: its time depends
on the secret.
"""

from __future__ import annotations

from hashlib import sha512

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]
IDENTITY: Point = (0, 1)


def add(a: Point, b: Point) -> Point:
    product = D * a[0] * b[0] * a[1] * b[1]
    return (
        (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, -1, P) % P,
        (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P) % P,
    )


def times(scalar: int, point: Point) -> Point:
    total = IDENTITY
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def point_of(raw: bytes) -> Point | None:
    number = int.from_bytes(raw, "little")
    y, sign = number % 2**255, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    return (x if x % 2 == sign else P - x, y)


def bytes_of(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


_base = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
assert _base is not None
BASE: Point = _base


def scalar_of(seed: bytes) -> int:
    """The secret scalar, which is the X25519 secret as well."""
    number = int.from_bytes(sha512(seed).digest()[:32], "little")
    return number & ((1 << 254) - 8) | (1 << 254)


def public_of(seed: bytes) -> bytes:
    return bytes_of(times(scalar_of(seed), BASE))


def hash_of(*parts: bytes) -> int:
    return int.from_bytes(sha512(b"".join(parts)).digest(), "little") % L


def sign(seed: bytes, message: bytes) -> bytes:
    public, nonce = public_of(seed), hash_of(sha512(seed).digest()[32:], message)
    commitment = bytes_of(times(nonce, BASE))
    response = nonce + hash_of(commitment, public, message) * scalar_of(seed)
    return commitment + (response % L).to_bytes(32, "little")


def curve_of(public: bytes) -> bytes:
    """The Montgomery u of an Edwards point: (1 + y) / (1 - y)."""
    y = int.from_bytes(public, "little") % 2**255
    return ((1 + y) * pow(1 - y, -1, P) % P).to_bytes(32, "little")
