"""The common part of the inputs of all transports: they count frames, and log refusals."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Any, Final

from camcast.doors.transport import AddressInUse, BarredError, BindError, InputPipe
from camcast.live.wire.pipes import QueuedPipes
from camcast.observe.counters import PipeCounters
from camcast.observe.failure_log import FailureLog
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog

_log = Logger(__name__)

_LENGTH_BYTES: Final = 4  # [docs/wire-format.md] before each record, of all that follows in it


class CountingInput(InputPipe):
    """An input that counts what it hands over, and survives a callback that raises."""

    def __init__(
        self, on_frame: Callable[..., None], peer: PeerId, pipes: QueuedPipes[Any]
    ) -> None:
        self.peer = peer
        self.counters = PipeCounters()
        self._on_frame = on_frame
        self._loop = asyncio.get_running_loop()
        self._begin_turn = pipes.begin_turn
        self._refusals = pipes.refused
        self._limits = pipes.limits
        self._header_bytes = len(pipes.frame_header)
        self._connections_max = pipes.connections_max
        self._log = MinuteLog()
        self._failures = FailureLog()

    def hand_over(self, frame: bytes, link: PeerId | None = None) -> bool:
        """Hand a frame to the process; return whether its sender is barred from now on."""
        size = len(frame)
        if size > self._limits.frame_bytes_max:
            start = self._header_bytes
            end = start + _LENGTH_BYTES + int.from_bytes(frame[start : start + _LENGTH_BYTES])
            if end != size:
                self.counters.frames_refused += 1
                return False
        self.counters.frames_received += 1
        self.counters.bytes_received += size
        try:
            if link is None:
                self._on_frame(frame)
            else:
                self._on_frame(frame, link)
        except BarredError:
            return True
        except Exception as error:
            self.counters.frames_failed += 1
            said = f"a frame's receiver at {self.address} raised"
            self._failures.take(said, error, self._loop.time())
        return False

    def _refused_stranger(self, where: str, why: str) -> None:
        """Count a process that lacks the keys that are asked for, and log it."""
        if self.strangers_expected:
            self.strangers_expected -= 1
            return
        self.counters.strangers_refused += 1
        self._say("refused", where, why)

    def _forger(self, where: str) -> None:
        """Count a process that is cut off because it sends forged records, and log it."""
        self.counters.forgers_refused += 1
        self._say("cut off", where, "what it sends is forged")

    def _say(self, what: str, where: str, why: str) -> None:
        """Log what became of a process: it was ``refused``, ``cut off`` or ``lost``."""
        for tell in self._refusals if what != "lost" else ():
            tell(what.replace(" ", "_"), where, why)
        if self._log.due((what, where, why), self._loop.time()):
            _log.warning("%s a process at %s: %s (said once a minute)", what, where, why)

    def _refused(self) -> None:
        """Count a connection that was cut off because there are too many, and log the first."""
        if not self.counters.connections_refused:
            _log.warning(
                "refused a connection to %s: all %d connections that others may have to"
                " this process are taken (further ones are only counted)",
                self.address,
                self._connections_max,
            )
        self.counters.connections_refused += 1


def bind_error(address: str, number: int, reason: str) -> BindError:
    """Return the error of an address that cannot be listened at, which says what to do."""
    if number == errno.EADDRINUSE:
        return AddressInUse(
            number,
            f"cannot listen at {address}: another program uses this port; choose another one, or"
            " port 0 for any free port",
        )
    return BindError(
        number,
        f"cannot listen at {address}: {reason}; choose an address of this machine and a port that"
        " you may use",
    )
