"""The outlet of events: it puts the copies that a dissemination sends into the node's outbox."""

from __future__ import annotations

from collections.abc import Sequence

from camcast.engine.guard.signing import Signing
from camcast.engine.process_context import ProcessContext
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.happenings import BatchKind
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Send
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import (
    FRAME_BYTES_MAX,
    FRAME_HEADER,
    OTHER_LEVEL,
    REPAIRED,
    event_head,
)

_PIECE_BYTES_MAX = FRAME_BYTES_MAX - len(FRAME_HEADER)


class GroupEventOutlet:
    """Encodes, counts and traces one group's copies of events; see `EventOutlet`."""

    def __init__(
        self,
        process: ProcessContext,
        group: Topic,
        interest: ProcessInterest,
        signing: Signing | None = None,
    ) -> None:
        self._outbox = process.outbox
        self._recorder = process.recorder
        self._counters = process.recorder.counters
        self._group = group.group
        self._interest = interest
        self._entries = process.liveness.entries
        self._signing = signing

    def send(
        self, batch: Batch, peers: Sequence[Contact], now: float, group: Topic | None = None
    ) -> None:
        """Send a copy to each of `peers`, which are members of this group."""
        if peers:
            if self._signing is not None:
                self._signing.accompany(batch, peers, now)
            within = self._group if group is None else group.group
            self._note_sent(peers, now)  # before the wish: raises for what names no process
            self._outbox.sends.append(Send(peers, self._record(batch, now, within), False))
            self._counters.event_copies_sent += batch.count * len(peers)
            if self._recorder.on_batch is not None:
                self._tell("send", batch, peers, now)

    def send_together(self, batches: Sequence[Batch], peers: Sequence[Contact], now: float) -> None:
        """Send a copy of each batch to each of `peers`; cheaper than a `send` for each batch."""
        if len(batches) == 1:
            self.send(batches[0], peers, now)
            return
        if not (peers and batches):
            return
        if self._signing is not None:
            for batch in batches:
                self._signing.accompany(batch, peers, now)
        self._note_sent(peers, now)
        group, sender = self._group, self._outbox.me.peer
        piece: list[bytes] = []
        room, count = _PIECE_BYTES_MAX, 0
        for batch in batches:  # as in `_record`, without a call for each batch
            body = batch.body
            count += batch.count
            age = batch.age + now - batch.since
            head = event_head(len(body), batch.hops + 1, age, group, sender)
            room -= len(head) + len(body)
            if room < 0 and piece:
                self._send_piece(piece, peers)
                piece, room = [], _PIECE_BYTES_MAX - len(head) - len(body)
            piece += head, body
        self._send_piece(piece, peers)
        self._counters.event_copies_sent += count * len(peers)
        if self._recorder.on_batch is not None:
            for batch in batches:
                self._tell("send", batch, peers, now)

    def _send_piece(self, piece: Sequence[bytes], peers: Sequence[Contact]) -> None:
        """Send heads and bodies, which take turns, as one piece."""
        self._outbox.sends.append(Send(peers, b"".join(piece), False, len(piece) // 2))

    def send_upward(self, batch: Batch, topic: Topic, peers: Sequence[Contact], now: float) -> None:
        """Send a copy to each of `peers`, which are members of the super-community of `topic`."""
        if self._signing is not None:
            self._signing.accompany(batch, peers, now)
        record = self._record(batch, now, topic.group, self._outbox.me.address, OTHER_LEVEL)
        self._outbox.sends.append(Send(peers, record, False))
        self._count("upward", batch, peers, now)

    def send_again(
        self, batch: Batch, peer: Contact, now: float, above: Topic | None, offered: bool
    ) -> None:
        """Send a batch to a process that has asked for it, since it misses it or was `offered` it.

        With `above`, that process is a member of this super-community, where the copy arrives. A
        long batch is only counted: its pieces follow (`camcast.engine.repair.pieces`).
        """
        if self._signing is not None:
            self._signing.accompany(batch, [peer], now, asked_for=True)
        if not batch.is_long:
            if above is None:
                record = self._record(batch, now, self._group, flags=REPAIRED)
            else:
                flags = REPAIRED | OTHER_LEVEL
                record = self._record(batch, now, above.group, self._outbox.me.address, flags)
            self._outbox.sends.append(Send([peer], record, False))
        self._counters.repairs_sent += 0 if offered else batch.count
        self._count("send" if above is None else "upward", batch, [peer], now)

    def _note_sent(self, peers: Sequence[Contact], now: float) -> None:
        """Let the liveness service know that these peers hear of this process by events."""
        entries = self._entries
        for peer in peers:
            entry = entries.get(peer.peer)
            if entry is not None:
                entry.event_sent = now

    def _record(
        self, batch: Batch, now: float, group: GroupId, address: str = "", flags: int = 0
    ) -> bytes:
        age = batch.age + now - batch.since
        body, sender = batch.body, self._outbox.me.peer
        return event_head(len(body), batch.hops + 1, age, group, sender, address, flags) + body

    def _count(self, kind: BatchKind, batch: Batch, peers: Sequence[Contact], now: float) -> None:
        if kind == "send":
            self._counters.event_copies_sent += batch.count * len(peers)
        else:
            self._counters.upward_sent += batch.count * len(peers)
        if self._recorder.on_batch is not None:
            self._tell(kind, batch, peers, now)

    def _tell(self, kind: BatchKind, batch: Batch, peers: Sequence[Contact], now: float) -> None:
        assert self._recorder.on_batch is not None, "the caller has looked"
        community, receivers = self._interest.topics[0].name, tuple(peer.peer for peer in peers)
        self._recorder.on_batch(now, kind, batch, community, receivers)
