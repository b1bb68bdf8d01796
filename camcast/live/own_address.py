"""The address that a process announces, where it is looked up and not written down.

``advertise`` may be, instead of an address: ``auto``, the address by which this machine reaches the
first gateway that is known, or the rest of the network if none is; the name of a network interface,
its address; and a host name, its first address. The port is that of ``bind``. It is looked up at
the start, and then every `LOOK_SECONDS`: a process whose machine, or whose name, gets another
address announces that one. While what was announced is still right, it stays: a name may have
several addresses, in any order, and a machine with two networks may reach a gateway by either.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from camcast.live.live_waiting import LiveWaiting
from camcast.vocabulary.addresses import AddressError, check_address, host_of
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

AUTO: Final = "auto"
# chosen: half of the time for which a gateway remembers who has announced himself; a name server
# gets four questions a minute
LOOK_SECONDS: Final = 15.0
_SIOCGIFADDR: Final = 0x8915  # [netdevice(7)] the IPv4 address of an interface, in Linux
_INTERFACES_IPV6: Final = Path("/proc/net/if_inet6")  # [proc(5)] address, …, scope, flags, name
_GLOBAL_SCOPE: Final = (
    "00"  # [RFC 3493 and Linux] others need a zone, which means nothing elsewhere
)
# [RFC 5737, RFC 3849] reserved for documentation: routed as the rest of the network is. No packet
# is sent there.
_ELSEWHERE: Final = ("192.0.2.1", "2001:db8::1")
_DISCARD_PORT: Final = 9  # [RFC 863]


def is_found(advertise: str) -> bool:
    """Say whether what is to be announced is no address, and has to be looked up."""
    return not advertise.startswith("tcp://")


class OwnAddress:
    """The address that one process announces: `advertise`, or what is looked up for it.

    `check` raises what is wrong with an address that is found.
    """

    def __init__(self, advertise: str | None, bind: str, check: Callable[[str], None]) -> None:
        self._advertise, self._bind, self._check = advertise, bind, check
        self.looked_up = advertise is not None and is_found(advertise)
        """Whether it has to be found."""
        self._gateways: tuple[str, ...] = ()
        self._announced = ""
        self._failing = False
        """Whether the last look-up failed, which is logged once."""
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: LiveWaiting | None = None

    async def find(self, gateways: Iterable[str]) -> str | None:
        """Return the address to announce, which may have to be found; None: that of `bind`.

        Raises as `find_address`, and as `check`.
        """
        if not self.looked_up:
            return self._advertise
        self._gateways = tuple(gateways)
        return await asyncio.to_thread(self._look_up, "")

    def watch(self, announced: str, clock: Clock, move: Callable[[str], None]) -> None:
        """Look it up again from time to time, until `stop`; `move` takes another address."""
        if not self.looked_up:
            return
        self._announced = announced

        def looked_up(_name: tuple[Hashable, ...], outcome: object) -> None:
            self._look_later(self._waiting)
            if isinstance(outcome, AddressError | CommunityError | OSError):
                if not self._failing:
                    _log.warning("%s; this process goes on announcing %s", outcome, self._announced)
                self._failing = True
                return
            if isinstance(outcome, Exception):
                raise outcome
            self._failing = False
            if host_of(str(outcome)) != host_of(self._announced):
                self._announced = str(outcome)
                move(self._announced)

        self._waiting = LiveWaiting(clock, looked_up)
        self._look_later(self._waiting)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting is not None:
            self._waiting.close()
        self._timer = self._waiting = None

    def _look_later(self, waiting: LiveWaiting | None) -> None:
        if waiting is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LOOK_SECONDS, self._look_again, waiting)

    def _look_again(self, waiting: LiveWaiting) -> None:
        waiting.start(waiting.call(self._look_up, self._announced))

    def _look_up(self, announced: str) -> str:
        found = find_address(self._advertise or AUTO, self._bind, self._gateways, announced)
        self._check(found)
        return found


def find_address(advertise: str, bind: str, gateways: Iterable[str], announced: str = "") -> str:
    """Return the address to announce, with the port of `bind`, which may be 0; it may wait for DNS.

    `gateways` are those of the configuration. What is `announced` stays while it is right. Raises
    `AddressError` for a text that names nothing with an address here.
    """
    family = socket.AF_INET if "[" not in host_of(bind) else socket.AF_UNSPEC
    known = host_of(announced).removeprefix("tcp://").strip("[]") if announced else ""
    if advertise == AUTO:
        found = known if known and _is_here(known) else _towards(gateways, family)
    elif advertise in (name for _, name in socket.if_nameindex()):
        found = _of_interface(advertise, family)
    else:
        named = _of_name(advertise, family)
        found = known if known in named else next(iter(named), None)
    if found is None:
        raise AddressError(
            f"advertise {advertise!r}: this machine has no such address for {bind}; give auto, the"
            " name of an interface, a host name, or tcp://IP:PORT"
        )
    port = bind.rpartition(":")[2]
    return check_address(
        f"tcp://[{found}]:{port}" if ":" in found else f"tcp://{found}:{port}", bind=True
    )


def with_port_of(address: str, listening: str) -> str:
    """Return an address to announce, with the port that is listened at in place of port 0."""
    host, _, port = address.rpartition(":")
    return f"{host}:{listening.rpartition(':')[2]}" if port == "0" else address


def _towards(gateways: Iterable[str], family: int) -> str | None:
    hosts = [host_of(one).removeprefix("tcp://").strip("[]") for one in gateways]
    for host in (*hosts, *_ELSEWHERE):
        with suppress(OSError, UnicodeError):
            for found in socket.getaddrinfo(host, _DISCARD_PORT, family, socket.SOCK_DGRAM):
                with suppress(OSError), socket.socket(found[0], socket.SOCK_DGRAM) as asking:
                    asking.connect(found[4])
                    return str(asking.getsockname()[0])
    return None


def _of_interface(name: str, family: int) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
        answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        return socket.inet_ntoa(answer[20:24])
    if family == socket.AF_INET or not _INTERFACES_IPV6.exists():
        return None
    for line in _INTERFACES_IPV6.read_text("ascii").splitlines():
        digits, _, _, scope, _, interface = line.split()
        if interface == name and scope == _GLOBAL_SCOPE:
            return socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits))
    return None


def _of_name(name: str, family: int) -> list[str]:
    with suppress(OSError, UnicodeError):
        return [
            str(one[4][0]) for one in socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)
        ]
    return []


def _is_here(host: str) -> bool:
    """Say whether this machine still has an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as bound:
        bound.bind((host, 0))
        return True
    return False
