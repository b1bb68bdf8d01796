"""First contact through gateways: known addresses that know who is in a community.

"Each community has its own gateways; these are highly available processes, known by all
other processes" (paper 000, 5.2.1). Any process serves as one when it is asked: it answers
from its own tables and from what was announced to it, so that a gateway may be a member or,
like ``camcast gateway``, a process of no community that only remembers who announced itself.

A seek asks all gateways of the topic at once. The first answer with members ends it; when
all have answered "nobody" the community is empty; when none answers in time the finding
names the addresses that were asked. An announcement is a lease, renewed until withdrawn.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

from attrs import define

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
    """I am a member of this group; remember me for a while."""


class Withdraw(Message, tag=2, frozen=True):
    """I am no member any more."""


class Ask(Message, tag=3, frozen=True):
    """Ask who is in this group."""

    seek: int
    wanted: int


class Answer(Message, tag=4, frozen=True):
    """Some members of the group; none if I know of nobody."""

    seek: int
    contacts: tuple[Contact, ...]


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


@define
class _Seek:
    topic: Topic
    unanswered: int
    answered: bool = False


class GatewayDiscovery(Discovery):
    """Discovery through the gateways of the configuration; see the module's text."""

    decoder: ClassVar[Decoder[Message] | None] = Decoder(Announce | Withdraw | Ask | Answer)

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
        number = self._context.rng.getrandbits(63)
        self._seeks[number] = _Seek(topic, len(gateways))
        self._send(gateways, topic.group, Ask(number, wanted))
        self._context.outlet.wake(TIMEOUT_SECONDS, "seek", number)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Discovery`."""
        match name:
            case ("announce", bytes() as group, number):
                topic, current = self._announced.get(GroupId(group), (None, 0))
                if topic is not None and number == current:  # else withdrawn in between
                    self._announce(topic, current)
            case ("seek", int() as number):
                seek = self._seeks.pop(number, None)
                if seek is not None:
                    asked = () if seek.answered else self.gateways(seek.topic)
                    self._context.outlet.found(seek.topic, (), unreachable=asked)

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """See `Discovery`."""
        match message:
            case Announce():
                self._directory.remember(group, source, now)
            case Withdraw():
                self._directory.forget(group, source.peer)
            case Ask(seek=number, wanted=wanted):
                wanted = max(0, min(wanted, CONTACTS_MAX))
                answer = Answer(number, self._members(group, wanted, source.peer, now))
                self._context.outlet.send([source], answer, group=group)
            case Answer(seek=number, contacts=contacts):
                self._on_answer(number, contacts[:CONTACTS_MAX])

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

    def _on_answer(self, number: int, contacts: tuple[Contact, ...]) -> None:
        seek = self._seeks.get(number)
        if seek is None:
            return
        seek.unanswered -= 1
        seek.answered = True
        if contacts or not seek.unanswered:
            del self._seeks[number]
            self._context.outlet.found(seek.topic, contacts)
