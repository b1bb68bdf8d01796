"""Which protocols a paper's tables and figures are about, and which paper describes a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from attrs import frozen

from camcast.doors.plugs import find_protocol

_CAMCAST: Final = ("camcast", "broadcast", "multicast", "hierarchical")  # [CAMCAST 4.2]
_HPMCAST: Final = ("rfpbcast", "pmcast", "hpmcast")  # [hpmcast 2.1, 2.2, 5]
_PERCOLATION: Final = ("percolation",)

PROTOCOLS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "camcast": (*_CAMCAST, "pmcast", "hpmcast"),  # [CAMCAST Tables 1, 2: (3) PMcast]
    "memberships": ("camcast",),
    "percolation": _PERCOLATION,
    "hpmcast": _HPMCAST,
}
"""By paper, as `camcast reproduce` takes it: the protocols that have rows or figures there."""

PAPER_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(_CAMCAST, "camcast"),
    **dict.fromkeys(_HPMCAST, "hpmcast"),
    **dict.fromkeys(_PERCOLATION, "percolation"),
}
"""By protocol: the paper that describes it."""


def choose(paper: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the protocols of these names in the paper's order; None if they are all it has.

    Raises `UnknownPlugError` for a name that no protocol has, and `ValueError` for one that no
    table or figure of the paper is about.
    """
    about = PROTOCOLS_OF[paper]
    for name in names:
        find_protocol(name)
        if name not in about:
            others = [other for other in PROTOCOLS_OF if name in PROTOCOLS_OF[other]]
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

    protocols: tuple[str, ...] | None = None
    """None: all."""

    def __attrs_post_init__(self) -> None:
        """Raise as `choose`, and `ValueError` for none at all."""
        if self.protocols is not None and not self.protocols:
            listed = ", ".join(PROTOCOLS_OF[self.PAPER])
            raise ValueError(f"no protocol is chosen; {self.PAPER} has {listed}")
        choose(self.PAPER, self.protocols or ())

    def about(self, *protocols: str) -> bool:
        """Return whether all of these are chosen."""
        return self.protocols is None or set(protocols) <= set(self.protocols)
