"""What joins the hosts of a chaos run: the loopback, wires that can be cut, or weather.

Every *host* of `Wires` and `Weather` is a network namespace with an address of its own. All packets
between hosts pass a further namespace, the *router*.

- `Wires` has a veth pair from each host to the router. A cut of the way from one host to another is
  a blackhole rule of the router's routing policy: packets vanish in silence, in one direction. `ip`
  alone can do that, so that nft need not be installed.
- `Weather` has a TUN device for each host instead, whose other end `tests.library.chaos.switch`
  holds. The switch loses, delays, reorders and duplicates packets, since few kernels have netem.
- `Wires` also closes a host (`close_in`): the filter of nftables in its namespace lets packets in
  only of connections that the host has made, as a firewall does. Only this needs `nft`. A host that
  it hides (`hide`) has a NAT in front of it, and the private address of all others that it hides.
- `Loopback` makes neither: hosts are addresses 127.0.0.x of this machine. It needs no root.

Namespaces are removed by a *janitor*, a shell that waits for the end of its standard input and then
kills whatever still runs in them. Its input ends with the process that made the network, however
that process ends: after the run, by Ctrl-C, or by kill -9.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

ROOT: Final = Path(__file__).parents[3]
"""The folder of the checkout, in which `python -m tests.library.chaos...` works."""

# chosen: TCP over Ethernet has no larger packets; a larger one would soften what loss does
_MTU: Final = 1400
_GATE: Final = "10.66.1.1"
_PRIVATE: Final = "192.168.1.10"  # of every hidden host; no other has a route to it
_ESTABLISHED_ONLY: Final = """
table inet firewall {
    chain input {
        type filter hook input priority 0; policy drop;
        iifname lo accept
        ct state established,related accept
    }
}
"""
_JANITOR: Final = """
cat > /dev/null
for space in "$@"; do
    for process in $(ip netns pids "$space" 2> /dev/null); do kill -9 "$process"; done
    ip netns del "$space" 2> /dev/null
done
"""
_numbers = itertools.count(1)


def obstacles() -> list[str]:
    """Return why namespaces cannot be made here; nothing if they can."""
    found = []
    if os.geteuid() != 0:
        found.append("only root can make network namespaces")
    if shutil.which("ip") is None:
        found.append("the command `ip` is not installed (Debian: iproute2)")
    if not Path("/dev/net/tun").exists():
        found.append("/dev/net/tun does not exist (modprobe tun)")
    return found


def filter_obstacles() -> list[str]:
    """Return why hosts cannot be closed here; nothing if they can."""
    if shutil.which("nft") is None:
        return ["the command `nft` is not installed (Debian: nftables)"]
    return []


class Network(Protocol):
    """Joins hosts, which are numbered from 0."""

    def address(self, host: int) -> str:
        """Return the IP address of a host."""

    def command(self, host: int, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one on a host."""

    def cut(self, ways: Iterable[tuple[int, int]]) -> None:
        """Lose what goes from the first to the second host of each pair, until `heal`."""

    def close_in(self, hosts: Iterable[int]) -> None:
        """Let nothing into these hosts but packets of connections that they have made."""

    def hide(self, hosts: Iterable[int]) -> None:
        """Put a NAT in front of each of these hosts; all of them then have the same address."""

    def set_weather(self, **weather: float) -> None:
        """Set what befalls each packet; see `tests.library.chaos.switch`."""

    def heal(self) -> None:
        """Undo all cuts."""

    def close(self) -> None:
        """Remove everything that was made."""


class Loopback:
    """Hosts that are addresses of this machine's loopback device; nothing can befall them.

    Every network has addresses of its own, so that several can be there at the same time.
    """

    def __init__(self) -> None:
        self._place = os.getpid() % (1 << 15), next(_numbers)

    def address(self, host: int) -> str:
        """Return an address from 127.128.0.0 on, by process, network and host."""
        process, network = self._place
        number = (process << 8) + (network % 16 << 4) + host
        return str(IPv4Address("127.128.0.0") + number)

    def command(self, host: int, command: Sequence[str]) -> list[str]:
        """Return the command as it is."""
        return list(command)

    def cut(self, ways: Iterable[tuple[int, int]]) -> None:
        """Cannot be done."""
        raise NotImplementedError("the loopback cannot be cut")

    def close_in(self, hosts: Iterable[int]) -> None:
        """Cannot be done."""
        raise NotImplementedError("the loopback has no filter of its own")

    def hide(self, hosts: Iterable[int]) -> None:
        """Cannot be done."""
        raise NotImplementedError("the loopback has no NAT")

    def set_weather(self, **weather: float) -> None:
        """Cannot be done."""
        raise NotImplementedError("the loopback has no weather")

    def heal(self) -> None:
        """Do nothing: there are no cuts."""

    def close(self) -> None:
        """Do nothing: nothing was made."""


class _Namespaces:
    """A namespace for each host and one for the router, with the janitor that removes them."""

    def __init__(self, hosts: int) -> None:
        name = f"chaos{os.getpid()}-{next(_numbers)}"
        self._router = f"{name}-router"
        self._hosts = [f"{name}-{host}" for host in range(hosts)]
        spaces = [self._router, *self._hosts]
        # In a session of its own, since Ctrl-C goes to the whole session of a terminal.
        self._janitor = subprocess.Popen(
            ["sh", "-c", _JANITOR, "janitor", *spaces],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            for space in spaces:
                _ip("netns", "add", space)
                _ip("-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    def address(self, host: int) -> str:
        """Return the address of the host in its namespace."""
        return f"10.66.0.{host + 1}"

    def command(self, host: int, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one in the host's namespace."""
        return ["ip", "netns", "exec", self._hosts[host], *command]

    def close(self) -> None:
        """Let the janitor kill what still runs in the namespaces, and remove them."""
        assert self._janitor.stdin is not None
        self._janitor.stdin.close()
        self._janitor.wait()


class Wires(_Namespaces):
    """Hosts joined by veth pairs to a router, which drops what a cut forbids."""

    def __init__(self, hosts: int) -> None:
        super().__init__(hosts)
        self._cuts: list[tuple[str, ...]] = []
        self._hidden: set[int] = set()
        router = self._router
        try:
            _ip("netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
            for host, space in enumerate(self._hosts):
                address, wire = self.address(host), f"wire{host}"
                peer = ("peer", "name", wire, "netns", router)
                _ip("link", "add", "wire", "netns", space, "type", "veth", *peer)
                for where, device, own, far in (
                    (space, "wire", address, _GATE),
                    (router, wire, _GATE, address),
                ):
                    _ip("-n", where, "addr", "add", f"{own}/32", "dev", device)
                    _ip("-n", where, "link", "set", device, "mtu", str(_MTU), "up")
                    _ip("-n", where, "route", "add", f"{far}/32", "dev", device)
                _ip("-n", space, "route", "add", "default", "via", _GATE, "dev", "wire")
        except BaseException:
            self.close()
            raise

    @override
    def address(self, host: int) -> str:
        """Return the address at which a host listens, which for a hidden one is private."""
        return _PRIVATE if host in self._hidden else super().address(host)

    def cut(self, ways: Iterable[tuple[int, int]]) -> None:
        """Drop what goes from the first to the second host of each pair, in silence."""
        outer = super().address
        for source, target in ways:
            rule = ("from", outer(source), "to", outer(target), "blackhole")
            _ip("-n", self._router, "rule", "add", *rule)
            self._cuts.append(rule)

    def close_in(self, hosts: Iterable[int]) -> None:
        """Put a stateful filter between these hosts and their wires, for good."""
        for host in hosts:
            _run(self.command(host, ["nft", "-f", "-"]), _ESTABLISHED_ONLY)

    def hide(self, hosts: Iterable[int]) -> None:
        """Let these hosts listen at one private address, and leave by one that nobody can dial."""
        self.close_in(hosts := list(hosts))
        for host in hosts:
            _ip("-n", self._hosts[host], "addr", "add", f"{_PRIVATE}/32", "dev", "lo")
        self._hidden |= {*hosts}

    def slow(self, host: int, kilobits: int) -> None:
        """Let so many kilobits a second through to a host; `OSError` without `tc` and tbf."""
        rate = ("rate", f"{kilobits}kbit", "burst", "4kb", "latency", "200ms")
        device = ("dev", f"wire{host}", "root", "tbf")
        _ip("netns", "exec", self._router, "tc", "qdisc", "replace", *device, *rate)

    def cut_udp(self) -> None:
        """Drop all datagrams of UDP, as a firewall does that lets TCP alone pass."""
        rule = ("ipproto", "udp", "blackhole")
        _ip("-n", self._router, "rule", "add", *rule)
        self._cuts.append(rule)

    def set_weather(self, **weather: float) -> None:
        """Cannot be done."""
        raise NotImplementedError("wires have no weather")

    def heal(self) -> None:
        """Undo all cuts."""
        while self._cuts:
            _ip("-n", self._router, "rule", "del", *self._cuts.pop())


class Weather(_Namespaces):
    """Hosts joined by a switch in user space, which treats packets as the weather says."""

    def __init__(self, hosts: int, seed: int) -> None:
        super().__init__(hosts)
        switch = [sys.executable, "-m", "tests.library.chaos.switch", str(hosts), str(seed)]
        self._switch = subprocess.Popen(
            ["ip", "netns", "exec", self._router, *switch],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert self._switch.stdout is not None
            if self._switch.stdout.readline().strip() != "up":
                raise OSError("the switch did not start")
            for host, space in enumerate(self._hosts):
                device = f"tun{host}"
                _ip("-n", self._router, "link", "set", device, "netns", space)
                _ip("-n", space, "addr", "add", f"{self.address(host)}/24", "dev", device)
                _ip("-n", space, "link", "set", device, "mtu", str(_MTU), "up")
            self.set_weather()
        except BaseException:
            self.close()
            raise

    def cut(self, ways: Iterable[tuple[int, int]]) -> None:
        """Cannot be done."""
        raise NotImplementedError("cuts are for wires")

    def close_in(self, hosts: Iterable[int]) -> None:
        """Cannot be done."""
        raise NotImplementedError("closed hosts are for wires")

    def hide(self, hosts: Iterable[int]) -> None:
        """Cannot be done."""
        raise NotImplementedError("hidden hosts are for wires")

    def set_weather(self, **weather: float) -> None:
        """Set the weather; what is not named is as on a clear day."""
        assert self._switch.stdin is not None
        words = (f"{name}={value}" for name, value in weather.items())
        self._switch.stdin.write(" ".join(words) + "\n")
        self._switch.stdin.flush()

    def heal(self) -> None:
        """Do nothing: there are no cuts."""

    @override
    def close(self) -> None:
        """End the switch, then remove the namespaces."""
        self._switch.kill()
        self._switch.wait()
        for stream in (self._switch.stdin, self._switch.stdout):
            assert stream is not None
            stream.close()
        super().close()


def _ip(*arguments: str) -> None:
    """Run one command of iproute2; `OSError` says what it complained of."""
    _run(["ip", *arguments])


def _run(command: Sequence[str], given: str = "") -> None:
    """Run a command with this input; `OSError` says what it complained of."""
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
