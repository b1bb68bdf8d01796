"""A claim of a paper, and what became of it."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Claim:
    """What the paper says of its results, and whether ours say so too."""

    where: str
    quote: str
    holds: str
    found: str


def verdict(held: bool, how: str = "yes") -> str:
    """Return what `Claim.holds` says of a claim that held in this way, or did not."""
    return how if held else "no"
