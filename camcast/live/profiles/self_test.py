"""A process connects to its own input as strangers would, before it serves anybody.

The meaning of options of libzmq has changed before, and a wrong option silently lets everybody
in. The test is made with the input itself, over its socket, whatever its
transport: one stranger speaks without encryption, one has a key that nobody knows.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe
from camcast.live.wire.reading_time import patience
from camcast.live.wire.zmtp.codec import NULL, Decoder, Mechanism, ProtocolError, handshake
from camcast.live.wire.zmtp.curve import CurveClient, CurveKeys
from camcast.vocabulary.identity import UNKNOWN_PEER

# chosen: an input cuts off a peer 5 s into an unfinished handshake; a machine may be busy
_ANSWER_SECONDS: Final = 20.0


async def lets_strangers_in(tested: InputPipe, profile: Profile, system: str) -> bool:
    """Say whether a stranger of the same system gets in.

    Raises `TimeoutError` if that cannot be found out.
    """
    stranger_key = CurveKeys(os.urandom(32))
    strangers = (NULL, CurveClient(stranger_key, profile.link_public, os.urandom))
    tested.strangers_expected += len(strangers)
    return any([await _gets_in(tested, stranger, system) for stranger in strangers])


async def _gets_in(tested: InputPipe, mechanism: Mechanism, system: str) -> bool:
    """Say whether a stranger gets in; raises `TimeoutError` if it is neither heard nor cut off."""
    host, _, port = tested.address.removeprefix("tcp://").rpartition(":")
    try:
        async with patience(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                writer.write(handshake(b"PUSH", UNKNOWN_PEER, mechanism, system=system))
                decoder = Decoder(b"PULL", 0, mechanism, system)
                while decoder.metadata is None and (received := await reader.read(1024)):
                    for _name, answer in decoder.feed(memoryview(received)):
                        writer.write(answer)
                if decoder.metadata is not None and tested.judges_first_frame:
                    writer.write(mechanism.message(b"a stranger's"))
                    while await reader.read(1024):
                        pass
                    return False
                return decoder.metadata is not None
            finally:
                writer.close()
    except (ProtocolError, OSError) as error:
        if isinstance(error, TimeoutError):
            raise
        return False
