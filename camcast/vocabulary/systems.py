"""Systems: processes that name different ones never meet, whatever address they are found at.

Addresses are used again, by DHCP, by a cluster, by two developers on port 7000. Two open systems
with equal topics would then become one. A process therefore names its system in the handshake of
every connection (`camcast.live.wire.zmtp.codec`), and in the datagrams of its discovery, which
begin with `MARK`, the length of the name and the name. A process of the system without a name,
which is the default, marks nothing, as all processes did before systems had names. A datagram of
another system is answered by the bare mark (`notice`), so that both sides learn both names.

A name is no secret and keeps nobody out who wants to get in: that is for profiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from camcast.vocabulary.printable import printable

SYSTEM_BYTES_MAX: Final = 64  # chosen: a host's label; READY, of 512 bytes at most, has room for it
MARK: Final = b"\xc1CMS"  # 0xc1 begins no MessagePack, and no datagram of the DHT
MISFITS_MAX: Final = 16  # chosen: a cluster's worth of wrong processes; 4 kB
MISFIT_SECONDS: Final = 60.0  # chosen: a process that joins asks every ten seconds at least


def check_system(name: str) -> str:
    """Return the name of a system; raises `ValueError` unless it is printable ASCII and fits."""
    if not (name.isascii() and name.isprintable() and len(name) <= SYSTEM_BYTES_MAX):
        raise ValueError(
            f"a system is named by at most {SYSTEM_BYTES_MAX} printable characters of ASCII, and"
            f" not by {name!r}"
        )
    return name


def other_system(theirs: bytes, ours: str) -> str:
    """Return the words for a process of another system than this one's."""
    name = theirs[:SYSTEM_BYTES_MAX].decode("utf-8", "replace")
    return f"it is of the system {printable(name)!r}, and this process of the system {ours!r}"


def notice(system: str) -> bytes:
    """Return a datagram that says of which system its sender is, and nothing else."""
    return MARK + bytes((len(system),)) + system.encode()


def mark(system: str, data: bytes) -> bytes:
    """Return a datagram of a system."""
    return notice(system) + data if system else data


def read_mark(datagram: bytes) -> tuple[bytes, bytes]:
    """Return the name of the system that a datagram is of, and what else is in it."""
    start = len(MARK) + 1
    if not datagram.startswith(MARK) or len(datagram) < start:
        return b"", datagram
    end = start + datagram[start - 1]
    return datagram[start:end], datagram[end:]


@define
class Misfits:
    """The processes met lately that cannot be in one system or community with this one."""

    _met: dict[str, tuple[str, float]] = field(factory=dict)
    """By address, the words for why, and when it was so last; the oldest one is first."""

    def add(self, address: str, why: str, now: float) -> None:
        """Note a process at an address; `now` is in seconds, as below."""
        self._met.pop(address, None)
        if len(self._met) >= MISFITS_MAX:
            del self._met[next(iter(self._met))]
        self._met[address] = why, now

    def lately(self, now: float) -> Iterator[str]:
        """Yield a sentence about each process met in the last `MISFIT_SECONDS`."""
        for address, (why, when) in self._met.items():
            if now - when < MISFIT_SECONDS:
                yield f"{address}: {why}"
