"""hpmcast's dissemination: level by level, for as many rounds as a level needs (002, Figure 6).

`LevelGossip` is Figure 6 without clock, sockets or membership: it is told of publications and
receptions, and asked in every gossip period what to send to which processes. It asks each time for
the view of a level and for the processes that an event is for, as both may change.

Readings
--------
* *Who is counted.* Line 27 takes |view[level]| R for the number of processes of a level, which is
  right above level 1; in the table of level 1 a line is one process, and Equation 17 has m_1 = a.
  It is followed as printed: only with R lines as many do Figures 7 and 8 come out
  (tests/research/papers/test_hpmcast_paper.py: 0.878 of 22^3 instead of 0.999 for p_1 = 0.1). It is
  what keeps the rounds above 0 in a group with a single interested process. * *The probability of
  matching* (line 35), hits / (|view[level]| R), is a share of processes above level 1. As printed
  it could not exceed 1/R in level 1; it is the share of processes there, too, as 5.1.2 says:
  "matching that given event against all [...] participants for that given level". * A process does
  not choose itself (Equation 1 has n - 1), though line 29 would let it. * An event that leaves
  level i is gossiped in level i - 1 in the same period, as the loop of line 5 runs from l to 1. *
  Line 16 keeps an event that has left level 1 in its buffer for ever, so that a late copy is known.
  Here the last `ENDED_MAX` events are remembered; a caller with more at a time has to recognise
  copies before `receive`. * The audience threshold D (5.4.2): of fewer than D interested processes
  in the view, but at least one, the D first of the view count as interested, too. Where nobody is
  interested, nobody is added, for there is nothing to repair. * Loss and crashes are not in the
  number of rounds ("For simplicity, these parameters have not been added in the algorithm", 5.1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import ceil, log, log1p
from random import Random
from typing import Final, Generic, TypeVar

from attrs import define, frozen

ENDED_MAX: Final = 8192  # chosen: twice the events that may be gossiped at a time

E = TypeVar("E", bound=Hashable)
P = TypeVar("P")


def rounds(size: float, share: float, fan_out: float) -> float:
    """Return how many rounds reach a `share` of `size` processes (Figure 6, line 26; Equation 9).

    log(size · share) (1 / (F share) + 1 / log(F share + 1)). At most one to reach: 0, where the
    formula is negative ("becoming 0 in p1 n = 1", 5.3.1).
    """
    if size * share <= 1:
        return 0.0
    reached = fan_out * share
    return log(size * share) * (1 / reached + 1 / log1p(reached))


@frozen
class Audience(Generic[P]):
    """The view of one level, for one event."""

    lines: int
    """|view[level]|."""
    processes: Sequence[P]
    """The processes of all lines, in the view's order; the process itself may be one of them."""
    wanted: Sequence[bool]
    """Whether the event is sent to each of these, if it is chosen."""
    share: float
    """The probability of matching (`getprob`)."""


def audience(
    lines: int,
    processes: Sequence[P],
    interested: Sequence[bool],
    threshold: int = 0,
    expected: float | None = None,
) -> Audience[P]:
    """Return the audience of an event, with at least `threshold` processes (D, 5.4.2).

    `interested` says of each process whether the event interests it or somebody it represents.
    The share is measured, or follows from an `expected` one that is known from elsewhere (p_i of
    Equation 19).
    """
    hits, size = sum(interested), len(processes)
    if not size:
        return Audience(lines, processes, (), 0.0)
    few = hits if expected is None else size * expected
    first = min(threshold, size) if hits and few < threshold else 0
    wanted = [want or at < first for at, want in enumerate(interested)]
    if expected is None:
        return Audience(lines, processes, wanted, sum(wanted) / size)
    share = min(1.0, expected + (1 - expected) * first / size)  # which rounding may exceed
    return Audience(lines, processes, wanted, share)


@frozen
class Copy(Generic[E, P]):
    """A copy of an event to be sent, with what Figure 6 sends along (line 14)."""

    to: P
    event: E
    share: float
    rounds: int
    level: int


@define
class _Buffered:
    """(prob, rounds) of an event in the buffer of a level."""

    share: float
    rounds: int


class LevelGossip(Generic[E, P]):
    """Figure 6 for one process: buffers for levels 1 to `levels`, and what to send from them.

    `audience` gives the view of a level for an event. Events are known by whatever identifies
    them. `constant` is the c + O(1) of Equation 9, in rounds, which Figure 6 leaves out.
    """

    def __init__(
        self,
        me: P,
        levels: int,
        redundancy: int,
        fan_out: int,
        audience: Callable[[int, E], Audience[P]],
        rng: Random,
        constant: float = 0.0,
    ) -> None:
        self._me = me
        self._constant = constant
        self._redundancy = redundancy
        self._fan_out = fan_out
        self._audience = audience
        self._rng = rng
        self._levels = levels
        self._gossips: dict[int, dict[E, _Buffered]] = {level: {} for level in range(levels, 0, -1)}
        self._ended: dict[E, None] = {}

    @property
    def idle(self) -> bool:
        """Whether the next period has nothing to do."""
        return not any(self._gossips.values())

    def knows(self, event: E) -> bool:
        """Say whether the event is in a buffer, or was (line 20)."""
        return event in self._ended or self.holds(event)

    def holds(self, event: E) -> bool:
        """Say whether the event is in a buffer."""
        return any(event in buffer for buffer in self._gossips.values())

    def publish(self, event: E) -> None:
        """Execute HPMCAST (line 24): gossip the event from the topmost level down."""
        self.begin(event, self._levels)

    def begin(self, event: E, level: int, others: int = 0) -> None:
        """Gossip an event that is new here from this level down, in its first round.

        `others` counts processes that have the event without being interested in it.
        """
        if not self.knows(event):
            self._buffer(event, level, others)

    def forget(self, event: E) -> None:
        """Gossip the event no longer, for want of room."""
        for buffer in self._gossips.values():
            if buffer.pop(event, None) is not None:
                self._end(event)

    def receive(self, event: E, share: float, rounds: int, level: int) -> bool:
        """Execute RECEIVE (line 19); return whether the event is new here.

        The caller then delivers it if it is interested. Raises `ValueError` for numbers that no
        process of this hierarchy sends.
        """
        if not (1 <= level <= self._levels and 0.0 <= share <= 1.0 and rounds >= 0):
            raise ValueError(
                f"a copy of level {level} of {self._levels}, share {share}, round {rounds}"
            )
        if self.knows(event):
            return False
        self._gossips[level][event] = _Buffered(share, rounds)
        return True

    def gossip(self) -> list[Copy[E, P]]:
        """Execute the task of one gossip period (line 4); return what is to be sent."""
        copies: list[Copy[E, P]] = []
        for level, buffer in self._gossips.items():
            for event in list(buffer):
                copies += self._period(event, level)
        return copies

    def gossip_of(self, event: E) -> list[Copy[E, P]]:
        """Execute the task of one gossip period for a single event."""
        copies: list[Copy[E, P]] = []
        for level, buffer in self._gossips.items():
            if event in buffer:
                copies += self._period(event, level)
        return copies

    def _period(self, event: E, level: int) -> list[Copy[E, P]]:
        buffered, at = self._gossips[level][event], self._audience(level, event)
        size = at.lines * self._redundancy
        expected = rounds(size, buffered.share, self._fan_out)
        if not expected or buffered.rounds >= ceil(expected + self._constant):
            del self._gossips[level][event]
            if level > 1:
                self._buffer(event, level - 1)
            else:
                self._end(event)
            return []
        buffered.rounds += 1
        others = [place for place, peer in enumerate(at.processes) if peer != self._me]
        chosen = self._rng.sample(others, min(self._fan_out, len(others)))
        return [
            Copy(at.processes[place], event, buffered.share, buffered.rounds, level)
            for place in chosen
            if at.wanted[place]
        ]

    def _buffer(self, event: E, level: int, others: int = 0) -> None:
        at = self._audience(level, event)
        share = min(1.0, at.share + others / len(at.processes)) if at.share else 0.0
        self._gossips[level][event] = _Buffered(share, 0)

    def _end(self, event: E) -> None:
        if len(self._ended) >= ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        self._ended[event] = None
