"""First contact through gateways: known addresses that know who is in a community.

"Each community has its own gateways; these are highly available processes, known by all
other processes" (paper 000, 5.2.1). Any process that is asked answers, from its own tables and
from what was announced to it. The answer is one of three: some members; nobody, from a process
that keeps the *register*; or that it does not know. A process keeps the register if its own
configuration names no other gateway, or names itself among them: ``camcast gateway`` does, and so
does a founder whose address the others name. Every process announces itself to all the gateways
that it knows, so the registers are complete but for what was lost.

A seek asks all gateways of the topic at once. The first answer with members ends it. The
community is empty when every gateway has answered and at least one keeps the register. In all
other cases the finding names the gateways that were silent and those that do not know: half an
answer must not found a second community. An announcement is a lease, renewed until withdrawn.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

from attrs import define, field

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.options import OptionError
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.topics import GroupId, Topic

LEASE_SECONDS: Final = 30.0  # chosen: a crashed process is offered as a contact no longer
RENEW_SECONDS: Final = 10.0  # chosen: a third of the lease, so that two losses do not matter
TIMEOUT_SECONDS: Final = 2.0  # chosen: six times the slowest round trip of the PlanetLab matrix
CONTACTS_MAX: Final = 64  # chosen: members remembered for a community; a newcomer gets 5
GROUPS_MAX: Final = 4096  # chosen: bounds a gateway's memory at about 50 MB (G5)


class Announce(Message, tag=1, frozen=True):
    """Announcement: the sender is a member of this group for the time of a lease."""


class Withdraw(Message, tag=2, frozen=True):
    """The sender is no member of this group any more."""


class Ask(Message, tag=3, frozen=True):
    """Question about the members of this group."""

    seek: int
    wanted: int


class Members(Message, tag=4, frozen=True):
    """Answer: some members of the group, at least one."""

    seek: int
    contacts: tuple[Contact, ...]


class Nobody(Message, tag=5, frozen=True):
    """Answer: the gateway keeps the register, and the group has no members."""

    seek: int


class Unknown(Message, tag=6, frozen=True):
    """Answer: the gateway knows of no members, and keeps no register."""

    seek: int


class Directory:
    """What was announced to this process: some members of each group, until their lease ends."""

    def __init__(self) -> None:
        self._groups: dict[GroupId, dict[PeerId, tuple[Contact, float]]] = {}

    def remember(self, group: GroupId, contact: Contact, now: float) -> None:
        """Remember a member; beyond the bounds the longest remembered one makes room."""
        if group not in self._groups and len(self._groups) >= GROUPS_MAX:
            del self._groups[next(iter(self._groups))]
        members = self._groups.setdefault(group, {})
        members.pop(contact.peer, None)
        if len(members) >= CONTACTS_MAX:
            del members[next(iter(members))]
        members[contact.peer] = (contact, now + LEASE_SECONDS)

    def forget(self, group: GroupId, peer: PeerId) -> None:
        """Forget a member that withdrew."""
        members = self._groups.get(group, {})
        members.pop(peer, None)
        if not members:
            self._groups.pop(group, None)

    def members(self, group: GroupId, now: float) -> list[Contact]:
        """Return the members whose lease runs."""
        members = self._groups.get(group, {})
        for peer, (_, until) in list(members.items()):
            if until < now:
                self.forget(group, peer)
        return [contact for contact, _ in members.values()]


@define(eq=False)
class _Seek:
    topic: Topic
    silent: dict[int, str]
    """The gateways that have not answered, by the number of the question to each."""
    ignorant: list[str] = field(factory=list)
    """The gateways that answered that they do not know."""
    nobody: bool = False
    """Whether a register, perhaps our own, said that the community is empty."""


class GatewayDiscovery(Discovery):
    """Discovery through the gateways of the configuration; see the module's text."""

    decoder: ClassVar[Decoder[Message] | None] = Decoder(
        Announce | Withdraw | Ask | Members | Nobody | Unknown
    )

    def __init__(self, context: DiscoveryContext) -> None:
        if context.remember is not None:
            raise OptionError(
                "gateways are named in the configuration, and nothing else is remembered;"
                " contacts are kept from run to run with membership hybrid or dht"
            )
        self._context = context
        self._directory = Directory()
        self._announced: dict[GroupId, tuple[Topic, int]] = {}
        self._announcements = 0
        self._seeks: dict[int, _Seek] = {}
        """The seeks under way, by the numbers of their open questions."""
        named = [address for some in context.gateways.values() for address in some]
        self._keeps_register = not named or context.me.address in named

    def gateways(self, topic: Topic) -> tuple[str, ...]:
        """Return the gateways of the nearest topic above or at `topic` that has any."""
        for candidate in (topic, *topic.ancestors()):
            if addresses := self._context.gateways.get(candidate):
                return tuple(a for a in addresses if a != self._context.me.address)
        return ()

    def announce(self, topic: Topic, now: float) -> None:
        """See `Discovery`."""
        if topic.group not in self._announced:
            self._announcements += 1
            self._announced[topic.group] = (topic, self._announcements)
            self._announce(topic, self._announcements)

    def withdraw(self, topic: Topic, now: float) -> None:
        """See `Discovery`."""
        if self._announced.pop(topic.group, None) is not None:
            self._send(self.gateways(topic), topic.group, Withdraw())

    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """See `Discovery`."""
        gateways = self.gateways(topic)
        own = [
            contact
            for contact in self._directory.members(topic.group, now)
            if contact.peer != self._context.me.peer
        ]
        if own or not gateways:
            self._context.outlet.found(topic, self._sample(own, wanted))
            return
        # Not to be guessed, since a gateway may answer from another address than was asked.
        questions = {self._context.rng.getrandbits(63): gateway for gateway in gateways}
        seek = _Seek(topic, questions, nobody=self._keeps_register)
        for number, gateway in questions.items():
            self._seeks[number] = seek
            self._send((gateway,), topic.group, Ask(number, wanted))
        self._context.outlet.wake(TIMEOUT_SECONDS, "seek", *questions)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Discovery`."""
        match name:
            case ("announce", bytes() as group, number):
                topic, current = self._announced.get(GroupId(group), (None, 0))
                if topic is not None and number == current:  # else withdrawn in between
                    self._announce(topic, current)
            case ("seek", *numbers):
                late = [self._seeks[number] for number in numbers if number in self._seeks]
                if late:
                    self._end(late[0])

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """See `Discovery`."""
        match message:
            case Announce():
                self._directory.remember(group, source, now)
            case Withdraw():
                self._directory.forget(group, source.peer)
            case Ask(seek=number, wanted=wanted):
                wanted = max(0, min(wanted, CONTACTS_MAX))
                # Who asks itself is named as a gateway, by another of its addresses.
                self._keeps_register |= source.peer == self._context.me.peer
                answer: Message = Nobody(number) if self._keeps_register else Unknown(number)
                if members := self._members(group, wanted, source.peer, now):
                    answer = Members(number, members)
                self._context.outlet.send([source], answer, group=group)
            case Members() | Nobody() | Unknown() if message.seek in self._seeks:
                self._on_answer(message)

    def _announce(self, topic: Topic, number: int) -> None:
        self._send(self.gateways(topic), topic.group, Announce())
        self._context.outlet.wake(RENEW_SECONDS, "announce", topic.group, number)

    def _send(self, addresses: tuple[str, ...], group: GroupId, message: Message) -> None:
        contacts = [Contact(UNKNOWN_PEER, address) for address in addresses]
        self._context.outlet.send(contacts, message, group=group)

    def _members(
        self, group: GroupId, wanted: int, without: PeerId, now: float
    ) -> tuple[Contact, ...]:
        """Return members that this process is or links to, then those announced to it."""
        known = {contact.peer: contact for contact in self._context.known(group, wanted)}
        for contact in self._sample(self._directory.members(group, now), wanted):
            known.setdefault(contact.peer, contact)
        known.pop(without, None)
        return self._sample(list(known.values()), wanted)

    def _sample(self, contacts: list[Contact], wanted: int) -> tuple[Contact, ...]:
        return tuple(self._context.rng.sample(contacts, min(wanted, len(contacts))))

    def _on_answer(self, answer: Members | Nobody | Unknown) -> None:
        seek = self._seeks.pop(answer.seek)
        gateway = seek.silent.pop(answer.seek)
        contacts = answer.contacts[:CONTACTS_MAX] if isinstance(answer, Members) else ()
        if isinstance(answer, Nobody):
            seek.nobody = True
        elif not contacts:
            seek.ignorant.append(gateway)
        if contacts or not seek.silent:
            self._end(seek, contacts)

    def _end(self, seek: _Seek, contacts: tuple[Contact, ...] = ()) -> None:
        for number in seek.silent:
            del self._seeks[number]
        found = contacts or (seek.nobody and not seek.silent)
        silent, ignorant = ((), ()) if found else (seek.silent.values(), seek.ignorant)
        self._context.outlet.found(seek.topic, contacts, silent, ignorant=ignorant)
