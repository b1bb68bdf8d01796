"""The address that a process announces, where it is found at the start and not written down.

``advertise`` may be, instead of an address: ``auto``, the address by which this machine reaches the
first gateway that is known, or the rest of the network if none is; the name of a network interface,
its address; and a host name, its first address. The port is that of ``bind``. A process whose
machine gets another address has to be started again.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from camcast.vocabulary.addresses import AddressError, check_address, host_of

AUTO: Final = "auto"
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
    """Say whether what is to be announced is no address, and has to be found at the start."""
    return not advertise.startswith("tcp://")


def find_address(advertise: str, bind: str, gateways: Iterable[str]) -> str:
    """Return the address to announce, with the port of `bind`, which may be 0; it may wait for DNS.

    `gateways` are those of the configuration. Raises `AddressError` for a text that names nothing
    with an address here.
    """
    family = socket.AF_INET if "[" not in host_of(bind) else socket.AF_UNSPEC
    if advertise == AUTO:
        found = _towards(gateways, family)
    elif advertise in (name for _, name in socket.if_nameindex()):
        found = _of_interface(advertise, family)
    else:
        found = _of_name(advertise, family)
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


def _of_name(name: str, family: int) -> str | None:
    with suppress(OSError, UnicodeError):
        return str(socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)[0][4][0])
    return None
