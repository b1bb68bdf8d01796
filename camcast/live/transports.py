"""The transports there are, by the names that ``--transport`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from camcast.doors.plugs import UnknownPlugError
from camcast.doors.profile import Profile
from camcast.doors.transport import OutputPipes, PipeLimits
from camcast.security.passphrase import check_passphrase, group_key
from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.systems import check_system
from camcast.vocabulary.wire import FRAME_HEADER, RECORD_BYTES_MAX

ZMTP: Final = "zmtp"
TCP: Final = "tcp"
ZMQ: Final = "zmq"
DEFAULT: Final = ZMTP


# Each is imported when it is used: a process that needs no libzmq does not load it.
def _zmtp() -> Callable[..., OutputPipes]:
    from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes

    return ZmtpPipes


def _tcp() -> Callable[..., OutputPipes]:
    from camcast.live.wire.zmtp.zmtp_pipes import TcpPipes

    return TcpPipes


def _zmq() -> Callable[..., OutputPipes]:
    from camcast.live.wire.zmq_pipes import ZmqPipes

    return ZmqPipes


TRANSPORTS: Final[Mapping[str, Callable[[], Callable[..., OutputPipes]]]] = {
    ZMTP: _zmtp,
    TCP: _tcp,
    ZMQ: _zmq,
}
"""By name, what imports a transport and returns its class of output pipes."""


def check(name: str) -> str:
    """Return the name if there is such a transport; else `UnknownPlugError` lists them."""
    check_type("transport", name, str, "a text")
    if name not in TRANSPORTS:
        raise UnknownPlugError(f"unknown transport {name!r}; there are: {', '.join(TRANSPORTS)}")
    return name


def find_transport(name: str) -> Callable[..., OutputPipes]:
    """Return the class of output pipes of this name; raises as `check`."""
    return TRANSPORTS[check(name)]()


def open_pipes(
    transport: str = DEFAULT,
    *,
    passphrase: str | None = None,
    also_passphrase: str | None = None,
    system: str = "",
) -> OutputPipes:
    """Open output pipes that several managers of this loop can share.

    `transport` is ``zmtp``, ``tcp`` (the same, by TCP within a machine as well) or ``zmq``: all
    understand each other. With a `passphrase` all links are encrypted, and only those who know it
    get in. Raises `UnknownPlugError` for any other transport, `PassphraseError`, and `ValueError`
    for a `system` that is no name, or that the transport cannot name, and where `also_passphrase`
    stands alone, is the other one, or the transport takes no second one.

    Args:
        transport: How frames travel.
        passphrase: Closes all links to processes that do not know it; None: the links are open.
        also_passphrase: Who knows this one instead gets in, too, while a group changes from one to
            the other.
        system: The name of the system whose processes alone are talked to.

    Example:
        ::

            pipes = open_pipes()
            async with CommunityManager(pipes=pipes) as one, CommunityManager(pipes=pipes) as two:
                ...
            pipes.close()
    """
    profile: Profile | None = None
    check_also(transport, passphrase, also_passphrase)
    if passphrase is not None:
        from camcast.live.profiles.shared_key import SharedKey  # and PyNaCl with it

        also = None if also_passphrase is None else group_key(also_passphrase)
        profile = SharedKey(group_key(passphrase), also)
    return open_with(transport, profile, system)


def open_with(transport: str, profile: Profile | None, system: str) -> OutputPipes:
    """Open output pipes of a system with this profile; without one they are open to all."""
    make = find_transport(transport)
    limits = PipeLimits(record_bytes_max=RECORD_BYTES_MAX)
    named = {"system": system} if check_named(transport, system) else {}
    return make(limits, frame_header=FRAME_HEADER, profile=profile, **named)


def check_also(transport: str, passphrase: str | None, also: str | None) -> None:
    """Raise `ValueError` for a second passphrase that the transport or the first one rules out."""
    if also is None:
        return
    if passphrase is None:
        raise ValueError("a second passphrase (also_passphrase) goes with a first one (passphrase)")
    if check_passphrase(passphrase) == check_passphrase(also):
        raise ValueError("the second passphrase (also_passphrase) is the first one")
    if transport == ZMQ:
        raise ValueError(
            "the transport 'zmq' listens with one passphrase alone, as libzmq has one key for a"
            " socket; take 'zmtp' or 'tcp' while the group changes its passphrase"
        )


def check_named(transport: str, system: str) -> str:
    """Return the name of a system; raises `ValueError` for none, and where it cannot be named."""
    if system and transport == ZMQ:
        raise ValueError(
            "the transport 'zmq' cannot name a system: libzmq sends nothing of ours from the side"
            " that listens; take 'zmtp' or 'tcp'"
        )
    return check_system(system)
