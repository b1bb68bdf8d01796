"""Messages between a process and its gateways, and what fits one that names many topics.

A process in many topics announces itself and asks with one message for all (`AnnounceAgain`,
`AskOfMany`). The question about each group has a number of its own, that both ends compute
(`number_of`): the answers may come one by one, and a gateway leaves out the groups in which the
asker has no right. A gateway of an earlier release answers no `AskOfMany`; the process then asks it
about each group, as it asks any silent gateway again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import TOPICS_MAX, Decoder, Message, Right
from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId

NAMES_BYTES_MAX: Final = 1 << 14  # chosen: 512 names of 32 bytes; longer ones are fewer
SEEK_BITS: Final = 63  # chosen: those of a question's number, an integer without sign everywhere


class Announce(Message, tag=1, frozen=True):
    """Announcement: the sender is a member of this group for the time of a lease."""

    right: ClassVar[Right] = Right.JOIN
    topic: str
    """The group's topic, in which the sender must have the right to join."""


class Withdraw(Message, tag=2, frozen=True):
    """The sender is no member of this group any more."""


class Ask(Message, tag=3, frozen=True):
    """Question about the members of this group."""

    right: ClassVar[Right] = Right.LINK
    seek: int
    wanted: int
    topic: str
    """The group's topic: the configuration of registers goes by its name."""


class Members(Message, tag=4, frozen=True):
    """Answer: some members of the group, at least one."""

    seek: int
    contacts: tuple[Contact, ...]


class Nobody(Message, tag=5, frozen=True):
    """Answer: the gateway keeps the register of the group, which has no members."""

    right: ClassVar[Right] = Right.SERVE
    seek: int
    topic: str
    """The group's topic. A believed answer founds a community, so it takes the right to serve."""


class Unknown(Message, tag=6, frozen=True):
    """Answer: the process knows of no members, and does not keep the register."""

    seek: int
    gateways: tuple[str, ...] = ()
    """The gateways by which it goes itself; without any, it says nothing of them."""


class AskAgain(Ask, tag=8, frozen=True):
    """Question of a process that found all members of an answer silent."""

    silent: tuple[PeerId, ...]
    """These members."""


class Check(Message, tag=7, frozen=True):
    """Question to a member that may be dead, which answers with an announcement."""

    right: ClassVar[Right] = Right.SERVE
    topic: str


class AnnounceAgain(Message, tag=9, frozen=True):
    """Announcements that were made before, of all these groups: the leases begin anew."""

    right: ClassVar[Right] = Right.JOIN
    topics: tuple[str, ...]
    """The topics of the groups."""


class Told(Message, tag=10, frozen=True):
    """Members of the group that announced themselves to the sender, another gateway."""

    right: ClassVar[Right] = Right.SERVE
    topic: str
    contacts: tuple[Contact, ...]


class Back(Message, tag=11, frozen=True):
    """The sender is a gateway that has started, and asks for announcements.

    A process announces itself to its own gateways only, so a liar gains nothing by it.
    """


class AskOfMany(Message, tag=12, frozen=True):
    """Questions about groups of which the sender is a member, whose leases begin anew."""

    right: ClassVar[Right] = Right.JOIN
    seek: int
    """From which the number of the question about each group follows (`number_of`)."""
    wanted: int
    topics: tuple[str, ...]
    """The topics of the groups."""


class NobodyInMany(Message, tag=13, frozen=True):
    """Answer: what `Nobody` says, of several groups of an `AskOfMany`."""

    right: ClassVar[Right] = Right.SERVE
    seek: int
    """The number of the `AskOfMany`."""
    topics: tuple[str, ...]
    """The topics of the groups."""


DECODER: Final[Decoder[Message]] = Decoder(
    Announce
    | AnnounceAgain
    | Withdraw
    | Ask
    | Members
    | Nobody
    | Unknown
    | Check
    | AskAgain
    | Told
    | Back
    | AskOfMany
    | NobodyInMany
)


def number_of(seek: int, group: GroupId) -> int:
    """Return the number of the question about one group of an `AskOfMany`."""
    return seek ^ int.from_bytes(group, "big") >> (8 * GROUP_ID_BYTES - SEEK_BITS)


def pages(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield these names in turn, each time as many as have fit a message."""
    page, size = list[str](), 0
    for name in names:
        page.append(name)
        size += len(name.encode())
        if size >= NAMES_BYTES_MAX or len(page) == TOPICS_MAX:
            yield tuple(page)
            page, size = [], 0
    if page:
        yield tuple(page)
