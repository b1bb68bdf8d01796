"""The setting of section 6.1 of the CAMCAST paper (000), and what of it is to be computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

from attrs import frozen

from camcast.reproduction.chosen_protocols import ChosenProtocols
from camcast.settings.chain import Setting, chain
from camcast.vocabulary.parameters import Parameters

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


def setting_of(
    sizes: Sequence[int] = SIZES,
    crash: float = 0.0,
    weak: bool = False,
    parameters: Parameters = PARAMETERS,
) -> Setting:
    """Return the paper's setting (6.1.1): a chain of communities, the event's own first."""
    communities = chain(sizes, parameters)
    return Setting(communities=communities, success=SUCCESS, crash=crash, weak=weak)
