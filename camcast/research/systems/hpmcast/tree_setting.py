"""The setting of an hpmcast simulation: a regular hierarchy with losses and crashes (002, 5.2).

n = a^l processes have all addresses of l digits below a. Each is interested in the event with
probability p_1, independently ("uniformly distributed over the entire system"). The publisher is
any of them, and alive. Views are complete and static: of every subsystem they have the R smallest
addresses, dead processes included, which are not replaced. A process is dead from the beginning
with probability `crash`; a copy is lost with probability `loss`. All processes execute Figure 6 at
the same time, period by period.

The number of rounds in a level depends on the share of interested processes (prob of Figure 6):

* ``expected``: p_i of Equation 19, from p_1, which Figures 7, 8 and 13 use: "the computed expected
  number of rounds increases first with a decreasing p1, before decreasing quickly and becoming 0"
  (5.3.1), so that their curves have a dip.
* ``measured``: the share that `getprob` counts in the view, as a live process does. In a view with
  a single interested process the number of rounds is not 0, so that there is no dip; small p_1 take
  more rounds instead.
"""

from __future__ import annotations

from math import ceil
from typing import Final, Literal, get_args

from attrs import field, frozen

from camcast.research.systems.hpmcast.rounds import rounds
from camcast.research.systems.setting_base import Faults, SettingError, too_many
from camcast.vocabulary.arguments import PROBABILITY

Estimate = Literal["expected", "measured"]
ESTIMATES: Final[tuple[Estimate, ...]] = get_args(Estimate)
PROCESSES_MAX: Final = 10**7  # chosen: 500 MB; 10^6 take 1.5 s a run

ARITY: Final = 22  # [hpmcast 5.3, Figures 7, 8]
DEPTH: Final = 3  # [hpmcast 5.3, Figures 7, 8]
REDUNDANCY: Final = 3  # [hpmcast 5.3, Figures 7, 8]
FAN_OUT: Final = 2  # [hpmcast 5.3, Figures 7, 8]


@frozen(kw_only=True)
class HpmcastSetting(Faults):
    """One event in a regular tree. Raises `SettingError` or `ValueError` for wrong values."""

    arity: int = ARITY
    """a: subsystems of a subsystem, and processes of a subsystem of level 1."""
    depth: int = DEPTH
    """l: levels."""
    redundancy: int = REDUNDANCY
    """R: delegates of a subsystem; at most a, the processes of a subsystem of level 1."""
    fan_out: int = FAN_OUT
    """F: processes chosen in a period, of which the interested get a copy."""
    interested: float = field(default=0.5, validator=PROBABILITY)  # chosen: amid Figure 7
    """p_1, the probability that a process is interested."""
    threshold: int = 0  # [hpmcast 5.4] "not considered here for simplicity of presentation"
    """D: a smaller audience of a view is made this large (5.4.2)."""
    estimate: Estimate = "expected"
    """The share of interested processes from which rounds follow; see the module's text."""

    def __attrs_post_init__(self) -> None:
        for name, least in (("arity", 2), ("depth", 1), ("redundancy", 1), ("fan_out", 1)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} is {getattr(self, name)}; give {least} or more")
        for name in ("fan_out", "threshold"):  # which the kernels take as machine integers
            if (value := getattr(self, name)) > PROCESSES_MAX:
                raise SettingError(f"{name} is {value}; give {PROCESSES_MAX} or fewer")
        if self.redundancy > self.arity:
            raise SettingError(
                f"redundancy is {self.redundancy}, but a group has {self.arity} processes (arity);"
                " give no more than that"
            )
        if self.threshold < 0:
            raise SettingError(f"threshold is {self.threshold}; give 0 (none) or more")
        if self.estimate not in ESTIMATES:
            known = ", ".join(ESTIMATES)
            raise SettingError(f"unknown estimate {self.estimate!r}; known: {known}")
        # compared by logarithm: a power of ten thousand levels need not be computed
        if self.depth > 64 or self.processes > PROCESSES_MAX:
            raise too_many(f"{self.arity}^{self.depth} processes", PROCESSES_MAX)

    @property
    def processes(self) -> int:
        """N: a^l (Equation 16)."""
        return int(self.arity**self.depth)

    @property
    def view(self) -> int:
        """How many entries a process has in all views: Ra(l-1) + a (Equation 18)."""
        return sum(map(self.view_of, range(1, self.depth + 1)))

    def view_of(self, level: int) -> int:
        """Return m_i, the processes in the view of a level (Equation 17)."""
        return self.arity * (self.redundancy if level > 1 else 1)

    def share(self, level: int) -> float:
        """Return p_i, the probability that an entity of a level is interested (Equation 19)."""
        return float(1 - (1 - self.interested) ** (self.arity ** (level - 1)))

    def is_few(self, level: int, hits: int) -> bool:
        """Say whether the threshold applies, with `hits` interested processes in the view."""
        measured = self.estimate == "measured"
        expected = hits if measured else self.view_of(level) * self.share(level)
        return hits > 0 and expected < self.threshold

    def periods(self, level: int, wanted: int, *, few: bool) -> int:
        """Return for how many periods an event is gossiped in a level.

        `wanted` processes of the view get copies, those that the threshold adds included; `few`
        says whether the threshold applies.
        """
        size = self.view_of(level)
        if self.estimate == "measured":
            share = wanted / size
        else:
            first = min(self.threshold, size) if few else 0
            share = self.share(level) + (1 - self.share(level)) * first / size
        return ceil(rounds(self.arity * self.redundancy, share, self.fan_out))
