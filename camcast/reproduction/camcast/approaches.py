"""The rows of Tables 1 and 2 of the CAMCAST paper (000, 6.1.2): the approaches compared there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from camcast.reproduction.camcast.plan import Plan
from camcast.settings.baselines import Protocol

CAMCAST, BROADCAST, PMCAST = "(1) CAMCAST", "(2) gossip broadcast", "(3) PMcast"
MULTICAST, HIERARCHICAL = "4.2 (b) gossip multicast", "4.2 (c) hierarchical gossip broadcast"
APPROACHES: Final[Mapping[str, tuple[str, ...]]] = {
    CAMCAST: ("camcast",),
    BROADCAST: ("broadcast",),
    # [CAMCAST 2] "In PMcast [22] [...] the processes are arranged into a hierarchy": by either name
    PMCAST: ("pmcast", "hpmcast"),
    MULTICAST: ("multicast",),
    HIERARCHICAL: ("hierarchical",),
}
"""The rows of Tables 1 and 2, by the names of protocols that choose them."""
DIVIDED: Final[Mapping[str, Protocol]] = {MULTICAST: "multicast", HIERARCHICAL: "hierarchical"}
"""The approaches that the paper's tables leave out."""
FAN_OUTS: Final = {
    (CAMCAST, "ceil"): "measured at real nodes, an event of every topic",
    (BROADCAST, "floor"): "measured at real nodes, fan-out ⌊ln n + c⌋",
    (BROADCAST, "ceil"): "measured at real nodes, fan-out ⌈ln n + c⌉, as CAMCAST's is here",
}
"""What the measurement of Table 2 is of, by approach and rounding of the fan-out."""
FAN_OUTS_PMCAST: Final = (2, 4)
"""[hpmcast 5.3: F = 2] [chosen: 4, as of whole numbers it is nearest in Table 1's formula]"""


def approaches(plan: Plan) -> tuple[str, ...]:
    """Return the approaches that are to be computed, in the order of the tables."""
    return tuple(approach for approach, names in APPROACHES.items() if any(map(plan.about, names)))
