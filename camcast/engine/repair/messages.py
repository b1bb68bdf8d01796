"""The messages of repair, and the nonces that keep strangers from misusing them."""

from __future__ import annotations

import hashlib
from math import inf
from typing import Final

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message

NONCE_BYTES: Final = 8
NONCE_SECONDS: Final = 10.0  # chosen: a nonce is good for so long at least, twice at most

UNKNOWN: Final = -1

Held = tuple[bytes, int, int, tuple[int, ...]]
"""A process's knowledge of a stream: its id; the first number of which it offers bodies, 0 if it
offers none; how many tenths of a second ago the stream's first event was published, `UNKNOWN` if
that never came; and the ranges that it knows, as `low, start, stop, start, stop, ...`: all below
`low`, and from each start to before its stop."""

Offered = tuple[bytes, int, int]
"""A batch that is offered: its stream, its first number, and the count of its events."""

Wanted = tuple[bytes, tuple[int, ...]]
"""A stream, and what is wanted of it: `start, stop, start, stop, ...`."""


class Have(Message, tag=1, frozen=True):
    """The sender's knowledge of some streams.

    `nonce` is to be given in a `Want`. The sender has been a member for `member` seconds, and keeps
    the bodies of all that it got in the last `kept` seconds. `below` is the topic of its community
    if the message is for a super-community, else empty. If `reply` is not 0, it asks for a full
    `Have` in return, or, in a super-community, for a `Heard` with this number. What is younger than
    `history` seconds, if that is not 0, matters whoever was a member then: a community is asked for
    it, and a super-community told that perhaps nobody there has had it.

    What was published in the last `reach` seconds is offered: in the time for which the receiver is
    taken for a member. A message that was delayed makes a process seem younger than it is.

    In an answer to a question for history, an archive of the sender has events of the last
    `archived` seconds; else that is 0.

    `sizes` are the bytes of the bodies that are offered, 0 of those that are not long, or empty if
    none is (`camcast.engine.repair.pieces`).

    `offers` are batches of these streams that the sender would have pushed to the receiver, which
    may ask for each at once (`camcast.engine.repair.offers`).
    """

    nonce: bytes
    member: float
    kept: float
    below: str
    reply: int
    history: float
    streams: tuple[Held, ...]
    reach: float = inf
    offers: tuple[Offered, ...] = ()
    archived: int = 0
    sizes: tuple[int, ...] = ()


class Want(Message, tag=2, frozen=True):
    """Send me these events, as far as they were published in the last `seconds`.

    `into` names the super-community, of which the asking process is a member, that they are for;
    it is empty inside a community.
    """

    nonce: bytes
    seconds: float
    into: str
    streams: tuple[Wanted, ...]


class Heard(Message, tag=3, frozen=True):
    """A `Have` from a community below has come, the one with this `reply`."""

    reply: int


class Referral(Message, tag=4, frozen=True):
    """`elder` was a member before the sender: compare with it what the sender is too young for."""

    elder: Contact


class Compare(Message, tag=5, frozen=True):
    """The sender's knowledge of a time; a receiver that knows something else announces everything.

    The time begins at the second `since`, counted from 1970. The sender has been a member for
    `member` seconds. `parts` has the tally of what was published in each second
    (`camcast.engine.repair.told.PART_BYTES`), without the last empty ones.
    """

    member: float
    since: int
    parts: bytes


class ValuesKnown(Message, tag=6, frozen=True):
    """The digest of the sender's last values that were published before a second since 1970."""

    second: int
    digest: bytes


TopicBuckets = tuple[str, bytes]
"""A topic, and the digest of each bucket of its keys (`camcast.engine.repair.last_values`)."""


class Buckets(Message, tag=7, frozen=True):
    """The sender's last values, by topic and bucket; and the nonce for a `ValuesWanted`.

    `below` is the topic of the sender's community if the message is for a super-community, else
    empty. If `reply` is not 0, it asks for the receiver's in return.
    """

    nonce: bytes
    below: str
    reply: int
    topics: tuple[TopicBuckets, ...]


BucketsWanted = tuple[str, int, tuple[int, ...], bytes]
"""A topic, into how many buckets its keys are divided, which of these are wanted, and the hashes of
the last values that the asking process has in them, eight bytes each."""


class ValuesWanted(Message, tag=8, frozen=True):
    """Send me the last values that you have in these buckets, and I have not.

    `into` names the super-community, of which the asking process is a member, that they are for; it
    is empty inside a community.
    """

    nonce: bytes
    into: str
    topics: tuple[BucketsWanted, ...]


class Values(Message, tag=9, frozen=True):
    """Last values: by how many messages each has come, and its body, as it was published.

    `below` is as in `Buckets`.
    """

    below: str
    bodies: tuple[tuple[int, bytes], ...]


class ArchiveHours(Message, tag=10, frozen=True):
    """The sender's archive, by hours since 1970; a receiver that has others announces them.

    `parts` has four bytes for each hour from `hour` on (`camcast.engine.repair.meeting`). The
    sender has let nothing go that was published from the hour `first` on. If `reply` is not 0, a
    receiver that differs tells its own.
    """

    hour: int
    first: int
    reply: int
    parts: bytes


class Piece(Message, tag=11, frozen=True):
    """The bytes of a long batch from `number` times `PIECE_BYTES` on.

    The batch is the one of this stream with the number `first`, whose body has `size` bytes. The
    `nonce` is to be given in a `PiecesWanted`, and `below` is as in `Have`. `hops` and `age` are as
    in the head of an event record, the age in seconds.
    """

    nonce: bytes
    below: str
    stream: bytes
    first: int
    size: int
    number: int
    hops: int
    age: float
    part: bytes


class PiecesWanted(Message, tag=12, frozen=True):
    """Send me these pieces of a long batch; `nonce` and `into` are as in `Want`."""

    nonce: bytes
    into: str
    stream: bytes
    first: int
    numbers: tuple[int, ...]


class TooLong(Message, tag=13, frozen=True):
    """A process that was offered a batch takes none with a payload above `bytes_max`.

    Each process passes this on to the one that the batch came from, and so to its publisher.
    """

    stream: bytes
    first: int
    member: bytes
    bytes_max: int


DECODER: Final[Decoder[Message]] = Decoder(
    Have
    | Want
    | Heard
    | Referral
    | Compare
    | ValuesKnown
    | Buckets
    | ValuesWanted
    | Values
    | ArchiveHours
    | Piece
    | PiecesWanted
    | TooLong
)


class Nonces:
    """Nonces of one process, each good for one contact and a while; none has to be remembered.

    A process that gives one back has recently received a message at that address: the answer to a
    `Want`, which is larger than the question, goes to nobody who did not ask.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def issue(self, contact: Contact, now: float) -> bytes:
        """Return the nonce for a contact."""
        return self._make(contact, int(now // NONCE_SECONDS))

    def check(self, nonce: bytes, contact: Contact, now: float) -> bool:
        """Say whether a nonce was issued to this contact recently."""
        epoch = int(now // NONCE_SECONDS)
        return nonce in (self._make(contact, epoch), self._make(contact, epoch - 1))

    def _make(self, contact: Contact, epoch: int) -> bytes:
        named = b"%d:%b:%b" % (epoch, contact.peer, contact.address.encode())
        return hashlib.blake2b(named, digest_size=NONCE_BYTES, key=self._secret).digest()
