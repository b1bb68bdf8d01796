"""How much a process of hpmcast reads of what others say they want, whatever comes.

To read an interest takes a thousand times as long as to send it, so only so much is read in a
period. What is still unread counts as an interest in everything: nobody misses an event for that
(002, 6.1.1).
"""

from __future__ import annotations

from typing import Final

from camcast.interests.bounded import BYTES_MAX, read_interest
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.view_messages import LINES_BYTES_MAX

# chosen: bytes of interests read in a period: those of any one message of an honest process. It
# takes 0.05 s at most, at the 1.6 µs a byte that the costliest of many texts took.
READ_BYTES_MAX: Final = LINES_BYTES_MAX
TEXT_BYTES: Final = 32  # chosen: counted for each text besides its own; any line has that many more

UNREAD: Final = Interest.parse(".")
"""The stand-in for an interest that is still to be read: this very object."""


class Reading:
    """The interests read in this period, and how many more may be."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin a period."""
        self._bytes_left = READ_BYTES_MAX
        self._known: dict[str, Interest] = {}  # for many say the same

    def read(self, text: str) -> Interest:
        """Return what a text says, `UNREAD` if it is too much for now; raises `InterestError`."""
        if text in self._known:
            return self._known[text]
        size = len(text.encode("utf-8", "surrogatepass"))
        if size <= BYTES_MAX:  # a larger one is refused at a glance
            if size + TEXT_BYTES > self._bytes_left:
                return UNREAD
            self._bytes_left -= size + TEXT_BYTES
        interest = self._known[text] = read_interest(text)
        return interest
