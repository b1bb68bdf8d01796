"""Which protocols a paper's tables and figures are about, and the choice of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen

from camcast.research.systems.registry import SYSTEMS, find_system


def protocols_of(paper: str) -> tuple[str, ...]:
    """Return the protocols with rows or figures in a paper, as `camcast reproduce` names it."""
    return tuple(name for name, system in SYSTEMS.items() if paper in system.papers)


def choose(paper: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the protocols of these names in the paper's order; None if they are all it has.

    Raises `UnknownPlugError` for a name that no protocol has, and `ValueError` for one that no
    table or figure of the paper is about.
    """
    about = protocols_of(paper)
    for name in names:
        others = sorted(find_system(name).papers)
        if name not in about:
            raise ValueError(
                f"no table or figure of {paper} is about {name}, but of {' and '.join(others)};"
                f" those of {paper} are about {', '.join(about)}"
            )
    chosen = tuple(name for name in about if name in names)
    return None if chosen == about else chosen


@frozen(kw_only=True)
class ChosenProtocols:
    """What of a paper with several protocols is to be computed: what is about some of them."""

    PAPER: ClassVar[str]
    RUNS_MIN: ClassVar[int] = 2  # an interval needs two

    runs: int = RUNS_MIN
    """Of each setting."""
    protocols: tuple[str, ...] | None = None
    """None: all."""

    def __attrs_post_init__(self) -> None:
        """Raise as `choose`, and `ValueError` for no protocol at all, or too few runs."""
        if self.protocols is not None and not self.protocols:
            listed = ", ".join(protocols_of(self.PAPER))
            raise ValueError(f"no protocol is chosen; {self.PAPER} has {listed}")
        choose(self.PAPER, self.protocols or ())
        if self.runs < self.RUNS_MIN:
            raise ValueError(f"runs is {self.runs}; give {self.RUNS_MIN} or more, for an interval")

    def about(self, *protocols: str) -> bool:
        """Return whether all of these are chosen."""
        chosen = protocols_of(self.PAPER) if self.protocols is None else self.protocols
        return set(protocols) <= set(chosen)
