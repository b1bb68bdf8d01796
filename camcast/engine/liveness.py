"""The liveness service: one heartbeat a peer and period, whatever the two processes share.

Theory of operation
-------------------
Each part of a process (a membership, the links) has a `PartLiveness`, its end of the service. A
peer has one entry, with the parts that *watch* it or only *listen* to it; the shortest period
and the shortest silence of these parts count.

*Signs of life.* The node says of every record from whom it comes (`heard`). A record that was
passed on for another process names that process: it was alive a walk ago.

*Heartbeats.* Once a period every watched peer gets a `Heartbeat`. Its receiver answers, unless the
receiver has sent a heartbeat of its own since the sender's last one. So two processes that watch
each other send one record each a period, and so do one that watches and one that only answers.
An answer is not answered. A part that is told something which cannot wait for a period has the
heartbeat answered in any case (`reply`).

*Pieces.* Heartbeats and answers carry a piece for every part that the sender has in the peer: a
small message of that part, of the kind and for the group it would otherwise be sent in, or empty
for "I watch you as a member of this group". A receiver that is not in the group says so in its
answer (`gone`), and the watching part learns it (`Watcher.peer_gone`). So it does when the answer
comes from another process at the peer's address, which took over the port of one that died.

*Silence.* All parts of an entry are told once that nothing was heard of the peer for the entry's
silence, and once more when the next record of the peer arrives. After a pause of this very process
(its timer came two periods late) nobody's silence counts for the time of the pause.

*Hostile peers.* Entries come from this process's own parts alone. A stranger's heartbeat draws one
answer of about its size, and `PIECES_MAX` pieces of it are read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from random import Random
from typing import Final, Protocol

from attrs import define, field

from camcast.doors.liveness import Liveness, Watcher
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message, encode
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind

PIECES_MAX: Final = 32  # chosen: with pieces of the largest size, a frame's 32 KiB
PIECE_BYTES_MAX: Final = 1024  # chosen: a sample of the size estimate has 640
LATE: Final = 0.85  # chosen: the share of a period after which a heartbeat is due: jitter is 0.1
PAUSE_PERIODS: Final = 2  # chosen: this process was paused if its timer comes that much late

Piece = tuple[int, bytes, bytes]
"""The kind and the group of a part, and a message of it, encoded, or nothing."""

TakePiece = Callable[[Contact, int, GroupId, bytes, float], bool]
"""Gives a piece to a part of this process; False if the process is not in that group."""


Settled = tuple[bytes, bytes]
"""A group and the hash of what is settled in it at the sender (`camcast.engine.repair`)."""


class SettledHashes(Protocol):
    """What goes along with heartbeats for repair: whether both know the same events of a group."""

    def settled(self, group: GroupId) -> bytes | None:
        """Return the hash of what is settled in a group; None where nothing is repaired."""

    def hear_settled(self, source: Contact, group: GroupId, settled: bytes, now: float) -> None:
        """Take the hash of what is settled in a group at a peer."""


class Heartbeat(Message, tag=1, frozen=True):
    """Are you alive, and in the groups that these pieces name? I am."""

    pieces: tuple[Piece, ...]
    settled: tuple[Settled, ...] = ()


class Answer(Message, tag=2, frozen=True):
    """I am alive; and not in the groups of the parts that are `gone`, given by kind and group."""

    pieces: tuple[Piece, ...]
    gone: tuple[tuple[int, bytes], ...]
    settled: tuple[Settled, ...] = ()


DECODER: Final[Decoder[Message]] = Decoder(Heartbeat | Answer)


@define(eq=False)
class Entry:
    """What the service knows of one peer."""

    contact: Contact
    heard: float
    parts: dict[PartLiveness, bool] = field(factory=dict)
    """Those that watch the peer (True) or listen to it."""
    watched: bool = False
    period: float = inf
    silence: float = inf
    sent: float = -inf
    spoken: bool = False
    """Whether a heartbeat was sent to the peer since its last one."""
    silent: bool = False
    turn: int = 0
    """Which part comes first in the next heartbeat, if they do not all fit."""

    def renew(self) -> None:
        """Follow a change of the parts."""
        self.watched = any(self.parts.values())
        self.period = min((part.period for part in self.parts), default=inf)
        self.silence = min((part.silence for part in self.parts), default=inf)


class LivenessService:
    """Watches the peers of one process; see the module's theory of operation."""

    def __init__(
        self,
        outlet: ControlOutlet,
        rng: Random,
        take_piece: TakePiece,
        hashes: SettledHashes | None = None,
    ) -> None:
        self._outlet = outlet
        self._rng = rng
        self._take_piece = take_piece
        self._hashes = hashes
        self._parts: dict[GroupId, list[PartLiveness]] = {}
        self.entries: dict[PeerId, Entry] = {}
        """What is known of each peer; the intake notes its signs of life here."""
        self._interval = inf  # the length of the period under way, infinite if there is none
        self._due = inf  # when it ends
        self._timer = 0  # the number of its timer; those before cannot be taken back

    def part(self, kind: Kind, group: GroupId) -> PartLiveness:
        """Make the end of the service of one part of this process."""
        part = PartLiveness(self, int(kind), group)
        self._parts.setdefault(group, []).append(part)
        return part

    def close(self, group: GroupId) -> None:
        """Let the parts of a group, which was left, watch nobody any more, for good."""
        for part in self._parts.pop(group, ()):
            part.closed = True
            for peer in list(self.entries):
                self.remove(part, peer)

    # -- inputs: each says whether it has told a part of a peer ----------------------------

    def heard(self, peer: PeerId, now: float) -> bool:
        """Take a sign of life: a record has arrived from this peer."""
        entry = self.entries.get(peer)
        if entry is not None:
            entry.heard = now
            if entry.silent:
                entry.silent = False
                for part in list(entry.parts):
                    part.watcher.peer_back(entry.contact, now)
                return True
        return False

    def receive(self, source: Contact, message: Message, now: float) -> bool:
        """Take a heartbeat or an answer; that its sender is alive, `heard` says."""
        assert isinstance(message, Heartbeat | Answer), "the decoder gives no others"
        gone = tuple(
            (kind, group)
            for kind, group, body in message.pieces[:PIECES_MAX]
            if not self._take_piece(source, kind, GroupId(group), body, now)
        )
        if self._hashes is not None:
            for group, settled in message.settled[:PIECES_MAX]:
                self._hashes.hear_settled(source, GroupId(group), settled, now)
        entry = self.entries.get(source.peer)
        if isinstance(message, Answer):
            if message.gone:
                for peer in self._peers_at(source.address):
                    for kind, group in message.gone[:PIECES_MAX]:
                        self._lose(peer, kind, group, now)
            return bool(message.gone)
        if entry is not None and entry.spoken and not gone:
            entry.spoken = False
        else:
            pieces = () if entry is None else self._pieces(entry, now)
            self._outlet.send([source], Answer(pieces, gone, self._settled(pieces)))
        return False

    def wake(self, name: tuple[Hashable, ...], now: float) -> bool:
        """Take the timer of a period."""
        if name != ("period", self._timer):
            return False
        if now - self._due > PAUSE_PERIODS * self._interval:
            for entry in self.entries.values():
                entry.heard = min(now, entry.heard + now - self._due)
        told = False
        for entry in list(self.entries.values()):
            if now - entry.heard > entry.silence and not entry.silent:
                entry.silent = told = True
                for part in list(entry.parts):
                    part.watcher.peer_silent(entry.contact, now)
            if entry.watched and now - entry.sent >= LATE * entry.period:
                entry.sent, entry.spoken = now, True
                pieces = self._pieces(entry, now)
                self._outlet.send([entry.contact], Heartbeat(pieces, self._settled(pieces)))
        self._schedule(min((entry.period for entry in self.entries.values()), default=inf), now)
        return told

    # -- inside ----------------------------------------------------------------------------

    def _pieces(self, entry: Entry, now: float) -> tuple[Piece, ...]:
        """Collect what the parts that share a peer have for it."""
        parts = list(entry.parts.items())
        if len(parts) > PIECES_MAX:
            start = entry.turn % len(parts)
            entry.turn = start + PIECES_MAX
            parts = (parts[start:] + parts[:start])[:PIECES_MAX]
        pieces = []
        for part, watching in parts:
            message = part.watcher.heartbeat(entry.contact, now)
            if message is not None or watching:
                body = b"" if message is None else encode(message)
                assert len(body) <= PIECE_BYTES_MAX, f"{len(body)} bytes along with a heartbeat"
                pieces.append((part.kind, part.group, body))
        return tuple(pieces)

    def _settled(self, pieces: Sequence[Piece]) -> tuple[Settled, ...]:
        """Return the hashes for the groups whose memberships have a piece."""
        if self._hashes is None:
            return ()
        groups = [GroupId(group) for kind, group, _ in pieces if kind == Kind.MEMBERSHIP]
        hashes = ((group, self._hashes.settled(group)) for group in groups)
        return tuple((group, settled) for group, settled in hashes if settled is not None)

    def _peers_at(self, address: str) -> list[PeerId]:
        """Return the peers that are known at an address: who answers there speaks for them all.

        The heartbeat may have been for a process whose port the answering one took over.
        """
        return [peer for peer, one in self.entries.items() if one.contact.address == address]

    def _lose(self, peer: PeerId, kind: int, group: bytes, now: float) -> None:
        """Tell the part of this kind and group that a peer is not in the group."""
        entry = self.entries.get(peer)
        for part in [] if entry is None else list(entry.parts):
            if entry is not None and (part.kind, part.group) == (kind, group):
                part.watcher.peer_gone(entry.contact, now)

    def enter(self, part: PartLiveness, contact: Contact, watching: bool, now: float) -> None:
        """Let a part watch a peer or listen to it."""
        entry = self.entries.get(contact.peer)
        if entry is None:
            entry = self.entries[contact.peer] = Entry(contact, now)
        entry.contact = contact
        if part not in entry.parts and entry.silent:
            entry.silent, entry.heard = False, now  # this part has not been told
        if entry.parts.get(part) is not watching:
            entry.parts[part] = watching
            entry.renew()
            if entry.period < self._interval:
                self._schedule(entry.period, now)

    def remove(self, part: PartLiveness, peer: PeerId) -> None:
        """Let a part watch a peer and listen to it no more."""
        entry = self.entries.get(peer)
        if entry is not None and entry.parts.pop(part, None) is not None:
            if entry.parts:
                entry.renew()
            else:
                del self.entries[peer]

    def reply(self, peer: PeerId) -> None:
        """See `Liveness.reply`."""
        entry = self.entries.get(peer)
        if entry is not None:
            entry.spoken = False

    def last_heard(self, peer: PeerId) -> float:
        """See `Liveness.heard`."""
        entry = self.entries.get(peer)
        return -inf if entry is None else entry.heard

    def _schedule(self, interval: float, now: float) -> None:
        """Begin a period of this length, in place of the one under way."""
        self._interval = interval
        if interval < inf:
            # Jittered by a tenth, so that processes that started together drift apart.
            pause = interval * (0.9 + 0.2 * self._rng.random())
            self._due = now + pause
            self._timer += 1
            self._outlet.wake(pause, "period", self._timer)


class PartLiveness(Liveness):
    """One part's end of the service; see `camcast.doors.liveness.Liveness`."""

    def __init__(self, service: LivenessService, kind: int, group: GroupId) -> None:
        self.kind = kind
        self.group = group
        self.watcher = Watcher()
        self.period = inf
        self.silence = inf
        self.closed = False
        self._service = service

    def report_to(
        self, watcher: Watcher, period_seconds: float = 1.0, silent_seconds: float = 5.0
    ) -> None:
        """See `Liveness`."""
        self.watcher, self.period, self.silence = watcher, period_seconds, silent_seconds

    def watch(self, contact: Contact, now: float) -> None:
        """See `Liveness`."""
        if not self.closed:
            self._service.enter(self, contact, True, now)

    def listen(self, contact: Contact, now: float) -> None:
        """See `Liveness`."""
        if not self.closed:
            self._service.enter(self, contact, False, now)

    def unwatch(self, peer: PeerId) -> None:
        """See `Liveness`."""
        self._service.remove(self, peer)

    def reply(self, peer: PeerId) -> None:
        """See `Liveness`."""
        self._service.reply(peer)

    def heard(self, peer: PeerId) -> float:
        """See `Liveness`."""
        return self._service.last_heard(peer)
