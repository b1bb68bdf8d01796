"""Extensions: what a process understands beyond version 2 of the wire format.

A later release may add messages, and other uses of a connection. A process names what it
understands in the handshake of every connection (`camcast.live.wire.zmtp.codec`), and an extension
is used only towards a process that has named it: a message says of which extension it is
(`camcast.vocabulary.messages.Message.extension`), and does not leave for anybody else. Who has not
named any, such as an earlier release or libzmq, gets what version 2 has.

What changes the records that members pass on to each other, such as the bodies of events, cannot be
settled between two of them. Such an extension is one *of communities*: all of a community have it,
as they have one membership. It is part of the choice of a process (`camcast.vocabulary.choices`),
and a process without it stays out and is told why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from attrs import field, frozen, validators

from camcast.vocabulary.identity import Contact

EXTENSION_BYTES_MAX: Final = 16  # chosen: a word
EXTENSIONS_MAX: Final = (
    8  # chosen: READY, of 512 bytes at most, has room for so many beside a system
)

Speaks = Callable[[Contact, str], bool]
"""Says whether a process has named an extension, on the present connection to it."""


@frozen
class Extension:
    """An extension that this process understands. Raises `ValueError` for a name of other bytes."""

    name: str = field(validator=validators.matches_re(f"[a-z0-9-]{{1,{EXTENSION_BYTES_MAX}}}"))
    of_communities: bool = False
    """Whether all of a community must have it."""


BOTH_WAYS: Final = Extension("both")
"""Named by a process that nobody can dial, it takes messages on the connection that it makes; named
by one that accepts a connection, it sends messages on that to such a process."""

EXTENSIONS: Final[tuple[Extension, ...]] = (BOTH_WAYS,)
"""The extensions of this release, `EXTENSIONS_MAX` at most."""


def write_extensions(extensions: Iterable[Extension]) -> bytes:
    """Return the extensions as a handshake names them."""
    return ",".join(extension.name for extension in extensions).encode()


def read_extensions(named: bytes) -> tuple[str, ...]:
    """Return the extensions that a peer names; what a peer names beyond the bound is left out."""
    read = named[: EXTENSIONS_MAX * (EXTENSION_BYTES_MAX + 1)].decode("ascii", "replace")
    return tuple(read.split(",")[:EXTENSIONS_MAX])


def speaks_none(_contact: Contact, _extension: str) -> bool:
    """Return False: nobody has named any extension."""
    return False
