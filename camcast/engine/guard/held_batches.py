"""Batches that wait for the certificate of their publisher, which a process has been asked for."""

from __future__ import annotations

from typing import Final, NamedTuple

from camcast.engine.local_group import LocalGroup
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import PeerId

HELD_MAX: Final = 64  # chosen: a bound, as peers send them; certificates are here in a second
HELD_BYTES_MAX: Final = 1 << 20  # chosen: a MiB, the largest payload
HELD_SECONDS: Final = 10.0  # chosen: by then its senders send a chain again unasked


class HeldBatch(NamedTuple):
    """A batch that came from `source` in one of this process's groups, at the time `since`."""

    local_group: LocalGroup
    batch: Batch
    source: PeerId
    since: float


class HeldBatches:
    """At most `HELD_MAX` batches with bodies of `HELD_BYTES_MAX` together, the oldest first.

    Peers feed this table before anything of theirs was verified, hence the bounds.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[bytes, bytes], HeldBatch] = {}
        """The batches, by group and body, so that the copies of a batch take one place."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, held: HeldBatch) -> tuple[bool, list[HeldBatch]]:
        """Hold a batch; return whether it is new here, and the batches that had to go for it."""
        key = held.local_group.topic.group, held.batch.body
        if key in self._held:
            return False, []
        self._held[key] = held
        self._bytes += len(held.batch.body)
        dropped = []
        while len(self._held) > HELD_MAX or self._bytes > HELD_BYTES_MAX:
            dropped.append(self._let_go(next(iter(self._held))))
        return True, dropped

    def certificates(self) -> list[bytes]:
        """Return the hashes of the certificates that are waited for, once each."""
        return list(dict.fromkeys(held.batch.certificate for held in self._held.values()))

    def release(self, certificate: bytes) -> list[HeldBatch]:
        """Let go of the batches that waited for this certificate, and return them."""
        keys = [key for key, held in self._held.items() if held.batch.certificate == certificate]
        return [self._let_go(key) for key in keys]

    def expire(self, now: float) -> list[HeldBatch]:
        """Let go of the batches that waited for `HELD_SECONDS`, and return them."""
        keys = [key for key, held in self._held.items() if now >= held.since + HELD_SECONDS]
        return [self._let_go(key) for key in keys]

    def _let_go(self, key: tuple[bytes, bytes]) -> HeldBatch:
        held = self._held.pop(key)
        self._bytes -= len(held.batch.body)
        return held
