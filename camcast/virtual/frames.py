"""Frames: what one step of a process leaves for another crosses the virtual network together.

Live, `camcast.live.wire.pipes` joins what one turn of the loop leaves for an address. A turn takes
one input, or several if many arrive at once; here every step is a turn of its own. Sizes differ
only for steps that leave more than a frame holds, in which records are of very different sizes: a
pipe then looks at no more of them at a time than fit if they were half of the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from camcast.vocabulary.outbox import Send
from camcast.vocabulary.wire import FRAME_BYTES_MAX, FRAME_HEADER

_ROOM: Final = FRAME_BYTES_MAX - len(FRAME_HEADER)


def frames_of(sends: Sequence[Send]) -> Iterator[tuple[str, bytes, int]]:
    """Yield (address, frame, copies of records in it), by each address's first record."""
    if len(sends) == 1 and sends[0].records == 1 and len(sends[0].record) <= _ROOM:  # mostly
        frame = FRAME_HEADER + sends[0].record
        addresses = [contact.address for contact in sends[0].contacts]
        if len(dict.fromkeys(addresses)) == len(addresses):
            for address in addresses:
                yield address, frame, 1
            return
    waiting: dict[str, list[bytes]] = {}
    for contacts, record, _, _ in sends:
        for contact in contacts:
            pieces = waiting.get(contact.address)
            if pieces is None:
                waiting[contact.address] = [record]
            else:
                pieces.append(record)
    for address, pieces in waiting.items():
        for some in _fitting(pieces):
            frame = FRAME_HEADER + b"".join(some)
            yield address, frame, copies_in(frame)


def _fitting(pieces: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield the pieces of each frame: as many as fit, or one that is larger than a frame."""
    start, size = 0, 0
    for end, piece in enumerate(pieces):
        if size + len(piece) > _ROOM and end > start:
            yield pieces[start:end]
            start, size = end, 0
        size += len(piece)
    yield pieces[start:]


def copies_in(frame: bytes) -> int:
    """Return how many records a frame holds; 1 for what is no frame."""
    if not frame.startswith(FRAME_HEADER):
        return 1
    copies, start = 0, len(FRAME_HEADER)
    while start < len(frame):
        start += 4 + int.from_bytes(frame[start : start + 4])
        copies += 1
    return copies
