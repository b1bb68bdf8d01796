"""First contact through gateways: processes at known addresses that know members of communities.

"Each community has its own gateways; these are highly available processes, known by all
other processes" (paper 000, 5.2.1). Any process that is asked answers from its own tables and
from what was announced to it. It answers with some members (`Members`), that the community is empty
(`Nobody`), or that it does not know (`Unknown`). Only a process that keeps the *register* of a
topic answers that its community is empty. A process keeps the register of a topic if its own
configuration names no gateway for the topic, or names the process itself: ``camcast gateway`` does,
and so does a founder whose address other processes are configured with. Every process announces
itself to all the gateways that it knows, so a register lacks only members whose announcements were
lost. An announcement is a lease, renewed until withdrawn. A process renews the leases of all its
communities at once, with one message to a gateway (`AnnounceAgain`); its questions about those that
it is a member of are gathered for `GATHER_SECONDS` and sent together, too (`AskOfMany`).

*Names.* A gateway may be configured by a host name, which is looked up again and again
(`camcast.doors.named_contacts`) and stands for all its addresses. A process that finds a new
address announces itself there at once, and asks there for members of its communities: the register
may be empty, and newcomers may have founded a community a second time. A gateway that was
configured to remember announcements in a file tells the processes in it that it is there again
(`Back`), so they look its name up at once. Until they have had the time to announce themselves
again, it does not answer that a community is empty. Gateways that keep the register of one topic
and are configured with each other's address or common name tell each other once in `TELL_SECONDS`
which members announced themselves (`Told`).

*Seeking.* A seek asks all gateways of the topic at once, and the silent ones again after
`AGAIN_SECONDS`. It ends with members of each answer in equal parts when all gateways have answered
but those that were silent before, or else after that time: the first answer alone would let the
fastest of the gateways decide, and a liar need not think. The community is empty if all gateways
that keep its register answer `Nobody`, at least one does, and each of the other gateways goes only
by gateways that were asked, as it says in its answer (`Unknown`). In all other cases the finding
names the gateways that were silent, the names without an address and the gateways that do not
know: half an answer must not found a second community. The silence of an IPv4 address does not
count if an IPv6 address of the same name answers, and the other way round: the gateway may listen
at one of them only. A process that seeks members of a community that it has announced sends the
announcement again: when several processes find a gateway again at once, only the first is told that
the community is empty.

*The dead.* The lease of a killed process is longer than its successor waits. A process that none of
the members answered that a gateway named says so in its next question (`AskAgain`). The gateway
names others, and asks the silent ones to announce themselves (`Check`). Those that do not within
`CHECK_SECONDS` are forgotten, and all other members of the community are checked, too. While the
gateway knows of no others, its answer waits for the check: whoever asks must neither be sent to the
dead nor found a second community. A lie costs a living member a message every `CHECK_SECONDS`, and
no place in the register.

*Remembered contacts.* Members of the process's own communities are remembered, in a file if one is
configured (`overlays.remembered`). They are asked beside the gateways until a seek has found out
who is in its community, and again after a seek that has not. A process that starts, or is alone,
while no gateway answers finds members through them. The members that they name count; their silence
and their ignorance do not, since they keep no register. A process that has not found out who is in
a community also remembers the processes that ask it for any community: such a process may be a
member that knows no other process, or know members from below.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import ClassVar, Final

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of, endpoint_of
from camcast.doors.discovery import Announced, Discovery, DiscoveryContext, FirstContact
from camcast.doors.first_contacts import CONTACTS_WANTED
from camcast.doors.named_contacts import ADDRESSES_MAX, PAUSE_SECONDS, NamedContacts
from camcast.vocabulary.addresses import AddressError, check_address, is_numeric
from camcast.vocabulary.happenings import NO_GROUP, HappeningKind
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import TOPICS_MAX, Decoder, Message, read_topic
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import MalformedError
from overlays.gateway_messages import (
    DECODER,
    Announce,
    AnnounceAgain,
    Ask,
    AskAgain,
    AskOfMany,
    Back,
    Check,
    Members,
    Nobody,
    NobodyInMany,
    Told,
    Unknown,
    Withdraw,
    number_of,
    pages,
)
from overlays.gateway_seeks import Questions, Seek
from overlays.register import CONTACTS_MAX, GROUPS_MAX, TELL_SECONDS, Register
from overlays.remembered import REMEMBERED_MAX, Remembered

log = Logger(__name__)

RENEW_SECONDS: Final = 10.0  # chosen: a third of the lease, so that two losses do not matter
TIMEOUT_SECONDS: Final = 2.0  # chosen: six times the slowest round trip of the PlanetLab matrix
CHECK_SECONDS: Final = 2 * TIMEOUT_SECONDS / 3  # chosen: leaves whoever asked time for the answer
# chosen: a third of the timeout. At 30 % loss one seek in 8 fails, since three questions or answers
# are lost, and not every other one: all seeks of a newcomer's first minute fail once in a million.
AGAIN_SECONDS: Final = TIMEOUT_SECONDS / 3
# chosen: an eighth of the timeout. Who is alone in thousands of communities asks about some hundred
# of them in that time.
GATHER_SECONDS: Final = TIMEOUT_SECONDS / 8


def _usable(endpoint: Endpoint) -> bool:
    try:
        return is_numeric(check_address(address_of(endpoint)))
    except AddressError:
        return False


class GatewayDiscovery(Discovery):
    """Discovery through the gateways of the configuration; see the module's text."""

    decoder: ClassVar[Decoder[Message] | None] = DECODER

    def __init__(self, context: DiscoveryContext) -> None:
        self._context = context
        self._register = Register()
        self._checks: dict[tuple[GroupId, PeerId], Topic] = {}
        """The members that were asked whether they are alive, and have not answered."""
        self._waiting: dict[GroupId, dict[PeerId, tuple[Contact, Ask]]] = {}
        """The questions whose answer waits for a check, by asker."""
        self._silent: dict[GroupId, dict[PeerId, None]] = {}
        """The members that were named to this process and did not answer it."""
        self._remembered = Remembered(context.remember, _usable)
        self._certain = False
        """Whether the last seek of any community was answered by members or all registers."""
        self._unknown: dict[GroupId, None] = {}
        """The announced groups whose last seek was not answered by members or all registers."""
        self._announced: dict[GroupId, Topic] = {}
        self._announced_at = -inf  # when any of them was announced last
        self._renewing = False
        """Whether a timer will renew the announcements."""
        self._seeks: dict[int, Seek] = {}
        """The seeks under way, by the numbers of their open questions."""
        self._questions = Questions(context.rng)
        """The questions to gateways that still have time to answer."""
        self._first_contacts: dict[str, FirstContact] = {}
        """The gateways that were asked, by address, and whether each has answered."""
        self._has_answered = False
        """Whether any gateway has."""
        self._names = NamedContacts(context, self._on_looked_up)
        self._gathered: dict[GroupId, tuple[Topic, int]] = {}
        """The seeks that will be asked together, at `_gathered_at`."""
        self._gathered_at = -inf
        self._unasked: list[tuple[Topic, int]] = []
        """The seeks that wait for the first look-up of a gateway's name."""
        named = context.gateways.items()
        self._with_gateways = {topic.levels: topic for topic, several in named if several}
        """The topics that the configuration has gateways for, by their levels."""
        self._gateways: dict[Topic, tuple[str, ...]] = {}
        """The gateways of the configuration by topic, without this process, by their addresses."""
        self._registers: dict[Topic, None] = {}
        """The topics whose gateways in the configuration are this process and perhaps others."""
        self._self_asked: dict[Topic, None] = {}
        """Those whose gateways name this process by another of its addresses."""
        self._find_gateways()
        self._serves = False
        """Whether this process was the gateway of any topic, in this run."""
        self._called_until = -inf
        """Until when those called by `Back` may announce themselves before others get answers."""
        self._back_at = -inf
        """When a gateway last said that it is back."""

    @override
    def open(self, datagrams: DatagramPort, now: float) -> None:
        """See `Discovery`; this one sends no datagrams."""
        self._remembered.recall()
        self._names.open(now)
        self._begin_to_serve(now)

    @override
    def close(self, now: float) -> None:
        self._remembered.write(now, final=True)

    @override
    def moved(self, now: float) -> None:
        self._find_gateways()
        self._begin_to_serve(now)
        self._announce(list(self._announced.values()), now)

    def gateways(self, topic: Topic) -> tuple[str, ...]:
        """Return the gateways of the nearest topic above or at `topic` that has any."""
        nearest = self._configured(topic)
        return () if nearest is None else self._gateways[nearest]

    def _find_gateways(self) -> None:
        """Note which addresses the gateways have now, and whether this process is one of them."""
        me = self._context.me.address
        for topic, named in self._context.gateways.items():
            addresses = dict.fromkeys(a for one in named for a in self._names.addresses(one))
            self._gateways[topic] = tuple(a for a in addresses if a != me)
            self._registers.pop(topic, None)
            if me in addresses or topic in self._self_asked:
                self._registers[topic] = None

    @property
    @override
    def state(self) -> str:
        if any(one.answers for one in self._first_contacts.values()) or not self._is_to_ask:
            return "connected"
        return "degraded" if self._has_answered else "alone"

    @property
    def _is_to_ask(self) -> bool:
        """Whether there is a gateway besides this process, or a name without an address so far."""
        return any(self._gateways.values()) or bool(self._names.unknown)

    @override
    def first_contacts(self) -> Sequence[FirstContact]:
        """See `Discovery`; in the order in which they were first asked."""
        return tuple(self._first_contacts.values())

    @override
    def announced(self, now: float) -> Iterator[Announced]:
        for topic, member in self._register.all(now):
            yield Announced(topic, member.contact, member.since)

    def _note(self, gateway: str, *, answers: bool, now: float) -> None:
        """Note whether a gateway answers, and since when."""
        if gateway not in self._first_contacts:  # the name has moved from there
            return
        before = self._first_contacts[gateway].answers
        self._has_answered |= answers
        if before is not answers:
            self._first_contacts[gateway] = FirstContact(gateway, answers, now)
            back: HappeningKind = "gateway_answers" if before is None else "gateway_back"
            self._context.outlet.report(back if answers else "gateway_lost", addresses=(gateway,))

    def _configured(self, topic: Topic) -> Topic | None:
        """Return the nearest topic above or at `topic` that the configuration has gateways for."""
        levels = topic.levels  # many questions need it: no topic is made for each level
        while (configured := self._with_gateways.get(levels)) is None and levels:
            levels = levels[:-1]
        return configured

    @override
    def announce(self, topic: Topic, now: float) -> None:
        if topic.group not in self._announced:
            self._announced[topic.group] = topic
            self._announce([topic], now)
            if not self._renewing:
                self._renewing = True
                self._context.outlet.wake(RENEW_SECONDS, "renew")

    @override
    def withdraw(self, topic: Topic, now: float) -> None:
        self._unknown.pop(topic.group, None)
        self._silent.pop(topic.group, None)
        self._gathered.pop(topic.group, None)
        if self._announced.pop(topic.group, None) is not None:
            self._send(self.gateways(topic), topic.group, Withdraw())

    @override
    def contacts_silent(self, topic: Topic, contacts: Sequence[Contact], now: float) -> bool:
        """See `Discovery`; the gateways are told with the next question, and check them."""
        silent = self._silent.setdefault(topic.group, {})
        silent |= {contact.peer: None for contact in contacts}
        for peer in list(silent)[:-CONTACTS_MAX]:
            del silent[peer]
        return True

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        nearest = self._configured(topic)
        named = () if nearest is None else self._context.gateways[nearest]
        self._names.look_up((one for one in named if not self._names.addresses(one)), now)
        if any(one in named for one in self._names.pending):
            self._unasked.append((topic, wanted))
            self._context.outlet.wake(TIMEOUT_SECONDS, "unasked")
        elif (
            topic.group not in self._announced
            or self._announced_at >= now
            or topic.group in self._silent
        ):
            self._seek(topic, wanted, now)
        elif self._gathered:
            self._gathered[topic.group] = topic, wanted
        elif now < self._gathered_at:
            self._gathered[topic.group] = topic, wanted
            self._context.outlet.wake(self._gathered_at - now, "gathered")
        else:
            self._gathered_at = now + GATHER_SECONDS
            self._seek(topic, wanted, now)

    def _seek(self, topic: Topic, wanted: int, now: float) -> None:
        """Ask about one topic at once."""
        seek = self._begin(topic, wanted, now, {})
        if seek is not None:
            if topic.group in self._announced and self._announced_at < now:
                self._send(self.gateways(topic), topic.group, Announce(topic.name))
            self._ask(seek.numbers)
            self._context.outlet.wake(AGAIN_SECONDS, "late", *seek.numbers)

    def _seek_gathered(self, now: float) -> None:
        """Ask about all topics that were gathered, with one message to each gateway."""
        gathered, self._gathered = self._gathered, {}
        self._gathered_at = now + GATHER_SECONDS
        numbers, asked = dict[str, int](), list[int]()
        questions: dict[tuple[str, int], list[str]] = {}
        for topic, wanted in gathered.values():
            if (seek := self._begin(topic, wanted, now, numbers)) is not None:
                for gateway in seek.silent.values():
                    questions.setdefault((gateway, wanted), []).append(topic.name)
                self._ask(seek.remembered)
                asked += seek.numbers
        for (gateway, wanted), names in questions.items():
            for page in pages(names):
                self._send((gateway,), NO_GROUP, AskOfMany(numbers[gateway], wanted, page))
        if asked:
            self._context.outlet.wake(AGAIN_SECONDS, "late", *asked)

    def _begin(self, topic: Topic, wanted: int, now: float, numbers: dict[str, int]) -> Seek | None:
        """Begin a seek, and return it if anybody is to be asked.

        `numbers` has the numbers of this process's questions to gateways, and gets those missing.
        """
        nearest = self._configured(topic)
        gateways = () if nearest is None else self._gateways[nearest]
        named = () if nearest is None else self._context.gateways[nearest]
        unknown = tuple(one for one in named if not self._names.addresses(one))
        silent = self._silent.get(topic.group, {})
        doubted = self._doubted(topic, silent, now)
        own = [
            contact
            for contact in self._register.members(topic.group, now)
            if contact.peer != self._context.me.peer and contact.peer not in doubted
        ]
        if doubted and not own:
            self._context.outlet.wake(CHECK_SECONDS, "own", topic.name, wanted)
            return None
        asked = (self._context.me.address, *gateways)
        without = [endpoint_of(address) for address in asked]
        others = [] if self._certain else self._recalled(without)
        if own or not (gateways or others or unknown):
            self._silent.pop(topic.group, None)
            self._context.outlet.found(topic, self._sample(own, wanted))
            return None
        missing = self._questions.numbered(one for one in gateways if one not in numbers)
        numbers |= {gateway: number for number, gateway in missing.items()}
        seek = Seek(
            topic,
            wanted,
            {number_of(numbers[gateway], topic.group): gateway for gateway in gateways},
            self._questions.numbered(map(address_of, others)),
            unknown,
            asked if nearest is None or nearest in self._registers else gateways,
        )
        self._questions.add(seek.silent)
        for address in (*gateways, *unknown):
            if address not in self._first_contacts:
                self._first_contacts[address] = FirstContact(address)
        for name in unknown:
            self._note(name, answers=False, now=now)
        if not seek.numbers:
            self._end(seek)
            return None
        self._seeks |= dict.fromkeys(seek.numbers, seek)
        return seek

    def _seek_unasked(self, now: float, *, waits: bool) -> None:
        """Begin the seeks that wait for names; with `waits`, those whose names are looked up."""
        unasked, self._unasked = self._unasked, []
        for topic, wanted in unasked:
            (self.seek if waits else self._seek)(topic, wanted, now)

    def _recalled(self, without: Iterable[Endpoint]) -> list[Endpoint]:
        """Draw remembered contacts; in the profile ``signed``, only those whose key is known.

        Only their addresses are named in the question, so the key of each is pinned.
        """
        return self._pinned(self._remembered.some(self._context.rng, without))

    def _pinned(self, drawn: Iterable[Endpoint]) -> list[Endpoint]:
        """Return remembered endpoints that can be dialled, with their keys where keys are known."""
        if (admission := self._context.admission) is None:
            return list(drawn)
        known = [(endpoint, self._remembered.key_of(endpoint)) for endpoint in drawn]
        for endpoint, key in known:
            admission.pin(address_of(endpoint), key)
        return [endpoint for endpoint, key in known if key]

    def _remember(self, contact: Contact, now: float) -> None:
        admission, wall = self._context.admission, self._context.clock.wall(now)
        known = "" if admission is None else admission.key_text(contact, wall)
        self._remembered.note(endpoint_of(contact.address), known)

    def _ask(self, numbers: Iterable[Hashable]) -> None:
        """Send those of these questions that belong to a seek under way."""
        for number in numbers:
            if isinstance(number, int) and (seek := self._seeks.get(number)) is not None:
                address = seek.silent.get(number) or seek.remembered[number]
                question = Ask(number, seek.wanted, seek.topic.name)
                if silent := self._silent.get(seek.topic.group):
                    question = AskAgain(number, seek.wanted, seek.topic.name, tuple(silent))
                self._send((address,), seek.topic.group, question)

    def _ask_late(self, numbers: Iterable[Hashable]) -> None:
        """End seeks that have found members, and ask the silent gateways of the others again.

        They are asked once more later, and then given up.

        The timers of that are set here, since nearly all questions are answered by now.
        """
        for number in numbers:
            if isinstance(number, int) and (seek := self._seeks.get(number)):
                seek.waits = False
                if seek.named:
                    self._end(seek)
        late = [number for number in numbers if number in self._questions or number in self._seeks]
        if late:
            silent = [number for number in late if number in self._questions]
            self._ask(silent)
            self._context.outlet.wake(AGAIN_SECONDS, "again", *silent)
            self._context.outlet.wake(TIMEOUT_SECONDS - AGAIN_SECONDS, "seek", *late)

    def _ask_silent(self) -> None:
        """Ask the silent gateways of the announced topics again, to learn which of them are back.

        Where none is silent, members ask once a minute.
        """
        of_topics = {
            gateway: topic
            for topic in self._announced.values()
            for gateway in self.gateways(topic)
            if (known := self._first_contacts.get(gateway)) and known.answers is False
        }
        for number, gateway in self._questions.numbered(of_topics).items():
            topic = of_topics[gateway]
            self._questions.add({number: gateway})
            self._send((gateway,), topic.group, Ask(number, 1, topic.name))
            self._context.outlet.wake(TIMEOUT_SECONDS, "seek", number)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("renew",):
                self._renewing = bool(self._announced)
                if self._renewing:
                    self._announce(self._announced.values(), now)
                    self._ask_silent()
                    self._context.outlet.wake(RENEW_SECONDS, "renew")
            case ("gathered",):
                self._seek_gathered(now)
            case ("unasked",):
                self._seek_unasked(now, waits=False)
            case ("tell",):
                siblings = dict.fromkeys(a for t in self._registers for a in self._gateways[t])
                self._tell(siblings, now)
                self._context.outlet.wake(TELL_SECONDS, "tell")
            case ("called",):
                self._answer_all(now)
            case ("late", *numbers):
                self._ask_late(numbers)
            case ("again", *numbers):
                self._ask(numbers)
            case ("check", bytes() as group, bytes() as peer):
                self._check(GroupId(group), [PeerId(peer)])
            case ("checked", bytes() as group, bytes() as peer):
                self._end_check(GroupId(group), PeerId(peer), now)
            case ("own", str() as topic_name, int() as wanted):
                self.seek(Topic.parse(topic_name), wanted, now)
            case ("seek", *numbers):
                for number in numbers:
                    if isinstance(number, int) and (gateway := self._questions.take(number)):
                        self._note(gateway, answers=False, now=now)
                        self._names.look_up(self._names.names(gateway), now)
                for number in numbers:
                    if isinstance(number, int) and (seek := self._seeks.get(number)) is not None:
                        self._end(seek)
            case _:
                self._names.wake(name, now)

    @override
    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:
        self._names.finished(name, outcome, now)

    def _on_looked_up(self, new: tuple[str, ...], now: float) -> None:
        """Announce this process at `new` addresses of gateways, and ask there who else came."""
        self._find_gateways()
        listed = dict.fromkeys(a for several in self._gateways.values() for a in several)
        listed |= dict.fromkeys(self._names.unknown)
        gone = [address for address in self._first_contacts if address not in listed]
        for address in gone:
            del self._first_contacts[address]
        self._begin_to_serve(now)
        if new:
            self._tell(new, now)
            there = [
                topic
                for topic in self._announced.values()
                if any(one in new for one in self.gateways(topic))
            ]
            if there:
                self._announce(there, now, only=new)
            waiting = dict.fromkeys(topic for topic, _ in self._unasked)
            for topic in there:
                if topic not in waiting:
                    self._seek(topic, CONTACTS_WANTED, now)
        self._seek_unasked(now, waits=True)
        self._answer_all(now)

    @override
    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        match message:
            case Announce(topic=name):
                if (topic := read_topic(name)).group != group:
                    raise MalformedError(f"an announcement for {name} in another topic's group")
                self._on_announced(topic, source, now)
            case AnnounceAgain(topics=names):
                for topic in map(read_topic, names[:TOPICS_MAX]):
                    self._on_announced(topic, source, now)
            case Withdraw():
                self._register.forget(group, source.peer)
                if self._checks.pop((group, source.peer), None) is not None:
                    self._answer_waiting(group, now)
            case Ask():
                answer = self._answer(source, group, message, now)
                if answer is not None:
                    self._context.outlet.send([source], answer, group=group)
            case AskOfMany():
                self._on_ask_of_many(source, message, now)
            case Check(topic=name):
                if group in self._announced:
                    self._context.outlet.send([source], Announce(name), group=group)
            case Told(topic=name, contacts=contacts):
                topic = read_topic(name)
                told = self._keeps_register(topic) and source.address in self.gateways(topic)
                for contact in contacts[: CONTACTS_MAX if told else 0]:
                    self._register.remember(topic, contact, now, told=True)
            case Back():
                self._on_back(source, now)
            case Members() | Nobody() | Unknown():
                self._on_answer(source, message, now)
            case NobodyInMany(topics=names):
                for topic in map(read_topic, names[:TOPICS_MAX]):
                    answer = Nobody(number_of(message.seek, topic.group), topic.name)
                    self._on_answer(source, answer, now)

    def _on_announced(self, topic: Topic, source: Contact, now: float) -> None:
        group, member = topic.group, self._register.remember(topic, source, now)
        if self._context.remember is not None and self._keeps_register(topic):
            self._remember(source, now)
            self._remembered.write(now)
        checked = self._checks.pop((group, source.peer), None) is not None
        if checked:
            member.checked = now
        if checked or now < self._called_until:
            self._answer_waiting(group, now)

    # -- gateways that come back, and gateways of one name -----------------------------------

    def _begin_to_serve(self, now: float) -> None:
        """As soon as this process is a gateway, call those whom it remembers, and tell others."""
        serves = not self._context.gateways or self._registers
        if self._serves or not serves:
            return
        self._serves = True
        if self._registers:
            self._context.outlet.wake(TELL_SECONDS, "tell")
        if called := self._pinned(self._remembered.latest):
            self._send(tuple(map(address_of, called)), NO_GROUP, Back())
            self._called_until = now + CHECK_SECONDS
            self._context.outlet.wake(CHECK_SECONDS, "called")

    def _on_back(self, source: Contact, now: float) -> None:
        """Look for a gateway that is back, perhaps at a new address, and announce this process."""
        if now < self._back_at + PAUSE_SECONDS:
            return
        self._back_at = now
        self._names.look_up_all(now)
        here = [t for t in self._announced.values() if source.address in self.gateways(t)]
        self._announce(here, now, only=(source.address,))

    def _tell(self, gateways: Collection[str], now: float) -> None:
        """Tell those of these gateways that keep registers with this one who announced itself."""
        for topic, contacts in self._register.announced(now):
            if self._keeps_register(topic):
                told = tuple(a for a in self.gateways(topic) if a in gateways)
                self._send(told, topic.group, Told(topic.name, contacts))

    def _announce(
        self, topics: Iterable[Topic], now: float, only: Container[str] | None = None
    ) -> None:
        """Announce this process in all these topics, to the gateways among `only`.

        Remember members that it knows there.
        """
        by_gateways: dict[tuple[str, ...], list[Topic]] = {}
        for topic in topics:
            for contact in self._context.known(topic.group, REMEMBERED_MAX):
                if contact.peer != self._context.me.peer:
                    self._remember(contact, now)
            gateways = self.gateways(topic)
            if only is not None:
                gateways = tuple(one for one in gateways if one in only)
            by_gateways.setdefault(gateways, []).append(topic)
        self._remembered.write(now)
        self._announced_at = now
        for gateways, same in by_gateways.items():
            if len(same) == 1:
                self._send(gateways, same[0].group, Announce(same[0].name))
                continue
            for names in pages([topic.name for topic in same]):
                self._send(gateways, NO_GROUP, AnnounceAgain(names))

    def _send(self, addresses: tuple[str, ...], group: GroupId, message: Message) -> None:
        contacts = [Contact(UNKNOWN_PEER, address) for address in addresses]
        self._context.outlet.send(contacts, message, group=group)

    def _members(
        self, group: GroupId, wanted: int, asker: Contact, doubted: Container[PeerId], now: float
    ) -> tuple[Contact, ...]:
        """Return members from this process's own tables, and those announced to it.

        Those that can have no connection with the asker are only named if there are no others.
        """
        announced = [c for c in self._register.members(group, now) if c.peer not in doubted]
        known = {contact.peer: contact for contact in self._context.known(group, wanted)}
        met = [contact for contact in announced if contact.meets(asker)]
        for contact in self._sample(met or announced, wanted):
            known.setdefault(contact.peer, contact)
        known.pop(asker.peer, None)
        usable = [c for c in known.values() if c.peer not in doubted]
        return self._sample([c for c in usable if c.meets(asker)] or usable, wanted)

    def _sample(self, contacts: list[Contact], wanted: int) -> tuple[Contact, ...]:
        if not contacts:  # most often: of communities in which the asker is alone
            return ()
        return tuple(self._context.rng.sample(contacts, min(wanted, len(contacts))))

    def _on_ask_of_many(self, source: Contact, ask: AskOfMany, now: float) -> None:
        """Take the sender for a member of these groups, and answer about each of them."""
        nobody: list[str] = []
        for topic in map(read_topic, ask.topics[:TOPICS_MAX]):
            self._on_announced(topic, source, now)
            question = Ask(number_of(ask.seek, topic.group), ask.wanted, topic.name)
            answer = self._answer(source, topic.group, question, now)
            if isinstance(answer, Nobody):
                nobody.append(topic.name)
            elif answer is not None:
                self._context.outlet.send([source], answer, group=topic.group)
        if nobody:
            self._context.outlet.send([source], NobodyInMany(ask.seek, tuple(nobody)))

    def _answer(self, source: Contact, group: GroupId, ask: Ask, now: float) -> Message | None:
        """Return the answer to a question; None if there will be a better one soon."""
        topic = read_topic(ask.topic)
        if topic.group != group:
            raise MalformedError(f"a question about {topic} in the group of another topic")
        configured = self._configured(topic)
        if configured is not None and source.peer == self._context.me.peer:
            # The configuration names this process as a gateway by another of its addresses.
            self._self_asked[configured] = None
            self._find_gateways()
            self._begin_to_serve(now)
        if self._unknown and not self._remembered.full:
            self._remembered.note(endpoint_of(source.address))
        wanted = max(0, min(ask.wanted, CONTACTS_MAX))
        silent = ask.silent[:CONTACTS_MAX] if isinstance(ask, AskAgain) else ()
        doubted = self._doubted(topic, silent, now)
        if members := self._members(group, wanted, source, doubted, now):
            return Members(ask.seek, members)
        answer: Message = Nobody(ask.seek, topic.name)
        if not (configured is None or configured in self._registers):
            answer = Unknown(ask.seek, self._gateways[configured][:ADDRESSES_MAX])
        if not doubted and not self._finds_out(topic, answer, now):
            return answer
        waiting = self._waiting.setdefault(group, {})
        full = len(waiting) >= CONTACTS_MAX or len(self._waiting) > GROUPS_MAX
        if not full or source.peer in waiting:
            waiting[source.peer] = (source, ask)
        return None

    def _finds_out(self, topic: Topic, answer: Message, now: float) -> bool:
        """Say whether this process may soon have a better answer to a question about a topic.

        Those called by `Back` may announce themselves, or the name of the topic's gateways turn out
        to be that of this process.
        """
        if isinstance(answer, Nobody):
            return now < self._called_until
        configured = self._configured(topic)
        named = () if configured is None else self._context.gateways[configured]
        return any(one in named for one in self._names.pending)

    # -- members that may be dead ----------------------------------------------------------

    def _doubted(
        self, topic: Topic, silent: Collection[PeerId], now: float
    ) -> dict[PeerId, Contact]:
        """Return the announced members among silent ones; those that were not asked are asked."""
        if not silent:
            return {}
        unchecked = self._register.unchecked(topic.group, now - CHECK_SECONDS)
        doubted = {peer: unchecked[peer] for peer in silent if peer in unchecked}
        self._begin_checks(topic, doubted)
        return doubted

    def _begin_checks(self, topic: Topic, doubted: Iterable[PeerId]) -> None:
        group = topic.group
        asked = [peer for peer in doubted if (group, peer) not in self._checks]
        self._checks |= {(group, peer): topic for peer in asked}
        self._check(group, asked)
        for peer in asked:
            self._context.outlet.wake(CHECK_SECONDS / 2, "check", group, peer)
            self._context.outlet.wake(CHECK_SECONDS, "checked", group, peer)

    def _check(self, group: GroupId, peers: Iterable[PeerId]) -> None:
        """Ask those of these members that have not answered."""
        for peer in peers:
            topic, member = self._checks.get((group, peer)), self._register.get(group, peer)
            if topic is not None and member is not None:
                self._context.outlet.send([member.contact], Check(topic.name), group=group)

    def _end_check(self, group: GroupId, peer: PeerId, now: float) -> None:
        """Forget a member that has not answered; others of its community may have died with it."""
        topic = self._checks.pop((group, peer), None)
        if topic is not None:
            self._register.forget(group, peer)
            self._begin_checks(topic, self._register.unchecked(group, now - CHECK_SECONDS))
            self._answer_waiting(group, now)

    def _answer_waiting(self, group: GroupId, now: float) -> None:
        for source, ask in self._waiting.pop(group, {}).values():
            self.receive(source, group, ask, now)

    def _answer_all(self, now: float) -> None:
        for group in list(self._waiting):
            self._answer_waiting(group, now)

    def _keeps_register(self, topic: Topic) -> bool:
        configured = self._configured(topic)
        return configured is None or configured in self._registers

    def _excuse_twins(self, gateway: str) -> None:
        """Wait no longer for addresses of the other family that are of the same name."""
        for address in self._names.twins(gateway):
            for number in self._questions.to(address):
                self._questions.take(number)
                self._first_contacts.pop(address, None)
                if (seek := self._seeks.pop(number, None)) is not None:
                    del seek.silent[number]

    def _on_answer(self, source: Contact, answer: Members | Nobody | Unknown, now: float) -> None:
        if gateway := self._questions.take(answer.seek):
            self._note(gateway, answers=True, now=now)
            self._excuse_twins(gateway)
        if (seek := self._seeks.pop(answer.seek, None)) is None:
            return
        if isinstance(answer, Nobody) and answer.topic != seek.topic.name:
            answer = Unknown(answer.seek)  # an answer about another topic
        gateway = seek.silent.pop(answer.seek, "")
        seek.remembered.pop(answer.seek, None)
        contacts = answer.contacts[:CONTACTS_MAX] if isinstance(answer, Members) else ()
        for contact in contacts if gateway else (source, *contacts):
            self._remember(contact, now)
        if gateway and self._names.names(gateway):  # for when no name is known
            self._remember(Contact(source.peer, gateway), now)
        if not gateway:
            pass  # a remembered contact keeps no register
        elif isinstance(answer, Nobody):
            seek.nobody.append(gateway)
        elif isinstance(answer, Unknown) and answer.gateways:
            goes_by_others = any(one not in seek.registers for one in answer.gateways)
            (seek.ignorant if goes_by_others else seek.referring).append(gateway)
        elif not contacts:
            seek.ignorant.append(gateway)
        if contacts:
            seek.named.append(contacts)
        waits = seek.waits and any(map(self._may_answer, seek.silent.values()))
        if seek.over or (seek.named and not waits):
            self._end(seek)

    def _may_answer(self, gateway: str) -> bool:
        known = self._first_contacts.get(gateway)
        return known is not None and known.answers is not False

    def _end(self, seek: Seek) -> None:
        contacts = seek.members(self._context.rng)
        for number in seek.numbers:
            del self._seeks[number]
        if not (seek.nobody or self._keeps_register(seek.topic)):
            seek.ignorant += seek.referring  # they go by each other
        self._certain = bool(contacts) or seek.empty
        outlet, topic = self._context.outlet, seek.topic
        if self._certain:
            self._unknown.pop(topic.group, None)
            self._silent.pop(topic.group, None)
        elif topic.group in self._announced:
            self._unknown[topic.group] = None
        if contacts:
            outlet.found(topic, contacts)
        else:
            outlet.found(
                topic,
                (),
                (*seek.unknown, *seek.silent.values()),
                ignorant=seek.ignorant,
                nobody=seek.nobody,
            )
