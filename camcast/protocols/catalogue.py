"""The protocols there are, by the names that ``--protocol`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from camcast.doors.membership import Backend
from camcast.doors.options import build_options
from camcast.doors.plugs import UnknownPlugError, find_backend
from camcast.doors.protocol import Protocol
from camcast.protocols.broadcast import Broadcast
from camcast.protocols.camcast import CamcastProtocol
from camcast.protocols.hierarchical import Hierarchical
from camcast.protocols.hpmcast.spread import Hpmcast
from camcast.protocols.multicast import Multicast
from camcast.protocols.percolation import Percolation
from camcast.protocols.pmcast import Pmcast
from camcast.protocols.rfpbcast import Rfpbcast

PROTOCOLS: Final[Mapping[str, type[Protocol]]] = {
    protocol.name: protocol
    for protocol in (
        *(CamcastProtocol, Broadcast, Multicast, Hierarchical),
        *(Rfpbcast, Pmcast, Hpmcast, Percolation),
    )
}


def backend_for(protocol: Protocol, membership: str) -> Backend:
    """Return the backend that a protocol runs on: its own if it has one, or that of the name."""
    return protocol.adapt(find_backend(protocol.membership or membership))


def find_protocol(name: str, options: Mapping[str, object] | None = None) -> Protocol:
    """Return the protocol of this name with its options.

    Raises `UnknownPlugError`, which lists those that there are, and `OptionError`.
    """
    if name not in PROTOCOLS:
        raise UnknownPlugError(f"unknown protocol {name!r}; there are: {', '.join(PROTOCOLS)}")
    protocol: Protocol = build_options(PROTOCOLS[name], options or {}, f"protocol {name!r}")
    return protocol
