"""Rates of remote hosts: how much of a process's work the strangers of one host may cause.

A host has a token bucket (`camcast.vocabulary.token_buckets`), which holds the tokens of
`AT_ONCE_SECONDS`. Processes that join or restart together draw on these and are not refused, and a
flood gets no more than the rate in the long run. Hosts are
told apart by their *networks*: an IPv4 address, or the first 64 bits of an IPv6 address, since
whoever has one address there can take any other.

The loopback has no bucket: a whole community of honest processes may run on one machine.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

from camcast.vocabulary.token_buckets import Buckets, TokenBucket

# chosen: of 20 handshakes a second, 200 processes that restart at once behind one address
AT_ONCE_SECONDS: Final = 10.0
HOSTS_MAX: Final = 4096  # chosen: as many as peers are known; 1 MB
_INTERFACE_BITS: Final = 64  # [RFC 4291, 2.5.4] of an IPv6 address, which its owner may choose


def network_of(host: str) -> str:
    """Return the network of an IP address as sockets write it; empty for the loopback.

    An IPv4 address mapped into IPv6 is the IPv4 address.
    """
    ip = ip_address(host)
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return ""
    if isinstance(ip, IPv6Address):
        return str(IPv6Address(int(ip) >> _INTERFACE_BITS << _INTERFACE_BITS))
    return str(ip)


class HostRates:
    """Allows each remote host `a_second` acts in the long run; times are of one clock, in seconds.

    Of more than `HOSTS_MAX` hosts, the one silent for longest has a full bucket again.
    """

    def __init__(self, a_second: int) -> None:
        at_once = a_second * AT_ONCE_SECONDS
        self._buckets = Buckets[str, TokenBucket](
            HOSTS_MAX, lambda _: TokenBucket(a_second, at_once)
        )
        """By network."""

    def allow(self, host: str, now: float) -> bool:
        """Say whether a host, an IP address, may act now; if so, a token is taken."""
        network = network_of(host)
        return not network or self._buckets[network].take(now)
