"""The setting of section 6.1 of the CAMCAST paper (000), and what of it is to be computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import attrs
from attrs import frozen

from camcast.research.papers.chosen_protocols import ChosenProtocols
from camcast.research.systems.baselines.setting import Protocol
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.vocabulary.parameters import PRESETS, Parameters

Engine = Literal["population", "chain", "virtual"]
ENGINES: Final[tuple[Engine, ...]] = get_args(Engine)

RUNS: Final = 4000
"""chosen: the interval of a reliability is ±1.6 % or less; the paper has 100."""

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.1.1] the root is a
SIZES: Final = (1000, 100, 10)  # [CAMCAST 6.1.1]
SUCCESS: Final = 0.85  # [CAMCAST 6.1.1]
PARAMETERS: Final = Parameters(c=5, g=5, a=1, z=3)  # [CAMCAST 6.1.1]
CRASHED: Final = tuple(twentieth / 20 for twentieth in range(19))
"""From 0 to 0.9; chosen: twice as fine as the paper's figures are likely to be."""
CRASHED_COMPARED: Final = 0.3
"""Where simulators and protocols are put beside each other. [CAMCAST 1.4: "the crash of 30%"]"""

TOPOLOGIES: Final[Mapping[str, tuple[int, ...]]] = {  # [CAMCAST Tables 1 and 2]
    "1000, 100, 10": (1000, 100, 10),
    "100 (j = 2)": (100,) * 3,
    "100 (j = 4)": (100,) * 5,
}

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
"""The rows of Tables 1 and 2 (6.1.2), by the names of protocols that choose them."""
DIVIDED: Final[Mapping[str, Protocol]] = {MULTICAST: "multicast", HIERARCHICAL: "hierarchical"}
"""The approaches that the paper's tables leave out."""


@frozen(kw_only=True)
class Plan(ChosenProtocols):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "camcast"

    runs: int = RUNS
    seed: int = 1
    engine: Engine = "population"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; known: {', '.join(ENGINES)}")

    def approaches(self) -> tuple[str, ...]:
        """Return the approaches that are to be computed, in the order of the tables."""
        return tuple(
            name for name, chosen_by in APPROACHES.items() if any(map(self.about, chosen_by))
        )


LIVE_SIZES: Final = (80, 30, 7)  # [CAMCAST 1.4, 7]
INVOLVED: Final = 0.07  # [CAMCAST 1.4, 7: "only involving 7% of the processes"]
SHARES_INVOLVED: Final = (0.01, 0.02, 0.04, INVOLVED, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
"""chosen: from the least to the most p_sel of 6.2.2, close together where reliability rises"""
LIVE_PARAMETERS: Final = Parameters(**PRESETS["paper"], c=0, a=2, z=4)  # [CAMCAST 6.2.1]
EASED: Final[Mapping[str, Parameters]] = {
    "g = 10": Parameters(c=5, g=10, a=1, z=3),
    "a = 3, so that p_a = 1": Parameters(c=5, g=5, a=3, z=3),
    "z = 6, with p_a = 1/3": Parameters(c=5, g=5, a=2, z=6),
}
"""[CAMCAST 6.1.2: "we can easily adjust zt, pat and gt"] chosen: twice, or all there is"""
ALONE: Final = 1096  # chosen: ln N = 6.9994, so that ln N + c is a fan-out for whole c
ALONE_C: Final = (0, 2, 5)  # chosen: unlikely, likely and nearly certain that all receive it


def involved(share: float) -> dict[str, Any]:
    """Return what `setting_of` is given of 1.4 and 7, where this share of g and d links upward."""
    parameters = attrs.evolve(LIVE_PARAMETERS, p_sel=share)
    return {"sizes": LIVE_SIZES, "parameters": parameters, "success": 1.0}


def alone(c: int) -> dict[str, Any]:
    """Return what `setting_of` is given of a single community without loss (2.2)."""
    return {"sizes": (ALONE,), "parameters": attrs.evolve(PARAMETERS, c=c), "success": 1.0}


def group_of(sizes: Sequence[int]) -> tuple[int]:
    """Return the one group of everybody that gossip broadcast has (4.2, a)."""
    return (sum(sizes),)


def setting_of(
    sizes: Sequence[int] = SIZES,
    crash: float = 0.0,
    weak: bool = False,
    parameters: Parameters = PARAMETERS,
    success: float = SUCCESS,
) -> Setting:
    """Return the paper's setting (6.1.1): a chain of communities, the event's own first."""
    communities = chain(sizes, parameters)
    return Setting(communities=communities, success=success, crash=crash, weak=weak)
