"""A lack: a stream of which events are missing, and who may have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from attrs import define, field

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.messages import NONCE_SECONDS, UNKNOWN, Held
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import SEQUENCE_MAX
from camcast.vocabulary.identity import Contact, PeerId

AGAIN_SECONDS: Final = 1.0  # chosen: an answer is on its way for less, but at an overloaded peer
# chosen: between two questions to one holder. At 30 % loss, where half of them have no answer, none
# of 60,000 lacks is left after 40 s. With 4 s between the questions to all it was one in 260.
AGAIN_SECONDS_MAX: Final = 2.0
HOLDERS_MAX: Final = 3  # chosen: who told first; a round of asking tries them all
PASSED_BY: Final = 3  # [PROTOCOLS 8] neighbours that have passed a hole and keep nothing of it
RANGES_MAX: Final = 64  # [DESIGN 4] ranges of one stream in a message


@define
class Holder:
    """A process that has told what it holds of a stream."""

    contact: Contact
    nonce: bytes
    below: str
    """The topic of its community, if that is below this one; else empty."""
    held: Held
    kept: float
    """For how many seconds it keeps all bodies."""
    heard: float
    """When it told so; its nonce is as old."""
    since: float = inf
    """From when on it may be asked for everything, whoever was a member then."""
    asked: float = -inf
    """When it was asked last with this nonce, or another that was good."""


class Passed(NamedTuple):
    """A neighbour of the own community that misses nothing of a stream up to some number."""

    below: int
    """It misses and offers nothing below this number."""
    begun: float
    """When the stream's first event was published; infinitely long ago if it does not know."""
    kept: float
    """Since when it keeps all bodies."""


@define(eq=False)
class Lack:
    """What is missing of one stream, as far as this process knows, and who may have it."""

    since: float
    """Since when the lowest number that is missing now is missing, or something above all known."""
    due: float
    """When it is asked for next."""
    sender: Contact | None = None
    """The neighbour that sent what is above a hole: it is asked first."""
    holders: list[Holder] = field(factory=list)
    passed: dict[PeerId, Passed] = field(factory=dict)
    before: int = 1
    """Below this number, a stream of which nothing is known is from before this process's time."""
    asked: int = 0
    """How often it was asked for since something came last."""
    lowest: int = 0
    """The lowest number that was missing when that was last looked at; 0 before."""
    hole: int = 0
    """The same number if it has surely been missing `since`, as it is below a known one; else 0."""

    def hear(self, holder: Holder, *, offers: bool) -> bool:
        """Take in what another process holds, in place of what it told before.

        `offers` says whether something is missing of that. Returns whether there is somebody to
        ask at once: one who was not known, or whose nonce was too old to be answered.
        """
        peer = holder.contact.peer
        before = next((one for one in self.holders if one.contact.peer == peer), None)
        self.holders = [one for one in self.holders if one is not before]
        if offers:
            self.holders.append(holder)
            del self.holders[:-HOLDERS_MAX]
        if before is not None and holder.heard - before.heard < NONCE_SECONDS:
            holder.asked = before.asked
        if not holder.below:
            _, offered, begun, bounds = holder.held
            below = min(bounds[0], offered) if offered else bounds[0]
            # Kept as a time, for an age would be too small when it is looked at.
            begun_at = -inf if begun == UNKNOWN else holder.heard - begun / 10
            if peer in self.passed and (earlier := self.passed[peer].begun) > -inf:
                # An age that lay in a queue makes it younger than it is.
                begun_at = earlier if begun == UNKNOWN else min(begun_at, earlier)
            self.passed[peer] = Passed(below, begun_at, holder.heard - holder.kept)
        return offers and self.asked > 0 and holder.asked == -inf

    def note_lowest(self, known: KnownRanges | None, now: float) -> None:
        """Note if what was missing first has come: a stream that flows always lacks something."""
        if known is not None:
            holes = known.holes()
            lowest = holes[0][0] if holes else known.stop
            if lowest > self.lowest:
                if self.lowest:
                    self.since = now
                self.hole = lowest if holes and self.since == now else 0
                self.lowest = lowest

    def fills_hole(self, batch: Batch) -> bool:
        """Say whether a batch has the number that has been missing `since`, for sure."""
        return batch.first <= self.hole < batch.first + batch.count

    def next_holder(self) -> Holder:
        """Return the one of the holders who was not asked for the longest time."""
        return min(self.holders, key=lambda one: one.asked)

    def asked_at(self, now: float) -> None:
        """Note that it was asked for; once all holders were, each is asked half as often."""
        holders = max(1, len(self.holders))
        pause = min(AGAIN_SECONDS * 2 ** (self.asked // holders), AGAIN_SECONDS_MAX)
        self.due = now + max(AGAIN_SECONDS, pause / holders)
        self.asked += 1

    def came(self, now: float) -> None:
        """Note that something that was asked for came: more is on its way."""
        self.asked = 1
        self.due = now + AGAIN_SECONDS

    def missing_here(self, known: KnownRanges | None) -> list[tuple[int, int]]:
        """Return what is missing, whoever may have it, as (start, stop)."""
        holes = [] if known is None else known.holes()
        if not holes:  # then nothing is known of what follows, but that a neighbour has passed it
            passed = max((one.below for one in self.passed.values()), default=0)
            start = self.before if known is None else known.floor
            if start < passed:
                whole = [(start, passed)]
                holes = whole if known is None else known.missing(start, passed - start)
        return holes

    def out_of_reach(self, neighbours: int) -> int:
        """Return the number below which nobody offers anything; there are so many neighbours."""
        needed = max(1, min(PASSED_BY, neighbours))
        passed = sorted((one.below for one in self.passed.values()), reverse=True)
        return passed[needed - 1] if len(passed) >= needed else 0


def check_held(held: Held) -> bool:
    """Say whether a `Held` of a peer makes sense: its numbers ascend, and are in their range."""
    _, offered, begun, bounds = held
    return (
        bool(bounds)
        and len(bounds) % 2 == 1
        and len(bounds) <= 2 * RANGES_MAX + 1
        and bounds[0] >= 1
        and bounds[-1] <= SEQUENCE_MAX + 1
        and (len(bounds) == 1 or all(one < other for one, other in pairwise(bounds)))
        and 0 <= offered <= SEQUENCE_MAX
        and begun >= UNKNOWN
    )


def missing_of(
    held: Held, known: KnownRanges | None, below: int = SEQUENCE_MAX + 1
) -> list[tuple[int, int]]:
    """Return what of the offered events `below` a number is not known here, as (start, stop)."""
    _, offered, _, bounds = held
    if not offered:
        return []
    least = offered if known is None else max(offered, known.floor)
    missing: list[tuple[int, int]] = []
    for start, stop in ranges_of(bounds):
        start, stop = max(start, least), min(stop, below)
        if start < stop:
            missing += [(start, stop)] if known is None else known.missing(start, stop - start)
    return missing


def ranges_of(bounds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a `Held` as (start, stop)."""
    if bounds[0] > 1:
        yield 1, bounds[0]
    yield from zip(bounds[1::2], bounds[2::2], strict=True)


def flat(ranges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return (start, stop) ranges one after the other, as a `Wanted` has them."""
    return tuple(number for one in ranges for number in one)[: 2 * RANGES_MAX]
