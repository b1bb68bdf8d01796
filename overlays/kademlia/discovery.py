"""First contact through a Kademlia DHT: a few addresses for all communities, and no gateways.

A process announces itself by joining the DHT once for each of its communities, and finds members
of any community by crawls in its subtree (`overlays.kademlia.overlay` has the theory). This module
puts the overlay behind the core's door.

The gateways of the configuration serve as bootstrap addresses of the whole DHT, whatever topic
they are listed under. A process listens on the UDP port with the number of its input pipe's TCP
port, so that one address serves both. If that port is in use, a process whose port was chosen
explicitly does not start, since other processes may be configured with it; any other process takes
a free port. A process that listens at every interface (``tcp://[::]:PORT``) has one UDP socket for
IPv4 and IPv6, and nodes of both find each other through it. A process that nobody can dial takes
part as a client (`overlays.kademlia.overlay`), from a free port of every interface.

A bootstrap address may have a host name, which is looked up again and again
(`camcast.doors.named_contacts`). The overlay asks a new address at once: the node there may be of
an island. What comes before the first look-up is over waits for it, `NAMES_SECONDS` at most.

A seek in a community that this process has announced waits until the nearest nodes know the
announcement, and a look-up that began before the announcement and found no member is repeated. Two
founders that start at the same time thus find each other: each can be found before it looks.

A process that joins many communities at once enters the DHT for `AT_ONCE` of them at a time, and
looks for members of as many. The other ones wait: the answers to thousands of calls would not fit
into the buffers of its sockets.

A seek of one member in one of the process's own communities asks a neighbour in the DHT, which
takes one call, and falls back on a look-up. When the overlay has met an island, each of the
process's communities is told of some members unasked.
"""

from __future__ import annotations

import errno
from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar, Final

from attrs import define
from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of, endpoint_of
from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.named_contacts import NamedContacts
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.topics import GroupId, Topic
from overlays.kademlia.naming import KeyNames
from overlays.kademlia.overlay import Found, KademliaOverlay
from overlays.kademlia.table import usable
from overlays.kademlia.turns import Then, Turns
from overlays.remembered import Remembered

log = Logger(__name__)

REUNION_WANTED: Final = 5  # chosen: five members of two halves are of one with 1 in 16
NAMES_SECONDS: Final = 2.0  # chosen: as a gateway has to answer; a seek has nine seconds
# chosen: look-ups that find no member while calls fail, until the community counts as empty. The
# second look-up no longer asks the dead nodes.
LOOKS_MAX: Final = 3
_NO_SUCH_ADDRESS: Final = errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT


@define
class _Seek:
    """A seek under way; further seeks in the same community only raise `wanted`."""

    topic: Topic
    wanted: int
    looks: int = 0
    asked: int = 0
    """How many members the look-up under way is for."""
    announcement: tuple[Topic, int] | None = None
    """The announcement of this process that the look-up under way waited for."""


class KademliaDiscovery(Discovery):
    """Discovery through a Kademlia DHT; see the module's text."""

    asks_by_udp: ClassVar[bool] = True

    def __init__(self, context: DiscoveryContext) -> None:
        self._context = context
        self._names = NamedContacts(context, self._on_looked_up)
        self._datagrams: DatagramPort | None = None
        self._overlays = 0
        """How many overlays there were: the timers of one are not for the next."""
        self._overlay = self._overlay_at(self._host)
        self._announced: dict[GroupId, tuple[Topic, int]] = {}
        """The topic and number of the latest announcement, until it is withdrawn."""
        self._announcements = 0
        self._to_enter: dict[GroupId, list[Then]] = {}
        """The announcements that wait for their turn, each with what waits for it."""
        self._entries, self._looks = Turns(), Turns()
        self._seeks: dict[GroupId, _Seek] = {}
        self._early: list[Then] | None = []
        """The inputs from before the overlay had looked for the DHT; None afterwards."""
        self._attempted = False
        """Whether the overlay has looked for the DHT at the addresses known at the start."""

    @property
    def _host(self) -> str:
        """The address to listen at."""
        me = self._context.me
        everywhere = self._context.every_interface or not me.is_dialable
        return "::" if everywhere else endpoint_of(me.address)[0]

    def _overlay_at(self, host: str) -> KademliaOverlay:
        admission, me = self._context.admission, self._context.me
        self._overlays += 1
        return KademliaOverlay(
            rng=self._context.rng,
            wake=partial(self._wake_overlay, self._overlays),
            host=host,
            port=endpoint_of(me.address)[1] if me.is_dialable else 0,
            port_required=self._context.port_required,
            client=not me.is_dialable,
            remembered=Remembered(self._context.remember, usable),
            reunited=self._reunited,
            silent=self._on_silent,
            naming=None if admission is None else KeyNames(admission, self._context.clock),
            choice=self._context.choice,
            other_choice=self._context.other_choice,
        )

    def _wake_overlay(self, overlay: int, delay_seconds: float, *name: Hashable) -> None:
        self._context.outlet.wake(delay_seconds, "overlay", overlay, *name)

    # -- life ----------------------------------------------------------------------------------

    @override
    def open(self, datagrams: DatagramPort, now: float) -> None:
        """See `Discovery`; raises `OSError` if no UDP port can be had, or not the one required."""
        self._datagrams = datagrams
        self._open_overlay(datagrams, now)
        self._names.open(now)
        if self._names.pending:
            self._context.outlet.wake(NAMES_SECONDS, "named")

    def _open_overlay(self, datagrams: DatagramPort, now: float) -> None:
        me, others = self._context.me, self._bootstrap()
        own = endpoint_of(me.address)
        if me.is_dialable and not usable(own):
            raise OSError(
                errno.EADDRNOTAVAIL,
                f"nobody can send a datagram to {own[0]}; listen at another address",
            )
        try:
            self._overlay.open(datagrams, others, self._opened, now)
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                raise
            # The announced address is none of this machine's (NAT, a container), or there is no
            # IPv6 here.
            six = ":" in own[0] and me.is_dialable  # a placeholder says nothing of its process
            self._overlay = self._overlay_at("::" if six else "0.0.0.0")
            self._overlay.open(datagrams, others, self._opened, now)

    def _bootstrap(self) -> list[Endpoint]:
        """Return the endpoints that the first contacts have now, without this process."""
        return [one for one in map(endpoint_of, self.contact_addresses()) if usable(one)]

    @override
    def contact_addresses(self) -> Sequence[str]:
        """See `Discovery`; a bootstrap node takes frames at the TCP port of the same number."""
        named = [one for several in self._context.gateways.values() for one in several]
        listed = dict.fromkeys(a for one in named for a in self._names.addresses(one))
        own = self._context.me.address
        return [one for one in listed if one != own]

    def _on_looked_up(self, new: tuple[str, ...], now: float) -> None:
        if new:
            self._overlay.bootstrap_from(self._bootstrap(), now)
        self._begin(now)

    def _on_silent(self, address: Endpoint, now: float) -> None:
        """Look the name of a bootstrap node up again, which may be elsewhere now."""
        self._names.look_up(self._names.names(address_of(address)), now)

    def _opened(self, now: float) -> None:
        self._attempted = True
        self._begin(now)

    def _begin(self, now: float, *, waits: bool = True) -> None:
        """Carry out what came early, once the DHT was looked for where names say."""
        if self._attempted and not (waits and self._names.pending):
            early, self._early = self._early or [], None
            for wish in early:
                wish(now)

    @override
    def close(self, now: float) -> None:
        self._early = []
        self._entries, self._looks = Turns(), Turns()
        self._overlay.close(now)

    @override
    def moved(self, now: float) -> None:
        """See `Discovery`; the overlay begins anew at the address, and finishes what was begun.

        Raises `OSError` as `open`.
        """
        if self._datagrams is None:
            return
        announced = [topic for topic, _ in self._announced.values()]
        seeks, early = list(self._seeks.values()), self._early or []
        self.close(now)
        self._announced.clear()
        self._to_enter.clear()
        self._seeks.clear()
        self._attempted = False
        self._early = [
            *early,
            *(partial(self.announce, topic) for topic in announced),
            *(partial(self.seek, one.topic, one.wanted) for one in seeks),
        ]
        self._overlay = self._overlay_at(self._host)
        self._open_overlay(self._datagrams, now)

    @property
    @override
    def state(self) -> str:
        return self._overlay.state

    # -- inputs --------------------------------------------------------------------------------

    @override
    def receive_datagram(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        self._overlay.receive(port, source, data, now, sender)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        if name == ("named",):
            self._begin(now, waits=False)
        match name:
            case ("overlay", self._overlays, *rest):
                self._overlay.wake(tuple(rest), now)
            case _:
                self._names.wake(name, now)

    @override
    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:
        self._names.finished(name, outcome, now)

    @override
    def announce(self, topic: Topic, now: float) -> None:
        if self._early is not None:
            self._early.append(partial(self.announce, topic))
        elif topic.group not in self._announced:
            self._announcements += 1
            self._announced[topic.group] = (topic, self._announcements)
            self._to_enter[topic.group] = []
            self._entries.add(partial(self._enter, topic), now)

    def _enter(self, topic: Topic, now: float) -> None:
        waiting = self._to_enter.pop(topic.group, None)
        if waiting is None:  # withdrawn meanwhile
            self._entries.end(now)
            return
        try:
            self._overlay.join(topic, self._context.me, now)
        except OSError as error:
            log.warning("this process cannot be found as a member of %s: %s", topic, error)
        self._overlay.when_joined(topic.group, self._entries.end, now)
        for then in waiting:
            self._overlay.when_joined(topic.group, then, now)

    @override
    def withdraw(self, topic: Topic, now: float) -> None:
        if self._early is not None:
            self._early.append(partial(self.withdraw, topic))
        elif self._announced.pop(topic.group, None) is not None:
            for then in self._to_enter.pop(topic.group, ()):
                then(now)
            try:
                self._overlay.leave(topic.group, now)
            except OSError as error:
                log.warning("this process may still be found as a member of %s: %s", topic, error)

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """See `Discovery`; one look-up at a time for each community."""
        if self._early is not None:
            self._early.append(partial(self.seek, topic, wanted))
        elif (seek := self._seeks.get(topic.group)) is not None:
            seek.wanted = max(seek.wanted, wanted)
        else:
            seek = self._seeks[topic.group] = _Seek(topic, wanted)
            self._looks.add(partial(self._look, seek), now)

    def _reunited(self, now: float) -> None:
        """Seek in each own community, unasked: its members may be strangers to the process."""
        for topic, _ in list(self._announced.values()):
            self.seek(topic, REUNION_WANTED, now)

    @override
    def contacts_silent(self, topic: Topic, contacts: Sequence[Contact], now: float) -> bool:
        """See `Discovery`; every member that a look-up names has just answered it."""
        return True

    # -- looking -------------------------------------------------------------------------------

    def _look(self, seek: _Seek, now: float) -> None:
        group = seek.topic.group
        seek.announcement, seek.asked = self._announced.get(group), seek.wanted

        def find(now: float) -> None:
            self._overlay.find(group, seek.asked, partial(self._found, seek), now)

        def asked_one(contacts: tuple[Contact, ...], now: float) -> None:
            if contacts:
                self._found(seek, Found(contacts, size=None), now)
            else:
                find(now)

        def joined(now: float) -> None:
            if seek.asked == 1:
                self._overlay.find_neighbour(group, asked_one, now)
            else:
                find(now)

        if group in self._to_enter:
            self._to_enter[group].append(joined)
        else:
            self._overlay.when_joined(group, joined, now)

    def _found(self, seek: _Seek, found: Found, now: float) -> None:
        """Answer, or look up again if the look-up does not answer all seeks so far."""
        seek.looks += 1
        others = () if found.contacts else tuple(map(address_of, found.others))
        doubtful = found.doubtful and seek.looks < LOOKS_MAX and not others
        announcement = self._announced.get(seek.topic.group)
        announced = announcement not in (None, seek.announcement) and not found.contacts
        more = seek.wanted > seek.asked == len(found.contacts)
        unreachable = found.unreachable
        if self._overlay.state == "alone" and (unknown := self._names.unknown):
            self._names.look_up(unknown, now)
            unreachable += unknown  # nobody was asked there, so there may be a DHT
        if not unreachable and (doubtful or announced or more):
            self._look(seek, now)
            return
        del self._seeks[seek.topic.group]
        self._context.outlet.found(seek.topic, found.contacts, unreachable, found.size, others)
        self._looks.end(now)
