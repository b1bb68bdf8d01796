"""The setting of section 6.2 of the CAMCAST paper (000), and what of it is to be measured again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import attrs
from attrs import field, frozen

from camcast.vocabulary.parameters import PRESETS, Parameters

World = Literal["live", "virtual"]

VARIANTS: Final = {"scamp": "V1", "hybrid": "V2", "dht": "V3"}
"""The paper's names: unstructured, semi-structured, structured. [CAMCAST 5.2, 6.2.2]"""

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.2.1] published in g; the root is a
SIZES: Final[Mapping[str, tuple[int, ...]]] = {  # [CAMCAST 6.2.1]
    "scamp": (84, 27, 7),
    "hybrid": (79, 28, 7),
    "dht": (79, 28, 7),
}
P_SEL: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # [CAMCAST 6.2.1, 6.2.2: 0.01 is in Fig. 24]
PARAMETERS: Final = Parameters(c=0, a=2, z=4)  # [CAMCAST 6.2.1]

RUNS: Final = 3  # chosen: 8 minutes on two cores; the paper has 10 of V1, 5 of V2 and V3
EVENTS: Final = 100
"""For each p_sel in a run. chosen: a mean over the events of a run is known to ±0.1 or less."""
REST_SECONDS: Final = 12.0
"""Until publishing starts. chosen: SCAMP settles in some heartbeats of 1 s, and the dht draws
tables anew 5 s after something has changed."""

VIRTUAL_SIZES: Final = (1000, 100, 10)  # [CAMCAST 6.1.1]
VIRTUAL_P_SEL: Final = (0.01, 0.1, 1.0)  # chosen: the ends and the middle of the axis


def _check_sizes(_plan: object, _field: object, sizes: tuple[int, ...]) -> None:
    if len(sizes) != len(COMMUNITIES):
        raise ValueError(f"{len(sizes)} sizes; give one for each of {', '.join(COMMUNITIES)}")


@frozen(kw_only=True)
class Plan:
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    runs: int = RUNS
    events: int = EVENTS
    seed: int = 1
    preset: str | None = None
    """``paper``: parameters and memberships as the paper prints them; None: the defaults."""
    sizes: tuple[int, ...] | None = field(
        default=None, validator=attrs.validators.optional(_check_sizes)
    )
    """Of g, d and a, live; None: the paper's, by backend."""
    p_sel: tuple[float, ...] = P_SEL
    rest_seconds: float = REST_SECONDS
    virtual_sizes: tuple[int, ...] = field(default=VIRTUAL_SIZES, validator=_check_sizes)
    virtual_p_sel: tuple[float, ...] = VIRTUAL_P_SEL

    def __attrs_post_init__(self) -> None:
        for name in ("runs", "events"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give 1 or more")
        if self.preset is not None and self.preset not in PRESETS:
            raise ValueError(f"unknown preset {self.preset!r}; there is: {', '.join(PRESETS)}")

    @property
    def variant(self) -> dict[str, str]:
        """What of a cell is not the default: the preset, if there is one."""
        return {} if self.preset is None else {"preset": self.preset}

    def sizes_of(self, backend: str) -> tuple[int, ...]:
        """Return how many processes g, d and a have, live."""
        return SIZES[backend] if self.sizes is None else self.sizes
