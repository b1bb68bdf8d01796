"""A figure that has its number in a paper."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen(kw_only=True)
class NumberedFigure:
    """What all such figures have."""

    number: int
    title: str
    notes: str

    @property
    def name(self) -> str:
        """The name of its files, without what follows the dot."""
        return f"figure{self.number}"

    @property
    def about(self) -> dict[str, Any]:
        """What there is to say about its points."""
        return {"title": self.title, "notes": self.notes}
