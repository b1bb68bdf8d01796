"""Addresses: the grammar of an endpoint that a peer may announce, ``tcp://HOST:PORT``.

HOST is an IPv4 address, an IPv6 address in brackets, or a DNS host name. Everything else
that ZeroMQ would understand (``ipc:``, ``inproc:``, ``tcp://source;destination``, the
wildcard ``*``, network interfaces) is refused: a contact comes from a stranger, and must
name nothing but a TCP port of a host. One address has one canonical text, so that text
can be compared, hashed and used as the key of a pipe.

A host name is looked up by ZeroMQ in its I/O thread, where a slow name server holds up
every other pipe (measured: for as long as the look-up takes). Contacts are therefore numeric
(`camcast.vocabulary.identity`); names are for what a user configures.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, IPv6Network
from typing import Final, NamedTuple

from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.errors import CamcastError

ADDRESS_BYTES_MAX: Final = 255  # chosen: fits one length byte; leaves a host name 240 characters
PORT_MAX: Final = 65535  # [RFC 9293, 3.1] sixteen bits
PLACEHOLDERS: Final = IPv6Network("100::/64")  # [RFC 6666, 2] what is sent there is discarded
PLACEHOLDER_START: Final = "tcp://[100::"
"""The beginning of all addresses in `PLACEHOLDERS`, and of few others."""

_EXAMPLES = "write tcp://127.0.0.1:7000, tcp://[::1]:7000 or tcp://host.example:7000"

_SHAPE = re.compile(r"tcp://(?:\[(?P<ipv6>[^\[\]]*)\]|(?P<host>[^\[\]:/]*)):(?P<port>[^:/]*)")
_PORT = re.compile(r"0|[1-9][0-9]{0,4}")
# Whether a name is one is for whoever looks it up: a service of Docker Compose may be called
# my_gateway, and a dot at the end spares Kubernetes its list of suffixes. Refused is what means
# something else to ZeroMQ or in a list of addresses.
_HOST_NAME = re.compile(r"[^\s/:;,*%@\[\]]+")
# Resolvers read 127.1, 2130706433 and 0x7f.1 as IPv4 addresses, which `is_loopback` would take
# for names. As in [WHATWG URL, 3.5], a last label that looks like a number is one.
_NUMBER_LAST = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


class AddressError(CamcastError, ValueError):
    """A text is not an address; the message says what is wrong and how to write one."""


class _Address(NamedTuple):
    text: str
    port: int
    is_loopback: bool
    is_wildcard: bool
    is_numeric: bool
    is_dialable: bool = True


def check_address(text: str, *, bind: bool = False) -> str:
    """Return the canonical form of the address `text`.

    Host names and IPv6 digits become lower case, IPv6 addresses are compressed, and an IPv4
    address mapped into IPv6 (``[::ffff:127.0.0.1]``) becomes the IPv4 address.
    Port 0, "any free port", passes only with `bind`. Raises `AddressError`.
    """
    address = _parse(text)
    if not address.port and not bind:
        raise AddressError(
            f"address {text!r} has port 0, which only a bind may ask for;"
            f" write the port that the peer listens on, 1 to {PORT_MAX}"
        )
    return address.text


def host_of(address: str) -> str:
    """Return all of a checked address but its port."""
    return address.rpartition(":")[0]


def is_loopback(address: str) -> bool:
    """Say whether `address` is on 127/8, ``::1`` or ``localhost``; raises `AddressError`.

    Nothing sent there leaves this machine: the profile `open` needs it (docs/security.md).
    """
    return _parse(address).is_loopback


def is_wildcard(address: str) -> bool:
    """Say whether `address` is ``0.0.0.0`` or ``[::]``; raises `AddressError`.

    Such an address can be bound, "on every interface", but not announced.
    """
    return _parse(address).is_wildcard


def is_numeric(address: str) -> bool:
    """Say whether the host of `address` is an IP address, not a name; raises `AddressError`."""
    return _parse(address).is_numeric


def is_dialable(address: str) -> bool:
    """Say whether `address` can be connected to at all; raises `AddressError`.

    It cannot if its host is in `PLACEHOLDERS`: the address stands for a process that nobody can
    dial (`camcast.vocabulary.identity.placeholder`).
    """
    return _parse(address).is_dialable


# chosen: 4,096 addresses of at most 255 bytes, some 4 MB at the worst; more than one
# process has pipes to. A bound, because peers feed this table. Errors are not remembered.
@lru_cache(maxsize=4_096)
def _parse(text: str) -> _Address:
    check_type("an address", text, str, "a text such as 'tcp://127.0.0.1:7000'")
    if len(text.encode("utf-8", "surrogatepass")) > ADDRESS_BYTES_MAX:
        raise AddressError(
            f"address {text[:40]!r}… is longer than {ADDRESS_BYTES_MAX} bytes; {_EXAMPLES}"
        )
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise AddressError(f"address {text!r} is not of the form tcp://HOST:PORT; {_EXAMPLES}")
    ipv6, host, digits = shape.group("ipv6", "host", "port")
    port = int(digits) if _PORT.fullmatch(digits) else PORT_MAX + 1
    if port > PORT_MAX:
        raise AddressError(
            f"address {text!r} has the port {digits!r}; a port is a number from 1 to {PORT_MAX}"
            f" without leading zeros; {_EXAMPLES}"
        )
    ip = _read_ipv6(text, ipv6) if host is None else _read_host(text, host)
    if isinstance(ip, str):
        # RFC 6761 would let names below localhost pass too, but resolvers differ.
        return _Address(f"tcp://{ip}:{port}", port, ip == "localhost", False, False)
    shown = f"[{ip}]" if ip.version == 6 else str(ip)
    dialable = ip.version == 4 or ip not in PLACEHOLDERS
    text = f"tcp://{shown}:{port}"
    return _Address(text, port, ip.is_loopback, ip.is_unspecified, True, dialable)


def _read_ipv6(text: str, digits: str) -> IPv4Address | IPv6Address:
    try:
        ip = IPv6Address(digits)
    except AddressValueError as error:
        raise AddressError(
            f"address {text!r} has no IPv6 address between its brackets; {_EXAMPLES}"
        ) from error
    if ip.scope_id is not None:
        raise AddressError(
            f"address {text!r} has the zone {ip.scope_id!r}, which means something on one machine"
            f" only; {_EXAMPLES}"
        )
    return ip.ipv4_mapped or ip


def _read_host(text: str, host: str) -> IPv4Address | str:
    try:
        name = host.lower() if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        name = ""
    if _NUMBER_LAST.fullmatch(name.removesuffix(".")):
        try:
            return IPv4Address(name)
        except AddressValueError as error:
            raise AddressError(
                f"address {text!r} has the host {host!r}, which looks like an IPv4 address but is"
                f" not four decimal numbers from 0 to 255; {_EXAMPLES}"
            ) from error
    if not (_HOST_NAME.fullmatch(name) and name.isprintable()):
        raise AddressError(
            f"address {text!r} has the host {host!r}, which is no name (an IPv6 address needs"
            f" brackets); {_EXAMPLES}"
        )
    return name
