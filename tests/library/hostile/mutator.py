"""What became of genuine records and datagrams: bytes that went wrong, and values that lie."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

from camcast.vocabulary.wire import CONTROL_HEADER_BYTES, FRAME_HEADER
from tests.mutations import mutated

_HEAD: Final = slice(4, CONTROL_HEADER_BYTES)
_LIES: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1),
    *(0.0, -0.0, 1e-308, 1e308, float("nan"), float("inf"), float("-inf")),
    *(
        None,
        True,
        False,
        b"",
        bytes(16),
        b"\xff" * 64,
        "",
        ".",
        ".a",
        ".a.b",
        "tcp://10.0.0.1:7000",
    ),
    *(
        "x" * 300,
        "\x1b[2J",
        [],
        {},
        [[]],
        {"a": 1},
        [0] * 100,
        list(range(1_000)),
        [b"x" * 16] * 64,
    ),
)


def records_of(frame: bytes) -> list[bytes]:
    """Return the records of a genuine frame, without its header."""
    records, start = [], 0
    while start < len(frame):
        end = start + 4 + int.from_bytes(frame[start : start + 4])
        records.append(frame[start:end])
        start = end
    return records


class Mutator:
    """Mutates records and datagrams that were captured; all its chance is of one stream."""

    def __init__(self, rng: Random, records: list[bytes], datagrams: list[bytes]) -> None:
        self._rng = rng
        self._records = records
        self._datagrams = datagrams
        self.made = 0
        """How many mutated records and datagrams it gave."""

    def frame(self) -> bytes:
        """Return a frame of one to three mutated records."""
        records = [self._record() for _ in range(self._rng.randint(1, 3))]
        self.made += len(records)
        return FRAME_HEADER + b"".join(records)

    def datagram(self) -> bytes:
        """Return a mutated datagram: a kind, a call's number and a value (Kademlia)."""
        self.made += 1
        rng, datagram = self._rng, self._rng.choice(self._datagrams)
        match rng.randrange(4):
            case 0:
                return mutated(rng, datagram)
            case 1:  # another call's number
                return datagram[:1] + rng.choice(self._datagrams)[1:21] + datagram[21:]
            case 2:  # an answer to a question, a question for an answer
                return bytes([datagram[0] ^ 1]) + datagram[1:]
        return datagram[:21] + self._lying(datagram[21:])

    def _record(self) -> bytes:
        rng, record = self._rng, self._rng.choice(self._records)
        choice = rng.randrange(8)
        if choice < 2:
            record = mutated(rng, record)
        elif choice < 6 and record[4]:  # a control record: its message says something else
            body = CONTROL_HEADER_BYTES + record[6]
            record = record[:body] + self._lying(record[body:])
        elif choice == 6:  # a field of the head is that of another record: kind, group, sender
            other = rng.choice(self._records)
            a, b = sorted(rng.randrange(_HEAD.start, _HEAD.stop) for _ in range(2))
            record = record[:a] + other[a:b] + record[b:]
        else:  # the head of one, the tail of another
            other = rng.choice(self._records)
            record = record[: rng.randrange(len(record))] + other[rng.randrange(len(other)) :]
        if rng.random() < 0.9:  # a true length lets the mutation get further in
            record = (max(0, len(record) - 4)).to_bytes(4) + record[4:]
        return record

    def _lying(self, encoded: bytes) -> bytes:
        """Return a value of MessagePack in which one or two parts are others."""
        try:
            value = msgspec.msgpack.decode(encoded)
        except msgspec.DecodeError:
            return mutated(self._rng, encoded) if encoded else encoded
        for _ in range(self._rng.randint(1, 2)):
            value = self._with_a_lie(value)
        return msgspec.msgpack.encode(value)

    def _with_a_lie(self, value: Any) -> Any:
        rng = self._rng
        if isinstance(value, list) and value and rng.random() < 0.9:
            at = rng.randrange(len(value))
            match rng.randrange(12):
                case 0:
                    return [*value, rng.choice(_LIES)]
                case 1:
                    return value[:at] + value[at + 1 :]
                case 2:
                    return value * rng.choice([2, 3, 65])
                case _:
                    return [*value[:at], self._with_a_lie(value[at]), *value[at + 1 :]]
        if isinstance(value, bytes) and value and rng.random() < 0.7:
            return mutated(rng, value) if rng.random() < 0.5 else rng.randbytes(len(value))
        if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
            return max(-(2**63), min(2**63 - 1, value + rng.choice([-1, 1, 256, -65_536])))
        return rng.choice(_LIES)
