"""The access control of a node: it drops what a sender has no right to say (docs/security.md).

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

What breaks a rule is dropped and counted; a signature that does not verify is also a fault of the
process at the end of the link (`camcast.vocabulary.penalties`), whoever's it is said to be, since
an honest process verifies what it passes on. For the third rule, a process sends the introductions
of the processes that a message names before that message (`Guard.vouch`), and its own again
whenever it has signed a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, get_args, get_type_hints

import msgspec
from attrs import define, field
from typing_extensions import override

from camcast.doors.admission import Admission
from camcast.engine.asked_lately import AskedLately
from camcast.engine.guard.granted_mandates import Mandates
from camcast.engine.link_messages import (
    AnsContact,
    Gone,
    NewProcess,
    OtherChoice,
    Ping,
    Pong,
    ReqContact,
    SuperProcesses,
    SuperTopics,
)
from camcast.engine.open_guard import Guard
from camcast.engine.repair.messages import Buckets, Have, Piece, Values
from camcast.engine.security_messages import (
    DECODER,
    Certificates,
    Introductions,
    KeyInUse,
    RevocationNews,
    WhoAre,
)
from camcast.observe.counters import NodeCounters
from camcast.vocabulary import token_buckets
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.hierarchy import Hierarchy
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import (
    TOPICS_MAX,
    Arrival,
    Message,
    MessageT,
    Right,
    named_in,
    read_topic,
)
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.penalties import fault_in
from camcast.vocabulary.refusal import TAKEN, Refusal
from camcast.vocabulary.size_estimate import SAMPLE, number_of
from camcast.vocabulary.token_buckets import TokenBucket
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind

_log = Logger(__name__)

# chosen: a receiver that has forgotten an introduction is without it for so long
CARRY_SECONDS: Final = 60.0
# chosen: for ever; each link begins with this process's own introduction, so a neighbour gets by
# this way only one that was signed again
ONCE_SECONDS: Final = 1e9
# chosen: 7 kB with one certificate each, 30 kB with a chain of four each: a frame has 32 KiB
INTRODUCTIONS_MAX: Final = 16
# chosen: a view and a few links; 150 kB with a chain of four each, 2 MB where each fills a frame
UNTIMELY_MAX: Final = 64
# chosen: of the 20 minutes after which a process signs a new record its neighbours have had that
# record for long by then, and most members are asked for it once an hour
RENEW_SECONDS: Final = 1200.0
# chosen: what was on its way as a process moved has come by then
TURNS_SECONDS: Final = 3.0
FORMER_SECONDS: Final = 60.0  # chosen: a process that has its old address back is another case
FORMER_MAX: Final = 64  # chosen: conflicts that are noticed at a time; 10 kB
# chosen: an expired or revoked member is counted no longer than so; each refresh asks for 64
VERDICT_SECONDS: Final = 5.0
# chosen: 1 % of a core for each link; a member that brings a newcomer has two or three
CHECKS_A_SECOND: Final = 200
# chosen: as after a cut, when a neighbour introduces hundreds of processes at once; a tenth of a
# second
CHECKS_AT_ONCE: Final = 2_000
CHECKED_LINKS_MAX: Final = 4096  # chosen: as many as processes are known; 1 MB


class AccessControl(Guard):
    """Judges by introductions and certificates, and vouches for what this process sends."""

    admission: Admission

    def __init__(
        self,
        admission: Admission,
        outbox: Outbox,
        counters: NodeCounters,
        clock: Clock,
        hierarchy: Hierarchy,
    ) -> None:
        super().__init__()
        self._hierarchy = hierarchy
        self.admission = admission
        self.vouch = self._vouch
        self.admits = self._admits
        self._number = number_of(outbox.me.peer)
        self._outbox = outbox
        self._outlet = ControlOutlet(outbox, Kind.SECURITY, NO_GROUP)
        self._counters = counters
        self._clock = clock
        self._carried = AskedLately()
        self._mandates = Mandates(admission)
        self._checks = token_buckets.Buckets[PeerId, TokenBucket](
            CHECKED_LINKS_MAX, lambda _: TokenBucket(CHECKS_A_SECOND, CHECKS_AT_ONCE)
        )
        self._untimely: dict[PeerId, Introduction] = {}
        """The latest refused introductions that were early or had expired, by their owners.

        Others send an introduction once a minute at most. If this process's clock is set right, it
        would for so long not know the processes that messages name.
        """
        self._former: dict[PeerId, tuple[str, float]] = {}
        """The former address at which each process was heard, and when it was first."""
        self._log = MinuteLog()
        admission.reached_at(outbox.me.address)

    @property
    def now(self) -> float:
        """The time of the input at hand."""
        return self._outbox.now

    # -- what comes in ---------------------------------------------------------------------

    @override
    def lets_in(self, arrival: Arrival, body: bytes) -> bool:
        link, now, signatures = arrival.link, arrival.now, 0
        if arrival.kind is Kind.SECURITY and link == arrival.source.peer:
            message = DECODER.decode(body)
            if isinstance(message, Introductions):
                self._learn(link, message, now)
                return True
            if isinstance(message, Certificates):
                signatures = len(message.chain)
            elif isinstance(message, RevocationNews):
                signatures = 1
        if not self._admits(link, now):
            self.refuse("from_a_stranger", now, link)
        elif not self._knows(arrival.source, self._clock.wall(now)):
            self.refuse("of_a_stranger", now, link)
            if link == arrival.source.peer:
                self._on_former_address(arrival.source, now)
        else:
            return not signatures or self._may_check(link, signatures, now)
        return False

    def _may_check(self, link: PeerId | None, signatures: int, now: float) -> bool:
        """Say whether so many signatures may be checked for a link now; else what has them is lost.

        Those of events do not count: a publisher's certificate may have a rate, and a busy stream
        has more than any rate that would bound a liar's; forged ones bar who sends them.
        """
        allowed = link is not None and self._checks[link].take(now, signatures)
        if not allowed:
            self.refuse("over_the_rate_of_checks", now, link)
        return allowed

    def _on_former_address(self, source: Contact, now: float) -> None:
        """Take a message of a process from the address that it had before, by its latest record.

        It may have been on its way as the process moved. If others follow later, two processes use
        the key: both are told.
        """
        wall = self._clock.wall(now)
        if (moved := self.admission.moved(source, wall)) is None:
            return
        address, since = self._former.get(source.peer, ("", now))
        if address != source.address or now - since > FORMER_SECONDS:
            self._former.pop(source.peer, None)
            if len(self._former) >= FORMER_MAX:
                del self._former[next(iter(self._former))]
            self._former[source.peer] = source.address, now
        elif now - since >= TURNS_SECONDS and self._log.due(f"key {source.peer.hex()}", now):
            self._counters.key_conflicts += 1
            _log.warning(
                "two processes, at %s and at %s, use the key %s: each gets only a part of what is"
                " for it; give each a key of its own (logged once a minute)",
                source.address,
                moved.now_at.address,
                moved.key,
            )
            # The key of a link is looked up by the latest address.
            self.admission.pin(source.address, moved.key)
            self._outlet.send([Contact(UNKNOWN_PEER, source.address)], KeyInUse(moved.record))
            self._outlet.send([moved.now_at], KeyInUse(moved.former))

    @override
    def on_key_in_use(self, message: KeyInUse, now: float) -> None:
        addresses = self.admission.addresses_in_use(message.record, self._clock.wall(now))
        if addresses and self._log.due("own key", now):
            self._counters.key_conflicts += 1
            _log.warning(
                "another process, at %s, uses the key of this process, at %s: each gets only a"
                " part of what is for it; give each a key of its own (logged once a minute)",
                ", ".join(addresses),
                self._outbox.me.address,
            )

    def _admits(self, link: PeerId | None, now: float) -> bool:
        """Return whether the process at the end of a link may talk to this one at all."""
        if link is None or self.is_barred(link, now):
            return False
        return self.admission.admits(link, self._clock.wall(now))

    def _learn(self, link: PeerId, message: Introductions, now: float) -> None:
        """Learn introductions; from a process that is not admitted yet, only its own."""
        wall = self._clock.wall(now)
        for introduction in message.introductions:
            # Its own comes first; by that it may be admitted to introduce the others.
            if self.admission.owner(introduction) != link and not self._admits(link, now):
                self.refuse("from_a_stranger", now, link)
            elif not self._may_check(link, 1 + len(introduction.chains), now):
                break
            elif reason := self.admission.take(introduction, wall):
                owner = self.admission.owner(introduction)
                self.refuse(f"introduction_{reason}", now, link, reason, f" of {owner.hex()}")
                self.penalise(link, fault_in(reason), now)
                if reason.is_of_time:
                    self._untimely.pop(owner, None)
                    if len(self._untimely) >= UNTIMELY_MAX:
                        del self._untimely[next(iter(self._untimely))]
                    self._untimely[owner] = introduction

    def _knows(self, source: Contact, wall: float) -> bool:
        """Return whether a sender is known, and has said that its address is this one."""
        return self.admission.knows(source, wall)

    @override
    def may_join(self, peer: PeerId, topic: Topic, now: float) -> bool:
        return self.admission.may_join(peer, topic, self._clock.wall(now))

    def is_member(self, number: int, topic: Topic, ahead_seconds: float = 0.0) -> bool:
        """Return whether the process of a number in samples may be a member of a community.

        With `ahead_seconds`, whether its record is valid for so long.
        """
        now = self.now
        peer = self.admission.numbered(number, self._clock.wall(now) + ahead_seconds)
        if peer is None:
            return number == self._number
        return self.may_join(peer, topic, now)

    @override
    def only_members(
        self, contacts: Sequence[Contact], topic: Topic, now: float
    ) -> tuple[Contact, ...]:
        wall = self._clock.wall(now)
        may_join = self.admission.may_join
        return tuple(c for c in contacts if self._knows(c, wall) and may_join(c.peer, topic, wall))

    @override
    def certified(self, topic: Topic) -> CertifiedMembers:
        return CertifiedMembers(self, topic)

    @override
    def judge(self, message: MessageT, arrival: Arrival, topic: Topic | None) -> MessageT | None:
        source, link, now = arrival.source, arrival.link, arrival.now
        wall = self._clock.wall(now)
        if source.peer != link and not message.passed_on:
            self.refuse("in_anothers_name", now, link)
            return None
        if (topics := getattr(message, "topics", None)) and message.right is not Right.OF_GROUP:
            may = partial(self._may, source.peer, message.right, wall)
            topics = tuple(name for name in topics[:TOPICS_MAX] if may(read_topic(name)))
            if not topics:
                self.refuse("without_the_right", now, link)
                return None
            return msgspec.structs.replace(message, topics=topics)
        if not self._has_right(message, source.peer, link, topic, wall):
            self.refuse("without_the_right", now, link)
            return None
        if message.mandate:
            kind, group, mandate = arrival.kind, arrival.group, arrival.mandate
            if not self._may_check(link, 1, now):
                return None
            if why := self._mandates.refusal(source.peer, kind, group, message, mandate, wall):
                self.refuse(f"mandate_{why}", now, link, why, f" of {source}")
                self.penalise(link, fault_in(why), now)
                return None
        if not _names_processes(type(message)):
            return message
        named = getattr(message, "topic", None)
        about = read_topic(named) if isinstance(named, str) else topic
        known: MessageT | None = self._known_only(message, about, wall)
        if known is None:
            self.refuse("names_strangers", now, link)
        return known

    @override
    def on_introductions(self, message: Introductions) -> bool:
        return True

    @override
    def refuse(
        self, why: str, now: float, link: PeerId | None, refusal: Refusal = TAKEN, of: str = ""
    ) -> None:
        self.refused[why] += 1
        self._counters.unadmitted += 1
        self.audit("refused", why, now, link)
        if self._log.due(why, now):
            _log.log(
                logging.WARNING if refusal.is_of_time else logging.INFO,
                "what a process sent was dropped: %s%s%s (%d so far; logged once a minute)",
                why.replace("_", " "),
                of,
                f": {refusal.says}" if refusal.says else "",
                self.refused[why],
            )

    @override
    def on_clock_set(self, now: float) -> None:
        """Introduce this process again, and judge again what the old time was wrong for."""
        wall = self._clock.wall(now)
        self.admission.introduce_anew(wall)
        untimely, self._untimely = self._untimely, {}
        for introduction in untimely.values():
            self.admission.take(introduction, wall)

    @override
    def on_moved(self, now: float) -> None:
        """Introduce this process again, by its new address."""
        self.admission.reached_at(self._outbox.me.address)
        self.admission.introduce_anew(self._clock.wall(now))

    def _has_right(
        self,
        message: Message,
        sender: PeerId,
        link: PeerId | None,
        topic: Topic | None,
        wall: float,
    ) -> bool:
        may_join, may_link = self.admission.may_join, self._may_link
        if message.right is not Right.OF_GROUP:
            topic = read_topic(str(getattr(message, "topic", "")))
            return self._may(sender, message.right, wall, topic)
        match message:
            case Ping(topic=name) | NewProcess(topic=name):
                return may_link(sender, read_topic(name), wall)
            case ReqContact(topics=names):
                return all(may_link(sender, read_topic(name), wall) for name in names)
            case (
                Pong(topic=name)
                | SuperProcesses(topic=name, pushed=False)
                | SuperTopics(topic=name, pushed=False)
            ):
                return may_join(sender, read_topic(name), wall)
            case AnsContact() | Gone() | OtherChoice():
                return True  # `_known_only` checks those that it names; to have left needs no right
            case (
                Have(below=below) | Buckets(below=below) | Values(below=below) | Piece(below=below)
            ) if below and topic is not None:
                return may_link(sender, topic, wall)
            case _ if topic is not None:
                passed_on = sender == link or (link is not None and may_join(link, topic, wall))
                return passed_on and may_join(sender, topic, wall)
            case _:
                return True

    def _may_link(self, sender: PeerId, topic: Topic, wall: float) -> bool:
        """Say whether a sender may link to a topic, by its name or by what is declared here.

        Whoever may link to a topic that the application of this process declares to be below may.
        """
        may_link = self.admission.may_link
        return may_link(sender, topic, wall) or any(
            may_link(sender, below, wall) for below in self._hierarchy.declared_below(topic)
        )

    def _may(self, sender: PeerId, right: Right, wall: float, topic: Topic) -> bool:
        """Say whether a sender has a right in a topic."""
        match right:
            case Right.JOIN:
                return self.admission.may_join(sender, topic, wall)
            case Right.LINK:
                return self._may_link(sender, topic, wall)
            case _:
                return self.admission.may_serve(sender, topic, wall)

    def _known_only(self, value: Any, topic: Topic | None, wall: float) -> Any:
        """Return a value without unknown processes, or None if it was about these alone."""
        if isinstance(value, Contact):
            if value.peer != self._outbox.me.peer and not self._knows(value, wall):
                return None
            belongs = topic is None or self.admission.may_join(value.peer, topic, wall)
            return value if belongs else None
        if isinstance(value, tuple):
            kept = [self._known_only(one, topic, wall) for one in value]
            return tuple(one for one in kept if one is not None)
        if not isinstance(value, msgspec.Struct):
            return value
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            if isinstance(before, Contact | tuple | msgspec.Struct):
                after = self._known_only(before, topic, wall)
                if after is None or (before and not after):
                    return None
                if after != before:
                    changed[name] = after
        return msgspec.structs.replace(value, **changed) if changed else value

    # -- what goes out ---------------------------------------------------------------------

    def _vouch(
        self,
        receivers: Sequence[Contact],
        kind: Kind,
        group: GroupId,
        message: Message,
        on_behalf_of: Contact | None,
        now: float,
    ) -> bytes | None:
        """Return the mandate to send along, empty if none is needed; None: do not send."""
        if on_behalf_of is None:
            mandate: bytes | None = self._mandates.give(kind, group, message, self._clock.wall(now))
        else:
            mandate = self._mandates.find(on_behalf_of.peer, kind, group, message)
        if mandate is not None:
            self._introduce(receivers, message, on_behalf_of, now)
        return mandate

    def ask_who(self, receivers: Sequence[Contact], question: WhoAre) -> None:
        """Ask for introductions."""
        self._outlet.send(receivers, question)

    @override
    def on_who_are(self, source: Contact, question: WhoAre, now: float) -> None:
        """See `Guard.on_who_are`; each is introduced once in `CARRY_SECONDS`."""
        wall = self._clock.wall(now)
        topic, named = read_topic(question.topic), []
        for number in question.numbers[:SAMPLE]:
            peer = self.admission.numbered(number, wall)
            if peer is not None and self.admission.may_join(peer, topic, wall):
                named.append(peer)
        self._show([source], named, now)

    def _introduce(
        self,
        receivers: Sequence[Contact],
        message: Message,
        on_behalf_of: Contact | None,
        now: float,
    ) -> None:
        """Send the introductions that go before a message to the receivers that may lack them."""
        if isinstance(message, Introductions):
            return
        named = [*named_in(message)] if _names_processes(type(message)) else []
        if on_behalf_of is not None:
            named.append(on_behalf_of)
        self._show(receivers, [contact.peer for contact in named], now)

    def _show(self, receivers: Sequence[Contact], named: Sequence[PeerId], now: float) -> None:
        """Send introductions of this process and of others to those who lack them."""
        wall = self._clock.wall(now)
        own = self.admission.own(wall)
        introductions: dict[bytes, Introduction] = {own.record: own}
        for peer in named:
            known = self.admission.introduction(peer, wall)
            if peer != UNKNOWN_PEER and known is not None:
                introductions[known.record] = known
        for receiver in receivers:
            incarnation = self.admission.incarnation(receiver.peer)
            lacking = tuple(
                introduction
                for record, introduction in introductions.items()
                if self._carried.due(
                    (receiver, incarnation, record),
                    ONCE_SECONDS if introduction is own else CARRY_SECONDS,
                    now,
                )
            )
            for start in range(0, len(lacking), INTRODUCTIONS_MAX):
                part = lacking[start : start + INTRODUCTIONS_MAX]
                self._outlet.send([receiver], Introductions(part))


@define(eq=False)
class CertifiedMembers:
    """The filter of size samples: only processes known as certified members are counted.

    A sample (`camcast.vocabulary.size_estimate`) has numbers, not identities, so that a process
    which takes one must know the members to which the numbers belong. Most of them are known
    already, by introductions that came with other messages. The sender of the sample is asked to
    introduce the rest (`WhoAre`), and again those whose record expires soon. An answer is made of
    introductions, which nobody can forge; the sender of invented numbers has none to show.
    """

    _guard: AccessControl
    _topic: Topic
    _counted: dict[int, None] = field(init=False, factory=dict)
    """The numbers that were found to count since `_since`."""
    _since: float = field(init=False, default=0.0)
    _asked: AskedLately = field(init=False, factory=AskedLately)

    def counts(self, number: int) -> bool:
        """Say whether the number's owner is known by a live record as a member of the community."""
        now = self._guard.now
        if not self._since <= now < self._since + VERDICT_SECONDS:
            self._counted, self._since = {}, now
        if number not in self._counted and self._guard.is_member(number, self._topic):
            self._counted[number] = None
        return number in self._counted

    def ask(self, teller: Contact, numbers: Iterable[int]) -> None:
        """See `Certified`; a teller is asked for the same process once a minute."""
        now = self._guard.now
        lacking = [
            number
            for number in numbers
            if not self._guard.is_member(number, self._topic, RENEW_SECONDS)
            and self._asked.due((teller.peer, number), CARRY_SECONDS, now)
        ]
        if lacking:
            self._guard.ask_who([teller], WhoAre(self._topic.name, tuple(lacking[:SAMPLE])))


@lru_cache(maxsize=256)  # chosen: more than there are classes of messages
def _names_processes(cls: Any) -> bool:
    """Say whether values of a type have contacts somewhere in them."""
    if cls is Contact:
        return True
    if isinstance(cls, type) and issubclass(cls, msgspec.Struct):
        return any(_names_processes(hint) for hint in get_type_hints(cls).values())
    return any(_names_processes(part) for part in get_args(cls))
