"""A figure of a paper, computed again: its points, and how they are shown (`chart`)."""

from __future__ import annotations

from typing import Any, Literal

from attrs import frozen


@frozen(kw_only=True)
class Point:
    """A row of a figure, at one x of one series; None where there is no such number."""

    series: str
    x: float
    mean: float | None = None
    """Measured; with the 95 % interval from `low` to `high`."""
    low: float | None = None
    high: float | None = None
    model: float | None = None
    """What our model says of the same."""
    formula: float | None = None
    """What the paper's formula says of the same."""
    runs: int | None = None
    """Of which `mean` is the mean."""
    panel: str = ""
    """The frame that the point is in, of a figure with several."""
    sample: int | None = None
    """The number of a network, if `mean` is of that one alone."""


@frozen(kw_only=True)
class Figure:
    """A figure of a paper, or one beyond it."""

    name: str
    """Of its files, without what follows the dot; ``figure`` and its number in the paper."""
    title: str
    x: str
    y: str
    notes: str
    points: tuple[Point, ...]
    domain: tuple[float, float] | None = None
    """What of y is shown; None: all, from 0 on. Up to 1 it is a share."""
    logarithmic: Literal["", "x", "xy"] = ""
    """The axes that are logarithmic."""
    rule: float | None = None
    """Where a horizontal line is drawn."""
    wide: bool = True
    """Whether it stands alone, instead of beside another."""

    @property
    def share(self) -> bool:
        """Whether y is a share, and not a number."""
        return self.domain is not None and self.domain[1] <= 1

    @property
    def heading(self) -> str:
        """The title, with the number of a figure of the paper."""
        if not self.name.startswith("figure"):
            return self.title
        number = self.name.removeprefix("figure").partition("_")[0]
        return f"Figure {number}. {self.title}"

    @property
    def about(self) -> dict[str, Any]:
        """What there is to say about its points."""
        return {"title": self.title, "x": self.x, "y": self.y, "notes": self.notes}
