"""The setting of section 6.2 of the CAMCAST paper (000), and what of it is to be measured again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import attrs
from attrs import field, frozen

from camcast.doors.membership import MembershipContext
from camcast.doors.plugs import MEMBERSHIP_GROUP, find_backend, installed
from camcast.research.sweeps import Cell
from camcast.vocabulary.parameters import PRESETS, Parameters

World = Literal["live", "virtual"]

VARIANTS: Final = {"scamp": "V1", "hybrid": "V2", "dht": "V3"}
"""The paper's names: unstructured, semi-structured, structured. [CAMCAST 5.2, 6.2.2]"""

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.2.1] published in g; the root is a
SIZES: Final = (79, 28, 7)  # [CAMCAST 6.2.1: of V2 and V3] the same for all, to compare them
SIZES_AS_PRINTED: Final[Mapping[str, tuple[int, ...]]] = {"scamp": (84, 27, 7)}  # [CAMCAST 6.2.1]
P_SEL: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # [CAMCAST 6.2.1, 6.2.2: 0.01 is in Fig. 24]
PARAMETERS: Final = Parameters(c=0, a=2, z=4)  # [CAMCAST 6.2.1]

RUNS: Final = 3  # chosen: live, half a minute each; the paper has 10 of V1, 5 of V2 and V3
EVENTS: Final = 60
"""For each p_sel in a run, live. chosen: a mean over a run's events is known to ±0.1 or less."""
REST_SECONDS: Final = 8.0
"""Until publishing starts, live. chosen: SCAMP settles in some heartbeats of 1 s, and the dht draws
tables anew 5 s after something has changed."""
VIRTUAL_P_SEL: Final = (0.01, 0.1, 1.0)  # chosen: the ends and the middle of the axis
VIRTUAL_EVENTS_MAX: Final = 40  # chosen: of each p_sel; 2 CPU seconds for three p_sel


def _check_sizes(_plan: object, _field: object, sizes: tuple[int, ...]) -> None:
    if len(sizes) != len(COMMUNITIES):
        raise ValueError(f"{len(sizes)} sizes; give one for each of {', '.join(COMMUNITIES)}")


def memberships_of_all() -> tuple[str, ...]:
    """Return every installed membership that CAMCAST runs on, those of the paper first."""
    others = [name for name in installed(MEMBERSHIP_GROUP) if name not in VARIANTS]
    return (*VARIANTS, *(name for name in others if _is_plain(name)))


def _is_plain(name: str) -> bool:
    return find_backend(name).context is MembershipContext


@frozen
class Contender:
    """One of those who are compared: a membership, or what its paper prints of it."""

    backend: str
    printed: bool = False
    """Whether it is without what this project has added to its paper (`Backend.as_printed`)."""

    @property
    def name(self) -> str:
        """What it is called on the page: the paper's name first, if it has one."""
        words = (VARIANTS.get(self.backend, ""), self.backend, "as printed" if self.printed else "")
        return " ".join(filter(None, words))


@frozen(kw_only=True)
class Plan:
    """All that determines a reproduction.

    Raises `ValueError` for a value out of range, `UnknownPlugError` for an unknown membership.
    """

    memberships: tuple[str, ...] = field(factory=memberships_of_all, converter=tuple[str, ...])
    """Who is compared in the virtual network; live, those of the paper among them."""
    runs: int = RUNS
    """Live, of each."""
    virtual_runs: int = field(default=attrs.Factory(lambda self: self.runs + 1, takes_self=True))
    """In the virtual network, of each. chosen: one more than live, so that all take 10 minutes; of
    four runs an interval is half as long as of three."""
    events: int = EVENTS
    seed: int = 1
    preset: str | None = None
    """``paper``: parameters and memberships as the paper prints them; None: the same number of
    copies a process, and a row without what SCAMP has been given."""
    sizes: tuple[int, ...] | None = field(
        default=None, validator=attrs.validators.optional(_check_sizes)
    )
    """Of g, d and a; None: the paper's."""
    p_sel: tuple[float, ...] = P_SEL
    rest_seconds: float = REST_SECONDS
    virtual_p_sel: tuple[float, ...] = VIRTUAL_P_SEL

    def __attrs_post_init__(self) -> None:
        for name in ("runs", "virtual_runs", "events"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give 1 or more")
        if self.preset is not None and self.preset not in PRESETS:
            raise ValueError(f"unknown preset {self.preset!r}; there is: {', '.join(PRESETS)}")
        if not self.memberships or len(set(self.memberships)) < len(self.memberships):
            raise ValueError("give each membership that is to be compared once, and one at least")
        for name in self.memberships:
            if not _is_plain(name):
                raise ValueError(
                    f"the membership {name!r} is of a protocol of its own, not CAMCAST"
                )

    def contenders(self, world: World) -> Iterator[Contender]:
        """Yield who is compared in a world, in the order of the page.

        Live: the memberships of the paper. In the virtual network the first of those that keep
        their tables alike has a second row without what it has besides its paper, unless the preset
        leaves that out everywhere: the discovery, in which alike ones differ, is not touched by it.
        """
        shown = []
        for name in self.memberships:
            if world == "virtual" or name in VARIANTS:
                yield Contender(name)
            backend = find_backend(name)
            if world == "virtual" and self.preset is None and backend.as_printed:
                if backend.keeper not in shown:
                    yield Contender(name, printed=True)
                shown.append(backend.keeper)

    def cells(self, world: World) -> list[Cell]:
        """Return the runs in a world, by repetition: one that is stopped has some of each."""
        events = min(self.events, VIRTUAL_EVENTS_MAX)
        runs, p_sel = self.virtual_runs, self.virtual_p_sel
        more: dict[str, Any] = {} if self.preset is None else {"preset": self.preset}
        if world == "live":
            runs, events, p_sel = self.runs, self.events, self.p_sel
            more["rest_seconds"] = self.rest_seconds
        return [
            {
                "kind": world,
                **attrs.asdict(contender),
                "sizes": list(self.sizes_of(contender.backend)),
                "p_sel": list(p_sel),
                "events": events,
                "seed": self.seed,
                "run": run,
                **more,
            }
            for run in range(runs)
            for contender in self.contenders(world)
        ]

    def sizes_of(self, backend: str) -> tuple[int, ...]:
        """Return how many processes g, d and a have."""
        if self.sizes is not None:
            return self.sizes
        return SIZES if self.preset is None else SIZES_AS_PRINTED.get(backend, SIZES)


def options_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Return the options of a cell's membership.

    By default tables are as large as the membership makes them, so that each holds the ln N that
    an event is sent to. With tables of ln N in the mean, as the paper's, SCAMP sends fewer copies
    than the dht, whose tables are all of one size, and that alone decides their order.
    """
    backend = find_backend(given["backend"])
    if "preset" not in given:
        return dict(backend.as_printed) if given["printed"] else {}
    small = {"c": 0} if "c" in attrs.fields_dict(backend.options) else {}
    return {**backend.as_printed, **small}  # [CAMCAST 6.2.1] topic tables of ln N


def parameters_of(given: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a cell (6.2.1), but for p_sel."""
    return attrs.evolve(PARAMETERS, **PRESETS.get(given.get("preset", ""), {}))


def seed_of(given: Mapping[str, Any]) -> int:
    """Return the seed of a cell's run: every run of the plan's seed has its own."""
    return int(given["seed"]) * 10_000 + int(given["run"])
