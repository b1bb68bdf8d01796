"""First contact on the own network, without any address: mDNS and DNS-SD (RFC 6762, 6763).

Theory of operation
-------------------
A process is a service of the type ``_camcast._tcp`` under its peer id. The service's TXT record has
the process's address, and a key for each community that the process has announced: the group's id
in hexadecimal digits. `zeroconf` multicasts the record when it changes, and keeps the records
of the others on this network; a seek is answered from these. A record is a lease of
`LEASE_SECONDS`, which the listeners renew by asking again. A crashed process is forgotten.

A process that has just begun to listen, or to announce the community it seeks in, has not heard of
everybody. It answers `LOOK_SECONDS` later: so of two that found a community at the same time each
has heard the other's announcement.

Anybody on the network may write anything into its records. A record without a valid address is left
out, addresses and groups are bounded, and an address that is not a member's costs a message.

A process of a named system adds the name. Records of another system are left out, and who
seeks meanwhile notes them (`DiscoveryContext.other_system`).

Where processes have keys, the TXT record has the process's address and public key, and names no
communities. Such records are hints, which `overlays.lan_questions` asks and does not believe.

This discovery speaks through sockets of zeroconf's own, in the event loop of the live driver. It
cannot run in the virtual network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sized
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

from typing_extensions import override
from zeroconf import IPVersion, NotRunningException, ServiceInfo, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncZeroconf

from camcast.doors.datagrams import DatagramPort, endpoint_of
from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.options import OptionError
from camcast.vocabulary.addresses import AddressError, check_address, is_numeric
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId, Topic
from overlays.lan_questions import DECODER, Hint, LanQuestions

log = Logger(__name__)

SERVICE: Final = "_camcast._tcp.local."
LEASE_SECONDS: Final = 30  # chosen: as with gateways, a crashed process is offered no longer
LOOK_SECONDS: Final = 1.0  # chosen: an announcement is repeated 0.2 s later, an answer takes 0.12
PROCESSES_MAX: Final = 1024  # chosen: records kept; a network's worth, 1 MB
GROUPS_MAX: Final = 256  # chosen: 5 kB of TXT record; an mDNS packet has at most 9,000 bytes


class LanDiscovery(Discovery):
    """Discovery by multicast DNS; see the module's text."""

    hears_strangers: ClassVar[bool] = True
    needs_dialable: ClassVar[bool] = True
    asks_by_key: ClassVar[bool] = True
    decoder: ClassVar[Decoder[Message] | None] = DECODER

    def __init__(self, context: DiscoveryContext) -> None:
        """Raise `OptionError` if there are gateways, which no process would ask."""
        if any(context.gateways.values()):
            raise OptionError("the discovery 'lan' asks no gateway: leave the gateways out")
        self._context = context
        admission = context.admission
        self._questions = None if admission is None else LanQuestions(context, admission)
        self._zeroconf: AsyncZeroconf | None = None
        self._browser: AsyncServiceBrowser | None = None
        self._tasks: list[Any] = []
        """The multicasts under way, the latest last."""
        self._heard: dict[str, tuple[Contact, tuple[GroupId, ...]]] = {}
        """The processes on this network and their communities, by the name of the service."""
        self._others: dict[str, tuple[str, bytes]] = {}
        """The address and the system of those of other systems, by the same names."""
        self._hints: dict[str, Hint] = {}
        self._full = False  # whether it was logged that records are left out
        """In place of these, where processes have keys: by the same names, what mDNS says."""
        self._announced: dict[GroupId, float] = {}
        """When each community was announced."""
        self._seeks: dict[int, tuple[Topic, int]] = {}
        self._opened = 0.0
        self._asked = 0

    # -- life ----------------------------------------------------------------------------------

    @override
    def open(self, datagrams: DatagramPort, now: float) -> None:
        """See `Discovery`; raises `OSError` where there is no multicast, or no event loop."""
        self._opened = now
        self._speak()

    def _speak(self) -> None:
        """Speak mDNS at the interface of the address that this process announces."""
        host = endpoint_of(self._context.me.address)[0]
        try:
            self._zeroconf = AsyncZeroconf(interfaces=[host], ip_version=IPVersion.V4Only)
        except (RuntimeError, ValueError) as error:
            raise OSError(f"mDNS cannot be spoken at {host}: {error}") from error
        self._browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, SERVICE, handlers=[self._on_change]
        )

    @override
    def close(self, now: float) -> None:
        """See `Discovery`; the goodbye was multicast when the last community was withdrawn."""
        if self._zeroconf is None or self._browser is None:
            return
        for task in self._tasks:
            task.cancel()
        # What `async_cancel` and `async_close` do, without a task that goes on after this.
        self._browser._async_cancel()
        speaker, self._zeroconf = self._zeroconf.zeroconf, None
        if speaker.started:
            _silence(speaker)
        else:
            assert speaker.loop is not None
            self._tasks.append(speaker.loop.create_task(_silence_once_started(speaker)))

    @override
    def moved(self, now: float) -> None:
        """See `Discovery`; raises `OSError` as `open`."""
        if self._zeroconf is not None:
            self.close(now)
            self._speak()
            if self._announced:
                self._tell(now, first=True)

    @property
    @override
    def state(self) -> str:
        return "connected" if self._heard or self._hints else "alone"

    # -- inputs --------------------------------------------------------------------------------

    @override
    def announce(self, topic: Topic, now: float) -> None:
        if topic.group in self._announced:
            return
        if len(self._announced) >= GROUPS_MAX:
            log.warning("this process cannot be found in %s: it is in too many topics", topic)
        self._announced[topic.group] = now
        if self._questions is None or len(self._announced) == 1:
            self._tell(now, first=len(self._announced) == 1)

    @override
    def withdraw(self, topic: Topic, now: float) -> None:
        if self._announced.pop(topic.group, None) is None:
            return
        if self._questions is None or not self._announced:
            self._tell(now, first=False)

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        for address, system in self._others.values():
            self._context.other_system(address, system, now)
        since = max(self._opened, self._announced.get(topic.group, self._opened))
        self._asked += 1
        self._seeks[self._asked] = (topic, wanted)
        self._context.outlet.wake(max(0.0, since + LOOK_SECONDS - now), "seek", self._asked)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("seek", int() as number) if number in self._seeks:
                topic, wanted = self._seeks.pop(number)
                if self._questions is not None:
                    self._questions.seek(topic, wanted, self._hints, now)
                    return
                members = [
                    contact
                    for contact, groups in self._heard.values()
                    if topic.group in groups and contact.peer != self._context.me.peer
                ]
                chosen = self._context.rng.sample(members, min(wanted, len(members)))
                self._context.outlet.found(topic, chosen)
            case _ if self._questions is not None:
                self._questions.wake(name)

    @override
    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """See `Discovery`; where processes have no keys, nothing comes for it."""
        if self._questions is not None:
            self._questions.receive(source, group, message, announced=group in self._announced)

    # -- mDNS ----------------------------------------------------------------------------------

    def _tell(self, now: float, *, first: bool) -> None:
        """Multicast this process's record; a goodbye if it is in no community any more."""
        if self._zeroconf is None:
            return
        host, port = endpoint_of(self._context.me.address)
        properties: dict[str, str | None] = {"address": self._context.me.address}
        if self._context.system:
            properties["system"] = self._context.system
        if (admission := self._context.admission) is not None:
            wall = self._context.clock.wall(now)
            properties["key"] = admission.key_text(self._context.me, wall)
        else:
            properties |= {group.hex(): None for group in list(self._announced)[:GROUPS_MAX]}
        info = ServiceInfo(
            SERVICE,
            f"{self._context.me.peer.hex()}.{SERVICE}",
            port=port,
            parsed_addresses=[host],
            properties=properties,
            host_ttl=LEASE_SECONDS,
            other_ttl=LEASE_SECONDS,
        )
        speaker = self._zeroconf
        if first:  # a peer id is nobody else's, so that nobody is asked whether it is
            say = partial(speaker.async_register_service, info, cooperating_responders=True)
        elif self._announced:
            say = partial(speaker.async_update_service, info)
        else:
            say = partial(speaker.async_unregister_service, info)
        loop = speaker.zeroconf.loop
        assert loop is not None
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(loop.create_task(self._say(say)))

    async def _say(self, say: Callable[[], Awaitable[Awaitable[None]]]) -> None:
        """Multicast a record three times, as zeroconf does, unless the next one follows sooner.

        Else an announcement that is repeated after the goodbye would leave a ghost.
        """
        repeats = await say()
        for task in self._tasks[:-1]:
            task.cancel()
        await repeats

    def _on_change(
        self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
    ) -> None:
        """Take a record that came, changed or went."""
        for records in (self._heard, self._hints, self._others):
            records.pop(name, None)
        info = ServiceInfo(service_type, name)
        if state_change is ServiceStateChange.Removed or not info.load_from_cache(zeroconf):
            return
        system = info.properties.get(b"system") or b""
        if system != self._context.system.encode():
            address = _read_address(info.properties)
            if address and self._has_room(self._others):
                self._others[name] = address, system
            return
        if self._questions is not None:
            self._take_hint(name, _read_hint(info.properties))
            return
        heard = _read(name, info.properties)
        if heard is not None and self._has_room(self._heard):
            self._heard[name] = heard

    def _take_hint(self, name: str, hint: Hint | None) -> None:
        own = name == f"{self._context.me.peer.hex()}.{SERVICE}"
        if hint is not None and not own and self._has_room(self._hints):
            self._hints[name] = hint

    def _has_room(self, records: Sized) -> bool:
        """Say whether a record more may be kept; that it may not is logged once."""
        if len(records) < PROCESSES_MAX:
            return True
        if not self._full:
            log.warning(
                "more than %d processes in this network: others are left out", PROCESSES_MAX
            )
        self._full = True
        return False


def _silence(speaker: Zeroconf) -> None:
    speaker.done = True
    speaker.engine.close()


async def _silence_once_started(speaker: Zeroconf) -> None:
    """Close the sockets of a speaker when asyncio has taken all of them, and not in the middle."""
    try:
        with suppress(NotRunningException):
            await speaker.async_wait_for_start()
    finally:
        _silence(speaker)


def _read_address(properties: dict[bytes, bytes | None]) -> str:
    """Return where a process is said to be; empty if it is not said."""
    try:
        address = check_address((properties.get(b"address") or b"").decode())
    except (AddressError, ValueError):
        return ""
    return address if is_numeric(address) else ""


def _read_hint(properties: dict[bytes, bytes | None]) -> Hint | None:
    """Return where a process is said to be, and under which key; None if it is not said."""
    address = _read_address(properties)
    try:
        key = (properties.get(b"key") or b"").decode()
    except ValueError:
        return None
    return Hint(address, key) if key and address else None


def _read(
    name: str, properties: dict[bytes, bytes | None]
) -> tuple[Contact, tuple[GroupId, ...]] | None:
    """Return the contact and the communities of a record; None if it is none of CAMCAST's."""
    try:
        peer = bytes.fromhex(name.removesuffix("." + SERVICE))
        texts = [key.decode() for key in properties if key not in (b"address", b"system")]
        groups = [bytes.fromhex(text) for text in texts]
    except ValueError:
        return None
    address = _read_address(properties)
    if len(peer) != PEER_ID_BYTES or not address:
        return None
    known = [GroupId(group) for group in groups[:GROUPS_MAX] if len(group) == GROUP_ID_BYTES]
    return Contact(PeerId(peer), address), tuple(known)
