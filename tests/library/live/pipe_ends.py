"""What tests of transports send, and where it arrives."""

import asyncio
import contextlib
import socket

from camcast.doors.transport import PipeLimits
from camcast.live.transports import ZMTP, find_transport
from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact

HEADER = b"CAM"


ANY_PORT = "tcp://127.0.0.1:0"


def new_pipes(limits: PipeLimits | None = None, *, transport: str = ZMTP) -> ZmtpPipes:
    """Return pipes of `zmtp`, or of `tcp`, which is the same without what is within a machine."""
    made = find_transport(transport)(limits, frame_header=HEADER)
    assert isinstance(made, ZmtpPipes)
    return made


def at(address: str) -> Contact:
    """Return whoever listens at an address."""
    return Contact(UNKNOWN_PEER, address)


def make_record(number: int, size: int = 20) -> bytes:
    """Return a record of so many bytes, its length prefix included."""
    return (size - 4).to_bytes(4) + number.to_bytes(4) + bytes(size - 8)


class Inbox:
    """Collects frames, and wakes whoever waits for them."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.numbers: list[int] = []
        self._news = asyncio.Event()

    def __call__(self, frame: bytes) -> None:
        self.frames.append(frame)
        assert frame.startswith(HEADER)
        at = len(HEADER)
        while at < len(frame):
            self.numbers.append(int.from_bytes(frame[at + 4 : at + 8]))
            at += 4 + int.from_bytes(frame[at : at + 4])
        self._news.set()

    async def has_numbers(self, count: int) -> list[int]:
        while len(self.numbers) < count:
            self._news.clear()
            await self._news.wait()
        return self.numbers


async def is_refused(stranger: socket.socket) -> None:
    """Wait until a connection was ended by the other side."""
    with contextlib.suppress(ConnectionResetError):
        while await asyncio.get_running_loop().sock_recv(stranger, 4096):
            pass


def knock(address: str) -> socket.socket:
    """Connect to an address, and say nothing."""
    stranger = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))
    stranger.setblocking(False)
    return stranger
