"""Refusals: why signed bytes are not taken.

What stands behind the doors of security makes them; the engine counts and logs them.
"""

from __future__ import annotations

from typing import Final, Self


class Refusal(str):
    """The reason of a refusal, which names a counter; the empty one, `TAKEN`, refuses nothing.

    `says` is a sentence for the log, with the figures of the case; it may be empty.
    """

    __slots__ = ("says",)
    says: str

    def __new__(cls, reason: str, says: str = "") -> Self:
        """Make a refusal of a reason, with its sentence for the log."""
        made = super().__new__(cls, reason)
        made.says = says
        return made

    @property
    def is_of_time(self) -> bool:
        """Whether one of two clocks may be wrong, so that somebody has to look at them."""
        return self in ("early", "expired")


TAKEN: Final = Refusal("")
