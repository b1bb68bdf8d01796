"""The plugs that the library ships.

Nothing but these imports says that a program needs the plugs: tools that freeze a program find
modules by imports. Each function imports its plug when the plug is asked for by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from camcast.doors.plugs import MEMBERSHIP_GROUP, OVERLAY_GROUP, PROTOCOL_GROUP


def _scamp() -> Any:
    from membership.scamp.scamp import BACKEND

    return BACKEND


def _hybrid() -> Any:
    from membership.scamp.scamp import HYBRID

    return HYBRID


def _cyclon() -> Any:
    from membership.cyclon import BACKEND

    return BACKEND


def _dht() -> Any:
    from membership.dht import BACKEND

    return BACKEND


def _hyparview() -> Any:
    from membership.hyparview import BACKEND

    return BACKEND


def _gateways() -> Any:
    from overlays.gateways import GatewayDiscovery

    return GatewayDiscovery


def _kademlia() -> Any:
    from overlays.kademlia.discovery import KademliaDiscovery

    return KademliaDiscovery


def _lan() -> Any:
    from overlays.lan import LanDiscovery

    return LanDiscovery


def _camcast() -> Any:
    from camcast.protocols.camcast import CamcastProtocol

    return CamcastProtocol


SHIPPED: Final[Mapping[str, Mapping[str, Callable[[], Any]]]] = {
    MEMBERSHIP_GROUP: {
        "scamp": _scamp,
        "hybrid": _hybrid,
        "cyclon": _cyclon,
        "dht": _dht,
        "hyparview": _hyparview,
    },
    OVERLAY_GROUP: {"gateways": _gateways, "kademlia": _kademlia, "lan": _lan},
    PROTOCOL_GROUP: {"camcast": _camcast},
}
"""By group and name, what imports a plug."""
