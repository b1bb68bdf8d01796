"""The sender of a message that came through libzmq, where the profile tells processes apart.

Theory of operation
-------------------
libzmq lets us judge a client before anything but its key is known (`camcast.live.wire.zap`); what
the client shows in the handshake is read later and comes with each message, as text, beside the
key, which the handler of ZAP has put there (``User-Id``), and the descriptor of the connection
[zmq_msg_gets(3)]. Any key ends its handshake unless its owner is barred, and the client is
judged by its first message: either the key is that of a process that is admitted already, or the
record that is shown is. Otherwise the message is dropped and the connection shut down.

A client that connects and sends nothing is not judged. It costs a connection; where there are too
many, the oldest silent ones make room (`camcast.live.wire.connections`).

The other way round an output shows the record of its process in libzmq's option METADATA, which
counts for all its connections to come. An input shows nothing, for its option is read when it is
bound, and what it would show then expires after an hour. Whoever dials it goes by its key.
"""

from __future__ import annotations

from typing import Final

import zmq

from camcast.doors.profile import Profile
from camcast.live.wire.zmtp.codec import RECORD, read_record_text, record_text
from camcast.vocabulary.identity import PeerId

_KEY: Final = "User-Id"  # [RFC 27, 3.3]
_DESCRIPTOR: Final = int(zmq.SRCFD)


def show_record(socket: zmq.SyncSocket, record: bytes) -> None:
    """Show a record in the handshakes of a socket that is not connected yet."""
    socket.setsockopt(zmq.METADATA, f"{RECORD}:".encode() + record_text(record))


def sender(message: zmq.Frame, profile: Profile) -> PeerId | None:
    """Return the process that sent a message; None unless it may talk to this one."""
    key = bytes.fromhex(_text(message, _KEY))
    known = profile.process_of(key)
    if known is None and profile.admits(key, read_record_text(_text(message, RECORD).encode())):
        return profile.process_of(key)
    return known


def descriptor(message: zmq.Frame) -> int:
    """Return the descriptor of the connection by which a message came; it may be closed by now."""
    return int(message.get(_DESCRIPTOR))


def _text(message: zmq.Frame, name: str) -> str:
    """Return a property of the connection by which a message came; empty if it has none."""
    try:
        return str(message.get(name))
    except (zmq.ZMQError, UnicodeDecodeError):
        return ""
