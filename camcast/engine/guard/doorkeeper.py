"""The doorkeeper of a node: it drops what a sender has no right to say (TRUST, profiles).

Theory of operation
-------------------
The process at the other end of a link has proved its key, and a trusted root certifies it. Four
rules hold for what that process sends:

- The named sender is the process at the end of the link. Only a message whose class says
  `passed_on` may have another sender; that sender is then known by an introduction, and the message
  carries a *mandate* that the sender has signed (`camcast.engine.guard.granted_mandates`).
- The sender's address is one that it has signed.
- A message names processes that are known by introductions; any other is removed from it.
- The sender, and the process that passes a message on, have the right to say it. A message within a
  community needs the right to join it; a question about it, or what climbs into it, needs the right
  to link to it, which the right to join or publish in it or below it includes.

What breaks a rule is dropped and counted. For the third rule, a process sends the introductions of
the processes that a message names before that message (`vouch`), and its own again whenever it has
signed a new one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, get_args, get_type_hints

import msgspec

from camcast.doors.admission import Admission
from camcast.engine.asked_lately import AskedLately
from camcast.engine.guard.granted_mandates import Mandates
from camcast.engine.link_messages import (
    AnsContact,
    Gone,
    NewProcess,
    Ping,
    Pong,
    ReqContact,
    SuperProcesses,
)
from camcast.engine.recorder import NodeCounters
from camcast.engine.repair.messages import Have
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.messages import Message, MessageT, Right, read_topic
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.refusal import TAKEN, Refusal
from camcast.vocabulary.size_estimate import SAMPLE, number_of
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind

_log = logging.getLogger(__name__)

# chosen: a receiver that was restarted, or has forgotten an introduction, is without it for so long
CARRY_SECONDS: Final = 60.0
# chosen: for ever; each link begins with this process's own introduction, so a neighbour gets by
# this way only one that was signed anew
ONCE_SECONDS: Final = 1e9
# chosen: 7 kB with one certificate each, 30 kB with a chain of four each: a frame has 32 KiB
INTRODUCTIONS_MAX: Final = 16
# chosen: a view and a few links; 150 kB with a chain of four each, 2 MB where each fills a frame
UNTIMELY_MAX: Final = 64


class Introductions(Message, frozen=True, tag=8):
    """Introductions of the processes that the next message names, or of the sender."""

    introductions: tuple[Introduction, ...]


class WhoAre(Message, frozen=True, tag=9):
    """Introduce to me those members of this community whose numbers in your sample these are."""

    right: ClassVar[Right] = Right.JOIN
    topic: str
    numbers: tuple[int, ...]


class Doorkeeper:
    """Judges what arrives at one node."""

    def __init__(
        self,
        admission: Admission,
        outlet: ControlOutlet,
        counters: NodeCounters,
        clock: Clock,
    ) -> None:
        self._admission = admission
        self._me = me = outlet.me
        self._number = number_of(me.peer)
        self._outlet = outlet
        self._counters = counters
        self._clock = clock
        self._carried = AskedLately()
        self._mandates = Mandates(admission)
        self._record: tuple[Kind, GroupId, bytes] = (Kind.SECURITY, GroupId(bytes(8)), b"")
        """Kind, group and mandate of the record at hand."""
        self._untimely: dict[PeerId, Introduction] = {}
        """The latest refused introductions that were early or had expired, by their owners.

        Others send an introduction once a minute at most. If this process's clock is set right, it
        would for so long not know the processes that messages name.
        """
        self._log = MinuteLog()
        self._now = clock.started
        self._wall = clock.wall(clock.started)
        self.refused: Counter[str] = Counter()
        """Frames, messages and introductions, by why they were not taken."""
        admission.reached_at(me.address)

    # -- what comes in ---------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time of the input at hand."""
        return self._now

    def begin(self, now: float) -> None:
        """Take note of the time of inputs before anything is judged or sent."""
        self._now, self._wall = now, self._clock.wall(now)

    def open(self, kind: Kind, group: GroupId, mandate: bytes) -> None:
        """Take note of a record whose message, or messages, are judged next."""
        self._record = kind, group, mandate

    def admits(self, link: PeerId | None) -> bool:
        """Say whether the process at the end of a link may talk to this one at all."""
        return link is not None and self._admission.admits(link, self._wall)

    def take(self, link: PeerId | None, message: Introductions) -> None:
        """Learn introductions; from a process that is not admitted yet, only its own."""
        for introduction in message.introductions:
            # Its own comes first; by that it may be admitted to introduce the others.
            if self._admission.owner(introduction) != link and not self.admits(link):
                self.refuse("from_a_stranger")
            elif reason := self._admission.take(introduction, self._wall):
                owner = self._admission.owner(introduction)
                self.refuse(f"introduction_{reason}", reason, f" of {owner.hex()}")
                if reason.is_of_time:
                    self._untimely.pop(owner, None)
                    if len(self._untimely) >= UNTIMELY_MAX:
                        del self._untimely[next(iter(self._untimely))]
                    self._untimely[owner] = introduction

    def knows(self, source: Contact) -> bool:
        """Say whether a sender is known, and has said that its address is this one."""
        return self._admission.knows(source, self._wall)

    @property
    def key(self) -> bytes:
        """See `Admission`."""
        return self._admission.key

    def may_link(self, peer: PeerId, topic: Topic) -> bool:
        """See `Admission.may_link`."""
        return self._admission.may_link(peer, topic, self._wall)

    def key_of(self, contact: Contact) -> str:
        """See `camcast.doors.discovery.Identities`."""
        return self._admission.key_text(contact, self._wall)

    def pin(self, address: str, key: str) -> None:
        """See `camcast.doors.discovery.Identities`."""
        self._admission.pin(address, key)

    def may_join(self, peer: PeerId, topic: Topic) -> bool:
        """See `Admission.may_join`."""
        return self._admission.may_join(peer, topic, self._wall)

    def is_member(self, number: int, topic: Topic, ahead_seconds: float = 0.0) -> bool:
        """Say whether the process of a number in samples of sizes may be a member of a community.

        With `ahead_seconds`, whether its record is valid for so long.
        """
        peer = self._admission.numbered(number, self._wall + ahead_seconds)
        if peer is None:
            return number == self._number
        return self.may_join(peer, topic)

    def only_members(self, contacts: Sequence[Contact], topic: Topic) -> tuple[Contact, ...]:
        """Return the contacts that are known, and that may be members of a topic's community."""
        return tuple(c for c in contacts if self.knows(c) and self.may_join(c.peer, topic))

    def judge(
        self, message: MessageT, source: Contact, link: PeerId | None, topic: Topic | None
    ) -> MessageT | None:
        """Return a message without what its sender may not say; None if nothing is left.

        `topic` is that of the community that the message is for; None if it is for no community.
        """
        if source.peer != link and not message.passed_on:
            self.refuse("in_anothers_name")
            return None
        if not self._has_right(message, source.peer, link, topic):
            self.refuse("without_the_right")
            return None
        if message.mandate:
            kind, group, mandate = self._record
            if why := self._mandates.refusal(
                source.peer, kind, group, message, mandate, self._wall
            ):
                self.refuse(f"mandate_{why}", why, f" of {source}")
                return None
        if not _names_processes(type(message)):
            return message
        named = getattr(message, "topic", None)
        about = read_topic(named) if isinstance(named, str) else topic
        known: MessageT | None = self._known_only(message, about)
        if known is None:
            self.refuse("names_strangers")
        return known

    def refuse(self, why: str, refusal: Refusal = TAKEN, of: str = "") -> None:
        """Count a refusal, and log it once a minute; `of` says for the log whose bytes they are."""
        self.refused[why] += 1
        self._counters.unadmitted += 1
        if self._log.due(why, self._now):
            _log.log(
                logging.WARNING if refusal.is_of_time else logging.INFO,
                "what a process sent was dropped: %s%s%s (%d so far; logged once a minute)",
                why.replace("_", " "),
                of,
                f": {refusal.says}" if refusal.says else "",
                self.refused[why],
            )

    def clock_set(self) -> None:
        """Introduce this process anew, and judge again what the old time was wrong for."""
        self._admission.introduce_anew(self._wall)
        untimely, self._untimely = self._untimely, {}
        for introduction in untimely.values():
            self._admission.take(introduction, self._wall)

    def _has_right(
        self, message: Message, sender: PeerId, link: PeerId | None, topic: Topic | None
    ) -> bool:
        may_join, may_link, now = self._admission.may_join, self._admission.may_link, self._wall
        if message.right is not Right.OF_GROUP:
            return self._may(sender, message)
        match message:
            case Ping(topic=name) | NewProcess(topic=name):
                return may_link(sender, read_topic(name), now)
            case ReqContact(topics=names):
                return all(may_link(sender, read_topic(name), now) for name in names)
            case Pong(topic=name) | SuperProcesses(topic=name, pushed=False):
                return may_join(sender, read_topic(name), now)
            case AnsContact() | Gone():
                return True  # `_known_only` checks those that it names; to have left needs no right
            case Have(below=below) if below and topic is not None:
                return may_link(sender, topic, now)
            case _ if topic is not None:
                passed_on = sender == link or (link is not None and may_join(link, topic, now))
                return passed_on and may_join(sender, topic, now)
            case _:
                return True

    def _may(self, sender: PeerId, message: Message) -> bool:
        """Say whether a sender has the right that a message declares, in the topic it names."""
        topic = read_topic(str(getattr(message, "topic", "")))
        match message.right:
            case Right.JOIN:
                return self._admission.may_join(sender, topic, self._wall)
            case Right.LINK:
                return self._admission.may_link(sender, topic, self._wall)
            case _:
                return self._admission.may_serve(sender, topic, self._wall)

    def _known_only(self, value: Any, topic: Topic | None) -> Any:
        """Return a value without unknown processes, or None if it was about these alone."""
        if isinstance(value, Contact):
            known = value.peer == self._me.peer or self.knows(value)
            return value if known and (topic is None or self.may_join(value.peer, topic)) else None
        if isinstance(value, tuple):
            kept = [self._known_only(one, topic) for one in value]
            return tuple(one for one in kept if one is not None)
        if not isinstance(value, msgspec.Struct):
            return value
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            if isinstance(before, Contact | tuple | msgspec.Struct):
                after = self._known_only(before, topic)
                if after is None or (before and not after):
                    return None
                if after != before:
                    changed[name] = after
        return msgspec.structs.replace(value, **changed) if changed else value

    # -- what goes out ---------------------------------------------------------------------

    def vouch(
        self,
        receivers: Sequence[Contact],
        kind: Kind,
        group: GroupId,
        message: Message,
        on_behalf_of: Contact | None,
    ) -> bytes | None:
        """See `camcast.vocabulary.outbox.Vouch`."""
        if on_behalf_of is None:
            mandate: bytes | None = self._mandates.give(kind, group, message, self._wall)
        else:
            mandate = self._mandates.find(on_behalf_of.peer, kind, group, message)
        if mandate is not None:
            self._introduce(receivers, message, on_behalf_of)
        return mandate

    def ask_who(self, receivers: Sequence[Contact], question: WhoAre) -> None:
        """Ask for introductions."""
        self._outlet.send(receivers, question)

    def answer_who(self, source: Contact, question: WhoAre) -> None:
        """Introduce members of a community to another one: each once in `CARRY_SECONDS`."""
        topic, named = read_topic(question.topic), []
        for number in question.numbers[:SAMPLE]:
            peer = self._admission.numbered(number, self._wall)
            if peer is not None and self.may_join(peer, topic):
                named.append(peer)
        self._show([source], named)

    def _introduce(
        self, receivers: Sequence[Contact], message: Message, on_behalf_of: Contact | None
    ) -> None:
        """Send the introductions that go before a message to the receivers that may lack them."""
        if isinstance(message, Introductions):
            return
        named = [*named_in(message)] if _names_processes(type(message)) else []
        if on_behalf_of is not None:
            named.append(on_behalf_of)
        self._show(receivers, [contact.peer for contact in named])

    def _show(self, receivers: Sequence[Contact], named: Sequence[PeerId]) -> None:
        """Send introductions of this process and of others to those who lack them."""
        own = self._admission.own(self._wall)
        introductions: dict[bytes, Introduction] = {own.record: own}
        for peer in named:
            known = self._admission.introduction(peer, self._wall)
            if peer != UNKNOWN_PEER and known is not None:
                introductions[known.record] = known
        for receiver in receivers:
            lacking = tuple(
                introduction
                for record, introduction in introductions.items()
                if self._carried.due(
                    (receiver, record),
                    ONCE_SECONDS if introduction is own else CARRY_SECONDS,
                    self._now,
                )
            )
            for start in range(0, len(lacking), INTRODUCTIONS_MAX):
                part = lacking[start : start + INTRODUCTIONS_MAX]
                self._outlet.send([receiver], Introductions(part))


@lru_cache(maxsize=256)  # chosen: more than there are classes of messages
def _names_processes(cls: Any) -> bool:
    """Say whether values of a type have contacts somewhere in them."""
    if cls is Contact:
        return True
    if isinstance(cls, type) and issubclass(cls, msgspec.Struct):
        return any(_names_processes(hint) for hint in get_type_hints(cls).values())
    return any(_names_processes(part) for part in get_args(cls))


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
