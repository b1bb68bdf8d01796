"""The plugs and commands that research adds, as `camcast.shipped` has those of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any, Final

from camcast.doors.plugs import COMMAND_GROUP, MEMBERSHIP_GROUP, PROTOCOL_GROUP


def _in(place: str) -> Callable[[], Any]:
    """Return what imports a plug from a place in this package."""
    return partial(resolve_name, f"camcast.research.{place}")


SHIPPED: Final[Mapping[str, Mapping[str, Callable[[], Any]]]] = {
    MEMBERSHIP_GROUP: {"hpmcast": _in("systems.hpmcast.membership:BACKEND")},
    PROTOCOL_GROUP: {
        "broadcast": _in("systems.baselines.broadcast:Broadcast"),
        "multicast": _in("systems.baselines.multicast:Multicast"),
        "hierarchical": _in("systems.baselines.hierarchical:Hierarchical"),
        "rfpbcast": _in("systems.rfpbcast.protocol:Rfpbcast"),
        "pmcast": _in("systems.pmcast.protocol:Pmcast"),
        "hpmcast": _in("systems.hpmcast.protocol:Hpmcast"),
        "percolation": _in("systems.percolation.protocol:Percolation"),
    },
    COMMAND_GROUP: {"research": _in("cli.commands:commands")},
}
