"""Asking: what is missing, who has said to have it, and the `Want`s to them.

What is missing shows in two ways here. A received batch leaves a hole below it, which is asked for
after `REORDER_SECONDS`, since n+1 often overtakes n, and later where processes are short of CPU
(`camcast.engine.repair.lateness`). And another process tells, in a `Have`, of what is not known
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from camcast.doors.repair import RepairWatcher
from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.agreement import FULL_SECONDS
from camcast.engine.repair.giving_up import GIVE_UP_SECONDS, GivingUp
from camcast.engine.repair.history import History
from camcast.engine.repair.lack import Holder, Lack, flat, missing_of
from camcast.engine.repair.lateness import REORDER_SECONDS, Lateness
from camcast.engine.repair.messages import Want, Wanted
from camcast.engine.repair.shared import OLDER_SECONDS, Shared
from camcast.engine.store import published_at
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.messages import read_topic

ASK_SECONDS: Final = REORDER_SECONDS
LACKS_MAX: Final = 4096  # chosen: the streams of a minute of partition at 60 new streams a second


class Asking:
    """Asks for what this process lacks of one community's streams."""

    def __init__(
        self, shared: Shared, giving_up: GivingUp, history: History, lateness: Lateness
    ) -> None:
        self.wants_sent = 0
        """The `Want`s to other processes."""
        self.lacks: dict[StreamId, Lack] = {}
        self.watcher = RepairWatcher()
        self._shared = shared
        self._giving_up = giving_up
        self._history = history
        self._lateness = lateness
        self._asking = False  # whether a timer for asking is set

    def took(self, batch: Batch, known: KnownRanges, source: PeerId, now: float) -> None:
        """Take note of a batch that is new to the community; `source` sent it."""
        bounds = known.bounds
        lack = self.lacks.get(batch.stream)
        if lack is not None:
            # What others had to ask for is as old as it says, what lay in queues seems younger.
            if lack.fills_hole(batch) and published_at(batch) > lack.since:
                self._lateness.came(now - lack.since, now)
        elif bounds and (bounds[0] > known.floor or len(bounds) > 2):
            sender = self._shared.context.membership.peers().get(source)
            self._lack(batch.stream, now, sender)

    def came(self, stream: StreamId, now: float) -> None:
        """Take note that something came that was asked for."""
        lack = self.lacks.get(stream)
        if lack is not None:
            lack.came(now)

    def hear(self, holder: Holder, now: float) -> None:
        """Take what another process holds of a stream."""
        stream = StreamId(holder.held[0])
        if len(stream) != STREAM_ID_BYTES or stream[:PEER_ID_BYTES] == self._shared.context.me.peer:
            return
        known = self._shared.streams.known.get(stream)
        lack = self.lacks.get(stream)
        offers = bool(missing_of(holder.held, known))
        if lack is None:
            passed_all = holder.held[3][0]  # what is kept nowhere any more shows in this alone
            behind = not holder.below and (known is None or known.misses_below(passed_all))
            if not offers and not behind:
                return
            lack = self._lack(stream, now)
            if lack is None:
                return
            neighbour = self._shared.neighbour(holder.contact.peer)
            neighbour.agreement.pause = FULL_SECONDS  # it had something to tell
        stop = holder.held[3][-1]
        if known is None or stop > known.stop:
            self.watcher.told(stream, stop, holder.contact.peer, now)
        if lack.hear(holder, offers=offers):
            lack.due = now  # those before may be silent
            self._ask_after(0.0)

    def _lack(self, stream: StreamId, now: float, sender: Contact | None = None) -> Lack | None:
        """Begin to ask for what is missing of a stream; None if too much is missing already."""
        if len(self.lacks) >= LACKS_MAX:
            return None
        lack = self.lacks[stream] = Lack(now, now + self._lateness.reorder_seconds(now), sender)
        lack.note_lowest(self._shared.streams.known.get(stream), now)
        self._ask_after(ASK_SECONDS)
        return lack

    def _ask_after(self, seconds: float) -> None:
        if not self._asking:
            self._asking = True
            self._shared.outlet.wake(seconds, "ask")

    def wake(self, now: float) -> None:
        """Ask for what is missing and due, each stream of one process; give up what nobody has."""
        self._asking = False
        neighbours = self._shared.context.membership.neighbours()
        # Until it could be given up, though nobody keeps it as long: else it is never told.
        asked_for = max(self._shared.retention, GIVE_UP_SECONDS)
        asked: dict[tuple[Contact, bytes, str], list[Wanted]] = {}
        since: dict[tuple[Contact, bytes, str], float] = {}
        for stream, lack in list(self.lacks.items()):
            if lack.due > now:
                continue
            known = self._shared.streams.known.get(stream)
            lack.note_lowest(known, now)
            self._giving_up.look(stream, lack, known, len(neighbours), now)
            known = self._shared.streams.known.get(stream)
            lack.holders = [one for one in lack.holders if missing_of(one.held, known)]
            patience = self.watcher.patience(stream, lack.since, now)
            awaited = SEQUENCE_MAX + 1 if known is None or patience <= 0 else known.stop
            holder = lack.next_holder() if lack.holders else None
            if holder is not None and (missing := missing_of(holder.held, known, awaited)):
                holder.asked = now
                key = holder.contact, holder.nonce, holder.below
                since[key] = min(holder.since, since.get(key, inf))
            elif holder is not None and known is not None and not known.holes():
                continue  # with patience, which the next look need not have any more
            elif now - lack.since > asked_for or not (missing := lack.missing_here(known)):
                del self.lacks[stream]
                continue
            elif neighbours:
                contact = lack.sender
                if lack.asked or contact is None:
                    silent = [one for one in neighbours if one.peer not in lack.passed]
                    contact = self._shared.context.rng.choice(silent or neighbours)
                key = contact, b"", ""
            else:
                continue  # nobody can be asked for now
            asked.setdefault(key, []).append((stream, flat(missing)))
            lack.asked_at(now)
        for key, wanted in asked.items():
            self._send_want(*key, wanted, since.get(key, inf), now)
        if self.lacks:
            self._ask_after(ASK_SECONDS)

    def _send_want(
        self,
        contact: Contact,
        nonce: bytes,
        below: str,
        wanted: Sequence[Wanted],
        since: float,
        now: float,
    ) -> None:
        self.wants_sent += 1
        seconds = max(self._shared.seconds_a_member(now) + OLDER_SECONDS, now - since)
        if not below:
            seconds += self._history.asked(now)
        into, group = (
            ("", None) if not below else (self._shared.context.group.name, read_topic(below))
        )
        self._shared.outlet.send(
            [contact],
            Want(nonce, seconds, into, tuple(wanted)),
            group=None if group is None else group.group,
        )
