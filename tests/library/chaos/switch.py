"""A lossy switch in user space: `python -m tests.library.chaos.switch HOSTS SEED`.

It makes the TUN devices tun0 to tunN, one for each host, and says "up". Whoever started it moves
them into the hosts' namespaces and writes a first line of weather; each further line replaces the
weather: `loss=0.1 delay=0.05 jitter=0.02 distance=0.1 duplicate=0.1`. `loss` and `duplicate` are
probabilities of a packet, `delay` is in seconds, `jitter` adds up to that many seconds either way,
so that packets overtake each other, and `distance` up to that many for each pair of hosts, always
as many for one pair, so that the shortest way may lead over a third host. The last byte of a
packet's address, less one, is its host. The switch ends with its standard input.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import struct
import sys
import time
from contextlib import suppress
from random import Random

_TUNSETIFF = 0x400454CA  # [linux/if_tun.h]
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000  # [linux/if_tun.h] whole IP packets, nothing before them
_PACKET_BYTES_MAX = 4096  # chosen: above the MTU of the devices
_TURN_PACKETS = 64  # chosen: no device keeps the others waiting
_QUEUE_PACKETS_MAX = 100_000  # chosen: 140 MB; more than TCP's windows put under way
_SOURCE, _TARGET = 15, 19  # [RFC 791, 3.1] places of the last bytes of a packet's addresses


def _open_device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


class _Switch:
    def __init__(self, hosts: int, seed: int) -> None:
        self._devices = [_open_device(f"tun{host}") for host in range(hosts)]
        self._random = Random(seed).random
        self._distance = {  # shares of the greatest
            (here, there): Random(f"{seed} {min(here, there)} {max(here, there)}").random()
            for here in range(1, hosts + 1)
            for there in range(1, hosts + 1)
        }
        self._weather: dict[str, float] = {}
        self._delayed: list[tuple[float, int, bytes]] = []
        self._count = 0
        self._input = b""

    def run(self) -> None:
        """Pass packets on until standard input ends."""
        print("up", flush=True)
        if not self._read_weather():
            return
        poll = select.epoll()
        for descriptor in (0, *self._devices):
            poll.register(descriptor, select.EPOLLIN)
        while True:
            wait = -1.0 if not self._delayed else max(0, self._delayed[0][0] - time.monotonic())
            for descriptor, _ in poll.poll(wait):
                if descriptor == 0:
                    if not self._read_weather():
                        return
                else:
                    self._read_packets(descriptor)
            now = time.monotonic()
            while self._delayed and self._delayed[0][0] <= now:
                self._put(heapq.heappop(self._delayed)[2])

    def _read_weather(self) -> bool:
        read = os.read(0, 4096)
        *lines, self._input = (self._input + read).split(b"\n")
        for line in lines:
            words = (word.partition("=") for word in line.decode().split())
            self._weather = {name: float(value) for name, _, value in words}
        return bool(read)

    def _read_packets(self, device: int) -> None:
        weather, random = self._weather, self._random
        loss, duplicate = weather.get("loss", 0.0), weather.get("duplicate", 0.0)
        delay, jitter = weather.get("delay", 0.0), weather.get("jitter", 0.0)
        distance = weather.get("distance", 0.0)
        for _ in range(_TURN_PACKETS):
            try:
                packet = os.read(device, _PACKET_BYTES_MAX)
            except (BlockingIOError, OSError):  # nothing more, or the device is not up yet
                return
            for _ in range(1 + (random() < duplicate)):
                if random() < loss:
                    continue
                if not (delay or distance):
                    self._put(packet)
                elif len(self._delayed) < _QUEUE_PACKETS_MAX:
                    far = self._distance.get((packet[_SOURCE], packet[_TARGET]), 0.0)
                    due = time.monotonic() + delay + distance * far + jitter * (2 * random() - 1)
                    self._count += 1
                    heapq.heappush(self._delayed, (due, self._count, packet))

    def _put(self, packet: bytes) -> None:
        if packet[0] >> 4 != 4:  # IPv6 router solicitations of the kernel
            return
        host = packet[_TARGET] - 1
        if 0 <= host < len(self._devices):
            with suppress(OSError):  # the device's queue is full: one more packet lost
                os.write(self._devices[host], packet)


if __name__ == "__main__":
    _Switch(int(sys.argv[1]), int(sys.argv[2])).run()
