"""Questions to other processes on the network, where processes have keys (profile `signed`).

There mDNS says of a process only that it is there: its address and its public key, and not in
which communities it is. Anybody on the network may say that of any address, so it is a *hint*, and
nothing is believed of it. Whoever seeks members of a community sends the question to some hints,
each over a link that only the owner of the named key can accept, and at whose start both ends show
certificates. The answer is from a process that a trusted root certifies, or there is none; and
what the answer names are members that this process knows by their own records. A finding has
members of all answers in equal parts: a liar that answers first decides its own part alone.

A hint makes a process connect to an address. Only addresses of the own network count, hints that
have never answered are asked at most once in `PAUSE_SECONDS`, on average, and `AT_ONCE` at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from ipaddress import ip_address, ip_network
from typing import Final

from attrs import define, field, frozen

from camcast.doors.admission import Admission
from camcast.doors.datagrams import endpoint_of
from camcast.doors.discovery import DiscoveryContext
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.messages import Decoder, Message, read_topic
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import MalformedError
from overlays.gateway_messages import Ask, Members, Unknown
from overlays.gateway_seeks import in_equal_parts
from overlays.register import CONTACTS_MAX

DECODER: Final[Decoder[Message]] = Decoder(Ask | Members | Unknown)
# chosen: processes of one network answer within some hundredths of a second, and a newcomer waits
OTHERS_SECONDS: Final = 0.3
ANSWER_SECONDS: Final = 0.9  # chosen: with the second before, a seek is answered within two
ASKED_MAX: Final = 8  # chosen: of which some know the community, where most processes are in it
AT_ONCE: Final = 16  # chosen: two seeks of a process that has just started
PAUSE_SECONDS: Final = 1.0  # chosen: as often as a newcomer seeks
PROVED_MAX: Final = 1024  # chosen: as many as records of mDNS are kept
NETWORK_BITS: Final = 16  # chosen: nobody says how large the own network is; few are larger


@frozen
class Hint:
    """A process that is said to be on the network."""

    address: str
    key: str
    """The text of its public key."""


@define(eq=False)
class _Search:
    topic: Topic
    wanted: int
    open: dict[int, Hint]
    """The hints that have not answered, by the numbers of the questions to them."""
    named: list[tuple[Contact, ...]] = field(factory=list)
    """The members that each answer named which named some."""


class LanQuestions:
    """Asks hints for one process, and answers other processes."""

    def __init__(self, context: DiscoveryContext, admission: Admission) -> None:
        self._context = context
        self._admission = admission
        self._searches: dict[int, _Search] = {}
        self._searched = 0
        self._proved: dict[Hint, None] = {}
        """Those that have answered, the latest last."""
        self._left = float(AT_ONCE)
        """How many of the others may be asked now."""
        self._left_at = 0.0

    def seek(self, topic: Topic, wanted: int, hints: Mapping[str, Hint], now: float) -> None:
        """Ask some of the hints for members; the answer is a `Finding`, within `ANSWER_SECONDS`."""
        self._searched += 1
        asked = self._draw(hints, now)
        search = _Search(topic, wanted, {self._context.rng.getrandbits(63): hint for hint in asked})
        self._searches[self._searched] = search
        for number, hint in search.open.items():
            self._admission.pin(hint.address, hint.key)
            self._send(Contact(UNKNOWN_PEER, hint.address), topic, Ask(number, wanted, topic.name))
        self._context.outlet.wake(ANSWER_SECONDS if asked else 0.0, "asked", self._searched)

    def _draw(self, hints: Mapping[str, Hint], now: float) -> list[Hint]:
        """Draw whom to ask: half of them, if there are so many, have answered before."""
        there = [hint for hint in hints.values() if self._is_near(hint.address)]
        self._context.rng.shuffle(there)
        since, self._left_at = now - self._left_at, now
        self._left = min(float(AT_ONCE), self._left + since / PAUSE_SECONDS)
        proved = [hint for hint in there if hint in self._proved]
        others = [hint for hint in there if hint not in self._proved]
        room = max(ASKED_MAX // 2, ASKED_MAX - len(proved))
        others = others[: min(room, int(self._left))]
        self._left -= len(others)
        # One question to each address: two keys of one address would take each other's place.
        drawn = [*proved[: ASKED_MAX - len(others)], *others]
        return list({hint.address: hint for hint in reversed(drawn)}.values())

    def _is_near(self, address: str) -> bool:
        own = endpoint_of(self._context.me.address)[0]
        network = ip_network(f"{own}/{NETWORK_BITS}", strict=False)
        return ip_address(endpoint_of(address)[0]) in network

    def wake(self, name: tuple[Hashable, ...]) -> None:
        """Take the timer at which a search ends; others are harmless."""
        match name:
            case ("asked", int() as number):
                self._end(number)

    def receive(
        self, source: Contact, group: GroupId, message: Message, *, announced: bool
    ) -> None:
        """Answer a question, or take an answer to one.

        A process that has `announced` the group names itself, also while it joins: of two that
        found a community at the same time, one joins the other.
        """
        match message:
            case Ask(seek=seek, wanted=wanted, topic=name):
                if read_topic(name).group != group:
                    raise MalformedError(f"a question about {name} in the group of another topic")
                known = self._context.known(group, max(0, min(wanted, CONTACTS_MAX)))
                known = known or [self._context.me] * announced
                members = tuple(contact for contact in known if contact.peer != source.peer)
                answer = Members(seek, members) if members else Unknown(seek)
                self._send(source, read_topic(name), answer)
            case Members(seek=seek, contacts=contacts):
                self._take(seek, contacts[:CONTACTS_MAX])
            case Unknown(seek=seek):
                self._take(seek, ())

    def _take(self, seek: int, contacts: tuple[Contact, ...]) -> None:
        for number, search in list(self._searches.items()):
            hint = search.open.pop(seek, None)
            if hint is not None:
                self._proved.pop(hint, None)
                if len(self._proved) >= PROVED_MAX:
                    del self._proved[next(iter(self._proved))]
                self._proved[hint] = None
                if contacts:
                    search.named.append(contacts)
                if not search.open:
                    self._end(number)
                elif len(search.named) == 1 and contacts:
                    self._context.outlet.wake(OTHERS_SECONDS, "asked", number)

    def _end(self, number: int) -> None:
        search = self._searches.pop(number, None)
        if search is not None:
            found = in_equal_parts(search.named, self._context.rng)
            self._context.outlet.found(search.topic, found[: max(0, search.wanted)])

    def _send(self, to: Contact, topic: Topic, message: Message) -> None:
        self._context.outlet.send([to], message, group=topic.group)
