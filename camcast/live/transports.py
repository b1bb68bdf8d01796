"""The transports there are, by the names that ``--transport`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from camcast.doors.plugs import UnknownPlugError
from camcast.doors.transport import OutputPipes

ZMTP: Final = "zmtp"
ZMQ: Final = "zmq"
DEFAULT: Final = ZMTP

# Loaded when used, so that who needs no libzmq does not load it.
TRANSPORTS: Final[Mapping[str, str]] = {
    ZMTP: "camcast.live.zmtp.pipes:ZmtpPipes",
    ZMQ: "camcast.live.zmq_pipes:ZmqPipes",
}


def check(name: str) -> str:
    """Return the name of a transport that there is; else `UnknownPlugError` lists them."""
    if name not in TRANSPORTS:
        raise UnknownPlugError(f"unknown transport {name!r}; there are: {', '.join(TRANSPORTS)}")
    return name


def find_transport(name: str) -> Callable[..., OutputPipes]:
    """Return the class of output pipes of this name; raises as `check`."""
    module, class_name = TRANSPORTS[check(name)].split(":")
    made: Callable[..., OutputPipes] = getattr(import_module(module), class_name)
    return made
