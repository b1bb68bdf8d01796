"""The profile `signed`: links between processes that know each other's keys.

The key of a process's links is that of its identity, so the end that proves the key is that
process. Each end shows its introduction (`camcast.security.known_peers`) once the link is
encrypted, and is cut off unless a trusted root certifies it. A process dials three kinds of
contacts: processes that have said by a signed record that they are there; gateways of the
configuration, whose keys are given with their addresses; and gateways on the loopback without a
key, whose key is *pinned*: the first key said at the address counts until the process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from typing_extensions import override

from camcast.doors.profile import SIGNED, Profile
from camcast.engine.publisher import ReserveNumbers, by_clock
from camcast.security.datagram_boxes import DatagramBoxes
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import InvalidKeyError, PublicKey
from camcast.security.known_peers import KnownPeers, owner_of_link, write_introduction
from camcast.security.refusals import RefusedError
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.penalties import Penalties

_log = Logger(__name__)

LINKS_MAX: Final = 4096  # chosen: keys of links that are remembered: as many as known peers


class SignedLinks(Profile):
    """The links of one process; `clock` says what the wall clock is at a time of `monotonic`.

    `gateways` are the keys given with addresses of the configuration.
    """

    name: ClassVar[str] = SIGNED
    tells_processes_apart: ClassVar[bool] = True

    def __init__(
        self,
        signatures: EventSignatures,
        known: KnownPeers,
        gateways: Mapping[str, PublicKey],
        clock: Clock,
        monotonic: Callable[[], float],
    ) -> None:
        self.known = known
        self._signatures = signatures
        self._pinned = dict(gateways)
        self._clock = clock
        self._monotonic = monotonic
        self._owners: dict[bytes, PeerId] = {}
        """The process that has proved each key of a link; the key of the latest link comes last."""
        self.penalties = Penalties()
        """The scores of processes, by the time of `now`: a barred one is let in nowhere."""
        self._log = MinuteLog()
        self.boxes = DatagramBoxes(signatures, known)
        """Seals and opens the datagrams of this process."""

    @classmethod
    def of(
        cls,
        signatures: EventSignatures,
        gateways: Mapping[str, str],
        clock: Clock,
        monotonic: Callable[[], float],
        reserve: ReserveNumbers = by_clock,
    ) -> SignedLinks:
        """Return the links of the process that signs with `signatures`, which knows nobody yet.

        `gateways` are the texts of keys, by address; `reserve` numbers the records of this process.
        Raises `InvalidKeyError`.
        """
        known = KnownPeers(signatures, int(1000 * clock.wall(monotonic())), reserve)
        keys = {address: PublicKey.parse(text) for address, text in gateways.items()}
        return cls(signatures, known, keys, clock, monotonic)

    @property
    @override
    def link_secret(self) -> bytes:
        return self._signatures.link_secret

    @property
    @override
    def link_public(self) -> bytes:
        return self._signatures.public.curve_public

    @property
    @override
    def shown(self) -> bytes:
        """See `Profile`: the introduction of this process."""
        return write_introduction(self.known.own(self.wall()))

    @property
    @override
    def said_key(self) -> bytes:
        """See `Profile`: the Ed25519 key of this process."""
        return self._signatures.public.raw

    @property
    @override
    def datagram_keys(self) -> tuple[bytes, ...]:
        """See `Profile`; members have no key that all share."""
        return ()

    def now(self) -> float:
        """Return the time by which intervals are measured."""
        return self._monotonic()

    def wall(self) -> float:
        """Return the wall clock's time, in seconds since 1970."""
        return self._clock.wall(self._monotonic())

    def given_key(self, address: str) -> bytes | None:
        """Return the public key of the process at an address, by the configuration or pinned."""
        key = self._pinned.get(address) or self.known.pinned(address)
        return None if key is None else key.raw

    @override
    def key_of(self, contact: Contact) -> bytes | None:
        key = self._public_key(contact)
        return None if key is None else key.curve_public

    @override
    def process_at(self, contact: Contact) -> PeerId | None:
        key = self._public_key(contact)
        return None if key is None else key.peer_id

    def _public_key(self, contact: Contact) -> PublicKey | None:
        if contact.peer == UNKNOWN_PEER:
            return self._pinned.get(contact.address) or self.known.pinned(contact.address)
        return self.known.key_of(contact, self.wall())

    @override
    def pin(self, address: str, said: bytes) -> bytes | None:
        """See `Profile`; a pinned key is never replaced."""
        try:
            key = PublicKey(said)
            curve_key = key.curve_public
        except InvalidKeyError:
            return None
        return curve_key if self._pinned.setdefault(address, key) == key else None

    @override
    def admits(self, key: bytes, shown: bytes = b"") -> bool:
        """See `Profile`; a trusted root has to certify the key's owner."""
        now, wall = self.now(), self.wall()
        try:
            owner = owner_of_link(shown, key, self.known, wall).peer_id
        except RefusedError as error:
            if shown and self._log.due(error.reason, now):
                _log.warning("a link was refused: %s (said once a minute)", error)
            return False
        if not self.known.admits(owner, wall) or self.penalties.barred(owner, now):
            return False
        self._owners.pop(key, None)
        if len(self._owners) >= LINKS_MAX:
            del self._owners[next(iter(self._owners))]
        self._owners[key] = owner
        return True

    @override
    def may_connect(self, key: bytes) -> bool:
        """See `Profile`; True unless the owner is barred, since certificates are shown later."""
        owner = self._owners.get(key)
        return owner is None or not self.penalties.barred(owner, self.now())

    @override
    def may_answer(self, contact: Contact, key: bytes, shown: bytes) -> bool:
        """See `Profile`; a process that shows nothing has to have the key known for its contact."""
        return self.admits(key, shown) if shown else self.key_of(contact) == key

    @override
    def process_of(self, key: bytes) -> PeerId | None:
        owner = self._owners.get(key)
        if owner is None or not self.known.admits(owner, self.wall()):
            return None
        return None if self.penalties.barred(owner, self.now()) else owner
