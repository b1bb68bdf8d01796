"""The choice of a process: what all of a community have to have the same.

Two memberships, or two protocols, give other meanings to the same small tags, and some options of
a plug shape what is sent (`camcast.doors.options.SHARED`). A process therefore says its choice with
every record of a membership or a protocol, in one byte; processes that differ tell each other the
words (`camcast.engine.misfits`). The byte is of the choice *and of the sender*: two choices that
have the same byte at one process differ at the next one, so that no two plugs meet by half at every
process that has them, and two processes do in both directions once in 65,025 times.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from attrs import field, frozen
from typing_extensions import override

from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.printable import printable


@frozen
class Choice:
    """The membership and protocol of a process, and their options that others have to share."""

    membership: str
    protocol: str
    options: str = ""
    """As in ``arity=10 depth=2``; empty where no option has to be shared."""
    text: str = field(init=False)
    """All of it in one line."""

    def __attrs_post_init__(self) -> None:
        words = (self.membership, self.protocol, self.options)
        object.__setattr__(self, "text", " ".join(filter(None, words)))

    def byte(self, sender: PeerId) -> int:
        """Return what stands for the choice in the records of a sender: 1 to 255."""
        return _byte(self.text, sender)

    @override
    def __str__(self) -> str:
        options = f" with {self.options}" if self.options else ""
        return printable(f"{self.membership!r} and {self.protocol!r}{options}")


def read_choice(text: str) -> Choice:
    """Return the choice of a text, which may be anybody's; what is missing is empty."""
    return Choice(*(*text.split(" ", 2), "", "")[:3])


# chosen: 16,384 senders, as heads of records are remembered (`camcast.vocabulary.wire`); 3 MB
@lru_cache(maxsize=16_384)
def _byte(text: str, sender: PeerId) -> int:
    return 1 + blake2b(text.encode(), key=sender, digest_size=8).digest()[0] % 255
