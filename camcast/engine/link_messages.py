"""The messages of Figures 5 and 6, by which super-topic tables are searched and kept up."""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message, Right

CONTACTS_MAX: Final = 64  # chosen: contacts in one answer, whatever z is; 3 kB
SEARCH_TTL: Final = 3  # chosen: steps of a search (3.3, note 4); it asks at most 84 processes
SEARCH_NEIGHBOURS: Final = 4  # chosen: to whom a search is passed on; see SEARCH_TTL
SEARCH_BYTES: Final = 8  # chosen: of a search's random name; no two of a day collide


class ReqContact(Message, tag=1, frozen=True):
    """REQ_CONTACT: who knows members of one of these topics? The nearest comes first."""

    passed_on: ClassVar[bool] = True
    mandate: ClassVar[str] = "search"
    mandated: ClassVar[tuple[str, ...]] = ("search", "topics")
    search: bytes
    topics: tuple[str, ...]
    ttl: int


class AnsContact(Message, tag=2, frozen=True):
    """ANS_CONTACT: some members of `topic`."""

    topic: str
    contacts: tuple[Contact, ...]


class NewProcess(Message, tag=3, frozen=True):
    """NEW_PROCESS to a super-process: give me members of your community `topic`."""

    topic: str
    wanted: int


class SuperProcesses(Message, tag=4, frozen=True):
    """NEW_PROCESS back, and the push to one's own community: members of `topic`."""

    topic: str
    contacts: tuple[Contact, ...]
    pushed: bool


class Ping(Message, tag=5, frozen=True):
    """CHECK: say whether you are alive and still in `topic`."""

    topic: str


class Pong(Message, tag=6, frozen=True):
    """The answer to `Ping`: I have been a member of `topic` for so many seconds.

    Infinitely many where nothing is repaired, and nobody keeps the time.
    """

    topic: str
    member: float = inf


class Gone(Message, tag=7, frozen=True):
    """I am not, or no longer, in `topic`: do not send me its events."""

    topic: str


class SuperTopics(Message, tag=8, frozen=True):
    """The immediate super-topics of `topic` and of topics above it, where names say others.

    A member of `topic` tells those that check it, and these push what is new to their community.
    """

    topic: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    pushed: bool


class OtherChoice(Message, tag=9, frozen=True):
    """My membership and protocol, and the options of both that have to be shared.

    They are not yours: I have dropped your message in this group. In no group, it answers a
    question to a discovery by frames, which I do not have, or a process says so that has asked by
    datagrams and had no answer.
    """

    membership: str
    protocol: str
    options: str = ""


class Carry(Message, tag=10, frozen=True):
    """Take part in the community of `topic`: of its members that I know nobody can be dialled."""

    right: ClassVar[Right] = Right.JOIN
    topic: str


DECODER: Final[Decoder[Message]] = Decoder(
    ReqContact
    | AnsContact
    | NewProcess
    | SuperProcesses
    | Ping
    | Pong
    | Gone
    | SuperTopics
    | OtherChoice
    | Carry
)
