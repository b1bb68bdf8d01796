"""A network as TCP makes one that loses packets: nothing gets lost, but much comes late."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from camcast.virtual.network import Process, VirtualNetwork

FIRST_SECONDS = 0.2  # [RFC 6298, and Linux' TCP_RTO_MIN] until a segment is sent again; it doubles
RETRIES_MAX = 6  # 0.2 (2^6 - 1) = 12.6 s: measured pauses at 30 % loss were 1 to 13 s
DELAY_SECONDS = 0.01


class RetransmittingNetwork(VirtualNetwork):
    """Frames that get lost are sent again, and those behind them on the same way wait."""

    def __init__(self, seed: int, loss: float) -> None:
        super().__init__(seed)
        self._loss = loss
        self._rng = Random(seed)
        self._free: dict[tuple[str, str], float] = {}  # when the last frame of a way arrives

    def _carry(self, process: Process, frames: Iterator[tuple[str, bytes, int]]) -> None:
        for address, frame, _ in frames:
            retries = 0
            while retries < RETRIES_MAX and self._rng.random() < self._loss:
                retries += 1
            arrives = self.now + DELAY_SECONDS + FIRST_SECONDS * (2**retries - 1)
            way = process.me.address, address
            self._free[way] = arrives = max(arrives, self._free.get(way, 0.0))
            link = process.me.peer
            self.queue.at(arrives, self._arrive, address, frame, self._lives, link)
