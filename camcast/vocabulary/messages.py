"""Control messages: small records that the parts of two processes send each other.

A part (a membership, the links, a discovery) declares its messages as subclasses of
`Message`, each with a tag of its own, and a `Decoder` for their union. Decoding validates
types; what the numbers mean is clamped by the part that reads them. Fields after the known ones
are ignored: a later release may have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, ClassVar, Final, Generic, TypeVar, get_args

import msgspec

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic, TopicError
from camcast.vocabulary.wire import (
    Kind,
    MalformedError,
    OtherGrammarError,
    UnknownRecordError,
)

MessageT = TypeVar("MessageT", bound="Message")

_ENCODER = msgspec.msgpack.Encoder()


TOPICS_MAX: Final = 512  # chosen: topics that a message with a right names: 16 kB of usual names


class Right(Enum):
    """The right that the sender of a message needs in the profile ``signed`` (docs/security.md)."""

    OF_GROUP = "of group"
    """To be a member of the community in which it is sent."""
    JOIN = "join"
    """To be a member of the community of the message's field `topic`. Of a field `topics` in its
    place, those remain in which the sender has the right."""
    LINK = "link"
    """To send events to that community, and to ask for its members."""
    SERVE = "serve"
    """To be a gateway of that topic."""


class Arrival(msgspec.Struct, frozen=True, gc=False):  # a Struct: one is made for each record
    """A control record as it arrived, without its body: who sent and who brought it, and when.

    It is made once, and handed to everything that judges the record or acts on it.
    """

    link: PeerId | None
    """The process that has proved its key at the other end of the link, if any has."""
    source: Contact
    """The process that the record names as its sender."""
    kind: Kind
    group: GroupId
    mandate: bytes
    """The sender's mandate for the message, empty if the record has none."""
    now: float
    """The time of the input that brought the record."""
    choice: int = 0
    """The byte of the sender's choice (`camcast.vocabulary.choices`), 0 if unsaid."""

    @property
    def is_direct(self) -> bool:
        """Whether nobody has passed the record on, as far as the link shows."""
        return self.link is None or self.link == self.source.peer


class Message(msgspec.Struct, frozen=True, array_like=True):
    """Base of every control message; a subclass gives its `tag`, unique within its part."""

    extension: ClassVar[str] = ""
    """The extension that the message is of: it is sent only to processes that have named that one
    (`camcast.vocabulary.extensions`); empty for messages of version 2."""
    passed_on: ClassVar[bool] = False
    """Whether another process may pass the message on for its sender (`reply_to` of
    `ControlOutlet.send`). In the profile ``signed``, other messages count only over a link of their
    sender."""
    mandate: ClassVar[str] = ""
    """The request that other processes may make in the sender's name; empty if none.

    In the profile ``signed`` the sender signs this word. The signature, its *mandate*, goes along
    when another process passes on the message, or a message of the same part and mandate."""
    mandated: ClassVar[tuple[str, ...]] = ()
    """The fields that the mandate covers, which a process that passes the message on must keep."""
    right: ClassVar[Right] = Right.OF_GROUP
    """The right that the sender needs; for messages of links and repair their parts check more."""


UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of msgspec for bytes that are no such value; `RecursionError` is that for bytes
which are nested too deeply."""

encode: Final[Callable[[Message], bytes]] = _ENCODER.encode
"""Encodes a message as MessagePack: its tag, then its fields."""


class Decoder(Generic[MessageT]):
    """Decodes one part's messages, given as a union of `Message` types."""

    def __init__(self, union: Any) -> None:  # a union of classes has no type of its own
        self._decoder: msgspec.msgpack.Decoder[MessageT] = msgspec.msgpack.Decoder(union)
        self._tags = [one.__struct_config__.tag for one in get_args(union) or (union,)]

    def decode(self, body: bytes) -> MessageT:
        """Return the message.

        Raises `UnknownRecordError` for a message of a tag that is none of the part's, and
        `MalformedError` for other bytes that are no message of the part.
        """
        try:
            return self._decoder.decode(body)
        except UNDECODABLE as error:
            tag = _tag_in(body)
            known = tag is None or tag in self._tags
            wrong = MalformedError if known else UnknownRecordError
            raise wrong(f"a control message does not decode: {error}") from error


_read_fields: Final = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_read_tag: Final[Callable[[msgspec.Raw], int | str]] = msgspec.msgpack.Decoder(int | str).decode


def _tag_in(body: bytes) -> int | str | None:
    """Return the tag of a message of whatever part; None if the body is no message at all."""
    try:
        return _read_tag(_read_fields(body)[0])
    except (*UNDECODABLE, IndexError):
        return None


def read_topic(name: str) -> Topic:
    """Read a topic that a peer sent; `OtherGrammarError` if it does not follow the grammar."""
    try:
        return Topic.parse(name)
    except TopicError as error:
        raise OtherGrammarError(str(error)) from error


def named_in(value: Any) -> Iterator[Contact]:
    """Yield the processes that a message names."""
    if isinstance(value, Contact):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from named_in(one)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from named_in(getattr(value, name))
