"""The outbox: the actions that an engine wants, until a driver drains it.

The outbox only stores. The engine appends wishes, the live runner or the virtual network carries
them out, and a test compares plain lists.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from camcast.vocabulary import messages
from camcast.vocabulary.arguments import check_finite, check_type, check_whole
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.choices import Choice
from camcast.vocabulary.events import Missed
from camcast.vocabulary.extensions import Speaks, speaks_none
from camcast.vocabulary.happenings import Happening, HappeningKind
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, control_head, encode_control

WANTED_MAX: Final = 2**32  # chosen: more than there are processes; messages carry 64 bits
DELAY_SECONDS_MAX: Final = 10**12  # chosen: never; a float still tells milliseconds apart


class Token(NamedTuple):
    """Names a timer: the part of the node that set it, and that part's own name for it."""

    kind: Kind | None
    """The kind of the part's control records; None for a timer of the node itself."""
    group: GroupId
    name: tuple[Hashable, ...]


class Send(NamedTuple):
    """Send encoded records, joined to one piece, to each of these processes, best effort.

    `contacts` is not copied, so it must not be changed afterwards.
    """

    contacts: Sequence[Contact]
    record: bytes
    control: bool
    records: int = 1
    """How many records `record` holds."""


class Wake(NamedTuple):
    """Call the node's `wake` with this token after so many seconds."""

    delay_seconds: float
    token: Token


class Deliver(msgspec.Struct, frozen=True, gc=False):  # a Struct, for one is made for each batch
    """Hand the events of a batch to the application's subscribers of this community."""

    group: GroupId
    batch: Batch
    history: bool = False
    """Whether they are from before this process joined: only for subscribers of the history."""
    last_value: bool = False
    """Whether it is the last value of a key, which others have kept: only for subscribers of those;
    the event comes to all others by itself, or is not of their time."""


class Tell(NamedTuple):
    """Tell the application's subscribers of this community which events they can no longer get."""

    group: GroupId
    missed: Missed


class Seek(NamedTuple):
    """Look for members of a community; the node passes this on to its discovery."""

    topic: Topic
    wanted: int
    by: Kind | None = None
    """The part that looks for members."""


class Finding(NamedTuple):
    """A discovery's answer: some members of a community.

    An answer without contacts says that the community is empty, unless it lists addresses that did
    not answer (`unreachable`) or answered that they do not know (`ignorant`): then the discovery
    could not find out, even if addresses in `nobody` keep the community's register and say that it
    is empty. `size` is the discovery's estimate of N_t, if it has one.
    """

    topic: Topic
    contacts: tuple[Contact, ...]
    unreachable: tuple[str, ...] = ()
    size: float | None = None
    ignorant: tuple[str, ...] = ()
    nobody: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the discovery could not find out the members of the community."""
        return bool(self.unreachable or self.ignorant)


Vouch = Callable[
    [Sequence[Contact], Kind, GroupId, messages.Message, Contact | None, float], bytes | None
]
"""Takes a message's receivers, kind, group, the message, the process it is passed on for, and now.

Returns the mandate to send along, empty if none is needed; None if the message must not be sent.
"""


class Outbox:
    """The wishes of one node, in order, until a driver drains them."""

    __slots__ = (
        *(
            "choice",
            "control_bytes",
            "deliveries",
            "findings",
            "happenings",
            "introduce",
            "me",
            "now",
            "seeks",
            "sends",
            "speaks",
        ),
        *("tell", "tells", "vouch", "wakes"),
    )

    def __init__(self, me: Contact) -> None:
        self.me = me
        """The process, under the address that it announces."""
        self.now = 0.0
        """The time of the input that the node takes: what it sends is vouched for at this time, and
        what happens is told with it."""
        self.choice: Choice | None = None
        """The membership and protocol of the process; None: its records say nothing of them."""
        self.speaks: Speaks = speaks_none
        """Says which processes have named an extension."""
        self.sends: list[Send] = []
        self.wakes: list[Wake] = []
        self.deliveries: list[Deliver] = []
        self.tells: list[Tell] = []
        self.seeks: list[Seek] = []
        self.findings: list[Finding] = []
        self.happenings: list[Happening] | None = None
        """A list if the driver hands happenings to subscribers, else None."""
        self.tell: Callable[[Happening], None] | None = None
        """Takes what happens, at once; it is the recorder's."""
        self.control_bytes: dict[GroupId, int] | None = None
        """The bytes of all control copies so far, by the sending group; None: not counted."""
        self.vouch: Vouch | None = None
        """In the profile ``signed``: called before a control message leaves."""
        self.introduce: Callable[[Contact, Sequence[Contact]], None] | None = None
        """Called with the sender and the receivers of a message before it is passed on, for a
        sender that nobody can dial."""


_OF_CHOICE: Final = (Kind.MEMBERSHIP, Kind.PROTOCOL)


class ControlOutlet:
    """Writes the wishes of one part of a node (a membership, the links, a discovery) to its outbox.

    An outlet knows the part and its community: messages reach the same part at other processes, and
    timers come back to this part. Its methods return nothing; answers are later inputs. They raise
    `TypeError` and `ValueError` for what no driver could carry out, and then leave no wish.
    """

    __slots__ = ("_group", "_head", "_headed", "_kind", "_outbox", "_record", "_said", "_scope")

    def __init__(self, outbox: Outbox, kind: Kind, group: GroupId, *scope: Hashable):
        self._outbox = outbox
        self._kind = kind
        self._group = group
        self._scope = scope
        self._head: bytes | None = None  # the head of its own messages, made for the first
        self._headed = outbox.me  # the process as that head names it
        self._said: messages.Message | None = None  # the last of them
        self._record = b""  # which says that

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self._outbox.me

    def send(
        self,
        contacts: Iterable[Contact],
        message: messages.Message,
        *,
        group: GroupId | None = None,
        reply_to: Contact | None = None,
    ) -> None:
        """Send a message to the same part of other processes, in this or another group.

        `reply_to` names another process as the sender, when a message is passed on for it; its
        class then says that it may be (`Message.passed_on`). A message of an extension leaves only
        for processes that have named it (`Message.extension`). The same object, sent again, is not
        encoded again, and shares a wish with the time before if nothing came between.
        """
        chosen = list(contacts)
        if not chosen:
            return
        _check_contacts(chosen)
        if not isinstance(message, messages.Message):
            raise TypeError(f"a message is a Message, and not {message!r}")
        outbox = self._outbox
        if message.extension:
            chosen = [one for one in chosen if outbox.speaks(one, message.extension)]
            if not chosen:
                return
        if reply_to is not None and not reply_to.is_dialable and outbox.introduce is not None:
            outbox.introduce(reply_to, chosen)
        if self._headed is not outbox.me:
            self._headed, self._head, self._said = outbox.me, None, None
        sends, own = outbox.sends, group is None and reply_to is None
        if own and message is self._said:
            record = self._record
            if sends and sends[-1].record is record:
                sends[-1] = Send([*sends[-1].contacts, *chosen], record, True)
            else:
                sends.append(Send(chosen, record, True))
        else:
            target = self._group if group is None else group
            mandate = b""
            if (vouch := outbox.vouch) is not None:
                given = vouch(chosen, self._kind, target, message, reply_to, outbox.now)
                if given is None:
                    return
                mandate = given
            head = self._head
            if head is None or not own or mandate:
                sender = outbox.me if reply_to is None else reply_to
                # The communities of other levels may have made another choice.
                of_choice = group is None and self._kind in _OF_CHOICE
                choice = outbox.choice if of_choice else None
                said = 0 if choice is None else choice.byte(sender.peer)
                address = sender.address
                head = control_head(self._kind, target, sender.peer, address, mandate, said)
                if own and not mandate:
                    self._head = head
            record = encode_control(head, messages.encode(message))
            sends.append(Send(chosen, record, True))
            if own and vouch is None:
                self._said, self._record = message, record
        if (sent := outbox.control_bytes) is not None:
            sent[self._group] = sent.get(self._group, 0) + len(chosen) * len(record)

    def wake(self, delay_seconds: float, *name: Hashable) -> None:
        """Ask to be woken with `name` after a delay; a timer cannot be cancelled."""
        if not 0.0 <= delay_seconds <= DELAY_SECONDS_MAX:  # nor nan
            raise ValueError(f"a timer comes in 0 to {DELAY_SECONDS_MAX} s, not {delay_seconds}")
        token = Token(self._kind, self._group, (*self._scope, *name))
        self._outbox.wakes.append(Wake(delay_seconds, token))

    def report(
        self,
        kind: HappeningKind,
        topic: Topic | None = None,
        count: int = 0,
        addresses: tuple[str, ...] = (),
    ) -> None:
        """Tell what happened to this group."""
        if self._outbox.tell is not None:
            self._outbox.tell(Happening(kind, self._group, topic, None, addresses, count))

    def seek(self, topic: Topic, wanted: int) -> None:
        """Ask for contacts in a community; they arrive as `contacts_found`."""
        check_type("topic", topic, Topic, "a Topic")
        check_whole("wanted", wanted)
        if not 0 <= wanted <= WANTED_MAX:  # else the discovery fails, and gets the blame
            raise ValueError(f"0 to {WANTED_MAX} contacts can be sought, and not {wanted}")
        self._outbox.seeks.append(Seek(topic, wanted, self._kind))

    def found(
        self,
        topic: Topic,
        contacts: Iterable[Contact],
        unreachable: Iterable[str] = (),
        size: float | None = None,
        ignorant: Iterable[str] = (),
        nobody: Iterable[str] = (),
    ) -> None:
        """Answer a seek; only a discovery does."""
        finding = Finding(
            topic, tuple(contacts), tuple(unreachable), size, tuple(ignorant), tuple(nobody)
        )
        check_type("topic", topic, Topic, "a Topic")
        _check_contacts(finding.contacts)
        for address in (*finding.unreachable, *finding.ignorant, *finding.nobody):
            check_type("an address", address, str, "a text")
        if size is not None:
            check_finite("size", size)
        self._outbox.findings.append(finding)


def _check_contacts(contacts: Iterable[object]) -> None:
    """Raise `TypeError` for what names no process."""
    for contact in contacts:
        if not isinstance(contact, Contact):
            raise TypeError(f"a process is named by a Contact, and not {contact!r}")
