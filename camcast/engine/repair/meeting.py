"""Meeting: archives that were apart find out what the other alone has.

Theory of operation
-------------------
Members compare what they remember of the last half hour (`camcast.engine.repair.told`), and whoever
starts asks for all that its archive lacks (`camcast.engine.repair.history`). Two halves of a
community that archived apart for longer are one again without a start. Therefore a process with an
archive counts the *hours* of it: the XOR of the hashes of the batches that were published in each,
which two archives with the same batches have alike. Each minute it tells one neighbour
`HOURS_A_MESSAGE` of them, four bytes each, others the next time (`ArchiveHours`). Where the two
differ, each announces the streams of that time to the other, which asks for what it lacks, and gets
it at the rate of all old events (`camcast.engine.repair.answering`).

An hour counts when it has been over for `SETTLED_SECONDS`: by then all that was published in it has
come, or is remembered as missing. Neither counts what one of the two has let go. The bodies are
read `BODIES_A_SECOND` at a time, so that no look at a large archive stops the process.

A difference that three announcements did not remove is accepted, as one of memories is: of a batch
that one archive has in two parts, the hashes differ though nothing is missing.

*Hostile.* Whoever tells of hours that differ draws what is known of some streams, within the bytes
of all such announcements, `TOLD_MAX` times.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import iter_unpack, pack
from typing import Final

from camcast.engine.repair.messages import ArchiveHours
from camcast.engine.repair.told import TOLD_MAX, Haves, RepairContext, part_of
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.wire import MalformedError

MEET_SECONDS: Final = 60.0  # chosen: 8 bytes a second; a week of hours is compared in two minutes
READ_SECONDS: Final = 1.0  # chosen: the second of the next bound
BODIES_A_SECOND: Final = 1024  # chosen: some 5 ms; 10^6 batches are counted in a quarter of an hour
HOURS_A_MESSAGE: Final = 120  # chosen: 480 bytes
SETTLED_SECONDS: Final = 1800.0  # chosen: for so long streams are remembered and told of in memory
PEERS_MAX: Final = 256  # chosen: as many neighbours as are remembered
_HOUR: Final = 3_600_000  # milliseconds
_PART_BYTES: Final = 4  # chosen: two hours are taken for the same once in 4 * 10^9


class Meeting:
    """One community's archive in this process, compared with those of neighbours."""

    def __init__(self, context: RepairContext, haves: Haves) -> None:
        self._context = context
        self._haves = haves
        context.retained.on_kept = self.add
        self._hours: dict[int, int] = {}
        """The XOR of the batches of each hour since 1970, as far as they were read."""
        self._bodies: Iterator[bytes] = iter(())
        self._next: Batch | None = None
        """The first of these that was not counted, since it may be too young."""
        self._read_until = 0
        """All that was published before was counted, in milliseconds since 1970."""
        self._turn = 0  # the place of the hour that is told first
        self._told: dict[PeerId, tuple[int, int]] = {}
        """The difference that was announced to a peer last, and how often."""

    def start(self) -> None:
        """Begin: this process has become a member."""
        if self._context.retained.archive is not None:
            self._context.outlet.wake(MEET_SECONDS, "meet")

    def add(self, batch: Batch) -> None:
        """Add a batch that the archive was given."""
        if batch.published < self._read_until:
            self._count(batch)

    def wake(self, now: float) -> None:
        """Read on in the archive, or tell a neighbour what is in it."""
        if self._read(now):
            self._context.outlet.wake(READ_SECONDS, "meet")
            return
        self._context.outlet.wake(MEET_SECONDS, "meet")
        neighbours = self._context.community.membership.neighbours()
        hours = range(self._first(), self._stop(now))
        if neighbours and self._hours:
            self._turn = self._turn if self._turn < len(hours) else 0
            start, self._turn = hours.start + self._turn, self._turn + HOURS_A_MESSAGE
            self._tell(self._context.community.rng.choice(neighbours), start, now, reply=True)

    def on_hours(self, source: Contact, message: ArchiveHours, now: float) -> None:
        """Announce to another process what was published in the hours in which it differs."""
        if len(message.parts) % _PART_BYTES or len(message.parts) > _PART_BYTES * HOURS_A_MESSAGE:
            raise MalformedError(f"{len(message.parts)} bytes are the tallies of no hours")
        if not self._read_until:
            return  # nothing was counted yet, or there is no archive
        first, stop = max(self._first(), message.first), self._stop(now)
        parts = (part for (part,) in iter_unpack(">I", message.parts))
        difference, since = 0, stop
        for hour, part in enumerate(parts, message.hour):
            if first <= hour < stop and (own := self._part(hour)) != part:
                difference ^= (own ^ part) * hour  # another one in each hour
                since = min(since, hour)
        if since == stop:
            return
        before, times = self._told.pop(source.peer, (0, 0))
        times = times + 1 if before == difference else 1
        self._told[source.peer] = difference, times
        if len(self._told) > PEERS_MAX:
            del self._told[next(iter(self._told))]
        if times > TOLD_MAX:
            return
        after = self._context.clock.now(since * _HOUR / 1000)
        streams = self._context.published_after(after)
        self._haves.send(source, self._haves.held(streams, after, now), now, after=after)
        if message.reply:
            self._tell(source, message.hour, now, reply=False)

    def _tell(self, contact: Contact, start: int, now: float, *, reply: bool) -> None:
        first, stop = self._first(), self._stop(now)
        hours = range(max(first, start), min(stop, start + HOURS_A_MESSAGE))
        parts = b"".join(pack(">I", self._part(hour)) for hour in hours)
        message = ArchiveHours(hours.start, first, int(reply), parts)
        self._context.outlet.send([contact], message)

    def _read(self, now: float) -> bool:
        """Count some bodies that are old enough; say whether there are more."""
        archive, until = self._context.retained.archive, _HOUR * self._stop(now)
        assert archive is not None, "there is no timer without"
        if self._next is None:
            self._bodies = archive.history(self._context.community.group, self._read_until)
            self._next = self._following()
        for _ in range(BODIES_A_SECOND):
            if self._next is None or self._next.published >= until:
                break
            self._count(self._next)
            self._read_until = max(self._read_until, self._next.published)
            self._next = self._following()
        else:
            if self._next is not None:
                return True
        self._read_until = max(self._read_until, until)
        return False

    def _following(self) -> Batch | None:
        body = next(self._bodies, None)
        return None if body is None else decode_body(body, 0, len(body))

    def _count(self, batch: Batch) -> None:
        hour = batch.published // _HOUR
        self._hours[hour] = self._hours.get(hour, 0) ^ part_of(batch)

    def _part(self, hour: int) -> int:
        return self._hours.get(hour, 0) & 0xFFFFFFFF

    def _first(self) -> int:
        """Return the first hour of which the archive has let nothing go."""
        archive = self._context.retained.archive
        assert archive is not None, "nothing was counted without"
        first = archive.reach(self._context.community.group) // _HOUR + 1
        for hour in [one for one in self._hours if one < first]:
            del self._hours[hour]
        return first

    def _stop(self, now: float) -> int:
        """Return the hour that has not been over for long enough."""
        return int(1000 * (self._context.clock.wall(now) - SETTLED_SECONDS)) // _HOUR
